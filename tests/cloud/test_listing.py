"""One list call for all who ask at the same time."""

import asyncio

import pytest

from hearth.cloud import CloudFault, Response, listing
from hearth.cloud.fault import NoAnswer, NotFound, Unreadable
from hearth.cloud.listing import PLAIN_LISTS, ListingCloud, page_of


class Shelf(ListingCloud):
    """A cloud with one collection of twenty things, ten to a page; notes its calls."""

    def __init__(self):
        super().__init__()
        self.calls = []

    async def request(self, service, method, path, **_kw):
        self.calls.append(path)
        await asyncio.sleep(0.001)
        if path == "/things":
            more = [{"rel": "next", "href": "http://shelf/things?marker=9"}]
            return Response(
                200, {}, {"things": [thing(n) for n in range(10)], "things_links": more}
            )
        if path == "/things?marker=9":
            return Response(200, {}, {"things": [thing(n) for n in range(10, 20)]})
        ident = path.rpartition("/")[2]
        if int(ident) >= 20:
            raise NotFound(service, "gone")
        return Response(200, {}, {"thing": thing(int(ident))})


def thing(number):
    return {"id": str(number)}


def test_those_who_ask_in_one_tick_share_one_call():
    async def story():
        shelf = Shelf()
        lists = await asyncio.gather(*(shelf.listing("s", "/things") for _ in range(50)))
        return shelf.calls, lists

    calls, lists = asyncio.run(story())
    assert calls == ["/things", "/things?marker=9"]
    assert all(len(members) == 20 for members in lists)


def test_who_asks_while_a_call_runs_gets_a_younger_answer():
    async def story():
        shelf = Shelf()
        first = asyncio.create_task(shelf.listing("s", "/things"))
        while not shelf.calls:
            await asyncio.sleep(0)
        await asyncio.gather(first, shelf.listing("s", "/things"))
        return shelf.calls.count("/things")

    assert asyncio.run(story()) == 2


def test_few_members_are_read_singly_and_many_by_a_list():
    async def story(count):
        shelf = Shelf()
        await asyncio.gather(*(shelf.member("s", "/things", str(n)) for n in range(count)))
        return shelf.calls

    assert asyncio.run(story(2)) == ["/things/0", "/things/1"]
    assert asyncio.run(story(15)) == ["/things", "/things?marker=9"]


def test_a_missing_member_is_a_fault_for_its_asker_only():
    async def story():
        shelf = Shelf()
        idents = ["1", "2", "3", "4", "77"]
        return await asyncio.gather(
            *(shelf.member("s", "/things", ident) for ident in idents), return_exceptions=True
        )

    *found, fault = asyncio.run(story())
    assert [body["id"] for body in found] == ["1", "2", "3", "4"]
    assert isinstance(fault, NotFound)


@pytest.mark.parametrize("next_page", ["/things", "/things?marker=1"])
def test_a_list_that_does_not_end_is_no_list(next_page):
    class Endless(Shelf):
        async def request(self, service, method, path, **_kw):
            self.calls.append(path)
            return Response(200, {}, {"things": [{"id": "1"}], "next": f"http://x{next_page}"})

    endless = Endless()
    with pytest.raises(Unreadable, match="does not end"):
        asyncio.run(endless.listing("s", "/things"))
    assert len(endless.calls) <= 2


def test_a_list_of_too_many_pages_is_no_list(monkeypatch):
    monkeypatch.setattr(listing, "PAGES_MAX", 3)

    class Endless(Shelf):
        async def request(self, service, method, path, **_kw):
            self.calls.append(path)
            page = len(self.calls)
            return Response(200, {}, {"things": [{"id": str(page)}], "next": f"?marker={page}"})

    endless = Endless()
    with pytest.raises(Unreadable, match="does not end"):
        asyncio.run(endless.listing("s", "/things"))
    assert len(endless.calls) == 3


def test_a_fault_of_the_list_reaches_everybody():
    class Broken(Shelf):
        async def request(self, service, method, path, **_kw):
            raise CloudFault(service, 503, "busy", "busy")

    async def story():
        broken = Broken()
        return await asyncio.gather(
            *(broken.listing("s", "/things") for _ in range(3)), return_exceptions=True
        )

    assert [fault.status for fault in asyncio.run(story())] == [503] * 3


UNUSABLE = [None, "x", 7, {}, [], {"things": None}, {"things": {}}, {"things_links": []}]


@pytest.mark.parametrize("body", UNUSABLE)
@pytest.mark.parametrize("times", [1, 99])
def test_an_answer_that_shows_no_list_does_not_mean_that_there_is_nothing(body, times, monkeypatch):
    monkeypatch.setattr(listing, "PAUSES_S", (0.0, 0.0))

    class Odd(Shelf):
        async def request(self, service, method, path, **_kw):
            answer = await super().request(service, method, path)
            return Response(200, {}, body) if len(self.calls) <= times else answer

    asked = [lambda odd: odd.listing("s", "/things"), lambda odd: odd.member("s", "/things", "1")]
    for ask in asked:
        if times == 1:
            assert asyncio.run(ask(Odd()))
        else:
            with pytest.raises(NoAnswer, match="does not show") as caught:
                asyncio.run(ask(Odd()))
            assert caught.value.passing


@pytest.mark.parametrize(
    ("body", "following"),
    [
        ({"images": [], "next": "/v2/images?marker=4"}, "/x?marker=4"),
        ({"zones": [], "links": {"next": "http://dns/v2/zones?marker=4"}}, "/x?marker=4"),
        (
            {"links": [{"rel": "next", "href": "http://db/v1.0/p/i?marker=4"}], "instances": []},
            "/x?marker=4",
        ),
        ({"zones": [], "links": {"self": "http://dns/v2/zones"}}, None),
    ],
)
def test_the_next_page_is_found_in_every_form(body, following):
    assert page_of("dns", body, "/x?limit=5") == ([], following)


@pytest.mark.parametrize("service", sorted(PLAIN_LISTS))
def test_some_services_answer_with_a_plain_list(service):
    assert page_of(service, [{"name": "x"}, None], "/x") == ([{"name": "x"}], None)

"""When the cache asks a handler, and when it does not."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy.exc import OperationalError
from starlette.requests import Request
from starlette.responses import Response

from hearth.api import response_cache
from hearth.api.answer import InPieces
from hearth.api.response_cache import ResponseCache, Rows, Validator
from hearth.cloud.config import STACK_USER_ROLE
from hearth.service.caller import Caller
from hearth.store.database import account

GUEST = Caller("u", "u", "p", roles=frozenset({STACK_USER_ROLE}))


@dataclass
class Place:
    """A cache before a handler that counts what reaches it."""

    rows: dict[Any, int] = field(default_factory=dict)  # fingerprints
    body: bytes = b'{"metadata": 1}'
    response: Response | None = None
    caller: Caller = GUEST
    broken: bool = False
    admin: bool = False
    says: bool = True
    passed: int = 0
    read: int = 0

    def __post_init__(self) -> None:
        services: Any = SimpleNamespace(
            store=SimpleNamespace(read=self._read),
            policy=SimpleNamespace(
                is_admin=lambda caller: self.admin, allows=lambda rule, caller: False
            ),
        )
        self.cache = ResponseCache(services)

    async def _read(self, fn: Any) -> Any:
        self.read += 1
        assert account.get() is None  # a read for all is on nobody's account
        await asyncio.sleep(0)
        if self.broken:
            raise OperationalError("select", {}, Exception("no database"))
        return fn(self)

    async def poll(self, stack: str = "s", name: str = "server", **more: Any) -> bytes:
        scope = {
            "type": "http", "method": "GET", "path": f"/{stack}/{name}", "query_string": b"",
            "headers": [(b"host", b"here")], "scheme": "http", "server": ("here", 80), **more,
        }  # fmt: skip
        request = Request(scope)

        async def respond() -> Response:
            self.passed += 1
            if self.says:
                request.state.validator = Validator(Rows(stack, name))
            return self.response or Response(self.body)

        response = await self.cache.answer(request, self.caller, respond)
        return bytes(response.body)


@pytest.fixture(autouse=True)
def fingerprints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        response_cache.reads,
        "fingerprints",
        lambda place, keys: [place.rows.setdefault(key, 1) for key in keys],
    )


def told(place: Place, *steps: Any) -> list[tuple[bytes, int]]:
    """Poll twice, and once after each step; what was answered, and how often the handler did it."""

    async def story() -> list[tuple[bytes, int]]:
        await place.poll()
        found = [(await place.poll(), place.passed)]
        for step in steps:
            step(place)
            found.append((await place.poll(), place.passed))
        return found

    return asyncio.run(story())


def changing(**values: Any) -> Any:
    return lambda place: [setattr(place, name, value) for name, value in values.items()]


def test_the_handler_answers_until_it_is_known_which_rows_count_and_after_each_change() -> None:
    place = Place()

    def change(place: Place) -> None:
        place.rows["s", "server"], place.body = 2, b'{"metadata": 2}'

    assert told(place, changing(), change, changing()) == [
        (b'{"metadata": 1}', 2), (b'{"metadata": 1}', 2), (b'{"metadata": 2}', 3),
        (b'{"metadata": 2}', 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "step",
    [
        changing(caller=replace(GUEST, user_id="another")),
        changing(caller=replace(GUEST, access_rules=())),
        changing(admin=True),
        changing(broken=True),
        lambda place: place.rows.update({("s", "server"): response_cache.NO_ROWS}),
    ],
    ids=["another user", "access rules", "an administrator", "no database", "no rows"],
)
def test_the_handler_answers_everything_else(step: Any) -> None:
    place = Place()
    assert [passed for _, passed in told(place, changing(), step)] == [2, 2, 3]


def test_only_what_a_handler_offers_is_kept() -> None:
    assert [passed for _, passed in told(Place(says=False), changing())] == [2, 3]
    place = Place(response=InPieces(iter([b"x" * 300_000, b"y"])))
    assert [passed for _, passed in told(place, changing())] == [2, 3]


def test_a_change_while_the_handler_works_makes_its_response_invalid() -> None:
    place = Place()

    async def story() -> None:
        await place.poll()
        place.rows["s", "server"] = 1
        reading = asyncio.create_task(place.poll())
        while place.passed < 2:
            await asyncio.sleep(0.01)
        place.rows["s", "server"] = 2
        await reading
        await place.poll()

    asyncio.run(story())
    assert place.passed == 3


def test_polls_at_the_same_time_share_a_read() -> None:
    place = Place()

    async def story() -> None:
        account.set(SimpleNamespace())  # type: ignore[arg-type]
        for _ in range(3):
            await asyncio.gather(*(place.poll(name=f"n{n}") for n in range(40)))

    asyncio.run(story())
    assert place.passed == 80
    assert place.read == 2


def test_a_post_gets_no_tag_and_no_304() -> None:
    place = Place()

    async def story() -> list[bytes]:
        return [
            await place.poll(method="POST", headers=[(b"if-none-match", b"*"), (b"host", b"x")])
            for _ in range(3)
        ]

    assert asyncio.run(story()) == [place.body] * 3


def test_answers_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    size = response_cache.ENTRY_BYTES + 15
    monkeypatch.setattr(response_cache, "KEPT_BYTES_MAX", 2 * size + 10)
    place = Place()

    async def story() -> None:
        for _ in range(3):
            for number in range(3):  # two answers of 15 bytes have room
                await place.poll(name=f"n{number}")

    asyncio.run(story())
    assert place.passed == 9


OF_A_REQUEST = {"token", "request_id", "traceparent"}
OTHERS: dict[type, Any] = {str: "other", bool: False, type(None): "other"}


@pytest.mark.parametrize("name", Caller.__struct_fields__)
def test_a_kept_response_is_for_callers_that_differ_in_their_token_only(name: str) -> None:
    """Another token with the same rights may have the response; any other right counts."""
    value = getattr(GUEST, name)
    other = value | {"other"} if isinstance(value, frozenset) else OTHERS[type(value)]
    place = Place()
    [(_, kept), (_, again)] = told(place, changing(caller=replace(GUEST, **{name: other})))
    assert (again == kept) is (name in OF_A_REQUEST)

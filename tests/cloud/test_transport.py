"""The transport against a small server that misbehaves on demand."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from hearth.cloud import CloudConfig, CloudFault, NoAnswer, PasswordCredential, transport
from hearth.cloud.fault import Misdirected, NotFound, NoToken
from hearth.cloud.pool import CloudPool


class Town:
    """Keystone with one user, and a network service that plays a script of answers."""

    def __init__(self):
        self.script, self.calls, self.tokens, self.url = [], [], 0, ""
        self.refusals = []  # the next answers of Keystone: statuses of errors, or bodies

    async def keystone(self, request):
        if self.refusals:
            status = self.refusals.pop(0)
            if isinstance(status, str):
                return web.Response(text=status, status=201, content_type="application/json")
            error = {"code": status, "title": "x", "message": "Could not find trust: 1."}
            return web.json_response({"error": error}, status=status)
        self.tokens += 1
        entry = {"interface": "public", "region": "one", "region_id": "one", "id": "e"}
        body = {
            "token": {
                "user": {"id": "u", "name": "demo", "domain": {"id": "default", "name": "D"}},
                "project": {"id": "p", "name": "demo", "domain": {"id": "default", "name": "D"}},
                "roles": [{"id": "r", "name": "member"}],
                "methods": ["password"],
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "expires_at": "2099-01-01T00:00:00.000000Z",
                "catalog": [
                    {"type": "network", "id": "n", "name": "neutron",
                     "endpoints": [{**entry, "url": f"{self.url}/net/v2.0"}]}
                ],
            }
        }  # fmt: skip
        headers = {"X-Subject-Token": f"token-{self.tokens}"}
        return web.json_response(body, status=201, headers=headers)

    async def network(self, request):
        self.calls.append((request.method, request.path, request.headers["X-Auth-Token"]))
        await request.read()
        step = self.script.pop(0) if self.script else 200
        if step == "cut":
            request.transport.close()
            return web.Response()
        if isinstance(step, dict):
            return web.json_response(step)
        headers = {"Retry-After": "0"} if step in {429, 503} else {}
        return web.json_response({"networks": []}, status=step, headers=headers)

    @asynccontextmanager
    async def open(self):
        app = web.Application()
        app.router.add_post("/v3/auth/tokens", self.keystone)
        app.router.add_route("*", "/net/v2.0/{rest:.*}", self.network)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        pool = CloudPool(CloudConfig(region="one"))
        user = PasswordCredential(
            self.url, "demo", "secret", user_domain_id="default", project_id="p"
        )
        try:
            yield pool.cloud(user)
        finally:
            await pool.aclose()
            await runner.cleanup()


def play(script, method="GET", path="/v2.0/networks", **more):
    town = Town()

    async def story():
        async with town.open() as cloud:
            town.script = list(script)
            return await cloud.request("network", method, path, **more)

    try:
        return town, asyncio.run(story())
    except CloudFault as fault:
        return town, fault


def test_the_version_in_the_path_meets_the_one_in_the_catalogue():
    town, answer = play([])
    assert answer.body == {"networks": []}
    assert town.calls == [("GET", "/net/v2.0/networks", "token-1")]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_refused_token_is_renewed(method: str):
    town, answer = play([401], method)
    assert answer.status == 200
    assert [call[2] for call in town.calls] == ["token-1", "token-2"]


@pytest.mark.parametrize("status", [502, 504])
def test_a_short_outage_is_waited_for(status: int, monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("hearth.cloud.transport.asyncio.sleep", sleep)
    town, answer = play([status] * 5)
    assert answer.status == 200
    assert sum(pauses) >= 15.0
    town, fault = play([status] * 9)
    assert (fault.status, len(town.calls)) == (status, 6)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_service_that_does_not_know_a_new_token_yet_gets_another(
    method: str, monkeypatch: pytest.MonkeyPatch
):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("hearth.cloud.transport.asyncio.sleep", sleep)
    town, answer = play([401, 401, 401], method)
    assert answer.status == 200
    assert [call[2] for call in town.calls] == ["token-1", "token-2", "token-3", "token-4"]
    town, fault = play([401] * 9, method)
    assert fault.status == 401
    assert (len(town.calls), town.tokens) == (4, 4)
    assert [pause for pause in pauses if pause] == [1.0, 2.0] * 2


def test_a_401_may_be_about_something_else_while_the_token_was_good_just_now():
    town, fault = play([401], renew_after_s=60)
    assert fault.status == 401
    assert (len(town.calls), town.tokens) == (1, 1)


def test_reading_is_repeated_while_the_service_is_away():
    town, answer = play([502, 503])
    assert answer.status == 200
    assert len(town.calls) == 3


def test_a_write_is_repeated_only_when_it_surely_was_not_carried_out():
    town, answer = play([429, 503], "POST")
    assert answer.status == 200
    assert len(town.calls) == 3
    town, fault = play([502], "POST")
    assert fault.status == 502
    assert len(town.calls) == 1


def test_a_write_whose_answer_is_cut_off_is_reported_as_unknown():
    town, fault = play(["cut"], "POST")
    assert isinstance(fault, NoAnswer)
    assert len(town.calls) == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_write_on_a_kept_connection_is_sent_once(method):
    town = Town()

    async def story():
        async with town.open() as cloud:
            await cloud.request("network", "GET", "/v2.0/networks")
            town.script = ["cut"]
            with pytest.raises(NoAnswer):
                await cloud.request("network", method, "/v2.0/networks/1")

    asyncio.run(story())
    assert len(town.calls) == 2


def test_a_service_that_the_catalogue_lacks_says_nothing_about_objects():
    async def story():
        async with Town().open() as cloud:
            await cloud.request("object-store", "GET", "/")

    with pytest.raises(CloudFault, match="object-store") as caught:
        asyncio.run(story())
    assert not isinstance(caught.value, NotFound)


def renew(refusals):
    """Renew a token while Keystone answers so; return the town and the fault of the call."""
    town = Town()

    async def story():
        async with town.open() as cloud:
            await cloud.request("network", "POST", "/v2.0/networks")
            town.refusals, town.script = list(refusals), [401]
            await cloud.request("network", "POST", "/v2.0/networks")

    try:
        asyncio.run(story())
    except CloudFault as fault:
        return town, fault
    return town, None


@pytest.mark.parametrize("status", [401, 404, 500, 503, 520])
def test_a_hiccup_of_keystone_does_not_fail_a_call(status):
    town, fault = renew([status, status])
    assert fault is None
    assert [call[2] for call in town.calls] == ["token-1", "token-1", "token-2"]


@pytest.mark.parametrize("answer", [500, 503, 520, "{}", '{"token": {"us', '{"token": null}', "x"])
def test_a_hiccup_of_keystone_at_the_first_token_does_not_fail_a_call(answer):
    town = Town()
    town.refusals = [answer]

    async def story():
        async with town.open() as cloud:
            await cloud.request("network", "POST", "/v2.0/networks")

    asyncio.run(story())
    assert [call[2] for call in town.calls] == ["token-1"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_credential_that_was_never_accepted_is_refused_at_once(status):
    town = Town()
    town.refusals = [status] * 9

    async def story():
        async with town.open() as cloud:
            await cloud.request("network", "POST", "/v2.0/networks")

    with pytest.raises(NoToken) as caught:
        asyncio.run(story())
    assert (caught.value.status, len(town.refusals)) == (status, 8)


def test_a_trust_that_keystone_does_not_find_is_no_missing_object(monkeypatch):
    monkeypatch.setattr(transport, "ATTEMPTS_MAX", 2)
    town, fault = renew([404] * 9)
    assert isinstance(fault, NoToken)
    assert not isinstance(fault, NotFound)
    assert fault.message == "Could not find trust: 1."
    assert len(town.calls) == 2  # the call itself was not sent again


def test_an_answer_about_another_object_is_no_answer(monkeypatch):
    monkeypatch.setattr(transport, "ATTEMPTS_MAX", 2)
    mine, other = (f"{n}4b1c1d0-0000-4000-8000-000000000000" for n in (1, 2))
    path = f"/v2.0/networks/{mine}"
    for shown, fails in [(mine, False), (other, True)]:
        body = {"network": {"id": shown}}
        town, answer = play([body, body], path=path)
        assert isinstance(answer, NoAnswer) is fails
        assert len(town.calls) == 1 + fails


@pytest.mark.parametrize("status", [302, 400, 403, 404, 408, 409])
def test_a_read_is_repeated_after_an_answer_that_is_not_of_the_service(status):
    """The small server has no form of an OpenStack service."""
    town, answer = play([status])
    assert answer.status == 200
    assert len(town.calls) == 2
    town, fault = play([status], "POST")
    assert isinstance(fault, Misdirected)  # of a write nobody knows whether it was carried out
    assert len(town.calls) == 1


def test_whoami_tells_project_user_and_roles():
    async def story():
        async with Town().open() as cloud:
            return await cloud.whoami()

    who = asyncio.run(story())
    assert (who.user_id, who.project_id, who.roles) == ("u", "p", ("member",))

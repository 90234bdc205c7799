"""Too large bodies and too many requests."""

import asyncio
from collections.abc import Iterator

import pytest
import requests
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from hearth.api.front.front import Front
from hearth.api.front.overload import Overload
from hearth.api.front.rate import Rates
from hearth.cloud.config import STACK_USER_ROLE
from hearth.config.front import FrontSettings
from hearth.service.caller import Caller
from tests.api.front.conftest import Site
from tests.api.front.test_proxies import a_signer
from tests.crash.processes import until

LIMIT = 2000
P = Caller("u", "u", "p")


def chunks(size: int) -> Iterator[bytes]:
    yield b"{"
    for _ in range(size // 100):
        yield b" " * 100
    yield b"}"


@pytest.mark.slow
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_as_heat_does(hearth: Site, chunked: bool):
    path = f"/v1/{hearth.project()}/stacks"
    hearth.reload(oslo_middleware={"max_request_body_size": str(LIMIT)})
    try:
        data = chunks(10 * LIMIT) if chunked else b"".join(chunks(10 * LIMIT))
        reply = hearth.call("POST", path, data=data)
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["type"] == "RequestLimitExceeded"
        assert f"exceeds the maximum of {LIMIT} bytes" in error["message"]
        small = hearth.call("POST", path, data=b"".join(chunks(LIMIT - 200)))
        assert small.json()["error"]["type"] == "HTTPBadRequest"
        form = {"Action": "ListStacks", "x": "y" * LIMIT}
        refused = requests.post(f"{hearth.cfn_url}/v1/", data=form, timeout=10)
        assert (refused.status_code, "RequestLimitExceeded" in refused.text) == (400, True)
    finally:
        hearth.reload()


@pytest.mark.slow
def test_a_project_that_asks_too_often_waits_and_others_do_not(hearth: Site):
    signer = a_signer(hearth, f"{hearth.cfn_url}/v1/")
    hearth.reload(hearth={"requests_per_second": "0.001", "requests_burst": "3"})
    try:
        replies = [hearth.stacks() for _ in range(4)]
        assert [one.status_code for one in replies] == [200, 200, 200, 429]
        last = replies[-1]
        assert 900 <= int(last.headers["Retry-After"]) <= 1000
        body = last.json()
        assert (body["code"], body["title"]) == (429, "Too Many Requests")
        assert body["error"]["type"] == "HTTPTooManyRequests"
        assert body["error"]["message"].startswith("The project sends too many requests; wait for")
        assert "<Code>Throttling</Code>" in signer.ask("ListStacks").text
        assert hearth.stacks("admin").status_code == 200
        assert requests.get(f"{hearth.url}/", timeout=10).status_code == 300
    finally:
        hearth.reload()
    assert hearth.stacks().status_code == 200


WAITING = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 300}
"""
SMALL = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"


@pytest.mark.slow
def test_a_project_with_too_many_operations_waits_and_can_always_delete(hearth: Site):
    path = f"/v1/{hearth.project()}/stacks"

    def create(name: str, template: str) -> requests.Response:
        body = {"stack_name": name, "template": template, "timeout_mins": 5}
        return hearth.call("POST", path, json=body)

    def stack(name: str) -> dict[str, str]:
        found = [one for one in hearth.stacks().json()["stacks"] if one["stack_name"] == name]
        return found[0] if found else {"stack_status": "GONE"}

    def ended(name: str) -> bool:
        return not stack(name)["stack_status"].endswith("IN_PROGRESS")

    assert create("resting", SMALL).status_code == 201
    until("it rests", lambda: ended("resting"), 30)
    hearth.reload(hearth={"operations_per_project": "1"})
    try:
        made = create("waiting", WAITING)
        assert made.status_code == 201
        waiting = f"{path}/waiting/{made.json()['stack']['id']}"
        resting = stack("resting")["id"]
        for refused in (
            create("another", SMALL),
            hearth.call("PUT", f"{path}/resting/{resting}", json={"template": WAITING}),
            hearth.call("POST", f"{path}/resting/{resting}/actions", json={"check": None}),
            hearth.call("POST", f"{path}/resting/{resting}/snapshots", json={"name": "s"}),
        ):
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
            error = refused.json()["error"]
            assert error["type"] == "HTTPTooManyRequests"
            assert "maximum of 1 stacks in progress" in error["message"]
        assert stack("another")["stack_status"] == "GONE"
        instead = hearth.call("PUT", waiting, json={"template": SMALL})
        assert instead.status_code == 202, instead.text  # no further load
        assert hearth.call("DELETE", waiting).status_code == 204
        assert hearth.call("DELETE", f"{path}/resting/{resting}").status_code == 204
        until("both are gone", lambda: ended("waiting") and ended("resting"), 30)
        assert create("another", SMALL).status_code == 201
    finally:
        hearth.reload()
    assert hearth.call("DELETE", f"{path}/another/{stack('another')['id']}").status_code == 204


def test_a_process_with_too_many_requests_refuses_more_and_recovers():
    free = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await free.wait()
        if scope["path"] == "/fails":
            raise ValueError("a fault of the application")
        await PlainTextResponse("done")(scope, receive, send)

    async def story() -> None:
        app = Overload(slow, Front(FrontSettings(requests_at_once=2)))

        async def call(path: str) -> tuple[int, dict[str, str]]:
            sent: list[Message] = []

            async def send(message: Message) -> None:
                sent.append(message)

            scope = {"type": "http", "method": "GET", "path": path, "headers": []}
            try:
                await app(scope, lambda: asyncio.sleep(0, {"type": "http.request"}), send)
            except ValueError:
                return 500, {}
            headers = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
            return sent[0]["status"], headers

        held = [asyncio.create_task(call(path)) for path in ("/", "/fails")]
        await asyncio.sleep(0)
        status, headers = await call("/")
        assert (status, headers["retry-after"]) == (503, "1")
        free.set()
        for calls in (held, [call("/"), call("/fails")]):
            assert [one[0] for one in await asyncio.gather(*calls)] == [200, 500]

    asyncio.run(story())


def test_a_bucket_fills_at_its_pace_and_not_beyond_its_size():
    now = [0.0]
    rates = Rates(Front(FrontSettings(requests_per_second=2.0, requests_burst=3)), lambda: now[0])
    assert [rates.wait_s(P) for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] = 0.25
    assert rates.wait_s(P) == 0.25
    now[0] = 0.5
    assert [rates.wait_s(P), rates.wait_s(P)] == [0, 0.5]
    assert rates.wait_s(Caller("u", "u", "other")) == 0
    now[0] = 1000.0
    assert [rates.wait_s(P) for _ in range(4)] == [0, 0, 0, 0.5]


def test_without_a_rate_nobody_waits():
    rates = Rates(Front(), lambda: 0.0)
    assert {rates.wait_s(P) for _ in range(1000)} == {0.0}


def test_each_user_of_a_stack_has_a_pace_of_its_own():
    rates = Rates(
        Front(FrontSettings(guest_requests_per_second=1.0, guest_requests_burst=2)), lambda: 0.0
    )
    guests = [Caller(name, name, "p", frozenset({STACK_USER_ROLE})) for name in "ab"]
    for guest in guests:
        assert [rates.wait_s(guest) for _ in range(3)] == [0, 0, 1.0]
    assert [rates.wait_s(P) for _ in range(3)] == [0, 0, 0]

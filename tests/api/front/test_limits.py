"""Too large bodies and too many requests."""

from collections.abc import Iterator

import pytest
import requests

from hearth.api.front.rate import Rates
from hearth.api.front.settings import Front, FrontSettings, Rate
from hearth.service.caller import STACK_USER_ROLE, Caller
from tests.api.front.conftest import Site
from tests.api.front.test_proxies import a_signer

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


def test_a_bucket_fills_at_its_pace_and_not_beyond_its_size():
    now = [0.0]
    rates = Rates(Front(FrontSettings(rate=Rate(2.0, 3))), lambda: now[0])
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
    rates = Rates(Front(FrontSettings(guest_rate=Rate(1.0, 2))), lambda: 0.0)
    guests = [Caller(name, name, "p", frozenset({STACK_USER_ROLE})) for name in "ab"]
    for guest in guests:
        assert [rates.wait_s(guest) for _ in range(3)] == [0, 0, 1.0]
    assert [rates.wait_s(P) for _ in range(3)] == [0, 0, 0]

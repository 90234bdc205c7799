"""Pages of other origins: which may call, and what they may read."""

import asyncio
from collections.abc import Iterator

import pytest
import requests
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Message

from hearth.api.front.cors import CrossOrigin
from hearth.api.front.front import Front
from hearth.config.front import Cors, FrontSettings
from tests.api.front.conftest import Site, served

GOOD, EVIL = "https://dashboard.example", "https://evil.example"


@pytest.mark.parametrize("origins", [{GOOD}, {GOOD, "*"}, {"*"}])
@pytest.mark.parametrize("origin", [GOOD, EVIL])
@pytest.mark.parametrize(
    ("asks", "refused"),
    [
        ({}, False),
        ({"method": "GET", "headers": "x-auth-token"}, False),
        ({"method": "TRACE"}, True),
        ({"method": "GET", "headers": "x-evil"}, True),
    ],
)
def test_only_what_is_allowed_is_named_and_credentials_only_for_named_origins(
    origins: set[str], origin: str, asks: dict[str, str], refused: bool
):
    cors = Cors(
        tuple(origins),
        allow_methods=("GET",),
        allow_headers=("X-Auth-Token",),
        expose_headers=("X-Id",),
    )
    sent = {f"access-control-request-{name}": value for name, value in asks.items()}
    status, headers = answer(cors, "OPTIONS" if asks else "GET", {"origin": origin, **sent})
    assert (status, headers["vary"]) == (200, "Origin")
    if refused or not {origin, "*"} & origins:
        assert not [name for name in headers if name.startswith("access-control-")]
        return
    named = origin in origins
    assert headers["access-control-allow-origin"] == (origin if named else "*")
    assert ("access-control-allow-credentials" in headers) is named


@pytest.mark.parametrize("origins", [set(), {GOOD}])
@pytest.mark.parametrize("origin", [{}, {"origin": EVIL}, {"origin": GOOD}])
def test_a_preflight_needs_no_token(origins: set[str], origin: dict[str, str]):
    cors = Cors(tuple(origins), allow_methods=("GET",))
    for asks in ({}, {"access-control-request-method": "GET"}):
        assert answer(cors, "OPTIONS", {**origin, **asks}, status=401)[0] == 200
    token = {"x-auth-token": "wrong"}
    assert answer(cors, "OPTIONS", {**origin, **token}, status=401)[0] == 401
    assert answer(cors, "GET", origin, status=401)[0] == 401


def answer(cors: Cors, method: str, sent: dict[str, str], status: int = 200) -> tuple[int, Headers]:
    """Return status and headers of an answer, from an API that answers all with `status`."""
    started: list[Message] = []

    async def send(message: Message) -> None:
        started.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(name.encode(), value.encode()) for name, value in sent.items()]
    scope = {"type": "http", "method": method, "path": "/", "headers": headers}
    front = CrossOrigin(PlainTextResponse("ok", status), Front(FrontSettings(cors=cors)))
    asyncio.run(front(scope, receive, send))
    return started[0]["status"], Headers(raw=started[0]["headers"])


@pytest.fixture(scope="module")
def hearth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("cors")
    with served(folder, cors={"allowed_origin": f"{GOOD}/,http://other"}) as one:
        yield one


def preflight(
    hearth: Site, origin: str, method: str = "GET", headers: str = "x-auth-token"
) -> requests.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": headers,
    }
    url = f"{hearth.url}/v1/{hearth.project()}/stacks"
    return requests.options(url, headers=asked, timeout=10)


@pytest.mark.slow
def test_a_browser_is_told_what_a_page_may_do(hearth: Site):
    reply = preflight(hearth, GOOD, headers="X-Auth-Token, Content-Type")
    assert reply.status_code == 200
    assert reply.headers["Access-Control-Allow-Origin"] == GOOD
    assert reply.headers["Access-Control-Allow-Headers"] == "content-type, x-auth-token"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, PUT, POST, DELETE, PATCH"
    assert reply.headers["Access-Control-Allow-Credentials"] == "true"
    assert reply.headers["Access-Control-Max-Age"] == "3600"
    assert reply.headers["Vary"] == "Origin"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("origin", "method", "headers"),
    [
        (EVIL, "GET", "x-auth-token"),
        ("null", "GET", ""),
        (GOOD, "TRACE", ""),
        (GOOD, "GET", "x-evil"),
    ],
)
def test_what_a_page_may_not_do_is_not_allowed(
    hearth: Site, origin: str, method: str, headers: str
):
    reply = preflight(hearth, origin, method, headers)
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert "Access-Control-Allow-Methods" not in reply.headers


@pytest.mark.slow
def test_a_preflight_of_any_page_is_answered(hearth: Site):
    reply = preflight(hearth, EVIL)
    assert (reply.status_code, reply.content) == (200, b"")


@pytest.mark.slow
def test_only_pages_of_allowed_origins_can_read_responses(hearth: Site):
    reply = hearth.stacks(Origin=GOOD)
    assert reply.headers["Access-Control-Allow-Origin"] == GOOD
    assert "X-OpenStack-Request-ID" in reply.headers["Access-Control-Expose-Headers"]
    assert reply.headers["Vary"] == "Origin"
    refused = hearth.stacks(**{"Origin": GOOD, "X-Auth-Token": "stranger"})
    assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, GOOD)
    other = hearth.stacks(Origin=EVIL)
    assert other.status_code == 200
    assert "Access-Control-Allow-Origin" not in other.headers
    assert other.headers["Vary"] == "Origin"


@pytest.mark.slow
def test_everybodys_pages_may_send_no_credentials(hearth: Site):
    try:
        hearth.reload(cors={"allowed_origin": "*"})
        reply = hearth.stacks(Origin=EVIL)
        assert reply.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in reply.headers
    finally:
        hearth.reload(cors={"allowed_origin": f"{GOOD}/,http://other"})


@pytest.mark.slow
def test_an_api_that_was_told_of_no_origin_says_nothing_of_them(hearth: Site):
    try:
        hearth.reload()
        reply = preflight(hearth, GOOD)
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]
    finally:
        hearth.reload(cors={"allowed_origin": f"{GOOD}/,http://other"})

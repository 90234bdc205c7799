"""Pages of other origins: which may call, and what they may read."""

from collections.abc import Iterator

import pytest
import requests

from tests.api.front.conftest import Site, served

pytestmark = pytest.mark.slow
GOOD, EVIL = "https://dashboard.example", "https://evil.example"


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


def test_a_browser_is_told_what_a_page_may_do(hearth: Site):
    reply = preflight(hearth, GOOD, headers="X-Auth-Token, Content-Type")
    assert reply.status_code == 200
    assert reply.headers["Access-Control-Allow-Origin"] == GOOD
    assert reply.headers["Access-Control-Allow-Headers"] == "content-type, x-auth-token"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, PUT, POST, DELETE, PATCH"
    assert reply.headers["Access-Control-Allow-Credentials"] == "true"
    assert reply.headers["Access-Control-Max-Age"] == "3600"
    assert reply.headers["Vary"] == "Origin"


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


def test_answers_may_be_read_by_pages_that_may_ask(hearth: Site):
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


def test_everybodys_pages_may_send_no_credentials(hearth: Site):
    try:
        hearth.reload(cors={"allowed_origin": "*"})
        reply = hearth.stacks(Origin=EVIL)
        assert reply.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in reply.headers
    finally:
        hearth.reload(cors={"allowed_origin": f"{GOOD}/,http://other"})


def test_an_api_that_was_told_of_no_origin_says_nothing_of_them(hearth: Site):
    try:
        hearth.reload()
        reply = preflight(hearth, GOOD)
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]
    finally:
        hearth.reload(cors={"allowed_origin": f"{GOOD}/,http://other"})

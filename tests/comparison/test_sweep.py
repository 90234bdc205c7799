"""The sweep itself; `python -m tests.comparison.sweep` asks a running Heat."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from tests.comparison.cloud import proxied, user_of
from tests.comparison.settled import SETTLED, Judgement, Verdict, reason
from tests.comparison.sides import Answer
from tests.comparison.sweep import chosen, judgement, variants
from tests.types.case import subject

TAKEN = Judgement(200)


def refused(*named: str, error: str = "StackValidationFailed", message: str = "") -> Judgement:
    return Judgement(400, error, named, message)


@pytest.mark.parametrize(
    ("original", "here", "difference"),
    [
        (TAKEN, TAKEN, None),
        (refused("a"), refused("a", "b"), None),
        (refused(), refused("b"), None),
        (TAKEN, refused("a"), "refused here"),
        (refused("a"), TAKEN, "accepted here"),
        (refused("a"), refused("a", error="Invalid"), "type of error"),
        (refused("a"), refused("b"), "property"),
    ],
)
def test_what_differs(original: Judgement, here: Judgement, difference: str | None) -> None:
    assert Verdict("T", "v", ("a",), original, here).difference == difference


def test_no_reason_settles_a_wrong_value_that_only_heat_refuses() -> None:
    verdict = Verdict("T", "a of another kind", ("a",), refused("a", message="properties.a"), TAKEN)
    assert reason(verdict) is None


def test_reasons_are_said_once() -> None:
    reasons = [one.reason for one in SETTLED]
    assert len(reasons) == len(set(reasons))


def test_an_error_names_the_properties_that_are_whole_words_of_it() -> None:
    body = {"error": {"type": "Invalid", "message": "properties.name: net_name is wrong"}}
    found = judgement(Answer(400, body), ["name", "net"])
    assert (found.error, found.named, found.accepted) == ("Invalid", ("name",), False)


def test_every_pair_and_every_odd_value_is_tried() -> None:
    names = [one.name for one in variants(subject("OS::Neutron::Trunk"))]
    assert len(names) == len(set(names))
    assert {
        "minimal", "full", "full without port", "without port", "only name",
        "only description and name", "name null", "name empty", "name of another kind",
        "sub_ports with a null", "admin_state_up true", "name a number",
    } <= set(names)  # fmt: skip


def test_types_come_in_the_order_asked_for_and_once() -> None:
    assert chosen(["OS::Nova::ServerG", "OS::Nova::Server"]) == [
        "OS::Nova::ServerGroup",
        "OS::Nova::Server",
    ]


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        where = f"http://127.0.0.1:{self.server.server_address[1]}/x"
        body = json.dumps({"token": self.headers["X-Auth-Token"], "href": where}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told: object) -> None:
        """Print nothing."""


@pytest.fixture
def cloud() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_proxy_swaps_tokens_and_addresses_and_lets_nothing_be_written(cloud: str) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"user": "admin"}).encode()).decode().rstrip("=")
    assert [user_of(f"known-{claims}"), user_of("demo")] == ["admin", "demo"]
    with proxied(cloud, {"admin": "one", "demo": "two"}, 0) as proxy:
        headers = {"X-Auth-Token": f"known-{claims}"}
        found = requests.get(f"{proxy.url}/a", headers=headers, timeout=10).json()
        assert found == {"token": "one", "href": f"{proxy.url}/x"}
        assert requests.post(f"{proxy.url}/a", json={}, timeout=10).status_code == 403
        assert proxy.refused == ["POST /a"]

"""What may be fetched, from where, and how much."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from hearth.cloud.fetch import FetchConfig, NotFetched, fetch

OPEN = FetchConfig(enabled=True, timeout_s=2)
HERE = FetchConfig(enabled=True, timeout_s=2, networks=(ipaddress.ip_network("127.0.0.0/8"),))


class Shop(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[int, dict[str, str], bytes]]] = {
        "/t": (200, {}, "heat_template_version: ä".encode()),
        "/large": (200, {}, b"x" * 2000),
        "/bytes": (200, {}, b"\xff\xfe"),
        "/there": (302, {"Location": "/t"}, b""),
        "/round": (302, {"Location": "/round"}, b""),
        "/inside": (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    }
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, headers, body = self.answers.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def shop() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def get(url: str, config: FetchConfig = HERE) -> str:
    return asyncio.run(fetch(url, config, 1000))


def refused(url: str, config: FetchConfig = HERE) -> str:
    with pytest.raises(NotFetched) as problem:
        get(url, config)
    return str(problem.value)


def test_a_text_is_fetched_and_followed_to_where_it_is(shop: int):
    assert get(f"http://127.0.0.1:{shop}/t") == "heat_template_version: ä"
    assert get(f"http://localhost:{shop}/there") == "heat_template_version: ä"


def test_nothing_is_fetched_unless_allowed(shop: int):
    Shop.asked.clear()
    assert "is disabled" in refused(f"http://127.0.0.1:{shop}/t", FetchConfig())
    assert not Shop.asked


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_not_reached_by_any_of_its_names(shop: int, host: str):
    Shop.asked.clear()
    assert refused(f"http://{host}:{shop}/t", OPEN)
    assert not Shop.asked


@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "::1", "fe80::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:0001::",
    ],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str):
    assert not OPEN.allows(address)


@pytest.mark.parametrize("address", ["9.9.9.9", "2620:fe::fe", "64:ff9b::909:909"])
def test_addresses_outside_are(address: str):
    assert OPEN.allows(address)


def test_a_name_is_judged_by_the_address_that_is_connected_to(
    shop: int, monkeypatch: pytest.MonkeyPatch
):
    """Two questions for a name may have two answers: only what was judged is connected to."""
    answers = [("9.9.9.9", shop), ("127.0.0.1", shop)]

    def resolved(host: object, port: object, *_: object, **__: object) -> list[object]:
        address = answers.pop() if answers else ("127.0.0.1", shop)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address)]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    Shop.asked.clear()
    assert "no public address" in refused(f"http://turning.example:{shop}/t", OPEN)
    assert not Shop.asked


def test_redirections_lead_nowhere_else(shop: int):
    assert "169.254.169.254 is not a public address" in refused(f"http://127.0.0.1:{shop}/inside")
    assert "only http and https" in refused(f"http://127.0.0.1:{shop}/file")
    assert "more than 5 redirects" in refused(f"http://127.0.0.1:{shop}/round")


def test_size_text_and_status_are_checked(shop: int):
    assert "more than 1000 bytes" in refused(f"http://127.0.0.1:{shop}/large")
    assert "not UTF-8" in refused(f"http://127.0.0.1:{shop}/bytes")
    assert "404" in refused(f"http://127.0.0.1:{shop}/nothing")
    for url in ("ftp://127.0.0.1/t", "file:///etc/passwd", "gopher://x", "http://", "nonsense"):
        assert "only http and https" in refused(url)


def test_who_does_not_answer_is_not_waited_for():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config = FetchConfig(enabled=True, timeout_s=0.2, networks=HERE.networks)
        assert refused(f"http://127.0.0.1:{silent.getsockname()[1]}/t", config)

"""Answers of clouds that are broken, or somebody's who means harm: bounded, and always a fault."""

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from ipaddress import ip_network
from typing import Any

import pytest

from hearth.cloud import CloudConfig, CloudFault, NoAnswer, PasswordCredential, transport
from hearth.cloud.answers import ANSWER_BYTES_MAX, FOREIGN_BYTES_MAX, parsed, storable
from hearth.cloud.credential import ForeignCredential
from hearth.cloud.pool import CloudPool
from tests.cloud.connections import abort_connections

LOOPBACK = (ip_network("127.0.0.0/8"),)
MIB = 1024 * 1024
CATALOG = [
    {
        "type": "network",
        "id": "n",
        "name": "neutron",
        "endpoints": [
            {"interface": "public", "region": "one", "region_id": "one", "id": "e", "url": "URL"}
        ],
    }
]
TOKEN: dict[str, Any] = {
    "user": {"id": "u", "name": "demo", "domain": {"id": "default", "name": "D"}},
    "project": {"id": "p", "name": "demo", "domain": {"id": "default", "name": "D"}},
    "roles": [{"id": "r", "name": "member"}],
    "methods": ["password"],
    "issued_at": "2026-01-01T00:00:00.000000Z",
    "expires_at": "2099-01-01T00:00:00.000000Z",
    "catalog": CATALOG,
}
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def plain(body: bytes) -> bytes:
    return JSON_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


@cache
def gzipped(count: int) -> bytes:
    body = gzip.compress(b"x" * count)
    return JSON_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Street:
    """A cloud in which the network service answers the same bytes whatever is asked, after which
    it goes on for as long as it is listened to where `endless` is set."""

    def __init__(self, answer: bytes, *, endless: bytes = b"", token: Any = TOKEN) -> None:
        self.answer, self.endless, self.token = answer, endless, token
        self.asked, self.sent, self.url = 0, 0, ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"/auth/tokens" in head:
                said = json.dumps({"token": self.token}).replace("URL", f"{self.url}/net")
                body = said.encode()
                writer.write(
                    b"HTTP/1.1 201 Created\r\nX-Subject-Token: t\r\nConnection: close\r\n"
                    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                )
                writer.write(body)
            else:
                self.asked += 1
                writer.write(self.answer)
                while self.endless:
                    writer.write(self.endless)
                    self.sent += len(self.endless)
                    await writer.drain()
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[CloudPool]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        pool = CloudPool(CloudConfig(region="one", foreign_cloud_networks=LOOPBACK))
        try:
            yield pool
        finally:
            await pool.aclose()
            server.close()
            await abort_connections()


def ask(street: Street, *, foreign: bool, method: str = "GET") -> Any:
    """What a call comes to, or its fault; and the peak of the memory that Python had meanwhile."""

    async def story() -> Any:
        async with street.open() as pool:
            options = (("password", "x"), ("project_id", "p"), ("user_id", "u"))
            credential: Any = PasswordCredential(
                street.url, "demo", "x", user_domain_id="default", project_id="p"
            )
            if foreign:
                credential = ForeignCredential("v3password", street.url, options)
            try:
                return await pool.cloud(credential).request("network", method, "/v2.0/x")
            except CloudFault as fault:
                return fault

    tracemalloc.start()
    try:
        found = asyncio.run(story())
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


CHUNKED = JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b"[" * 65536 + b"\r\n"
STREETS = {
    "endless": lambda: Street(CHUNKED, endless=CHUNK),
    "large": lambda: Street(plain(b"[" + b"1," * (ANSWER_BYTES_MAX // 2) + b"1]")),
    "a gzip bomb": lambda: Street(gzipped(300 * MIB)),
    "deep": lambda: Street(plain(b"[" * 500_000)),
    "deep and closed": lambda: Street(plain(b"[" * 400_000 + b"]" * 400_000)),
    "not gzip": lambda: Street(
        JSON_HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx"
    ),
    "an encoding nobody asked for": lambda: Street(
        JSON_HEAD + b"Content-Encoding: zstd\r\nContent-Length: 4\r\n\r\nxxxx"
    ),
}


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("name", STREETS)
def test_an_answer_that_cannot_be_had_is_a_fault(
    name: str, method: str, foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "ATTEMPTS_MAX", 2)
    street = STREETS[name]()
    bound = FOREIGN_BYTES_MAX if foreign else ANSWER_BYTES_MAX
    found, peak = ask(street, foreign=foreign, method=method)
    assert isinstance(found, NoAnswer)  # of a write nobody knows whether it was carried out
    again = method == "GET" and name == "not gzip"  # else it would not help
    assert street.asked == 1 + again
    assert street.sent < bound + 8 * MIB
    assert peak < 3 * bound + len(street.answer) + 16 * MIB


@pytest.mark.parametrize("foreign", [True, False])
def test_an_answer_within_the_bound_is_read(foreign: bool) -> None:
    most = FOREIGN_BYTES_MAX if foreign else ANSWER_BYTES_MAX
    text, value = b'["' + b"x" * (most - 4) + b'"]', ["x" * (most - 4)]
    assert ask(Street(plain(text)), foreign=foreign)[0].body == value
    packed = gzip.compress(text)
    head = JSON_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert ask(Street(head + packed), foreign=foreign)[0].body == value


def with_url(url: Any) -> list[Any]:
    return [{**CATALOG[0], "endpoints": [{**CATALOG[0]["endpoints"][0], "url": url}]}]


@pytest.mark.parametrize(
    "token",
    [
        *({**TOKEN, "catalog": with_url(url)} for url in (
            "http://127.0.0.1:99999/x", "http://127.0.0.1:x/", "http://[::1/", "", "file:///etc/passwd",
            "http://", 7, None, {"a": 1},
        )),
        *({**TOKEN, "catalog": catalog} for catalog in
          (7, "x", [7], [{"type": 7}], {"a": 1}, None)),
        *({**TOKEN, key: value} for key in TOKEN for value in (None, 7, [], "x", [7])),
        *({k: v for k, v in TOKEN.items() if k != key} for key in TOKEN),
        None, 7, [], "x", {},
    ],
)  # fmt: skip
@pytest.mark.parametrize("foreign", [True, False])
def test_whatever_keystone_says_the_cloud_is_at_fault(
    token: Any, foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "ATTEMPTS_MAX", 1)
    found, _ = ask(Street(plain(b"{}"), token=token), foreign=foreign)
    assert isinstance(found, CloudFault) or found.body == {}


def test_an_answer_of_keystone_has_a_bound() -> None:
    token = {**TOKEN, "more": "x" * 5 * MIB}
    found, peak = ask(Street(plain(b"{}"), token=token), foreign=True)
    assert isinstance(found, CloudFault)
    assert peak < 64 * MIB


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (rb'["a\ud800b"]', ["a\ufffdb"]),
        (rb'{"\udc00": "a\u0000b"}', {"\ufffd": "a\ufffdb"}),
        (rb'["\ud83d\ude00", "\\u0000"]', ["\U0001f600", "\\u0000"]),
        (b'[NaN, -Infinity, 1e400, 1.5, "\xc3\xa9"]', [None, None, None, 1.5, "\u00e9"]),
        (b'["\xff"]', '["\ufffd"]'),
        (b"a\0\xff", "a\ufffd\ufffd"),
    ],
)
def test_an_answer_holds_nothing_that_a_database_refuses(raw: bytes, found: Any) -> None:
    assert parsed(raw, "application/json") == found
    assert storable(found) == found
    json.dumps(found, ensure_ascii=False).encode()

"""Connections of clients that dawdle, repeat themselves, or never end."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from hearth.api.application import Application
from hearth.cli.serve import tell_of_readable
from hearth.process.http import connection, doorman
from hearth.process.http.served import server
from hearth.process.lifetime import Seldom

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
GET = HEAD + b"\r\n"
POST = b"POST /read HTTP/1.1\r\nHost: x\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body under /read only; under /broken it raises after its answer."""
    if scope["path"] == "/read":
        while (await receive()).get("more_body"):
            pass
    status = 500 if scope["path"] == "/broken" else 200
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})
    if status == 500:
        raise RuntimeError("as the framework does once more")


Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def unexpected(request: Request, problem: Exception) -> Response:
    return Response(status_code=500)


@asynccontextmanager
async def serving(app: Any = app) -> AsyncIterator[Dial]:
    import socket

    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen(64)
    one = server(Application([Mount("", app)], {Exception: unexpected}))
    task = asyncio.ensure_future(one.serve(sockets=[bound]))
    while not one.started:
        await asyncio.sleep(0.005)
    writers = []

    async def dial() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        writers.append(writer)
        return reader, writer

    try:
        yield dial
    finally:
        for writer in writers:
            writer.transport.abort()
        one.should_exit = True
        await task
        await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_S", "BODY_PAUSE_S", "DRAINED_S"):
        monkeypatch.setattr(connection, name, 0.3)
    monkeypatch.setattr(connection, "BODY_TOTAL_S", 1.0)


async def ended(reader: asyncio.StreamReader) -> tuple[float, bytes]:
    """When the connection ended, and what came before."""
    begun, got = time.monotonic(), b""
    try:
        async with asyncio.timeout(5):
            while data := await reader.read(65536):
                got += data
    except ConnectionError:
        pass
    return time.monotonic() - begun, got


@pytest.mark.parametrize(
    "sent", [b"", b"G", HEAD, HEAD + b"X-a: ", POST + b"Content-Length: 9\r\n\r\nx", GET + HEAD]
)
def test_who_never_ends_a_head_or_a_body_is_let_go(sent: bytes) -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(sent)
            took, _ = await ended(reader)
            assert 0.1 < took < 1.5

    asyncio.run(story())


@pytest.mark.parametrize(
    ("first", "drop"),
    [(HEAD, b"X-a: b\r\n"), (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")],
)
def test_who_sends_by_drops_is_let_go(first: bytes, drop: bytes) -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(first)
            begun = time.monotonic()
            ending = asyncio.ensure_future(ended(reader))
            while not ending.done() and time.monotonic() - begun < 4:
                writer.write(drop)
                await asyncio.sleep(0.05)
            assert time.monotonic() - begun < 2
            await ending

    asyncio.run(story())


def test_requests_that_come_whole_have_all_their_time_between() -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            for request in (GET, POST + b"Content-Length: 2\r\n\r\nab", GET):
                writer.write(request)
                assert b"200 OK" in await reader.readuntil(b"ok")
                await asyncio.sleep(0.5)
            writer.write(GET + GET)
            assert b"200 OK" in await reader.readuntil(b"ok")
            assert b"200 OK" in await reader.readuntil(b"ok")

    asyncio.run(story())


def test_a_body_that_nobody_reads_is_not_read_to_its_end() -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"ok")
            sent = 0
            try:
                async with asyncio.timeout(5):
                    while True:
                        writer.write(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
                        await writer.drain()
                        sent += 0x8000
                        await asyncio.sleep(0)
            except ConnectionError:
                pass
            assert sent < 8 * 1024 * 1024

    asyncio.run(story())


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n" + GET,
        POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc" + GET,
        POST + b"Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n" + GET,
        POST + b"Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n" + GET,
        POST + b"Content-Length: +2\r\n\r\nab" + GET,
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost: x\nX-a: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n X-a: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-a: b\x00c\r\n\r\n",
    ],
)
def test_a_request_that_parsers_read_differently_is_refused(sent: bytes) -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(sent)
            took, got = await ended(reader)
            assert took < 1
            assert got.count(b"200 OK") == 0

    asyncio.run(story())


SEVERAL = [
    (GET, b"200 OK"),
    (POST + b"Content-Length: 5\r\n\r\nhello", b"200 OK"),
    (POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-t: 1\r\n\r\n", b"200 OK"),
    (b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n", b"500 "),
    (HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab", b"200 OK"),
]


@pytest.mark.parametrize("seed", range(12))
def test_requests_are_answered_in_order_however_they_are_cut(seed: int) -> None:
    chance = random.Random(seed)
    chosen = chance.choices(SEVERAL, k=chance.randint(1, 12))
    stream = b"".join(sent for sent, _ in chosen)
    cuts = sorted({0, len(stream), *(chance.randrange(len(stream)) for _ in range(seed * 4))})

    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            for begin, end in pairwise(cuts):
                writer.write(stream[begin:end])
                await asyncio.sleep(0.002)
            for _, expected in chosen:
                answer = await asyncio.wait_for(reader.readuntil(b"ok"), 2)
                assert expected in answer.partition(b"\r\n")[0]

    asyncio.run(story())


LONG = b"x" * 20_000
PIECES = 10_000


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (HEAD + b"X-a: ", LONG),
        (HEAD, b"X-a: " + LONG[:1000] + b"\r\n"),
        (b"GET /", LONG),
        (b"", LONG.replace(b"x", b"\r\n")),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-a: ", LONG),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-a: " + LONG[:1000] + b"\r\n"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", LONG),
    ],
    ids=["header", "headers", "address", "empty lines", "trailer", "trailers", "extension"],
)
def test_what_never_becomes_a_request_is_bounded(first: bytes, piece: bytes) -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(first)
            sent = 0
            try:
                async with asyncio.timeout(5):
                    for _ in range(PIECES):
                        writer.write(piece)
                        await writer.drain()
                        sent += len(piece)
                        await asyncio.sleep(0)
            except ConnectionError:
                pass
            assert sent < 8 * 1024 * 1024
            assert (await ended(reader))[0] < 1.5

    asyncio.run(story())


def test_headers_after_a_body_are_no_headers_of_the_request() -> None:
    seen = []

    async def nosy(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.extend(name for name, _ in scope["headers"])
        await app(scope, receive, send)

    async def story() -> None:
        async with serving(nosy) as dial:
            reader, writer = await dial()
            writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
            await asyncio.sleep(0.05)
            writer.write(b"X-Forwarded-For: 10.0.0.1\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"ok")

    asyncio.run(story())
    assert seen == [b"host", b"transfer-encoding"]


def test_a_protocol_that_is_not_known_is_not_spoken() -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
            answer = await reader.readuntil(b"ok")
            assert answer.startswith(b"HTTP/1.1 200 OK")
            writer.write(GET)  # the connection may have ended, but the answer is never another
            _, more = await ended(reader)
            assert more == b"" or more.startswith(b"HTTP/1.1 200 OK")

    asyncio.run(story())


def test_who_waits_for_an_answer_may_have_begun_the_next_request() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await app(scope, receive, send)

    async def story() -> None:
        async with serving(slow) as dial:
            reader, writer = await dial()
            writer.write(GET + GET[:20])
            assert b"200 OK" in await reader.readuntil(b"ok")
            writer.write(GET[20:])
            assert b"200 OK" in await reader.readuntil(b"ok")
            writer.write(b"\r\n")  # as some clients do after a body
            await asyncio.sleep(0.05)
            writer.write(GET)
            assert b"200 OK" in await reader.readuntil(b"ok")
            writer.write(b"\r\n")
            assert (await ended(reader))[0] < 1.5

    asyncio.run(story())


def test_an_answered_error_leaves_the_connection() -> None:
    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(b"GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"500" in await reader.readuntil(b"ok")
            writer.write(GET)
            assert b"200 OK" in await reader.readuntil(b"ok")

    asyncio.run(story())


def test_the_oldest_that_never_asked_gives_way_and_it_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hearth.process.http.served.CONNECTIONS_MAX", 16)

    async def story() -> None:
        async with serving() as dial:
            reader, writer = await dial()
            writer.write(GET)
            assert b"200 OK" in await reader.readuntil(b"ok")
            mine = [await dial() for _ in range(12)]
            await asyncio.sleep(0.05)
            closed = [one.at_eof() or one.exception() is not None for one, _ in mine]
            assert closed == [True] * 9 + [False] * 3  # a quarter for one address, with the first
            writer.write(GET)
            assert b"200 OK" in await reader.readuntil(b"ok")

    asyncio.run(story())
    assert len([r for r in caplog.records if "connections too many" in r.message]) == 1


def test_who_waits_for_an_answer_does_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.process.http.served.CONNECTIONS_MAX", 16)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await app(scope, receive, send)

    async def story() -> None:
        async with serving(slow) as dial:
            mine = [await dial() for _ in range(4)]
            for _, writer in mine:
                writer.write(GET)
            await asyncio.sleep(0.05)
            late, _ = await dial()
            assert (await ended(late))[0] < 0.15
            for reader, _ in mine:
                assert b"200 OK" in await reader.readuntil(b"ok")
            newcomer, writer = await dial()  # in the place of one that is idle now
            writer.write(GET)
            assert b"200 OK" in await newcomer.readuntil(b"ok")

    asyncio.run(story())


MIB = 1024 * 1024


async def large(scope: Any, receive: Any, send: Any) -> None:
    size = int(scope["path"].strip("/") or 1) * MIB
    headers = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(size)})


def test_who_does_not_read_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorman, "STALLED_S", 1.0)

    async def story() -> None:
        async with serving(large) as dial:
            slow, slowly = await dial()
            slowly.write(b"GET /16 HTTP/1.1\r\nHost: x\r\n\r\n")
            deaf, mute = await dial()
            mute.write(b"GET /16 HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.05)
            mute.transport.pause_reading()  # type: ignore[attr-defined]
            got = 0
            for _ in range(60):  # it takes three times the deadline
                got += len(await slow.read(MIB // 2))
                await asyncio.sleep(0.05)
            while piece := await slow.read(MIB):
                got += len(piece)
                if got > 16 * MIB:  # with the head
                    break
            assert got > 16 * MIB
            mute.transport.resume_reading()  # type: ignore[attr-defined]
            assert len((await ended(deaf))[1]) < 16 * MIB

    asyncio.run(story())


def test_what_nobody_reads_is_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorman, "UNSENT_MAX", 40 * MIB)

    async def story() -> None:
        async with serving(large) as dial:
            readers = []
            for size in (8, 32, 16):
                reader, writer = await dial()
                writer.write(b"GET /%d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % size)
                await asyncio.sleep(0.05)
                readers.append(reader)
            sizes = [len((await ended(reader))[1]) // MIB for reader in readers]
            assert sizes[0] == 8
            assert sizes[1] < 32
            assert sizes[2] == 16

    asyncio.run(story())


def test_a_readable_configuration_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, mode in (("open.conf", 0o644), ("kept.conf", 0o640)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    tell_of_readable([str(tmp_path / "open.conf"), str(tmp_path / "kept.conf")])
    assert [r.getMessage() for r in caplog.records] == [
        f"all users of this machine can read {tmp_path / 'open.conf'}, which contains keys"
    ]


def test_what_the_loop_cannot_accept_is_told_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.new_event_loop()
    seldom = Seldom()
    failure = {"message": "socket.accept() out of system resource", "exception": OSError(24, "x")}
    for _ in range(1000):
        seldom(loop, failure)
    seldom(loop, {"message": "something else"})
    loop.close()
    assert len(caplog.records) == 2

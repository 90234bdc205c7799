"""A connection that reads polls itself responds exactly as an HTTP connection does."""

import asyncio
import contextlib
import re
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.process.http import connection, polled
from hearth.process.http.connection import HEAD_BYTES
from hearth.process.http.polled import poll_in
from hearth.process.http.served import server
from tests.process.http.test_connection import Dial, serving

METADATA = b"/v1/p/stacks/web/s/resources/server/metadata"
SIGNED = b"/v1/?Action=DescribeStackResource&StackName=web"


def body_of(scope: dict[str, Any]) -> bytes:
    """What a request said, as it was understood."""
    shown = [scope[key] for key in ("method", "path", "raw_path", "query_string", "headers")]
    return repr(shown).encode()


async def app(scope: Any, receive: Any, send: Any) -> None:
    while (message := await receive()).get("more_body"):
        pass
    body = body_of(scope) + message.get("body", b"")
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def answered(dial: Dial, parts: list[bytes]) -> bytes:
    """All answers to a stream that is sent in parts, without their dates."""
    reader, writer = await dial()
    got = b""
    for part in (*parts, head(b"/last", b"Connection: close")):
        if reader.at_eof():  # what is sent to a closed connection loses the answer before it
            break
        writer.write(part)
        await asyncio.sleep(0.02)
    with contextlib.suppress(ConnectionError):
        while more := await reader.read(65536):
            got += more
    return re.sub(rb"date: [^\r]*\r\n", b"", got)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that never ends does not take long."""
    for name in ("HEAD_S", "BODY_PAUSE_S", "DRAINED_S"):
        monkeypatch.setattr(connection, name, 0.3)


def both(parts: list[bytes]) -> tuple[bytes, bytes, int]:
    """The answers with and without the reading of polls, and how many polls were read."""
    read: list[polled._Exchange] = []

    class Noted(polled._Exchange):
        def __init__(self) -> None:
            super().__init__()
            read.append(self)

    async def story() -> bytes:
        async with serving(app) as dial:
            return await answered(dial, parts)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(polled, "_Exchange", Noted)
        quick = asyncio.run(story())
        patched.setattr(polled, "POLL", re.compile(b"(?!)"))
        return quick, asyncio.run(story()), len(read)


def head(target: bytes, *lines: bytes, version: bytes = b"1.1", method: bytes = b"GET") -> bytes:
    said = (b"%s %s HTTP/%s" % (method, target, version), b"Host: x", *lines, b"", b"")
    return b"\r\n".join(said)


@pytest.mark.parametrize(
    ("parts", "polls"),
    [
        ([head(METADATA)], 1),
        ([head(SIGNED)], 1),
        ([head(SIGNED), head(METADATA), head(SIGNED)], 3),
        ([head(METADATA, version=b"1.0")], 1),
        ([head(METADATA, b"Connection: close")], 1),
        ([head(METADATA, b"Connection: Keep-Alive", b"X-Auth-Token:  t ")], 1),
        ([head(METADATA.replace(b"web", b"w%C3%A9b"))], 1),
        ([head(METADATA + b"?other")], 0),
        ([head(METADATA + b"?other", b"Connection: close"), head(SIGNED)], 0),
        ([head(SIGNED + b"&x=%00")], 1),
        ([head(METADATA) + head(METADATA)], 0),
        ([head(METADATA)[:-2], b"\r\n"], 0),
        ([head(METADATA, method=b"HEAD")], 0),
        ([head(METADATA, b"Connection: upgrade", b"Upgrade: x")], 0),
        ([head(METADATA, b"Content-Length: 3") + b"abc"], 0),
        ([head(METADATA, b"Content-Length: 3"), b"abc"], 0),
        ([head(METADATA, b"Transfer-Encoding: chunked"), b"0\r\n\r\n"], 0),
        ([head(METADATA, b"Host: y")], 0),
        ([head(METADATA, b" folded: z")], 0),
        ([head(METADATA, b"A: caf\xe9")], 0),
        ([head(b"http://x" + METADATA)], 0),
        ([head(METADATA + b"#part")], 0),
        ([head(b"/v1/stacks")], 0),
        ([head(METADATA, b"Expect: 100-continue")], 0),
    ],
    ids=lambda one: str(one)[:70],
)
def test_each_form_of_a_poll(parts: list[bytes], polls: int) -> None:
    quick, plain, found = both(parts)
    assert quick == plain
    assert found == polls


LINES = st.sampled_from(
    (b"Accept: */*", b"X-Auth-Token: t", b"Connection: close", b"Connection: keep-alive",
     b"Content-Length: 0", b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Host: other",
     b"X:\ty", b"X : y", b": y", b"Upgrade: x", b"Expect: 100-continue", b"\x00: y", b"X: \x7f")
)  # fmt: skip
TARGETS = st.sampled_from((METADATA, SIGNED, METADATA + b"?other", b"/v1/?a=%20", b"/v1/other"))
ENDS = st.sampled_from((b"", b"ab", b"\r\n", b"0\r\n\r\n", b"\n"))


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    whole = b""
    for _ in range(draw(st.integers(1, 4))):
        version, method = draw(st.sampled_from((b"1.1", b"1.0", b"1.2"))), draw(METHODS)
        lines = draw(st.lists(LINES, max_size=3))
        whole += head(draw(TARGETS), *lines, version=version, method=method) + draw(ENDS)
    cuts = sorted(draw(st.sets(st.integers(1, len(whole)), max_size=3)))
    # most often between two heads, where a client cuts
    if draw(st.booleans()):
        return [part for part in re.split(rb"(?<=\r\n\r\n)(?=[A-Z])", whole) if part]
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b]


METHODS = st.sampled_from((b"GET", b"GET", b"GET", b"PUT"))


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(streams())
def test_any_stream(parts: list[bytes]) -> None:
    quick, plain, _ = both(parts)
    assert quick == plain


def test_a_head_that_is_too_long_is_left_to_the_parser() -> None:
    assert poll_in(head(METADATA, b"X: " + b"y" * HEAD_BYTES)) is None
    assert poll_in(head(METADATA, b"X: " + b"y" * 1000)) is not None


def test_the_application_learns_of_a_client_that_leaves_and_a_stop_waits_for_the_answer() -> None:
    begun, messages = asyncio.Event(), []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        begun.set()
        if scope["query_string"]:
            await asyncio.sleep(0.1)
        else:
            messages.append(await receive())
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b"n", "more_body": True})
        await send({"type": "http.response.body", "body": b"o"})

    async def story() -> bytes:
        bound = socket.create_server(("127.0.0.1", 0))
        one = server(slow)
        serving = asyncio.ensure_future(one.serve(sockets=[bound]))
        while not one.started:
            await asyncio.sleep(0.005)
        _, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(head(METADATA))
        await begun.wait()
        writer.transport.abort()
        begun.clear()
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(head(SIGNED))
        await begun.wait()
        one.should_exit = True
        got = await reader.read()
        await serving
        writer.close()
        return got

    got = asyncio.run(story())
    assert got.startswith(b"HTTP/1.1 403 ")
    assert got.endswith(b"content-length: 2\r\nconnection: close\r\n\r\nno")
    assert messages == [{"type": "http.disconnect"}]

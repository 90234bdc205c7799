"""Known answers: a connection with a shortcut answers exactly as one without."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.process.http import connection
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


class Shortcut:
    """Knows the answers to polls whose path or query does not say that it is unknown."""

    def __init__(self) -> None:
        self.found = 0

    def __call__(self, scope: dict[str, Any]) -> Awaitable[Any] | None:
        return None if b"never" in scope["raw_path"] else self._find(scope)

    async def _find(self, scope: dict[str, Any]) -> Any:
        await asyncio.sleep(0.001)
        if b"unknown" in scope["raw_path"] + scope["query_string"]:
            return None
        self.found += 1
        body = body_of(scope)
        return [(b"content-length", str(len(body)).encode())], body


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
    """The answers with a shortcut and without, and how many were known."""

    async def story() -> tuple[bytes, bytes, int]:
        shortcut = Shortcut()
        async with serving(app, shortcut) as quick, serving(app) as plain:
            return await answered(quick, parts), await answered(plain, parts), shortcut.found

    return asyncio.run(story())


def head(target: bytes, *lines: bytes, version: bytes = b"1.1", method: bytes = b"GET") -> bytes:
    said = (b"%s %s HTTP/%s" % (method, target, version), b"Host: x", *lines, b"", b"")
    return b"\r\n".join(said)


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ([head(METADATA)], 1),
        ([head(SIGNED)], 1),
        ([head(SIGNED), head(METADATA), head(SIGNED)], 3),
        ([head(METADATA, version=b"1.0")], 1),
        ([head(METADATA, b"Connection: close")], 1),
        ([head(METADATA, b"Connection: Keep-Alive", b"X-Auth-Token:  t ")], 1),
        ([head(METADATA.replace(b"web", b"w%C3%A9b"))], 1),
        ([head(METADATA + b"?unknown")], 0),
        ([head(METADATA + b"?unknown", b"Connection: close"), head(SIGNED)], 0),
        ([head(METADATA.replace(b"web", b"never"))], 0),
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
def test_each_form_of_a_poll(parts: list[bytes], known: int) -> None:
    quick, plain, found = both(parts)
    assert quick == plain
    assert found == known


LINES = st.sampled_from(
    (b"Accept: */*", b"X-Auth-Token: t", b"Connection: close", b"Connection: keep-alive",
     b"Content-Length: 0", b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Host: other",
     b"X:\ty", b"X : y", b": y", b"Upgrade: x", b"Expect: 100-continue", b"\x00: y", b"X: \x7f")
)  # fmt: skip
TARGETS = st.sampled_from((METADATA, SIGNED, METADATA + b"?unknown", b"/v1/?a=%20", b"/v1/never"))
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


def test_a_client_that_leaves_ends_the_search_and_a_stop_waits_for_the_answer() -> None:
    begun, cancelled = asyncio.Event(), []

    async def find(path: bytes) -> Any:
        begun.set()
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            cancelled.append(path)
            raise
        return [(b"content-length", b"2")], b"ok"

    async def story() -> bytes:
        bound = socket.create_server(("127.0.0.1", 0))
        one = server(app, lambda scope: find(scope["raw_path"]))
        serving = asyncio.ensure_future(one.serve(sockets=[bound]))
        while not one.started:
            await asyncio.sleep(0.005)
        _, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(head(METADATA))
        await begun.wait()
        writer.transport.abort()
        await asyncio.sleep(0.02)
        begun.clear()
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(head(SIGNED))
        await begun.wait()
        one.should_exit = True
        got = await reader.read()
        await serving
        writer.close()
        return got

    assert asyncio.run(story()).endswith(b"connection: close\r\n\r\nok")
    assert cancelled == [METADATA]

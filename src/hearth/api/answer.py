"""Responses of all APIs: JSON with a fast encoder, and long responses in pieces.

A response of more than PLAIN_MAX bytes is encoded and sent piece by piece. Between two pieces other
requests run, and the next piece is made when the client has taken the one before. So a long
response needs little memory, and nobody waits for it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
from starlette import responses
from starlette.types import Receive, Scope, Send

from hearth.engine.programs.compute.compute import Gone, departed

PLAIN_MAX = 256 * 1024
PIECE_BYTES = 64 * 1024
DEPTH_MAX = 3  # of the levels whose members are encoded one after the other
_ENCODER = msgspec.json.Encoder()


class InPieces(responses.Response):
    """A response whose body consists of pieces, of which the first may be all.

    `body` is the beginning, and `remainder` yields what follows; it is None if nothing follows.
    """

    remainder: Iterator[bytes] | None = None

    def __init__(
        self,
        pieces: Iterator[bytes],
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(self._begin(pieces), status_code, headers, media_type)
        if self.remainder is not None:
            raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]
            self.raw_headers = raw_headers

    def _begin(self, pieces: Iterator[bytes]) -> bytes:
        """Return the beginning of the body, which is all of it if it is short."""
        first_pieces, size = [], 0
        for piece in pieces:
            first_pieces.append(piece)
            size += len(piece)
            if size > PLAIN_MAX:
                self.remainder = pieces
                break
        return b"".join(first_pieces)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response. Raises Gone if the client disconnects before its end."""
        if self.remainder is None:
            await super().__call__(scope, receive, send)
            return
        await _send_pieces(self, send, _batched(bytes(self.body), self.remainder))


class JSONResponse(InPieces):
    """A JSON response with a fast encoder, because lists of stacks, resources and events are
    long.
    """

    media_type = "application/json"

    def __init__(
        self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(json_pieces(content), status_code, headers)


def json_pieces(value: Any, depth: int = 0) -> Iterator[bytes]:
    """Yield the JSON text of a value in pieces."""
    if depth < DEPTH_MAX and type(value) is dict and all(type(key) is str for key in value):
        before = b"{"
        for key, inner in value.items():
            yield before + _encoded(key) + b":"
            yield from json_pieces(inner, depth + 1)
            before = b","
        yield b"}" if value else b"{}"
    elif depth < DEPTH_MAX and type(value) is list and len(value) > 1:
        yield from _of_list(value)
    else:
        yield _encoded(value)


def _of_list(value: list[Any]) -> Iterator[bytes]:
    """Yield the JSON text of a list; as many elements at once as may be a piece together."""
    before, begin, count = b"[", 0, 1
    while begin < len(value):
        text = _encoded(value[begin : begin + count])[1:-1]
        yield before + text
        before, begin = b",", begin + count
        count = max(1, min(2 * count, count * PIECE_BYTES // (len(text) + 1)))
    yield b"]"


def _encoded(value: Any) -> bytes:
    """Return the JSON text of a value.

    Integers of more than 64 bits, and text values with their position in a template, need a slower
    encoder.
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, OverflowError):
        return bytes(responses.JSONResponse(value).body)


async def _batched(begin: bytes, remainder: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield pieces of at least PIECE_BYTES, and let others run between them."""
    yield begin
    batch, size = [], 0
    for piece in remainder:
        batch.append(piece)
        size += len(piece)
        if size >= PIECE_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
            await asyncio.sleep(0)
    yield b"".join(batch)


async def _send_pieces(
    answer: responses.Response, send: Send, pieces: AsyncIterator[bytes]
) -> None:
    departure = departed.get()
    headers = answer.raw_headers
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    async for piece in pieces:
        if departure is not None and departure.done():
            raise Gone
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def listing(name: str, parts: AsyncIterator[list[Any]]) -> responses.Response:
    """Return the response {name: [all elements of the parts]}.

    If there are several parts, each is read only when the client has received the one before, so a
    long list needs little memory. An error in the first part is raised; after a later one, the
    connection ends before the response does.
    """
    first: list[Any] = await anext(parts, [])
    second = await anext(parts, None)
    if second is None:
        return JSONResponse({name: first})

    async def text() -> AsyncIterator[bytes]:
        yield b'{"%s":[' % name.encode()
        before = b""
        part: list[Any] | None = [*first, *second]
        while part is not None:
            if part:
                yield before + _encoded(part)[1:-1]
                before = b","
            part = await anext(parts, None)
        yield b"]}"

    return Streamed(text())


class Streamed(responses.Response):
    """A JSON response whose pieces are read one after the other."""

    media_type = "application/json"

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.status_code = 200
        self.pieces = pieces
        self.init_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response. Raises Gone if the client disconnects before its end."""
        await _send_pieces(self, send, self.pieces)

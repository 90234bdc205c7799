"""JSON responses of all APIs, with a fast encoder."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette import responses

_ENCODER = msgspec.json.Encoder()


class JSONResponse(responses.JSONResponse):
    """A JSON response with a fast encoder, because lists of stacks, resources and events are
    long.
    """

    def render(self, content: Any) -> bytes:
        """Return the body of the response.

        Integers of more than 64 bits, and text values with their position in a template, need a
        slower encoder.
        """
        try:
            return _ENCODER.encode(content)
        except (TypeError, OverflowError):
            return super().render(content)


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
                yield before + _inner(part)
                before = b","
            part = await anext(parts, None)
        yield b"]}"

    return responses.StreamingResponse(text(), media_type="application/json")


def _inner(elements: list[Any]) -> bytes:
    """Return the JSON text of a list without its brackets."""
    return bytes(JSONResponse(elements).body)[1:-1]

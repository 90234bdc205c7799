"""Reading request and response bodies up to a maximum length."""

from aiohttp import StreamReader


async def read_up_to(content: StreamReader, limit: int) -> bytes:
    """Read a body to its end, or its first `limit` bytes, and return it.

    A single `read` of aiohttp may return only a part of the body.
    """
    body = b""
    while len(body) < limit and (chunk := await content.read(limit - len(body))):
        body += chunk
    return body

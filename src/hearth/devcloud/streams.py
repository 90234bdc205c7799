"""Reading of request and answer bodies up to a maximum length."""

from aiohttp import StreamReader


async def read_up_to(content: StreamReader, limit: int) -> bytes:
    """Return a body, or its first `limit` bytes.

    One call of aiohttp's `read` returns only what has arrived so far.
    """
    body = b""
    while len(body) < limit and (more := await content.read(limit - len(body))):
        body += more
    return body

"""HTTP answers, read within limits that apply after decompression.

The server may be broken, or a user may have named it. So no answer takes more memory than its
limit, and an unreadable answer is an error of that cloud.
"""

import json
import zlib
from time import monotonic
from typing import Any

import aiohttp
import msgspec
import requests
from keystoneauth1 import session as ka_session

ANSWER_BYTES_MAX = 16 * 1024 * 1024
FOREIGN_BYTES_MAX = 1024 * 1024
"""The maximum bytes of an answer of the configured cloud, and of a cloud that a user names."""

AUTH_BYTES_MAX = 4 * 1024 * 1024
"""The maximum bytes of an answer of Keystone about a token."""

AUTH_TOTAL_S = 60.0
"""The maximum seconds for an answer of Keystone about a token, even if data keeps arriving."""

CHUNK_BYTES = 64 * 1024

_decode = msgspec.json.Decoder().decode


class BadAnswer(ValueError):
    """An answer is too large or unreadable; the message gives the reason."""


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the decompressed body of an answer. Raises BadAnswer, aiohttp.ClientError.

    The session must not decompress by itself (`auto_decompress=False`): it would do so without a
    limit.
    """
    unpack = _unpacker(answer.headers.get("Content-Encoding", ""))
    raw = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        raw += chunk if unpack is None else _unpacked(unpack, chunk, most + 1 - len(raw))
        if len(raw) > most:
            raise BadAnswer(f"the answer has more than {most} bytes")
    return bytes(raw)


def _unpacker(encoding: str) -> Any:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    raise BadAnswer("the answer has an unknown compression")


def _unpacked(unpack: Any, chunk: bytes, most: int) -> bytes:
    try:
        found: bytes = unpack.decompress(unpack.unconsumed_tail + chunk, most)
    except zlib.error:
        raise BadAnswer("the answer is not compressed as its header says") from None
    if unpack.unconsumed_tail and len(found) < most:
        raise BadAnswer("the answer is not compressed as its header says")
    return found


def parsed(raw: bytes, content_type: str) -> Any:
    """Return the parsed JSON, or the text if it is not JSON; None if empty.

    Raises BadAnswer if nested too deep.
    """
    if not raw:
        return None
    if "json" in content_type:
        try:
            return _decode(raw)
        except msgspec.DecodeError:
            pass
        except RecursionError:
            raise BadAnswer("the answer is nested too deeply") from None
        try:  # less strict: it accepts NaN and half a surrogate pair
            return json.loads(raw)
        except ValueError:
            pass
        except RecursionError:
            raise BadAnswer("the answer is nested too deeply") from None
    return raw.decode("utf-8", "replace")


class BoundedAdapter(ka_session.TCPKeepAliveAdapter):  # type: ignore[misc]
    """Reads a whole answer for keystoneauth within limits, before it is used."""

    def send(self, request: Any, *rest: Any, **options: Any) -> Any:
        """Send a request as `requests` does. Raises requests.RequestException if the answer is too
        large.
        """
        request.headers["Accept-Encoding"] = "identity"
        answer = super().send(request, *rest, **{**options, "stream": True})
        ends, raw = monotonic() + AUTH_TOTAL_S, bytearray()
        try:
            for chunk in answer.iter_content(CHUNK_BYTES):
                raw += chunk
                if len(raw) > AUTH_BYTES_MAX:
                    words = f"{request.url}: the answer has more than {AUTH_BYTES_MAX} bytes"
                    raise requests.exceptions.ContentDecodingError(words)
                if monotonic() > ends:
                    words = f"{request.url}: the answer takes more than {AUTH_TOTAL_S:g} s"
                    raise requests.exceptions.ReadTimeout(words)
        except BaseException:
            answer.close()
            raise
        answer._content, answer._content_consumed = bytes(raw), True
        return answer


def bounded_session() -> requests.Session:
    """Return a session for keystoneauth with limited answers."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter())
    return session

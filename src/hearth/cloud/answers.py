"""What comes back over HTTP, read within bounds that count after decompression.

Whoever answers may be broken, or be somebody whom a user named: an answer never takes more memory
than its bound, and one that cannot be read is a fault of that cloud.
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
"""Bytes of one answer of our cloud, and of one that a user names."""

AUTH_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of an answer of Keystone about a token."""

AUTH_TOTAL_S = 60.0
"""How long such an answer may take, however steadily it comes."""

CHUNK_BYTES = 64 * 1024

_decode = msgspec.json.Decoder().decode


class BadAnswer(ValueError):
    """An answer that is too large, or no answer; the message says why."""


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer, decompressed. Raises BadAnswer, aiohttp.ClientError.

    The session must not decompress by itself (`auto_decompress=False`): it would do so before
    anything was counted.
    """
    unpack = _unpacker(answer.headers.get("Content-Encoding", ""))
    raw = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        raw += chunk if unpack is None else _unpacked(unpack, chunk, most + 1 - len(raw))
        if len(raw) > most:
            raise BadAnswer(f"it has more than {most} bytes")
    return bytes(raw)


def _unpacker(encoding: str) -> Any:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    raise BadAnswer("it is compressed in a way that was not asked for")


def _unpacked(unpack: Any, chunk: bytes, most: int) -> bytes:
    try:
        found: bytes = unpack.decompress(unpack.unconsumed_tail + chunk, most)
    except zlib.error:
        raise BadAnswer("it is not compressed as it says") from None
    if unpack.unconsumed_tail and len(found) < most:
        raise BadAnswer("it is not compressed as it says")
    return found


def parsed(raw: bytes, content_type: str) -> Any:
    """The value of JSON, else the text; None for nothing. Raises BadAnswer where it is too deep."""
    if not raw:
        return None
    if "json" in content_type:
        try:
            return _decode(raw)
        except msgspec.DecodeError:
            pass
        except RecursionError:
            raise BadAnswer("it is nested too deep") from None
        try:  # more forgiving: it takes NaN and half a surrogate pair
            return json.loads(raw)
        except ValueError:
            pass
        except RecursionError:
            raise BadAnswer("it is nested too deep") from None
    return raw.decode("utf-8", "replace")


class BoundedAdapter(ka_session.TCPKeepAliveAdapter):  # type: ignore[misc]
    """Reads an answer to keystoneauth whole, within bounds, before anybody looks at it."""

    def send(self, request: Any, *rest: Any, **options: Any) -> Any:
        """As `requests` has it. Raises requests.RequestException for one that is too large."""
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
    """A session for keystoneauth whose answers are bounded."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter())
    return session

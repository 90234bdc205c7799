"""Reading HTTP responses with limits on their size after decompression.

The server may be faulty, or malicious if a user named it. The limits prevent that a response
exhausts the memory. A response that is too large or unreadable is reported as an error of the
cloud.
"""

import json
import zlib
from http.cookiejar import DefaultCookiePolicy
from math import isfinite
from time import monotonic
from typing import Any

import aiohttp
import msgspec
import requests
from keystoneauth1 import session as ka_session

from hearth.model.collector import collector_paused

ANSWER_BYTES_MAX = 16 * 1024 * 1024
FOREIGN_BYTES_MAX = 1024 * 1024
"""The maximum size in bytes of a response from a cloud that a user names.

For the configured cloud, the limit is ANSWER_BYTES_MAX.
"""

AUTH_BYTES_MAX = 4 * 1024 * 1024
"""The maximum size in bytes of a response that keystoneauth reads from Keystone."""

AUTH_TOTAL_S = 60.0
"""The maximum duration in seconds of a response that keystoneauth reads, even if data keeps
arriving.
"""

CHUNK_BYTES = 64 * 1024

NUL_IN_JSON = rb"\u0000"

_decode = msgspec.json.Decoder().decode


class BadAnswer(ValueError):
    """A response is too large or unreadable; the message gives the reason."""


class Damaged(BadAnswer):
    """A response is damaged; another one may be readable."""


async def read_bounded(answer: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return the decompressed body of a response, of at most `max_bytes` bytes.

    The aiohttp session must have `auto_decompress=False`, because aiohttp would decompress without
    a limit. Raises BadAnswer or aiohttp.ClientError.
    """
    unpack = _unpacker(answer.headers.get("Content-Encoding", ""))
    raw = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        raw += chunk if unpack is None else _unpacked(unpack, chunk, max_bytes + 1 - len(raw))
        if len(raw) > max_bytes:
            raise BadAnswer(f"the response has more than {max_bytes} bytes")
    return bytes(raw)


def _unpacker(encoding: str) -> Any:
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    raise BadAnswer(f'the response has an unsupported Content-Encoding "{encoding[:40]}"')


def _unpacked(unpack: Any, chunk: bytes, max_bytes: int) -> bytes:
    try:
        unpacked: bytes = unpack.decompress(unpack.unconsumed_tail + chunk, max_bytes)
    except zlib.error:
        raise Damaged("the response body does not match its Content-Encoding") from None
    if unpack.unconsumed_tail and len(unpacked) < max_bytes:
        raise Damaged("the response body does not match its Content-Encoding")
    return unpacked


def parsed(raw: bytes, content_type: str) -> Any:
    """Return the body `raw` as parsed JSON, or as text if it is not JSON, or None if it is empty.

    The result is `storable`. Raises BadAnswer if the JSON is nested too deeply.
    """
    if not raw:
        return None
    if "json" in content_type:
        try:
            with collector_paused():
                return _from_json(raw)
        except ValueError:
            pass
        except RecursionError:
            raise BadAnswer("the JSON of the response is nested too deeply") from None
    return storable(raw.decode("utf-8", "replace"))


def _from_json(raw: bytes) -> Any:
    try:
        decoded = _decode(raw)
        return storable(decoded) if NUL_IN_JSON in raw else decoded
    except msgspec.DecodeError:  # json.loads is less strict
        return storable(json.loads(raw))


def storable(value: Any) -> Any:
    """Return a JSON value without what databases refuse: NUL and unpaired surrogates become
    U+FFFD, and numbers that are not finite become None.
    """
    match value:
        case str():
            text = value.replace("\0", "\ufffd")
            return text if text.isascii() else _paired(text)
        case float():
            return value if isfinite(value) else None
        case list():
            return [storable(inner) for inner in value]
        case dict():
            return {storable(key): storable(inner) for key, inner in value.items()}
    return value


def _paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class BoundedAdapter(ka_session.TCPKeepAliveAdapter):  # type: ignore[misc]
    """A `requests` adapter that reads each response completely, within limits of size and time."""

    def send(self, request: Any, *positional: Any, **options: Any) -> Any:
        """Send a request and return the response, whose body has been read.

        Raises requests.RequestException, also if the response is too large or takes too long.
        """
        request.headers["Accept-Encoding"] = "identity"
        answer = super().send(request, *positional, **{**options, "stream": True})
        ends, raw = monotonic() + AUTH_TOTAL_S, bytearray()
        try:
            for chunk in answer.iter_content(CHUNK_BYTES):
                raw += chunk
                if len(raw) > AUTH_BYTES_MAX:
                    message = f"{request.url}: the response has more than {AUTH_BYTES_MAX} bytes"
                    raise requests.exceptions.ContentDecodingError(message)
                if monotonic() > ends:
                    message = f"{request.url}: the response takes more than {AUTH_TOTAL_S:g} s"
                    raise requests.exceptions.ReadTimeout(message)
        except BaseException:
            answer.close()
            raise
        answer._content, answer._content_consumed = bytes(raw), True
        return answer


def bounded_session(connections: int = 1) -> requests.Session:
    """Return a `requests` session for keystoneauth that limits the size and the duration of
    responses.

    It keeps up to `connections` connections open, and no cookies, so several credentials and
    threads may share it.
    """
    session = requests.Session()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter(pool_maxsize=connections))
    return session

"""Downloads for image imports: from the web, or from a mirror inside the cloud.

The mirror contains the initial images of the cloud by name: `http://images.devcloud.test/cirros`.
This host name exists only for image imports.
"""

from __future__ import annotations

import urllib.request
from concurrent.futures import Future
from http.client import HTTPException
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

MIRROR = "images.devcloud.test"
LOOK_AGAIN_S = 0.1
TIMEOUT_S = 30
SIZE_MAX = 2**31  # bytes
_PORTS = (None, 80, 443)
_HERE = ("loopback", "localhost", "127.", "0.", "[::", "::1")


def allowed(uri: Any) -> bool:
    """Return whether an image may be imported from a URI.

    The scheme must be http or https, the port 80 or 443, and the host must not be this machine.
    """
    try:
        parts = urlsplit(uri if isinstance(uri, str) else "")
        port = parts.port
    except ValueError:
        return False
    host = parts.hostname or ""
    usual = parts.scheme in ("http", "https") and port in _PORTS
    return usual and bool(host) and not host.startswith(_HERE)


def mirrored(uri: str) -> str | None:
    """Return the name of the image if a URI refers to the mirror, or None."""
    parts = urlsplit(uri)
    return unquote(parts.path.strip("/")) if parts.hostname == MIRROR else None


def begin(uri: str) -> Future[bytes | None]:
    """Start a download in a thread; return a future. Its result is None if the download fails."""
    coming: Future[bytes | None] = Future()
    Thread(target=lambda: coming.set_result(download(uri)), daemon=True).start()
    return coming


def download(uri: str) -> bytes | None:
    """Download a URI and return its data, or None if that fails or the data is too large."""
    request = urllib.request.Request(uri)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
            data: bytes = answer.read(SIZE_MAX + 1)
    except (OSError, ValueError, HTTPException):
        return None
    return data if len(data) <= SIZE_MAX else None

"""Service catalogues, of which equal ones are kept once: every token of a project has the same.

A parsed catalogue takes some 45 kB, and a process may know thousands of tokens.
"""

import hashlib
import threading
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from hearth.model.cache import Cache

KEPT_MAX = 256


class Catalogues:
    """The catalogues that tokens have brought, at most KEPT_MAX different ones. Any thread may use
    it.
    """

    def __init__(self) -> None:
        self._cache = Cache[bytes, Any](KEPT_MAX)
        self._lock = threading.Lock()

    def share(self, info: Any) -> None:
        """Replace the catalogue of a new token, an AccessInfoV3 of keystoneauth1, by an equal one
        that is known.

        An unreadable endpoint of one service does not prevent that the others are read.
        """
        token = info._data["token"]
        if not token.get("catalog"):
            return
        key = hashlib.sha256(msgspec.json.encode(token["catalog"])).digest()
        with self._lock:
            if (cached := self._cache.get(key)) is not None:
                token["catalog"] = cached
            else:
                token["catalog"] = readable(token["catalog"])
                self._cache.keep(key, token["catalog"])


def readable(catalogue: Any) -> list[dict[str, Any]]:
    """Return a catalogue without services and endpoints that keystoneauth1 cannot read.

    An unreadable URL is percent-encoded instead, so that a call to its service fails and names it.
    """
    services = catalogue if isinstance(catalogue, list) else []
    return [
        {**service, "endpoints": _endpoints(service.get("endpoints"))}
        for service in services
        if isinstance(service, dict) and isinstance(service.get("type"), str)
    ]


def _endpoints(endpoints: Any) -> list[dict[str, Any]]:
    entries = endpoints if isinstance(endpoints, list) else []
    return [
        {**endpoint, "url": _url(endpoint["url"])}
        for endpoint in entries
        if isinstance(endpoint, dict) and isinstance(endpoint.get("url"), str)
    ]


def _url(text: str) -> str:
    try:
        urlsplit(text)
    except ValueError:
        return quote(text, safe=":/")
    return text

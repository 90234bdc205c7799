"""Service catalogues, of which equal ones are kept once: every token of a project has the same.

A parsed catalogue takes some 45 kB, and a process may know thousands of tokens.
"""

import hashlib
import threading
from typing import Any

import msgspec

from hearth.model.cache import Cache

KEPT_MAX = 256


class Catalogues:
    """The catalogues that tokens have brought, at most KEPT_MAX different ones. Any thread may use
    it.
    """

    def __init__(self) -> None:
        self._known = Cache[bytes, Any](KEPT_MAX)
        self._lock = threading.Lock()

    def share(self, info: Any) -> None:
        """Replace the catalogue of a new token, an AccessInfoV3 of keystoneauth1, by an equal one
        that is known.
        """
        token = info._data["token"]
        if not token.get("catalog"):
            return
        key = hashlib.sha256(msgspec.json.encode(token["catalog"])).digest()
        with self._lock:
            if (known := self._known.get(key)) is not None:
                token["catalog"] = known
            else:
                self._known.keep(key, token["catalog"])

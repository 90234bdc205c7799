"""The storage of a cluster's objects: etcd, or a dict in memory."""

from __future__ import annotations

import base64
import copy
import json
import ssl
import urllib.request
from typing import Any, Protocol

TIMEOUT_S = 10.0
OBJECTS_MAX = 2000  # in memory

Object = dict[str, Any]


class Full(OSError):
    """The storage has reached its maximum number of objects."""


class Storage(Protocol):
    """The interface of a storage of objects with keys such as `/registry/pods/default/web`.

    The storage sets the `resourceVersion` in the metadata of each object.
    """

    def under(self, prefix: str) -> list[Object]:
        """Return the objects whose keys begin with a prefix. Raises OSError."""

    def get(self, key: str) -> Object | None:
        """Return the object with a key, or None if it does not exist. Raises OSError."""

    def put(self, key: str, body: Object, revision: int) -> Object | None:
        """Store an object and return it, if its current resource version is `revision`.

        Otherwise return None. The revision 0 means that the object must not exist yet. Raises
        OSError.
        """

    def drop(self, key: str) -> bool:
        """Delete an object; return whether it existed. Raises OSError."""


class Etcd:
    """A Storage in etcd, which is accessed through its JSON gateway."""

    def __init__(self, url: str, context: ssl.SSLContext | None) -> None:
        self._url, self._context = url, context

    def call(self, path: str, body: Object) -> Object:
        """Send a call to etcd's JSON gateway; return the parsed response. Raises OSError."""
        request = urllib.request.Request(self._url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._context) as answer:
            document: Object = json.load(answer)
            return document

    def under(self, prefix: str) -> list[Object]:
        """Return the objects whose keys begin with a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.call("/v3/kv/range", {"key": _b64(prefix), "range_end": _b64(end)})
        return [_object(entry) for entry in answer.get("kvs", ())]

    def get(self, key: str) -> Object | None:
        """Return the object with a key, or None if it does not exist."""
        entries = self.call("/v3/kv/range", {"key": _b64(key)}).get("kvs")
        return _object(entries[0]) if entries else None

    def put(self, key: str, body: Object, revision: int) -> Object | None:
        """Store an object if its current resource version is `revision`; see `Storage.put`."""
        value = json.dumps(_without_version(body))
        compared = {
            "key": _b64(key),
            "target": "MOD",
            "result": "EQUAL",
            "mod_revision": str(revision),
        }
        put = {"request_put": {"key": _b64(key), "value": _b64(value)}}
        done = self.call("/v3/kv/txn", {"compare": [compared], "success": [put]})
        return self.get(key) if done.get("succeeded") else None

    def drop(self, key: str) -> bool:
        """Delete an object; return whether it existed."""
        return int(self.call("/v3/kv/deleterange", {"key": _b64(key)}).get("deleted", 0)) > 0


class Memory:
    """A Storage in the dict that is passed to the constructor."""

    def __init__(self, objects: dict[str, Object]) -> None:
        self._objects = objects

    def under(self, prefix: str) -> list[Object]:
        """Return the objects whose keys begin with a prefix."""
        bodies = (body for key, body in self._objects.items() if key.startswith(prefix))
        return [copy.deepcopy(body) for body in bodies]

    def get(self, key: str) -> Object | None:
        """Return the object with a key, or None if it does not exist."""
        return copy.deepcopy(self._objects.get(key))

    def put(self, key: str, body: Object, revision: int) -> Object | None:
        """Store an object if its current resource version is `revision`; see `Storage.put`.

        Raises Full if there are too many objects.
        """
        before = self._objects.get(key)
        if (0 if before is None else int(before["metadata"]["resourceVersion"])) != revision:
            return None
        if before is None and len(self._objects) >= OBJECTS_MAX:
            raise Full(f"a cluster has at most {OBJECTS_MAX} objects")
        after = copy.deepcopy(_without_version(body))
        versions = (
            int(stored_body["metadata"]["resourceVersion"])
            for stored_body in self._objects.values()
        )
        after["metadata"]["resourceVersion"] = str(max(versions, default=0) + 1)
        self._objects[key] = after
        return copy.deepcopy(after)

    def drop(self, key: str) -> bool:
        """Delete an object; return whether it existed."""
        return self._objects.pop(key, None) is not None


def _without_version(body: Object) -> Object:
    meta = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
    return {**body, "metadata": meta}


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _object(row: Object) -> Object:
    body: Object = json.loads(base64.b64decode(row["value"]))
    body["metadata"]["resourceVersion"] = str(row["mod_revision"])
    return body

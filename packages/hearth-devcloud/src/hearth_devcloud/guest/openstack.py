"""The OpenStack part of the metadata service: its files in each API version."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import msgspec

from hearth_devcloud.guest.network_data import network_data
from hearth_devcloud.guest.server import host_name, key_pair, user_data
from hearth_devcloud.guest.versions import reached
from hearth_devcloud.store import Body, Resource, Store

SEED_BYTES = 512
PASSWORD = "password"  # noqa: S105 - a name
PASSWORD_SINCE = "2013-04-04"  # noqa: S105


def files(store: Store, server: Resource, version: str) -> dict[str, Callable[[], bytes]]:
    """Return the files of an API version as {file name: function that returns the content}."""
    since: dict[str, tuple[str, Callable[[], bytes]]] = {
        "meta_data.json": ("", lambda: _json(meta_data(store, server, version))),
        PASSWORD: (PASSWORD_SINCE, lambda: str(server.hidden.get(PASSWORD, "")).encode()),
        "vendor_data.json": ("2013-10-17", lambda: b"{}"),
        "network_data.json": ("2015-10-15", lambda: _json(network_data(store, server))),
        "vendor_data2.json": ("2016-10-06", lambda: b'{"static": {}}'),
    }
    makers = {name: make for name, (first, make) in since.items() if reached(version, first)}
    text = user_data(server)
    if text is not None:
        makers["user_data"] = lambda: text
    return makers


def meta_data(store: Store, server: Resource, version: str) -> Body:
    """Return the content of `meta_data.json` for a server."""
    document: Body = {
        "uuid": server.id,
        "availability_zone": server.hidden["zone"],
        "hostname": host_name(server),
        "launch_index": 0,
        "name": server.body["name"],
    }
    if server.body["metadata"]:
        document["meta"] = server.body["metadata"]
    key = key_pair(store, server)
    if key is not None:
        document["public_keys"] = {key["name"]: key["public_key"]}
        if reached(version, "2013-10-17"):
            public_key = {"name": key["name"], "type": key["type"], "data": key["public_key"]}
            document["keys"] = [public_key]
    if reached(version, "2013-10-17"):
        document["random_seed"] = _seed(server)
    if reached(version, "2015-10-15"):
        document["project_id"] = server.project_id
    if reached(version, "2016-06-30"):
        document["devices"] = _devices(server)
    if reached(version, "2020-10-14"):
        document["dedicated_cpus"] = []
    return document


def _devices(server: Resource) -> list[Body]:
    """Return the entries in `devices` for the volumes of a server that have a tag."""
    return [
        {"type": "disk", "bus": "virtio", "path": item["device"], "tags": [item["tag"]]}
        for item in server.hidden["volumes"]
        if item["tag"]
    ]


def _seed(server: Resource) -> str:
    seed = hashlib.shake_256(server.id.encode()).digest(SEED_BYTES)
    return base64.b64encode(seed).decode()


def _json(body: Body) -> bytes:
    return msgspec.json.encode(body)

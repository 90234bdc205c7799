"""The EC2-compatible part of the metadata service, as a tree of folders and files."""

from __future__ import annotations

import hashlib

from hearth_devcloud.guest.server import (
    address,
    floating_address,
    host_name,
    key_pair,
    security_groups,
    user_data,
)
from hearth_devcloud.guest.versions import reached
from hearth_devcloud.store import Body, Resource, Store

Tree = dict[str, "Tree | str | bytes"]


def tree(store: Store, server: Resource, version: str) -> Tree:
    """Return the tree below an API version: maps are folders, text and bytes are files."""
    folders: Tree = {"meta-data": meta_data(store, server, version)}
    text = user_data(server)
    if text is not None:
        folders["user-data"] = text
    return folders


def meta_data(store: Store, server: Resource, version: str) -> Tree:
    """Return the folder `meta-data` of a server as a tree."""
    name = host_name(server)
    entries: Tree = {
        "ami-id": _short_id("ami", server.hidden["image_id"]),
        "ami-launch-index": "0",
        "ami-manifest-path": "FIXME",
        "hostname": name,
        "instance-id": f"i-{server.hidden['serial']:08x}",
        "public-ipv4": floating_address(store, server),
        "reservation-id": server.hidden["reservation_id"],
        "security-groups": "\n".join(security_groups(store, server)),
    }
    key = key_pair(store, server)
    if key is not None:
        entries["public-keys"] = {"0": {"openssh-key": key["public_key"]}}
    if reached(version, "2007-01-19"):
        local = address(store, server)
        entries |= {"local-hostname": name, "public-hostname": name, "local-ipv4": local}
    if reached(version, "2007-08-29"):
        entries["instance-type"] = server.hidden["flavor"]["name"]
    if reached(version, "2007-12-15"):
        entries["block-device-mapping"] = _mapping(server)
    if reached(version, "2008-02-01"):
        entries["placement"] = {"availability-zone": server.hidden["zone"]}
    if reached(version, "2008-09-01"):
        entries["instance-action"] = "none"
    return entries


def key_listing(store: Store, server: Resource) -> str:
    """Return the listing of the folder `public-keys`, which has the form `0=NAME`."""
    key = key_pair(store, server)
    return f"0={key['name']}" if key is not None else ""


def document(store: Store, server: Resource) -> Body:
    """Return the content of the config drive's `ec2/latest/meta-data.json`."""
    metadata = meta_data(store, server, "latest")
    key = key_pair(store, server)
    if key is not None:
        metadata["public-keys"] = {
            "0": {"_name": f"0={key['name']}", "openssh-key": key["public_key"]}
        }
    return metadata


def _mapping(server: Resource) -> Tree:
    devices: Tree = {"ami": "vda", "root": "/dev/vda"}
    volumes = [item for item in server.hidden["volumes"] if not item["boot"]]
    return devices | {f"ebs{number}": item["device"] for number, item in enumerate(volumes)}


def _short_id(kind: str, long_id: str) -> str:
    return f"{kind}-{hashlib.sha256(long_id.encode()).hexdigest()[:8]}"

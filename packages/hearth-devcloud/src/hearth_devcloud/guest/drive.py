"""The files of the config drive, which have the content of the metadata service."""

from __future__ import annotations

import msgspec

from hearth_devcloud.guest import ec2, openstack, versions
from hearth_devcloud.guest.server import user_data
from hearth_devcloud.store import Resource, Store

LABEL = "config-2"


def files(store: Store, server: Resource) -> dict[str, bytes]:
    """Return the files of a server's config drive: their content by path."""
    contents: dict[str, bytes] = {}
    for version in (*versions.OPENSTACK, versions.LATEST):
        for name, make in openstack.files(store, server, version).items():
            if name != openstack.PASSWORD:  # guests only post it to the metadata service
                contents[f"openstack/{version}/{name}"] = make()
    text = user_data(server)
    for version in (versions.EC2[-1], versions.LATEST):
        contents[f"ec2/{version}/meta-data.json"] = msgspec.json.encode(ec2.document(store, server))
        if text is not None:
            contents[f"ec2/{version}/user-data"] = text
    return contents

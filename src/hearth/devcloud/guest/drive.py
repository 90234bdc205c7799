"""The config drive: the content of the metadata service as files."""

from __future__ import annotations

import msgspec

from hearth.devcloud.guest import ec2, openstack, versions
from hearth.devcloud.guest.server import user_data
from hearth.devcloud.store import Store, Thing

LABEL = "config-2"


def files(store: Store, server: Thing) -> dict[str, bytes]:
    """Return the content of each file by its path on the drive."""
    found: dict[str, bytes] = {}
    for version in (*versions.OPENSTACK, versions.LATEST):
        for name, make in openstack.files(store, server, version).items():
            if name != openstack.PASSWORD:  # asked for, never given out
                found[f"openstack/{version}/{name}"] = make()
    text = user_data(server)
    for version in (versions.EC2[-1], versions.LATEST):
        found[f"ec2/{version}/meta-data.json"] = msgspec.json.encode(ec2.document(store, server))
        if text is not None:
            found[f"ec2/{version}/user-data"] = text
    return found

"""Rules over several properties of a server.

A boot source is the image of the server, or a device that comes from a volume, a snapshot or an
image and is first in the boot order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hearth.model.unknown import Unknown
from hearth.schema import (
    Alone,
    AtLeastOne,
    AtMostOne,
    Each,
    Plain,
    Relation,
    Violation,
    given,
)

OLD_DEVICES, DEVICES = "block_device_mapping", "block_device_mapping_v2"
SOURCES = ("volume_id", "snapshot_id", "image")
EPHEMERAL = ("ephemeral_size", "ephemeral_format")


class OneBootSource(Struct, frozen=True):
    """The rule that a server has exactly one boot source.

    A device without a boot index becomes the boot device only if there is no other one.
    """

    def violations(self, properties: Mapping[str, Any]) -> Iterator[Violation]:
        """Yield the violations that are certain."""
        rows = properties.get(DEVICES)
        devices = _maps(rows)
        first = [at for at, device in devices if device.get("boot_index") == 0]
        for at in first[0 if given(properties, "image") else 1 :]:
            message = "another source is the first in the boot order"
            yield Violation((DEVICES, at, "boot_index"), message)
        has_other = any(given(properties, name) is not False for name in ("image", OLD_DEVICES))
        complete = isinstance(rows, list) and len(devices) == len(rows)
        if (
            complete
            and devices
            and not has_other
            and not any(_may_boot(device) for _, device in devices)
        ):
            yield Violation((), "an image or a bootable device is needed")

    def __str__(self) -> str:
        return "exactly one of the image and the devices is first in the boot order"


class OneAllocation(Struct, frozen=True):
    """The rule that an entry with allocate_network is the only entry of `networks`."""

    def violations(self, properties: Mapping[str, Any]) -> Iterator[Violation]:
        """Yield a violation for each such entry beside others."""
        rows = properties.get("networks")
        for at, entry in _maps(rows) if isinstance(rows, list) and len(rows) > 1 else []:
            if given(entry, "allocate_network"):
                message = "allocate_network excludes other entries"
                yield Violation(("networks", at), message)

    def __str__(self) -> str:
        return "networks: allocate_network excludes other entries"


class GroupsWithoutPorts(Struct, frozen=True):
    """The rule that security_groups is not given if an entry of `networks` has a port.

    The groups apply to ports that are created with the server, and a port has groups of its own.
    """

    def violations(self, properties: Mapping[str, Any]) -> Iterator[Violation]:
        """Yield a violation if the groups would apply to no port, or not to all."""
        ports = (given(entry, "port") for _, entry in _maps(properties.get("networks")))
        if given(properties, "security_groups") and any(ports):
            yield Violation((), str(self))

    def __str__(self) -> str:
        return "security_groups and a port in networks exclude each other"


def _maps(rows: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the maps in a list with their indexes."""
    items = rows if isinstance(rows, list) else []
    return [(at, entry) for at, entry in enumerate(items) if isinstance(entry, Mapping)]


def _may_boot(device: Mapping[str, Any]) -> bool:
    """Return whether a server may boot from a device, as far as its values are known."""
    index = device.get("boot_index")
    first = index in (None, 0) or isinstance(index, Unknown)
    return first and any(given(device, name) is not False for name in SOURCES)


RULES: tuple[Relation, ...] = (
    Plain(AtLeastOne("image", OLD_DEVICES, DEVICES)),
    AtMostOne(OLD_DEVICES, DEVICES),
    Each(
        OLD_DEVICES,
        Plain(AtLeastOne("volume_id", "snapshot_id")),
        AtMostOne("volume_id", "snapshot_id"),
    ),
    Each(
        DEVICES,
        Plain(AtLeastOne(*SOURCES, "swap_size", *EPHEMERAL)),
        *(AtMostOne(*SOURCES, "swap_size", name) for name in EPHEMERAL),
    ),
    OneBootSource(),
    Each(
        "networks",
        Plain(AtLeastOne("network", "port", "subnet", "allocate_network")),
        AtMostOne("fixed_ip", "port"),
        Alone("allocate_network"),
    ),
    OneAllocation(),
    GroupsWithoutPorts(),
)
"""The rules of OS::Nova::Server."""

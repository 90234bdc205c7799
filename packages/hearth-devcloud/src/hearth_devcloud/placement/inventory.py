"""The resource providers of Placement: the hypervisors of Nova. Nothing here is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hearth_devcloud import tables
from hearth_devcloud.http import Body
from hearth_devcloud.nova import hypervisors as nova
from hearth_devcloud.placement.base import Amounts
from hearth_devcloud.store import Resource, Store

DISABLED = "COMPUTE_STATUS_DISABLED"
TRAITS = (
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NODE",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "HW_CPU_X86_SSE2",
)
_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")


@dataclass(frozen=True)
class Inventory:
    """How much of a resource class a provider has. `ratio` is how often each piece is given."""

    total: int
    reserved: int
    ratio: float

    @property
    def capacity(self) -> int:
        """The amount that consumers can use together."""
        return int((self.total - self.reserved) * self.ratio)

    @property
    def view(self) -> Body:
        """The inventory in the format of the API."""
        return {
            "total": self.total,
            "reserved": self.reserved,
            "min_unit": 1,
            "max_unit": self.total,
            "step_size": 1,
            "allocation_ratio": self.ratio,
        }


INVENTORIES = {
    "VCPU": Inventory(nova.HOST_CPUS, 0, 4.0),
    "MEMORY_MB": Inventory(nova.HOST_RAM_MB, nova.RESERVED_RAM_MB, 1.0),
    "DISK_GB": Inventory(nova.HOST_DISK_GB, 0, 1.0),
}
"""What each hypervisor has, by resource class."""


@dataclass(frozen=True)
class Provider:
    """A hypervisor as a resource provider. `used` is what servers use, by resource class."""

    uuid: str
    name: str
    generation: int
    traits: tuple[str, ...]
    used: Amounts

    def fits(self, demand: Amounts) -> bool:
        """Return whether the provider can give these amounts as well."""
        return all(
            name in INVENTORIES
            and amount <= INVENTORIES[name].total
            and self.used[name] + amount <= INVENTORIES[name].capacity
            for name, amount in demand.items()
        )


def allocated(server: Resource) -> Amounts:
    """Return what a server uses by resource class; empty if it is on no host."""
    if not server.hidden.get("scheduled_host") or server.body["vm_state"] == "shelved_offloaded":
        return {}
    demand = zip(_CLASSES, nova.demand(server), strict=True)
    return {name: amount for name, amount in demand if amount}


def total(servers: Iterable[Resource]) -> Amounts:
    """Return what some servers use together, by resource class."""
    sums = dict.fromkeys(_CLASSES, 0)
    for server in servers:
        for name, amount in allocated(server).items():
            sums[name] += amount
    return sums


def providers(store: Store) -> list[Provider]:
    """Return all resource providers."""
    servers: dict[str, list[Resource]] = {host: [] for host in nova.HOSTS}
    for server in store.all(tables.SERVERS):
        servers[nova.host_of(server)].append(server)
    return [
        Provider(
            uuid=uuid,
            name=host,
            generation=store.serials.get("server", 0) + 1,
            traits=TRAITS if nova.is_enabled(store, host) else tuple(sorted((*TRAITS, DISABLED))),
            used=total(servers[host]),
        )
        for host, uuid in nova.HOSTS.items()
    ]

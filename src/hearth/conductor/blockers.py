"""Finds the objects which users added to a cluster and which prevent the delete of its stack.

These are servers and ports on the cluster's network, routers connected to it, floating IPs behind
its router, and volumes on its servers. Source: docs/spec/clusters.md, section 7, "Delete".
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NoAnswer, NotFound
from hearth.cloud.path import segment
from hearth.engine.core.record import Record
from hearth.store import reads
from hearth.store.database import Tx

log = logging.getLogger(__name__)

NETWORK, COMPUTE, VOLUMES = "network", "compute", "block-storage"
NETS, ROUTERS, SERVERS = "OS::Neutron::Net", "OS::Neutron::Router", "OS::Nova::Server"
INTERFACE = "network:router_interface"
OF_THE_SERVICE = ("network:dhcp", "network:distributed", "network:floatingip", "Octavia")
"""Beginnings of the device owners of ports that Neutron or Octavia deletes itself."""
AMPHORA = "octavia-lb-"  # the beginning of the names of ports of load balancers
SHOWN_MAX = 10


class DetachCall(Struct, frozen=True):
    """An API call that detaches or deletes an object."""

    service: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None


class Blocker(Struct, frozen=True):
    """An object that prevents a delete.

    `kind` is a word such as "server", for messages. `location` is the object of the cluster that it
    uses, `call` the API call that detaches or deletes it.
    """

    kind: str
    name: str
    id: str
    location: str
    call: DetachCall

    @property
    def text(self) -> str:
        """The object and its place as one phrase for users."""
        name = f"{self.name} ({self.id})" if self.name else self.id
        return f"{self.kind} {name} on {self.location}"

    @property
    def facts(self) -> dict[str, str]:
        """The object and its place as a map, for the data of an event."""
        return {"kind": self.kind, "name": self.name, "id": self.id, "where": self.location}


class CreatedObjects(Struct, frozen=True):
    """The objects that the stacks of a cluster have created.

    `ids` has the ids of all of them. The other fields map the ids of networks, routers and servers
    to their names, which may be empty.
    """

    ids: frozenset[str]
    networks: Mapping[str, str]
    routers: Mapping[str, str]
    servers: Mapping[str, str]


def summary(blocking: Sequence[Blocker]) -> str:
    """Return a text that lists these blockers; after the first ten it ends with "..."."""
    ellipsis = ["..."] if len(blocking) > SHOWN_MAX else []
    return ", ".join([*(blocker.text for blocker in blocking[:SHOWN_MAX]), *ellipsis])


def created_objects(tx: Tx, stack_ids: Iterable[str]) -> CreatedObjects:
    """Return the objects that the given stacks and their nested stacks have created."""
    records: list[Record] = []
    for stack_id in stack_ids:
        root = reads.find_stack(tx, None, stack_id)
        if root is not None:
            rows = (root, *reads.children(tx, root))
            records += [record for row in rows for record in reads.records(tx, row.id)]
    created = [record for record in records if record.physical_id]

    def names_of(rtype: str) -> dict[str, str]:
        return {
            str(record.physical_id): str(record.held.properties.get("name") or "")
            for record in created
            if rtype in (record.type, record.held.kind)
        }

    ids = frozenset(str(record.physical_id) for record in created)
    return CreatedObjects(ids, names_of(NETS), names_of(ROUTERS), names_of(SERVERS))


async def blockers(cloud: Cloud, owned: CreatedObjects) -> list[Blocker]:
    """Return the objects that prevent the delete, in the order in which they can be detached.

    `owned` are the objects of the cluster itself. Raises CloudFault.
    """
    blocking: list[Blocker] = []
    for router_id, name in owned.routers.items():
        blocking += await _floating_ips(
            cloud, owned, router_id, _location("router", name, router_id)
        )
        blocking += await _interfaces(cloud, owned, router_id, _location("router", name, router_id))
    for network_id, name in owned.networks.items():
        location = _location("network", name, network_id)
        for port in await cloud.listing(NETWORK, f"/v2.0/ports?network_id={segment(network_id)}"):
            if _is_foreign(port, owned):
                blocking.append(await _of_port(cloud, port, location))
    for server_id, name in owned.servers.items():
        blocking += await _volumes(cloud, owned, server_id, _location("server", name, server_id))
    return blocking


async def detach(cloud: Cloud, blocker: Blocker) -> bool:
    """Detach or delete a blocker; return false if the cloud refuses that.

    A blocker that no longer exists counts as detached.
    """
    call = blocker.call
    try:
        await cloud.request(call.service, call.method, call.path, json=call.body, idempotent=True)
    except CloudFault as fault:
        if isinstance(fault, NotFound):
            return True
        log.info("%s cannot be detached: %s", blocker.text, fault)
        return False
    return True


def _location(kind: str, name: str, ident: str) -> str:
    return f"{kind} {name} ({ident})" if name else f"{kind} {ident}"


def _is_foreign(port: Body, owned: CreatedObjects) -> bool:
    """Return whether a port belongs to a user: neither to the cluster nor to Neutron or Octavia."""
    device = str(port.get("device_id") or "").removeprefix("lb-")
    return not (
        port["id"] in owned.ids
        or device in owned.ids
        or str(port.get("device_owner") or "").startswith(OF_THE_SERVICE)
        or str(port.get("name") or "").startswith(AMPHORA)
    )


async def _of_port(cloud: Cloud, port: Body, location: str) -> Blocker:
    """Return the blocker for a port: its server, its router, or the port itself."""
    owner, device, ident = str(port.get("device_owner") or ""), port.get("device_id"), port["id"]
    if device and owner.startswith("compute:"):
        name = await _name(cloud, COMPUTE, f"/servers/{segment(device)}", "server")
        path = f"/servers/{segment(device)}/os-interface/{segment(ident)}"
        return Blocker("server", name, str(device), location, DetachCall(COMPUTE, "DELETE", path))
    if device and owner.startswith(INTERFACE):
        name = await _name(cloud, NETWORK, f"/v2.0/routers/{segment(device)}", "router")
        return Blocker("router", name, str(device), location, _unplug(str(device), ident))
    path = f"/v2.0/ports/{segment(ident)}"
    return Blocker(
        "port", str(port.get("name") or ""), ident, location, DetachCall(NETWORK, "DELETE", path)
    )


def _unplug(router_id: str, port_id: str) -> DetachCall:
    path = f"/v2.0/routers/{segment(router_id)}/remove_router_interface"
    return DetachCall(NETWORK, "PUT", path, {"port_id": port_id})


async def _floating_ips(
    cloud: Cloud, owned: CreatedObjects, router_id: str, location: str
) -> list[Blocker]:
    """Return the floating IPs behind the router that do not belong to the cluster."""
    floating_ips = await cloud.listing(NETWORK, f"/v2.0/floatingips?router_id={segment(router_id)}")
    freed = {"floatingip": {"port_id": None}}
    return [
        Blocker(
            "floating IP",
            str(floating_ip["floating_ip_address"]),
            floating_ip["id"],
            location,
            DetachCall(NETWORK, "PUT", f"/v2.0/floatingips/{segment(floating_ip['id'])}", freed),
        )
        for floating_ip in floating_ips
        if floating_ip["id"] not in owned.ids and floating_ip.get("port_id")
    ]


async def _interfaces(
    cloud: Cloud, owned: CreatedObjects, router_id: str, location: str
) -> list[Blocker]:
    """Return the router's interfaces on networks that do not belong to the cluster."""
    ports = await cloud.listing(NETWORK, f"/v2.0/ports?device_id={segment(router_id)}")
    return [
        Blocker(
            "interface",
            str(port.get("name") or ""),
            port["id"],
            location,
            _unplug(router_id, port["id"]),
        )
        for port in ports
        if str(port.get("device_owner") or "").startswith(INTERFACE)
        and port["network_id"] not in owned.networks
    ]


async def _volumes(
    cloud: Cloud, owned: CreatedObjects, server_id: str, location: str
) -> list[Blocker]:
    """Return the volumes on a server that do not belong to the cluster, except bootable ones."""
    path = f"/servers/{segment(server_id)}/os-volume_attachments"
    try:
        attached = await cloud.listing(COMPUTE, path)
    except NotFound:
        return []
    blocking = []
    for attachment in attached:
        ident = attachment["volumeId"]
        if ident in owned.ids:
            continue
        volume = await _fetched(cloud, VOLUMES, f"/volumes/{segment(ident)}", "volume")
        if volume.get("bootable") != "true":
            name = str(volume.get("name") or "")
            call = DetachCall(COMPUTE, "DELETE", f"{path}/{segment(ident)}")
            blocking.append(Blocker("volume", name, ident, location, call))
    return blocking


async def _name(cloud: Cloud, service: str, path: str, root: str) -> str:
    return str((await _fetched(cloud, service, path, root)).get("name") or "")


async def _fetched(cloud: Cloud, service: str, path: str, root: str) -> Mapping[str, Any]:
    """Fetch an object; return an empty map if it does not exist or the caller may not see it."""
    try:
        body: Mapping[str, Any] = (await cloud.request(service, "GET", path)).part(root)
    except CloudFault as fault:
        if fault.status != 403 and not isinstance(fault, NotFound):
            raise
        return {}
    if not body:
        raise NoAnswer(service, f"GET {path}: the answer does not show the {root}")
    return body

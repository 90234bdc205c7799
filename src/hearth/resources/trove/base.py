"""Common parts of database instances and clusters."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.model.problem import Problem, Rejected, StackValidationFailed, hint, nearest, rejection
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import AsksCloud
from hearth.resources.collection import CollectionResource
from hearth.resources.lookup import Names
from hearth.schema import LIST, MAP, STRING, AtLeastOne, AtMostOne, Each, Plain, Prop

SERVICE = "database"
FAILING = frozenset({"ERROR", "FAILED"})
NETWORKS = Prop(
    LIST,
    "Networks in which it gets an address.",
    default=[],
    schema=Prop(
        MAP,
        schema={
            "fixed_ip": Prop(
                STRING, "IPv4 address in the network; a free one when not given.",
                constraint="ip_addr",
            ),
            "network": Prop(STRING, "The network, by name or id.", constraint="neutron.network"),
            "port": Prop(STRING, "The port, by name or id.", constraint="neutron.port"),
        },
    ),
)  # fmt: skip

ONE_PLACE = Each(
    "networks", Plain(AtLeastOne("network", "port")), Plain(AtMostOne("network", "port"))
)


class TroveResource(CollectionResource, AsksCloud):
    """Base class of the types of the database service."""

    service = SERVICE

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Fetch the object and return its body. A list of objects does not contain all fields."""
        answer = await ctx.cloud.request(SERVICE, "GET", self.url(ctx, ctx.physical))
        return self.collection.unwrapped(answer)

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call because of a task that is still running."""
        if fault.status != 422 or ctx.physical_id is None:
            return False
        return not self.broken(await self.show(ctx) or {})

    def broken(self, body: Mapping[str, Any]) -> bool:
        """Return whether the object is in an error state, which no task ends."""
        return str(body.get("status")) in FAILING

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Return an error message if the service lacks the datastore or its version."""
        datastore, version = properties.get("datastore_type"), properties.get("datastore_version")
        if not datastore:
            return ()
        datastores = await cloud.listing(SERVICE, "/datastores")
        matches = [row for row in datastores if datastore in (row["name"], row["id"])]
        if not matches:
            near = hint(nearest(datastore, [str(row["name"]) for row in datastores]))
            return (f"datastore_type: the service has no datastore {datastore}{near}",)
        versions = await cloud.listing(SERVICE, f"/datastores/{segment(matches[0]['id'])}/versions")
        if version and not any(version in (row["name"], row["id"]) for row in versions):
            names = ", ".join(sorted(str(row["name"]) for row in versions))
            message = f"the datastore {datastore} has no version {version}, only {names}"
            return (f"datastore_version: {message}",)
        return ()


async def nics(ctx: ResourceContext, networks: Sequence[Mapping[str, Any]]) -> list[Body]:
    """Convert a property `networks` to the format of the service.

    Raises Rejected if a network or port is not found.
    """
    names, rows = Names(ctx.cloud), []
    for entry in networks:
        nic: Body = {}
        if port := entry.get("port"):
            nic["port-id"] = await _id_of(names, "neutron.port", port)
        network, address = entry.get("network"), entry.get("fixed_ip")
        if network:
            nic["net-id"] = await _id_of(names, "neutron.network", network)
        if network and address:
            subnet = await _subnet_of(ctx, nic["net-id"], address)
            nic = {"network_id": nic["net-id"], "subnet_id": subnet, "ip_address": address}
        elif address:
            nic["v4-fixed-ip"] = address
        rows.append(nic)
    return rows


async def _id_of(names: Names, kind: str, value: str) -> str:
    ident = await names.id_of(kind, value)
    if isinstance(ident, Problem):
        raise Rejected([ident])
    return ident


async def _subnet_of(ctx: ResourceContext, network: str, address: str) -> str:
    """Return the id of the subnet that contains an address. Raises Rejected if there is none."""
    subnets = await ctx.cloud.listing("network", f"/v2.0/subnets?network_id={segment(network)}")
    for subnet in subnets:
        if ip_address(address) in ip_network(subnet["cidr"]):
            return str(subnet["id"])
    message = f"fixed_ip: no subnet of the network {network} contains {address}"
    raise rejection(StackValidationFailed, message)

"""OS::Manila::ShareNetwork: a network on which share servers export shares."""

from collections.abc import Mapping, Sequence
from operator import not_
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.model.problem import Problem, StackValidationFailed, rejection
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import AsksCloud
from hearth.resources.collection import CollectionResource
from hearth.resources.lookup import Names
from hearth.resources.manila.base import MICROVERSION, SERVICE, collection_of
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    LIST,
    STRING,
    Attr,
    Fits,
    Needs,
    Prop,
    Resolve,
    Support,
    SupportStatus,
)


class ShareNetwork(CollectionResource, AsksCloud):
    """A network on which share servers export shares."""

    type_name = "OS::Manila::ShareNetwork"
    support = Support(version="5.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "neutron_network": Prop(
            STRING,
            "The network, by name or id; that of the subnet when not given.",
            update_allowed=True,
            constraint="neutron.network",
        ),
        "neutron_subnet": Prop(
            STRING, "The subnet, by name or id.", update_allowed=True, constraint="neutron.subnet"
        ),
        "nova_network": Prop(
            STRING,
            "Not supported: the network of nova-network.",
            update_allowed=True,
            support=Support(SupportStatus.HIDDEN, "21.0.0"),
        ),
        "security_services": Prop(
            LIST,
            "Its security services, by name or id; at most one of each type.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING),
        ),
    }
    attributes = {
        "cidr": Attr(STRING, "Address range of the subnet, once there is a share server."),
        "ip_version": Attr(STRING, "IP version of the subnet, once there is a share server."),
        "network_type": Attr(STRING, "Physical type of the network, once there is a share server."),
        "segmentation_id": Attr(
            STRING, "Segmentation id of the network, once there is a share server."
        ),
    }
    translation = (
        Resolve(("neutron_network",), "neutron.network"),
        Resolve(("neutron_subnet",), "neutron.subnet"),
    )
    service = SERVICE
    undescribed = None
    collection = collection_of(
        "/share-networks", "share_network", under_way=frozenset({"NETWORK_CHANGE"})
    )
    renamed = {"neutron_network": "neutron_net_id", "neutron_subnet": "neutron_subnet_id"}
    not_sent = frozenset({"nova_network", "security_services"})
    relations = (
        Needs("neutron_network", "neutron_subnet"),
        Fits("nova_network", not_, "Nova network is no longer supported"),
    )

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        network, subnet = (properties.get(f"neutron_{name}") for name in ("network", "subnet"))
        if not network or not subnet:
            return ()
        names = Names(cloud)
        network = await names.id_of("neutron.network", str(network))
        subnet = await names.id_of("neutron.subnet", str(subnet))
        if isinstance(network, Problem) or isinstance(subnet, Problem):
            return ()  # the constraints report it
        try:
            owner = await _network_of(cloud, subnet)
        except NotFound:
            return ()
        if owner == network:
            return ()
        return ("Provided neutron_subnet does not belong to provided neutron_network.",)

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        services = ctx.given("security_services")
        return (Step("security-services", self.attach),) if services else ()

    def after_update(self, ctx: ResourceContext) -> tuple[Step, ...]:
        services_changed = "security_services" in ctx.changed
        return (Step("security-services", self.attach),) if services_changed else ()

    async def create(self, ctx: ResourceContext) -> Made:
        return await super().create(await _complete(ctx))

    async def update(self, ctx: ResourceContext) -> Made | None:
        fields = self.changed_fields(ctx)
        if "neutron_subnet_id" in fields or "neutron_net_id" in fields:
            complete = (await _complete(ctx)).properties
            for name in ("neutron_network", "neutron_subnet"):
                fields[self.renamed[name]] = complete.get(name)
        return await self.change(ctx, fields)

    async def attach(self, ctx: ResourceContext) -> Made | None:
        """Add and remove security services until the network has those of the properties.

        A network has one service of each type, so the removals come first.
        """
        services = await _services(ctx)
        now = await ctx.cloud.listing(
            SERVICE,
            f"/security-services/detail?share_network_id={segment(ctx.physical)}",
            microversion=MICROVERSION,
        )
        present = {str(row["id"]) for row in now}
        for verb, changes in (("remove", present - services), ("add", services - present)):
            for service in sorted(changes):
                action = {f"{verb}_security_service": {"security_service_id": service}}
                await ctx.request("POST", "action", action)
        return None


async def _network_of(cloud: Cloud, subnet: str) -> str:
    """Return the id of the network to which a subnet belongs. Raises CloudFault."""
    body = await cloud.member("network", "/v2.0/subnets", subnet)
    return str(body["network_id"])


async def _complete(ctx: ResourceContext) -> ResourceContext:
    """Return the context with the network of the subnet, if the template names only the subnet."""
    subnet = ctx.given("neutron_subnet")
    if not subnet or ctx.given("neutron_network"):
        return ctx
    network = await _network_of(ctx.cloud, str(subnet))
    return replace(ctx, properties={**ctx.properties, "neutron_network": network})


async def _services(ctx: ResourceContext) -> set[str]:
    """Return the ids of the desired security services. Raises Rejected if one does not exist."""
    listing = "/security-services/detail"
    members = await ctx.cloud.listing(SERVICE, listing, microversion=MICROVERSION)
    return {_id_of(members, str(name)) for name in ctx.given("security_services") or []}


def _id_of(members: Sequence[Body], name_or_id: str) -> str:
    for field in ("id", "name"):
        ids = [str(member["id"]) for member in members if member.get(field) == name_or_id]
        if len(ids) == 1:
            return ids[0]
        if ids:
            message = f"{len(ids)} security services have the name {name_or_id}; use an id."
            raise rejection(StackValidationFailed, message)
    message = f"The security service ({name_or_id}) could not be found."
    raise rejection(StackValidationFailed, message)

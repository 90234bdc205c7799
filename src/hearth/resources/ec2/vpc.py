"""AWS::EC2::VPC and its parts, implemented with networks, subnets and routers.

A VPC is a network and a router of the same name. A route table is another router, with a tag that
names its VPC. A gateway attachment sets the external gateway of these routers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import segment
from hearth.resources.adapter import AdapterType
from hearth.resources.base import (
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import Immediate, IntentKey, MakesObject
from hearth.resources.collection import forgiving
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.ec2.tags import ignored_tags
from hearth.resources.neutron import order
from hearth.resources.neutron.net import Net
from hearth.resources.neutron.outside import outside
from hearth.resources.neutron.router import Router
from hearth.resources.neutron.router_interface import port_of
from hearth.resources.neutron.subnet import Subnet as NeutronSubnet
from hearth.schema import STRING, AllowedValues, Attr, Prop, Support

ROUTERS = "/v2.0/routers"
ROUTER = "router:"  # before the id of an orphan router, which is no network
LEG = "network:router_interface"  # and what begins so: owners of ports of routers
ROUTE_TABLE = "AWS::EC2::RouteTable"


class VPC(AdapterType):
    """A network with its own router."""

    type_name = "AWS::EC2::VPC"
    adapted = Net()
    known_by = "the descriptions of the network and of its router, which stay"
    orphan_prefixes = (ROUTER,)
    properties = {
        "CidrBlock": Prop(STRING, "Accepted for compatibility: the subnets define the addresses."),
        "InstanceTenancy": Prop(
            STRING,
            "Not implemented: a value is an error.",
            default="default",
            constraints=(AllowedValues(["default", "dedicated"]),),
            implemented=False,
        ),
        "Tags": ignored_tags(),
    }
    router = Router()

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def as_router(self, ctx: ResourceContext) -> ResourceContext:
        """Return the context for calls about the VPC's router, whose id is in the record's private
        data.
        """
        router_id = ctx.data.get("router_id")
        inner = replace(self.adapted_context(ctx), kind=self.router, physical_id=router_id)
        return replace(inner, properties={"admin_state_up": True})

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (
            *super().create_steps(ctx),
            Step("router", self.make_router, self.find_router, self.router_ready),
        )

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        router = (Step("drop-router", self.drop_router),) if "router_id" in ctx.data else ()
        return (*router, *super().delete_steps(ctx))

    async def make_router(self, ctx: ResourceContext) -> Made:
        """Create the VPC's router."""
        return _of_router(await self.router.create(self.as_router(ctx)))

    async def find_router(self, ctx: ResourceContext) -> Made | None:
        """Return the router that an earlier attempt created, or None."""
        router = await self.router.find(self.as_router(ctx))
        return None if router is None else _of_router(router)

    async def router_ready(self, ctx: ResourceContext) -> Progress:
        """Report whether the router is ready. The body in the result stays the body of the network,
        because attributes are read from it.
        """
        match await self.router.poll(replace(self.as_router(ctx), body=None)):
            case Ready():
                return Ready(ctx.body)
            case Later(after_s):
                return Later(after_s, ctx.body)
            case failed:
                return failed

    async def drop_router(self, ctx: ResourceContext) -> Made:
        """Delete the router."""
        await forgiving(self.router.drop(self.as_router(ctx), ctx.data["router_id"]))
        return Made(data={"router_id": None})

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        routers = await self.router.orphans(self.as_router(ctx))
        return [*await super().orphans(ctx), *(f"{ROUTER}{ident}" for ident in routers)]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        if physical_id.startswith(ROUTER):
            router = physical_id.removeprefix(ROUTER)
            await self.router.delete_orphan(self.as_router(ctx), router)
        else:
            await super().delete_orphan(ctx, physical_id)


class Subnet(AdapterType):
    """A subnet of a VPC, connected to the VPC's router."""

    type_name = "AWS::EC2::Subnet"
    adapted = NeutronSubnet()
    known_by = "the description, which stays"
    properties = {
        "AvailabilityZone": Prop(
            STRING, "Accepted for compatibility: a subnet is in all availability zones."
        ),
        "CidrBlock": Prop(STRING, "The addresses, in CIDR notation.", required=True),
        "Tags": ignored_tags(),
        "VpcId": Prop(STRING, "The VPC.", required=True),
    }
    attributes = {"AvailabilityZone": Attr(STRING, "The availability zone that was given.")}

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        block = str(properties.get("CidrBlock"))
        return {
            "network": properties.get("VpcId"),
            "cidr": block,
            "ip_version": 6 if ":" in block else 4,
        }

    def attributes_of(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"AvailabilityZone": ctx.given("AvailabilityZone")}

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*super().create_steps(ctx), Step("route", self.route))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        leave = (Step("leave", self.leave),) if ctx.physical_id else ()
        return (*leave, *super().delete_steps(ctx))

    async def route(self, ctx: ResourceContext) -> Made | None:
        """Connect the subnet to the VPC's router, unless it is already connected to some router."""
        if await router_of_subnet(ctx, ctx.properties["VpcId"], ctx.physical) is None:
            router = await router_of_vpc(ctx, ctx.properties["VpcId"])
            if router is not None:
                await join(ctx, router, ctx.physical)
        return None

    async def leave(self, ctx: ResourceContext) -> Made | None:
        """Detach the subnet from its router."""
        router = await router_of_subnet(ctx, ctx.properties["VpcId"], ctx.physical)
        if router is not None:
            await part(ctx, router, ctx.physical)
        return None


class InternetGateway(Immediate):
    """A placeholder for the external network; it takes effect when it is attached to a VPC."""

    type_name = "AWS::EC2::InternetGateway"
    properties = {"Tags": ignored_tags()}


class RouteTable(AdapterType):
    """A router of a VPC, which serves the subnets that are associated with it."""

    type_name = ROUTE_TABLE
    support = Support(version="2014.1")
    adapted = Router()
    known_by = "the description, which stays"
    properties = {
        "Tags": ignored_tags(),
        "VpcId": Prop(STRING, "The VPC.", required=True),
    }

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"tags": [tag_of(str(properties.get("VpcId")))]}


class VPCGatewayAttachment(MakesObject):
    """Sets the external gateway of the route tables of a VPC."""

    type_name = "AWS::EC2::VPCGatewayAttachment"
    properties = {
        "InternetGatewayId": Prop(
            STRING, "The gateway; all gateways lead to the same external network."
        ),
        "VpcId": Prop(STRING, "The VPC.", required=True),
        "VpnGatewayId": not_implemented(STRING),
    }
    service = "network"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the VPC; setting the gateways of its routers again has no effect"

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        """Yield the names of the route tables of the same VPC, because this resource sets their
        gateways.
        """
        vpcs = set(_vpcs(definition))
        for table_name, resource in program.resources.items():
            shares_vpc = resource.type == ROUTE_TABLE and vpcs & set(_vpcs(resource))
            if shares_vpc and not order.reaches(program, table_name, name):
                yield table_name

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("attach", self.attach),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("detach", self.detach),) if ctx.physical_id else ()

    async def attach(self, ctx: ResourceContext) -> Made:
        """Set the external gateway of the routers of all the VPC's route tables."""
        vpc = str(ctx.properties["VpcId"])
        gateway = {"network_id": await outside(ctx)}
        for router in await route_tables(ctx, vpc):
            await set_gateway(ctx, router, gateway)
        return Made(physical_id=vpc)

    async def detach(self, ctx: ResourceContext) -> Made | None:
        """Clear the external gateway of the routers of all the VPC's route tables."""
        for router in await route_tables(ctx, ctx.physical):
            await forgiving(set_gateway(ctx, router, {}))
        return None


class SubnetRouteTableAssociation(MakesObject):
    """Connects a subnet to a route table's router instead of the VPC's router."""

    type_name = "AWS::EC2::SubnetRouteTableAssociation"
    properties = {
        "RouteTableId": Prop(STRING, "The route table.", required=True),
        "SubnetId": Prop(STRING, "The subnet.", required=True, constraint="neutron.subnet"),
    }
    service = "network"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the port of the router in the subnet; a subnet of a VPC has one router"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("leave", self.leave), Step("join", self.join, self.find))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("return", self.give_back),) if ctx.physical_id else ()

    async def leave(self, ctx: ResourceContext) -> Made | None:
        """Disconnect the subnet from its current router, unless that is the router of the route
        table.
        """
        subnet = str(ctx.properties["SubnetId"])
        now = await router_of_subnet(ctx, await network_of(ctx, subnet), subnet)
        if now is not None and now != ctx.properties["RouteTableId"]:
            await part(ctx, now, subnet)
        return None

    async def join(self, ctx: ResourceContext) -> Made:
        """Connect the subnet to the router of the route table."""
        router, subnet = ctx.properties["RouteTableId"], ctx.properties["SubnetId"]
        await join(ctx, router, subnet)
        return Made(physical_id=f"{router}:{subnet}")

    async def find(self, ctx: ResourceContext) -> Made | None:
        router, subnet = ctx.properties["RouteTableId"], ctx.properties["SubnetId"]
        port = await port_of(ctx, router, {"subnet_id": subnet})
        return None if port is None else Made(physical_id=f"{router}:{subnet}")

    async def give_back(self, ctx: ResourceContext) -> Made | None:
        """Disconnect the subnet from the route table's router and connect it to the VPC's router.

        A subnet that is connected to another router stays as it is.
        """
        router, _, subnet = ctx.physical.partition(":")
        try:
            network = await network_of(ctx, subnet)
        except NotFound:
            return None
        now = await router_of_subnet(ctx, network, subnet)
        if now == router:
            await part(ctx, router, subnet)
        if now in (router, None):
            vpc_router = await router_of_vpc(ctx, network)
            if vpc_router is not None:
                await join(ctx, vpc_router, subnet)
        return None


def tag_of(vpc: str) -> str:
    """Return the tag that marks a router as a route table of a VPC."""
    return f"vpc={vpc}"


async def route_tables(ctx: ResourceContext, vpc: str) -> list[str]:
    """Return the ids of the routers of a VPC's route tables."""
    routers = await ctx.cloud.listing("network", f"{ROUTERS}?tags={tag_of(vpc)}")
    return [str(router["id"]) for router in routers]


async def router_of_vpc(ctx: ResourceContext, vpc: str) -> str | None:
    """Return the id of the router with the same name as the network `vpc`; None if either is
    gone.
    """
    try:
        network = await ctx.cloud.member("network", "/v2.0/networks", vpc)
    except NotFound:
        return None
    for router in await ctx.cloud.listing("network", ROUTERS):
        if router["name"] == network["name"]:
            return str(router["id"])
    return None


async def router_of_subnet(ctx: ResourceContext, network: str, subnet: str) -> str | None:
    """Return the id of the router that a subnet is connected to, or None.

    `network` is the id of the network of the subnet.
    """
    for port in await ctx.cloud.listing("network", f"/v2.0/ports?network_id={segment(network)}"):
        subnets = {address.get("subnet_id") for address in port["fixed_ips"]}
        if str(port["device_owner"]).startswith(LEG) and subnet in subnets:
            return str(port["device_id"])
    return None


async def network_of(ctx: ResourceContext, subnet: str) -> str:
    """Return the id of the subnet's network."""
    return str((await ctx.cloud.member("network", "/v2.0/subnets", subnet))["network_id"])


async def join(ctx: ResourceContext, router: str, subnet: str) -> None:
    """Connect a subnet to a router; an error is ignored if they are already connected."""
    path, leg = f"{ROUTERS}/{segment(router)}/add_router_interface", {"subnet_id": subnet}
    try:
        await ctx.cloud.request("network", "PUT", path, json=leg)
    except CloudFault:
        if await port_of(ctx, router, leg) is None:
            raise


async def part(ctx: ResourceContext, router: str, subnet: str) -> None:
    """Disconnect a subnet from a router; "not found" is success."""
    path = f"{ROUTERS}/{segment(router)}/remove_router_interface"
    await forgiving(
        ctx.cloud.request("network", "PUT", path, json={"subnet_id": subnet}, idempotent=True)
    )


async def set_gateway(ctx: ResourceContext, router: str, gateway: Body) -> None:
    """Set the external gateway of a router; an empty `gateway` clears it."""
    body = {"router": {"external_gateway_info": gateway}}
    await ctx.cloud.request(
        "network", "PUT", f"{ROUTERS}/{segment(router)}", json=body, idempotent=True
    )


def _of_router(router: Made) -> Made:
    return Made(data={"router_id": router.physical_id})


def _vpcs(definition: Any) -> Iterable[str]:
    for end in order.at("VpcId")(definition.properties):
        yield from order.name(end)

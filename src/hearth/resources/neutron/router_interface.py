"""OS::Neutron::RouterInterface: connects a router to a subnet."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import (
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.schema import (
    STRING,
    AtLeastOne,
    AtMostOne,
    Prop,
    Replace,
    Resolve,
    Support,
    SupportStatus,
)


class RouterInterface(Observable):
    """Connects a router to a subnet, with a new port or a given one.

    The physical id is ROUTER:subnet_id=SUBNET or ROUTER:port_id=PORT, as stored by Heat.
    """

    type_name = "OS::Neutron::RouterInterface"
    properties = {
        "port": Prop(STRING, "The port, by name or id.", constraint="neutron.port", since="2015.1"),
        "port_id": Prop(
            STRING,
            "Use port instead.",
            constraint="neutron.port",
            support=Support(
                SupportStatus.HIDDEN,
                "6.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "2015.1",
                    previous=Support(SupportStatus.SUPPORTED, "2014.1"),
                ),
            ),
        ),
        "router": Prop(
            STRING, "The router, by name or id.", required=True, constraint="neutron.router"
        ),
        "router_id": Prop(
            STRING,
            "Use router instead.",
            constraint="neutron.router",
            support=Support(
                SupportStatus.HIDDEN,
                "6.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "2015.1",
                    previous=Support(SupportStatus.SUPPORTED, "2013.1"),
                ),
            ),
        ),
        "subnet": Prop(STRING, "The subnet, by name or id.", constraint="neutron.subnet"),
        "subnet_id": Prop(
            STRING,
            "Use subnet instead.",
            constraint="neutron.subnet",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
    }
    translation = (
        Replace(("port",), value_path=("port_id",)),
        Replace(("router",), value_path=("router_id",)),
        Replace(("subnet",), value_path=("subnet_id",)),
        Resolve(("port",), "neutron.port"),
        Resolve(("router",), "neutron.router"),
        Resolve(("subnet",), "neutron.subnet"),
    )
    service = "network"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the port of the router in the subnet (its device id); a router has at most one"
    relations = (AtLeastOne("subnet", "port"), AtMostOne("subnet", "port"))

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("attach", self.attach, self.find),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("detach", self.detach, poll=self.gone),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def attach(self, ctx: ResourceContext) -> Made:
        """Add the interface."""
        router, fields = ctx.properties["router"], leg(ctx.properties)
        answer = await ctx.cloud.request(
            "network", "PUT", f"/v2.0/routers/{segment(router)}/add_router_interface", json=fields
        )
        return Made(physical_id=joined(router, fields), body=answer.body)

    async def find(self, ctx: ResourceContext) -> Made | None:
        router, fields = ctx.properties["router"], leg(ctx.properties)
        port = await port_of(ctx, router, fields)
        return None if port is None else Made(joined(router, fields), body=port)

    async def detach(self, ctx: ResourceContext) -> Made | None:
        """Remove the interface; "not found" is success."""
        router, fields = parted(ctx.physical)
        with suppress(NotFound):
            await ctx.cloud.request(
                "network",
                "PUT",
                f"/v2.0/routers/{segment(router)}/remove_router_interface",
                json=fields,
                idempotent=True,
            )
        return None

    async def gone(self, ctx: ResourceContext) -> Progress:
        """Report whether the port of this interface is gone from the router."""
        port = await port_of(ctx, *parted(ctx.physical))
        return Ready() if port is None else Later(1.0)

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return all properties: `show` has found the port by them."""
        return {n: v for n, v in ctx.properties.items() if v is not None}

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        port = await port_of(ctx, *parted(ctx.physical))
        if port is None:
            message = f"The router interface {ctx.physical} does not exist."
            raise NotFound("network", message, "RouterInterfaceNotFound")
        return port


def leg(properties: Mapping[str, Any]) -> Body:
    """Return the interface's port or subnet as a request body: {port_id: ID} or {subnet_id: ID}."""
    if properties.get("port"):
        return {"port_id": properties["port"]}
    return {"subnet_id": properties["subnet"]}


def joined(router: str, fields: Body) -> str:
    """Return the physical id of a router interface; `fields` is the result of `leg`."""
    ((name, ident),) = fields.items()
    return f"{router}:{name}={ident}"


def parted(physical_id: str) -> tuple[str, Body]:
    """Split a physical id into the router's id and the body {port_id: ID} or {subnet_id: ID}."""
    router, _, target = physical_id.partition(":")
    name, _, ident = target.partition("=")
    return router, ({name: ident} if ident else {"subnet_id": name})


async def port_of(ctx: ResourceContext, router: str, fields: Body) -> Body | None:
    """Return the router's port that belongs to this interface, or None.

    `fields` identifies it by `port_id` or `subnet_id`.
    """
    for port in await ctx.cloud.listing("network", f"/v2.0/ports?device_id={segment(router)}"):
        subnets = {address.get("subnet_id") for address in port.get("fixed_ips", [])}
        if port["id"] == fields.get("port_id") or fields.get("subnet_id") in subnets:
            return port
    return None

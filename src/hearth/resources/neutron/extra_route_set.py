"""OS::Neutron::ExtraRouteSet: some of the routes of a router."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.resources.base import (
    IntentKey,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.resources.collection import forgiving
from hearth.resources.neutron import order
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    Prop,
    Resolve,
    Support,
)


class ExtraRouteSet(ResourceType):
    """Adds routes to a router, whose other routes stay unchanged.

    The physical id is the id of the router.
    """

    type_name = "OS::Neutron::ExtraRouteSet"
    support = Support(version="14.0.0")
    properties = {
        "router": Prop(
            STRING, "The router, by name or id.", required=True, constraint="neutron.router"
        ),
        "routes": Prop(
            LIST,
            "The routes.",
            default=[],
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "destination": Prop(
                        STRING,
                        "Destination of the route, in CIDR notation.",
                        required=True,
                        constraint="net_cidr",
                    ),
                    "nexthop": Prop(
                        STRING,
                        "Address of the next hop, in a network of the router.",
                        required=True,
                        constraint="ip_addr",
                    ),
                },
            ),
        ),
    }
    translation = (Resolve(("router",), "neutron.router"),)
    service = "network"
    extension = "extraroute-atomic"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the routes, which are added in one call and are unique in a router"
    comes_after = (order.Legs(("router",)),)

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("add", self.create, self.find),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("change", self.change),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("remove", self.remove),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def create(self, ctx: ResourceContext) -> Made:
        """Add the routes. Raises Rejected if the router already has one of them."""
        there = [route for route in await self.present(ctx) if route in routes(ctx.properties)]
        if there:
            words = ", ".join(f"{one['destination']} via {one['nexthop']}" for one in there)
            text = f"routes: the router {ctx.properties['router']} already has these: {words}"
            raise Rejected([StackValidationFailed(None, text)])
        body = await self.put(ctx, "add_extraroutes", routes(ctx.properties))
        return Made(physical_id=ctx.properties["router"], body=body)

    async def find(self, ctx: ResourceContext) -> Made | None:
        present, wanted = await self.present(ctx), routes(ctx.properties)
        if wanted and all(route in present for route in wanted):
            return Made(physical_id=ctx.properties["router"])
        return None

    async def change(self, ctx: ResourceContext) -> Made | None:
        """Remove routes that are no longer desired and add new ones. Can be repeated."""
        before, wanted = routes(ctx.before), routes(ctx.properties)
        await self.put(ctx, "remove_extraroutes", [r for r in before if r not in wanted])
        await self.put(ctx, "add_extraroutes", [r for r in wanted if r not in before])
        return Made(body=await self.show(ctx))

    async def remove(self, ctx: ResourceContext) -> Made | None:
        """Remove the routes; "not found" is success."""
        await forgiving(self.put(ctx, "remove_extraroutes", routes(ctx.properties)))
        return None

    async def put(self, ctx: ResourceContext, verb: str, some: Sequence[Body]) -> Body | None:
        """Send one call that adds or removes routes, and return the router's body.

        `verb` is add_extraroutes or remove_extraroutes. Without routes no call is sent, and the
        result is None.
        """
        if not some:
            return None
        answer = await ctx.cloud.request(
            "network",
            "PUT",
            f"/v2.0/routers/{segment(ctx.properties['router'])}/{verb}",
            json={"router": {"routes": list(some)}},
            idempotent=True,
        )
        return answer.part("router")

    async def present(self, ctx: ResourceContext) -> list[Body]:
        """Fetch the router and return all its routes."""
        router = await ctx.cloud.member("network", "/v2.0/routers", ctx.properties["router"])
        return list(router.get("routes") or [])

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await ctx.cloud.member("network", "/v2.0/routers", ctx.physical)


def routes(properties: Mapping[str, Any]) -> list[Body]:
    """Return the property `routes` in the format of the service."""
    given = properties.get("routes") or []
    return [{"destination": one["destination"], "nexthop": one["nexthop"]} for one in given]

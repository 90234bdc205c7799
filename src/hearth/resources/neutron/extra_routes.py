"""OS::Neutron::ExtraRouteSet and OS::Neutron::ExtraRoute: some of the routes of a router."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.model.problem import StackValidationFailed, rejection
from hearth.resources.base import (
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import GivesWay, IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.resources.neutron import order
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    Prop,
    Resolve,
    Support,
    SupportStatus,
)


class RoutesOfRouter(Observable, GivesWay):
    """Base class of types that add routes to a router, whose other routes stay unchanged.

    The service adds or removes routes in one call, so that resources of the same router never
    overwrite the routes of each other.
    """

    service = "network"
    extension = "extraroute-atomic"
    identified_by = IntentKey.NATURAL_KEY
    router_property: ClassVar[str]

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("add", self.create, self.find),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("remove", self.remove),) if ctx.physical_id else ()

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the step that removes the old routes, because a router has each route once."""
        return self.delete_steps(ctx)

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("put-back", self.put_back),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    def router(self, ctx: ResourceContext) -> str:
        """Return the id of the router."""
        return str(ctx.properties[self.router_property])

    def routes(self, properties: Mapping[str, Any]) -> list[Body]:
        """Return the routes in the properties, in the format of the service."""
        raise NotImplementedError

    def identity(self, ctx: ResourceContext) -> str:
        """Return the physical id."""
        return self.router(ctx)

    async def create(self, ctx: ResourceContext) -> Made:
        """Add the routes. Raises Rejected if the router already has one of them."""
        routes = self.routes(ctx.properties)
        duplicates = [route for route in routes if among(route, await self.present(ctx))]
        if duplicates:
            listing = ", ".join(
                f"{route['destination']} via {route['nexthop']}" for route in duplicates
            )
            text = f"routes: the router {self.router(ctx)} already has these: {listing}"
            raise rejection(StackValidationFailed, text)
        body = await self.put(ctx, "add_extraroutes", routes)
        return Made(physical_id=self.identity(ctx), body=body)

    async def find(self, ctx: ResourceContext) -> Made | None:
        present, routes = await self.present(ctx), self.routes(ctx.properties)
        if routes and all(among(route, present) for route in routes):
            return Made(physical_id=self.identity(ctx))
        return None

    async def remove(self, ctx: ResourceContext) -> Made | None:
        """Remove the routes, also those of a failed update; "not found" is success."""
        routes = self.routes(ctx.properties)
        if ctx.attempted:
            routes += [route for route in self.routes(ctx.attempted) if not among(route, routes)]
        await forgiving(self.put(ctx, "remove_extraroutes", routes))
        return None

    async def put_back(self, ctx: ResourceContext) -> Made | None:
        """Add those routes that the router lacks."""
        present = await self.present(ctx)
        lacking = [route for route in self.routes(ctx.properties) if not among(route, present)]
        await self.put(ctx, "add_extraroutes", lacking)
        return None

    async def put(self, ctx: ResourceContext, verb: str, routes: Sequence[Body]) -> Body | None:
        """Send one call that adds or removes routes, and return the router's body.

        `verb` is add_extraroutes or remove_extraroutes. Without routes no call is sent, and the
        result is None.
        """
        if not routes:
            return None
        answer = await ctx.cloud.request(
            "network",
            "PUT",
            f"/v2.0/routers/{segment(self.router(ctx))}/{verb}",
            json={"router": {"routes": list(routes)}},
            idempotent=True,
        )
        return answer.part("router")

    async def present(self, ctx: ResourceContext) -> list[Body]:
        """Fetch the router and return all its routes."""
        return list((await self.show(ctx)).get("routes") or [])

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the properties other than the routes: the router exists."""
        routes = ("routes", "destination", "nexthop")
        return {n: v for n, v in ctx.properties.items() if v is not None and n not in routes}

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current properties: those of the routes that the router still has."""
        body, desired = await self.show(ctx), self.routes(ctx.properties)
        present = list(body.get("routes") or [])
        remaining = [route for route in desired if among(route, present)]
        values = self.observed(ctx, body)
        if "routes" in self.properties:
            return {**values, "routes": ctx.given("routes") if remaining == desired else remaining}
        fields = {name: ctx.given(name) for name in ("destination", "nexthop")}
        return {**values, **fields} if remaining else None

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any]:
        return await ctx.cloud.member("network", "/v2.0/routers", self.router(ctx))


class ExtraRouteSet(RoutesOfRouter):
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
    router_property = "router"
    known_by = "the routes, which are added in one call and are unique in a router"
    comes_after = (order.Legs(("router",)),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("change", self.change),)

    def routes(self, properties: Mapping[str, Any]) -> list[Body]:
        return [as_route(entry) for entry in properties.get("routes") or []]

    async def change(self, ctx: ResourceContext) -> Made | None:
        """Remove routes that are no longer desired and add new ones. Can be repeated."""
        before = self.routes(ctx.before) + self.routes(ctx.attempted)
        routes = self.routes(ctx.properties)
        await self.put(ctx, "remove_extraroutes", [r for r in before if not among(r, routes)])
        await self.put_back(ctx)
        return Made(body=await self.show(ctx))


class ExtraRoute(RoutesOfRouter):
    """Adds one route to a router, whose other routes stay unchanged.

    The physical id is ROUTER:DESTINATION:NEXTHOP.
    """

    type_name = "OS::Neutron::ExtraRoute"
    support = Support(SupportStatus.UNSUPPORTED)
    properties = {
        "destination": Prop(STRING, "Destination, in CIDR notation.", required=True),
        "nexthop": Prop(
            STRING, "Address of the next hop, in a network of the router.", required=True
        ),
        "router_id": Prop(STRING, "Id of the router.", required=True, constraint="neutron.router"),
    }
    router_property = "router_id"
    known_by = "the route, which is unique in a router"
    comes_after = (order.Legs(("router_id",)),)

    def routes(self, properties: Mapping[str, Any]) -> list[Body]:
        return [as_route(properties)]

    def identity(self, ctx: ResourceContext) -> str:
        return f"{self.router(ctx)}:{ctx.properties['destination']}:{ctx.properties['nexthop']}"


def as_route(entry: Mapping[str, Any]) -> Body:
    """Return a route in the format of the service."""
    return {"destination": entry["destination"], "nexthop": entry["nexthop"]}


def among(route: Body, routes: Sequence[Body]) -> bool:
    """Return whether a list contains the route, also if its addresses are written differently."""
    return any(_normal(candidate) == _normal(route) for candidate in routes)


def _normal(route: Body) -> tuple[str, str]:
    destination, hop = str(route["destination"]), str(route["nexthop"])
    try:
        return str(ipaddress.ip_network(destination)), str(ipaddress.ip_address(hop))
    except ValueError:  # the service refuses it
        return destination, hop

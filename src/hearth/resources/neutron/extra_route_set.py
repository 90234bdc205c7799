"""OS::Neutron::ExtraRouteSet: some of the routes of a router."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.resources.base import IntentKey, Live, Made, Progress, Ready, ResourceType, Step
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
    """Routes of a router, beside others that it may have. The physical id is that of the router."""

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
                        "Where the route leads, in CIDR notation.",
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

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("add", self.create, self.find),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("change", self.change),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("remove", self.remove),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def create(self, live: Live) -> Made:
        """Add the routes. One that the router has already is not ours to manage: refused."""
        there = [route for route in await self.present(live) if route in routes(live.properties)]
        if there:
            words = ", ".join(f"{one['destination']} via {one['nexthop']}" for one in there)
            text = f"routes: the router {live.properties['router']} has these already: {words}"
            raise Rejected([StackValidationFailed(None, text)])
        body = await self.put(live, "add_extraroutes", routes(live.properties))
        return Made(physical_id=live.properties["router"], body=body)

    async def find(self, live: Live) -> Made | None:
        present, wanted = await self.present(live), routes(live.properties)
        if wanted and all(route in present for route in wanted):
            return Made(physical_id=live.properties["router"])
        return None

    async def change(self, live: Live) -> Made | None:
        """Take away what is not wanted any more, add what is new; again, it changes nothing."""
        before, wanted = routes(live.before), routes(live.properties)
        await self.put(live, "remove_extraroutes", [r for r in before if r not in wanted])
        await self.put(live, "add_extraroutes", [r for r in wanted if r not in before])
        return Made(body=await self.show(live))

    async def remove(self, live: Live) -> Made | None:
        """Take them away; a router that is gone has none."""
        await forgiving(self.put(live, "remove_extraroutes", routes(live.properties)))
        return None

    async def put(self, live: Live, verb: str, some: Sequence[Body]) -> Body | None:
        """Add or remove routes; none needs no call."""
        if not some:
            return None
        answer = await live.cloud.request(
            "network",
            "PUT",
            f"/v2.0/routers/{segment(live.properties['router'])}/{verb}",
            json={"router": {"routes": list(some)}},
            idempotent=True,
        )
        return answer.part("router")

    async def present(self, live: Live) -> list[Body]:
        """All routes of the router."""
        router = await live.cloud.member("network", "/v2.0/routers", live.properties["router"])
        return list(router.get("routes") or [])

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def checked(self, live: Live) -> Progress:
        return Ready(await self.show(live))

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return await live.cloud.member("network", "/v2.0/routers", live.physical)


def routes(properties: Mapping[str, Any]) -> list[Body]:
    """The routes as the service takes them."""
    given = properties.get("routes") or []
    return [{"destination": one["destination"], "nexthop": one["nexthop"]} for one in given]

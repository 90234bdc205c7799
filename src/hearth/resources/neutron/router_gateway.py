"""OS::Neutron::RouterGateway: the way out of a router, set by itself."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step
from hearth.resources.collection import forgiving
from hearth.resources.neutron import order
from hearth.schema import STRING, Prop, Replace, Resolve, Support, SupportStatus


class RouterGateway(ResourceType):
    """The way out of a router. The physical id is ROUTER:NETWORK."""

    type_name = "OS::Neutron::RouterGateway"
    support = Support(
        SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.1")
    )
    properties = {
        "network": Prop(STRING, "The network, by name or id.", constraint="neutron.network"),
        "network_id": Prop(
            STRING,
            "Use network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "9.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "router_id": Prop(
            STRING, "The router, by name or id.", required=True, constraint="neutron.router"
        ),
    }
    translation = (
        Replace(("network",), value_path=("network_id",)),
        Resolve(("network",), "neutron.network"),
        Resolve(("router_id",), "neutron.router"),
    )
    service = "network"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the router's only gateway; to set it again changes nothing"
    comes_after = (order.Subnets(("network", "network_id")),)

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("open", self.open),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("close", self.close),) if live.physical_id else ()

    async def open(self, live: Live) -> Made:
        """Connect the router with the outside; doing it again changes nothing."""
        router, network = live.properties["router_id"], live.properties["network"]
        body = await self.lead(live, router, {"network_id": network})
        return Made(physical_id=f"{router}:{network}", body=body)

    async def close(self, live: Live) -> Made | None:
        """Cut it off; a router that is gone is done with."""
        await forgiving(self.lead(live, live.physical.partition(":")[0], {}))
        return None

    async def lead(self, live: Live, router: str, gateway: Body) -> Body:
        """Set the gateway of the router."""
        answer = await live.cloud.request(
            "network",
            "PUT",
            f"/v2.0/routers/{router}",
            json={"router": {"external_gateway_info": gateway}},
            idempotent=True,
        )
        return answer.part("router")

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        router = live.physical.partition(":")[0]
        return await live.cloud.member("network", "/v2.0/routers", router)

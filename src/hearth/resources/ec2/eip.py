"""AWS::EC2::EIP and AWS::EC2::EIPAssociation: outer addresses, and what they point to."""

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Problem, Rejected
from hearth.resources.base import Change, Live, Made, Step
from hearth.resources.lookup import Names
from hearth.resources.neutron import order
from hearth.resources.neutron.pointer import Pointer
from hearth.resources.nova.floating_ip import FloatingIP, port_of_server
from hearth.resources.reworded import Reworded
from hearth.schema import (
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Attr,
    Needs,
    Prop,
    Support,
    SupportStatus,
)


class EIP(Reworded):
    """An outer address, whose reference is the address itself."""

    type_name = "AWS::EC2::EIP"
    other = FloatingIP()
    properties = {
        "Domain": Prop(
            STRING,
            "Taken for compatibility: all addresses are those of networks.",
            constraints=(AllowedValues(["vpc"]),),
            support=Support(SupportStatus.DEPRECATED, "9.0.0"),
        ),
        "InstanceId": Prop(
            STRING, "The server it points to.", update_allowed=True, constraint="nova.server"
        ),
    }
    attributes = {"AllocationId": Attr(STRING, "Id of the floating IP.")}
    comes_after = (order.Routes(),)

    def words(self, live: Live, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        point = (Step("point", self.point),) if live.given("InstanceId") else ()
        return (*super().create_steps(live), Step("note", self.note), *point)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("point", self.point),) if "InstanceId" in live.changed else ()

    async def note(self, live: Live) -> Made:
        """Keep the address: it is what other resources refer to."""
        body = live.body or await self.show(live) or {}
        return Made(data={"address": str(body["floating_ip_address"])})

    async def point(self, live: Live) -> Made | None:
        """Point it to the server, or nowhere; doing it again changes nothing."""
        server = live.given("InstanceId")
        port = await port_of_server(live, server) if server else None
        await live.request("PUT", json={"floatingip": {"port_id": port}}, idempotent=True)
        return None

    def reference(self, live: Live) -> str:
        return live.data.get("address", live.name)

    def shown(self, live: Live, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"AllocationId": body.get("id")}


class EIPAssociation(Pointer):
    """Points an outer address to a server, or to one port of it."""

    type_name = "AWS::EC2::EIPAssociation"
    properties = {
        "AllocationId": Prop(STRING, "The address, by id.", update_allowed=True),
        "EIP": Prop(STRING, "The address.", update_allowed=True, constraint="ip_addr"),
        "InstanceId": Prop(STRING, "The server.", update_allowed=True, constraint="nova.server"),
        "NetworkInterfaceId": Prop(STRING, "The port, by id.", update_allowed=True),
    }
    relations = (
        AtLeastOne("EIP", "AllocationId"),
        AtMostOne("EIP", "AllocationId"),
        AtLeastOne("InstanceId", "NetworkInterfaceId"),
        Needs("EIP", "InstanceId"),
    )
    known_by = "the only port of the address; setting it again has no effect"
    comes_after = (order.Routes(),)
    objects = "/v2.0/floatingips"
    body = "floatingip"
    field = "port_id"
    known_again = True

    async def held(self, live: Live) -> str:
        if live.given("AllocationId"):
            return str(live.given("AllocationId"))
        names = Names(live.cloud)
        found = await names.id_of("neutron.floating_ip", str(live.given("EIP")))
        if isinstance(found, Problem):
            raise Rejected([found])
        return found

    async def aim(self, live: Live) -> str:
        port = live.given("NetworkInterfaceId")
        return str(port) if port else await port_of_server(live, str(live.given("InstanceId")))

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        leave = (Step("leave", self.leave),) if live.physical_id else ()
        return (*leave, Step("point", self.point))

    def must_replace(self, change: Change) -> str | None:
        """As with the service of these names: both ends at once are another association."""
        ends = ({"AllocationId", "EIP"}, {"InstanceId", "NetworkInterfaceId"})
        given = {name for name in change.changed if change.after.get(name)}
        return "address and server change at once" if all(given & one for one in ends) else None

    def reference(self, live: Live) -> str:
        return live.physical_name if live.physical_id else live.name

"""AWS::EC2::EIP and AWS::EC2::EIPAssociation: floating IPs and their associations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.model.problem import Problem, Rejected
from hearth.resources.adapter import AdapterType
from hearth.resources.base import Change, Made, ResourceContext, Step
from hearth.resources.lookup import Names
from hearth.resources.neutron import order
from hearth.resources.neutron.pointer import Pointer
from hearth.resources.nova.floating_ip import FloatingIP, port_of_server
from hearth.schema import (
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Attr,
    Needs,
    Plain,
    Prop,
    Support,
    SupportStatus,
)


class EIP(AdapterType):
    """A floating IP. Its reference is the address."""

    type_name = "AWS::EC2::EIP"
    adapted: ClassVar[FloatingIP] = FloatingIP()
    properties = {
        "Domain": Prop(
            STRING,
            "Accepted for compatibility; of no effect.",
            constraints=(AllowedValues(["vpc"]),),
            support=Support(SupportStatus.DEPRECATED, "9.0.0"),
        ),
        "InstanceId": Prop(
            STRING,
            "The server with which the address is associated.",
            update_allowed=True,
            constraint="nova.server",
        ),
    }
    attributes = {"AllocationId": Attr(STRING, "Id of the floating IP.")}
    comes_after = (order.Routes(),)

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        point = (Step("point", self.point),) if ctx.given("InstanceId") else ()
        return (*super().create_steps(ctx), Step("note", self.note), *point)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("point", self.point),) if "InstanceId" in ctx.changed else ()

    async def note(self, ctx: ResourceContext) -> Made:
        """Store the floating IP's address in private data, because it is the value of
        `get_resource`.
        """
        body = ctx.body or await self.show(ctx) or {}
        return Made(data={"address": str(body["floating_ip_address"])})

    async def point(self, ctx: ResourceContext) -> Made | None:
        """Associate the floating IP with the server `InstanceId`, or dissociate it if there is
        none.
        """
        server = ctx.given("InstanceId")
        port = await port_of_server(ctx, server) if server else None
        await ctx.request("PUT", json={"floatingip": {"port_id": port}}, idempotent=True)
        return None

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        return self.adapted.location(self.adapted_context(ctx))

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.data.get("address", ctx.name)

    def attributes_of(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"AllocationId": body.get("id")}


class EIPAssociation(Pointer):
    """Associates a floating IP with a server or with one of its ports."""

    type_name = "AWS::EC2::EIPAssociation"
    properties = {
        "AllocationId": Prop(STRING, "The address, by id.", update_allowed=True),
        "EIP": Prop(STRING, "The address.", update_allowed=True, constraint="ip_addr"),
        "InstanceId": Prop(STRING, "The server.", update_allowed=True, constraint="nova.server"),
        "NetworkInterfaceId": Prop(STRING, "The port, by id.", update_allowed=True),
    }
    relations = (
        Plain(AtLeastOne("EIP", "AllocationId")),
        Plain(AtMostOne("EIP", "AllocationId")),
        Plain(AtLeastOne("InstanceId", "NetworkInterfaceId")),
        Needs("EIP", "InstanceId"),
    )
    known_by = "the only port of the address; setting it again has no effect"
    comes_after = (order.Routes(),)
    objects = "/v2.0/floatingips"
    body = "floatingip"
    field = "port_id"
    known_again = True

    async def holder_id(self, ctx: ResourceContext) -> str:
        if ctx.given("AllocationId"):
            return str(ctx.given("AllocationId"))
        names = Names(ctx.cloud)
        address_id = await names.id_of("neutron.floating_ip", str(ctx.given("EIP")))
        if isinstance(address_id, Problem):
            raise Rejected([address_id])
        return address_id

    async def aim(self, ctx: ResourceContext) -> str:
        port = ctx.given("NetworkInterfaceId")
        return str(port) if port else await port_of_server(ctx, str(ctx.given("InstanceId")))

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        leave = (Step("leave", self.leave),) if ctx.physical_id else ()
        return (*leave, Step("point", self.point))

    def must_replace(self, change: Change) -> str | None:
        """Return a reason to replace the association, or None.

        It is replaced if its address and its server (or port) change in the same update.
        """
        ends = ({"AllocationId", "EIP"}, {"InstanceId", "NetworkInterfaceId"})
        new_values = {name for name in change.changed if change.after.get(name)}
        return (
            "the address and the server change at the same time"
            if all(new_values & names for names in ends)
            else None
        )

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.physical_name if ctx.physical_id else ctx.name

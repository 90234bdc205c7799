"""AWS::EC2::NetworkInterface: a port."""

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext, Step
from hearth.resources.capabilities import GivesWay
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.ec2.tags import ignored_tags
from hearth.resources.ec2.vpc import network_of
from hearth.resources.neutron.port import Port
from hearth.schema import BOOLEAN, LIST, STRING, Attr, Prop, Resolve


class NetworkInterface(AdapterType, GivesWay):
    """A port in a subnet, to which a server can be connected."""

    type_name = "AWS::EC2::NetworkInterface"
    adapted: ClassVar[Port] = Port()
    properties = {
        "Description": Prop(STRING, "Description.", empty_is_none=True),
        "GroupSet": Prop(LIST, "Security groups, by name or id.", update_allowed=True),
        "PrivateIpAddress": Prop(
            STRING,
            "Its address; the service chooses one from the subnet when not given.",
            empty_is_none=True,
        ),
        "SourceDestCheck": not_implemented(BOOLEAN),
        "SubnetId": Prop(STRING, "The subnet.", required=True, constraint="neutron.subnet"),
        "Tags": ignored_tags(),
    }
    attributes = {"PrivateIpAddress": Attr(STRING, "Its address.")}
    translation = (
        Resolve(("SubnetId",), "neutron.subnet"),
        Resolve(("GroupSet",), "neutron.security_group"),
    )

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        address = {
            "subnet": properties.get("SubnetId"),
            "ip_address": properties.get("PrivateIpAddress"),
        }
        return {
            "description": properties.get("Description"),
            "security_groups": properties.get("GroupSet"),
            "fixed_ips": [address],
        }

    async def inner_context(self, ctx: ResourceContext) -> ResourceContext:
        inner = self.adapted_context(ctx)
        if ctx.physical_id is not None:
            return inner
        network = await network_of(ctx, str(ctx.properties["SubnetId"]))
        return replace(inner, properties={**inner.properties, "network": network})

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that release the addresses, which the new port may need."""
        return self.through(self.adapted.replaced_steps(self.adapted_context(ctx)))

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.taken_back_steps(self.adapted_context(ctx)))

    def attributes_of(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        addresses = body.get("fixed_ips") or [{}]
        return {"PrivateIpAddress": addresses[0].get("ip_address")}

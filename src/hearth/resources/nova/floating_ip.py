"""OS::Nova::FloatingIP and its association: floating IPs for old templates."""

from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import Collection, Elsewhere
from hearth.resources.neutron import floating_ip as neutron
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.neutron.outside import outside
from hearth.schema import STRING, Attr, Prop, Resolve, Support, SupportStatus

HIDDEN = Support(
    SupportStatus.HIDDEN,
    version="11.0.0",
    previous=Support(SupportStatus.DEPRECATED, version="9.0.0", previous=Support(version="2014.1")),
)


class FloatingIP(NeutronResource):
    """A floating IP of the network service."""

    type_name = "OS::Nova::FloatingIP"
    support = HIDDEN
    properties = {
        "pool": Prop(
            STRING,
            "The external network, by name or id; the cloud's default one when not given.",
            empty_is_none=True,
        ),
    }
    attributes = {
        "ip": Attr(STRING, "The address."),
        "pool": Attr(STRING, "Name of the external network."),
    }
    translation = (Resolve(("pool",), "neutron.network"),)
    collection = Collection("network", "/v2.0/floatingips", body="floatingip")
    renamed = {"pool": "floating_network_id"}
    elsewhere = {
        "pool": Elsewhere("/v2.0/networks", member="floating_network_id", field="name"),
    }

    async def create(self, ctx: ResourceContext) -> Made:
        if ctx.given("pool") is None:
            ctx = replace(ctx, properties={"pool": await outside(ctx)})
        return await super().create(ctx)

    def recordable(self, ctx: ResourceContext) -> Body:
        return {"ip": ctx.body["floating_ip_address"]} if ctx.body else {}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "ip":
            return await super().attribute(ctx, name)
        return (ctx.body or await self.show(ctx) or {}).get("floating_ip_address")


class FloatingIPAssociation(neutron.FloatingIPAssociation):
    """Associates a floating IP with the first suitable port of a server."""

    type_name = "OS::Nova::FloatingIPAssociation"
    support = HIDDEN
    properties = {
        "floating_ip": Prop(STRING, "Id of the floating IP.", required=True, update_allowed=True),
        "server_id": Prop(
            STRING,
            "The server, by id.",
            required=True,
            update_allowed=True,
            constraint="nova.server",
        ),
    }
    holder = "floating_ip"
    target = "server_id"

    async def aim(self, ctx: ResourceContext) -> str:
        return await port_of_server(ctx, str(ctx.properties["server_id"]))


async def port_of_server(ctx: ResourceContext, server: str) -> str:
    """Return the server's first port with an IPv4 address. Raises CloudFault if there is none."""
    ports = await ctx.cloud.listing("network", f"/v2.0/ports?device_id={segment(server)}")
    for port in ports:
        if any("." in address["ip_address"] for address in port["fixed_ips"]):
            return str(port["id"])
    message = f"server {server} has no port with an IPv4 address"
    raise CloudFault("network", 400, "BadRequest", message)

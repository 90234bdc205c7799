"""OS::Ironic::Port: a network card of a bare metal node; for administrators."""

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import IntentKey, Made, ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.schema import BOOLEAN, MAP, STRING, Attr, Prop, Resolve, Support

SERVICE = "baremetal"
MICROVERSION = "1.53"  # the first one with all fields of the type


class Port(CollectionResource):
    """A network card of a bare metal node."""

    type_name = "OS::Ironic::Port"
    support = Support(version="13.0.0")
    properties = {
        "address": Prop(STRING, "Its MAC address.", required=True, update_allowed=True),
        "extra": Prop(MAP, "Arbitrary keys and values.", update_allowed=True),
        "is_smartnic": Prop(BOOLEAN, "true: it is a Smart NIC.", update_allowed=True),
        "local_link_connection": Prop(
            MAP,
            "The switch to which it is connected: switch_id, port_id and switch_info.",
            update_allowed=True,
        ),
        "node": Prop(
            STRING,
            "The node, by name or id.",
            required=True,
            update_allowed=True,
            constraint="ironic.node",
        ),
        "physical_network": Prop(
            STRING, "Physical network to which it is connected.", update_allowed=True
        ),
        "portgroup": Prop(
            STRING,
            "Port group of the node, by name or id.",
            update_allowed=True,
            constraint="ironic.portgroup",
        ),
        "pxe_enabled": Prop(BOOLEAN, "true: the node can boot from it.", update_allowed=True),
    }
    attributes = {
        "address": Attr(STRING, "Its MAC address."),
        "extra": Attr(MAP, "Arbitrary keys and values."),
        "internal_info": Attr(MAP, "What the service stores about it."),
        "is_smartnic": Attr(BOOLEAN, "true: it is a Smart NIC."),
        "local_link_connection": Attr(MAP, "The switch to which it is connected."),
        "node_uuid": Attr(STRING, "Id of the node."),
        "physical_network": Attr(STRING, "Physical network to which it is connected."),
        "portgroup_uuid": Attr(STRING, "Id of the port group."),
        "pxe_enabled": Attr(BOOLEAN, "true: the node can boot from it."),
    }
    translation = (
        Resolve(("node",), "ironic.node"),
        Resolve(("portgroup",), "ironic.portgroup"),
    )
    service = SERVICE
    collection = Collection(
        SERVICE,
        "/v1/ports",
        body="",
        id_field="uuid",
        key_field=None,
        update_method="PATCH",
        microversion=MICROVERSION,
    )
    renamed = {"node": "node_uuid", "portgroup": "portgroup_uuid"}
    identified_by = IntentKey.OWN_ID
    known_by = "its UUID, which is the intent key"

    def fields(self, ctx: ResourceContext) -> Body:
        return {**super().fields(ctx), "uuid": ctx.key}

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        """Return the port whose UUID is the record's intent key, if it exists."""
        try:
            url = self.url(ctx, ctx.key)
            answer = await ctx.cloud.request(SERVICE, "GET", url, microversion=MICROVERSION)
        except CloudFault as fault:
            if fault.not_found:
                return []
            raise
        return [answer.body]

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Send a JSON patch; a field without a value gets the default of the service."""
        patch = [
            {"op": "remove", "path": f"/{name}"}
            if value is None
            else {"op": "replace", "path": f"/{name}", "value": value}
            for name, value in fields.items()
        ]
        answer = await ctx.request("PATCH", json=patch, idempotent=True)
        return Made(body=answer.body)

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call because it works on the node."""
        return fault.conflict and "is locked by host" in fault.message

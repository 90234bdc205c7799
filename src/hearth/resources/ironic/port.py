"""OS::Ironic::Port: a network card of a bare metal node; for administrators."""

from hearth.resources.ironic.base import IronicResource, collection_of
from hearth.schema import BOOLEAN, MAP, STRING, Attr, Prop, Resolve, Support


class Port(IronicResource):
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
    collection = collection_of("ports")
    renamed = {"node": "node_uuid", "portgroup": "portgroup_uuid"}

"""Gateways between virtual networks of the cloud and physical networks."""

from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import Natural, NeutronResource
from hearth.resources.parts import Call, Rows
from hearth.resources.properties import NAME
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Each,
    Length,
    OnlyFor,
    Prop,
    Range,
    Replace,
    RequiredFor,
    Resolve,
    Support,
    SupportStatus,
    Where,
)


class L2Gateway(NeutronResource):
    """A gateway: switch interfaces that connect virtual networks with physical networks."""

    type_name = "OS::Neutron::L2Gateway"
    support = Support(version="12.0.0")
    properties = {
        "devices": Prop(
            LIST,
            "The switches.",
            required=True,
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "device_name": Prop(STRING, "Name of the switch.", required=True),
                    "interfaces": Prop(
                        LIST,
                        "Its ports.",
                        required=True,
                        schema=Prop(
                            MAP,
                            schema={
                                "name": Prop(STRING, "Name of the port.", required=True),
                                "segmentation_id": Prop(LIST, "VLAN ids."),
                            },
                        ),
                    ),
                },
            ),
        ),
        "name": Prop(STRING, "Its name.", required=True, update_allowed=True),
    }
    extension = "l2-gateway"
    identified_by = IntentKey.RENAME
    collection = Collection("network", "/v2.0/l2-gateways", body="l2_gateway", key_field=None)


class L2GatewayConnection(Natural):
    """Connects a network to a layer-2 gateway."""

    type_name = "OS::Neutron::L2GatewayConnection"
    support = Support(version="12.0.0")
    properties = {
        "l2_gateway_id": Prop(STRING, "Id of the gateway.", required=True),
        "network_id": Prop(
            STRING, "The network, by name or id.", required=True, constraint="neutron.network"
        ),
        "segmentation_id": Prop(STRING, "VLAN id, if the gateway does not define it."),
    }
    translation = (Resolve(("network_id",), "neutron.network"),)
    extension = "l2-gateway-connection"
    collection = Collection(
        "network", "/v2.0/l2-gateway-connections", body="l2_gateway_connection", key_field=None
    )
    alike = ("l2_gateway_id", "network_id")
    known_by = "gateway and network, which are connected at most once"


class NetworkGateway(NeutronResource):
    """A gateway: devices that connect virtual networks with physical networks."""

    type_name = "OS::Neutron::NetworkGateway"
    support = Support(version="2014.1")
    properties = {
        "connections": Prop(
            LIST,
            "The networks that it connects.",
            default={},
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "network": Prop(
                        STRING,
                        "The network, by name or id.",
                        required=True,
                        constraint="neutron.network",
                        since="2014.2",
                    ),
                    "network_id": Prop(
                        STRING,
                        "Use network instead.",
                        constraint="neutron.network",
                        support=Support(
                            SupportStatus.HIDDEN,
                            version="5.0.0",
                            previous=Support(SupportStatus.DEPRECATED, version="2014.2"),
                        ),
                    ),
                    "segmentation_id": Prop(
                        INTEGER,
                        "VLAN id; none for type flat.",
                        constraints=(Range(min=0, max=4094),),
                    ),
                    "segmentation_type": Prop(
                        STRING,
                        "Type of the segment.",
                        default="flat",
                        constraints=(AllowedValues(["flat", "vlan"]),),
                    ),
                },
            ),
        ),
        "devices": Prop(
            LIST,
            "The devices; a change replaces the gateway.",
            required=True,
            update_allowed=True,
            constraints=(Length(min=1),),
            schema=Prop(
                MAP,
                schema={
                    "id": Prop(STRING, "Id of the device.", required=True),
                    "interface_name": Prop(STRING, "Name of its interface.", required=True),
                },
            ),
        ),
        "name": NAME,
    }
    attributes = {
        "default": Attr(STRING, "true: it is the default gateway device."),
    }
    translation = (
        Replace(("connections", "network"), value_name="network_id"),
        Resolve(("connections", "network"), "neutron.network"),
    )
    extension = "network-gateway"
    identified_by = IntentKey.RENAME
    collection = Collection(
        "network", "/v2.0/network-gateways", body="network_gateway", key_field=None
    )
    relations = (
        Each(
            "connections",
            RequiredFor("segmentation_id", "segmentation_type", "vlan"),
            Where(
                "segmentation_type",
                ("flat",),
                OnlyFor("segmentation_id", "segmentation_type", "vlan"),
            ),
        ),
    )
    replaced_for = {"devices": "the devices of a gateway cannot be changed"}
    renamed = {"connections.network": "network_id"}
    parts = (
        Rows(
            property="connections",
            key="network_id",
            listing="/v2.0/ports?device_id={id}",
            add=Call("PUT", "/v2.0/network-gateways/{id}/connect_network", "{member}", again=False),
            remove=Call(
                "PUT",
                "/v2.0/network-gateways/{id}/disconnect_network",
                "{member}",
                again=False,
                undoes=True,
            ),
            emptied=True,
        ),
    )

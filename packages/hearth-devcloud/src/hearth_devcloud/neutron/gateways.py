"""The APIs of gateways to physical networks: `l2-gateways` and `network-gateways`."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    integer,
    list_of,
    one_of,
    text,
)
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.ports import new_port, remove_port
from hearth_devcloud.neutron.rest import Rest, bad_input
from hearth_devcloud.store import Resource

_VLAN = integer(0, 4095)


def _fields(value: Any, required: set[str], optional: frozenset[str] = frozenset()) -> Body:
    if not isinstance(value, dict) or not required <= set(value) <= required | optional:
        raise ValueError(f"expected an object with the keys {sorted(required)}, got {value!r}")
    return value


def _switch(value: Any) -> Body:
    """Check the device (a switch) of an L2 gateway and return it. Raises ValueError."""
    device = _fields(value, {"device_name", "interfaces"})
    interfaces = []
    for entry in list_of()(device["interfaces"]):
        interface = _fields(entry, {"name"}, frozenset({"segmentation_id"}))
        numbers = list_of(_VLAN, null=True)(interface.get("segmentation_id"))
        interfaces.append({"name": text()(interface["name"]), "segmentation_id": numbers})
    if not interfaces:
        raise ValueError("a device needs at least one interface")
    return {"device_name": text()(device["device_name"]), "interfaces": interfaces}


def _device(value: Any) -> Body:
    """Check the device of a network gateway and return it. Raises ValueError."""
    return {k: text()(v) for k, v in _fields(value, {"id", "interface_name"}).items()}


L2_GATEWAYS = Collection(
    "network",
    "l2_gateways",
    "l2_gateway",
    {"name": Field(text(), default=""), "devices": Field(list_of(_switch), required=True)},
    type_name="L2Gateway",
    path="/v2.0/l2-gateways",
)
L2_CONNECTIONS = Collection(
    "network",
    "l2_gateway_connections",
    "l2_gateway_connection",
    {
        "l2_gateway_id": Field(text(36), required=True, update=False),
        "network_id": Field(text(36), required=True, update=False),
        "segmentation_id": Field(text(null=True), default="", update=False),
    },
    type_name="L2GatewayConnection",
    path="/v2.0/l2-gateway-connections",
)
NETWORK_GATEWAYS = Collection(
    "network",
    "network_gateways",
    "network_gateway",
    {
        "name": Field(text(), default=""),
        "devices": Field(list_of(_device), required=True, update=False),
        "default": READ_ONLY,
        "ports": READ_ONLY,
    },
    type_name="GatewayService",
    path="/v2.0/network-gateways",
)


class _L2Gateways(Rest):
    standard = False
    admin_only = True

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "devices" in changes:
            self._unused(call, resource)
        super().change(call, resource, changes)

    def gone(self, call: Call, resource: Resource) -> None:
        self._unused(call, resource)

    @staticmethod
    def _unused(call: Call, gateway: Resource) -> None:
        if call.cloud.store.where(L2_CONNECTIONS.table, l2_gateway_id=gateway.id):
            raise Refusal(
                409, "L2GatewayInUse", f"L2 Gateway {gateway.id} still has active mappings"
            )


class _L2Connections(Rest):
    standard = False
    admin_only = True

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        gateway = l2_gateways.find(call, values["l2_gateway_id"])
        network = networks.find(call, values["network_id"])
        has_segmentation = any(
            i["segmentation_id"] for d in gateway.body["devices"] for i in d["interfaces"]
        )
        if has_segmentation == bool(values["segmentation_id"]):
            kind = (
                "L2MultipleSegmentationID" if has_segmentation else "L2GatewaySegmentationRequired"
            )
            raise Refusal(
                400,
                kind,
                "Either the gateway or the connection must set the segmentation id, not both.",
            )
        filters = {"l2_gateway_id": gateway.id, "network_id": network.id}
        if call.cloud.store.where(L2_CONNECTIONS.table, **filters):
            text_ = f"The specified mapping is already in use on the gateway {gateway.id}"
            raise Refusal(409, "L2GatewayConnectionExists", text_)
        return super().make(call, project_id, values)


class _NetworkGateways(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        return super().make(call, project_id, {**values, "default": False, "ports": []})

    def gone(self, call: Call, resource: Resource) -> None:
        if resource.body["ports"]:
            text_ = f"Network Gateway '{resource.id}' still has active mappings"
            raise Refusal(409, "NetworkGatewayInUse", text_)

    def _mapping(self, call: Call) -> tuple[Resource, Resource, Body]:
        gateway = self.find(call, call.ids[0])
        self.owned_by_caller(call, gateway, "update")
        mapping = call.json()
        names = frozenset({"segmentation_type", "segmentation_id"})
        try:
            mapping = _fields(mapping, {"network_id"}, names)
            kind = one_of("flat", "vlan")(mapping.get("segmentation_type", "flat"))
            number = integer(0, 4094)(mapping.get("segmentation_id", 0))
        except ValueError as error:
            raise bad_input(str(error)) from None
        if kind == "flat" and number:
            raise bad_input("segmentation id should not be specified with flat segmentation type")
        network = networks.find(call, mapping["network_id"])
        return gateway, network, {"segmentation_type": kind, "segmentation_id": number}

    def connect(self, call: Call) -> Reply:
        """Handle PUT connect_network: connect a gateway and a network by a new port."""
        gateway, network, segment = self._mapping(call)
        if any(segment.items() <= port.items() for port in gateway.body["ports"]):
            text_ = f"The specified mapping is already in use on network gateway '{gateway.id}'."
            raise Refusal(409, "GatewayConnectionInUse", text_)
        attributes: Body = {"device_id": gateway.id, "device_owner": "network:gateway-interface"}
        attributes |= {"fixed_ips": [], "port_security_enabled": False}
        port = new_port(call.cloud, network, gateway.project_id or "", attributes, implicit=True)
        gateway.body["ports"].append({"port_id": port.id, **segment})
        info = {"network_gateway_id": gateway.id, "network_id": network.id, "port_id": port.id}
        return Reply(200, {"connection_info": info})

    def disconnect(self, call: Call) -> Reply:
        """Handle PUT disconnect_network: remove the port between a gateway and a network."""
        gateway, network, segment = self._mapping(call)
        store = call.cloud.store
        for entry in gateway.body["ports"]:
            port = store.table(tables.PORTS)[entry["port_id"]]
            if port.body["network_id"] == network.id and segment.items() <= entry.items():
                gateway.body["ports"].remove(entry)
                remove_port(call.cloud, port)
                return Reply(200, {})
        text_ = f"The connection of network {network.id} was not found on '{gateway.id}'"
        raise Refusal(404, "GatewayConnectionNotFound", text_)


l2_gateways = _L2Gateways(L2_GATEWAYS)
network_gateways = _NetworkGateways(NETWORK_GATEWAYS)
ROUTES: list[Route] = [
    *l2_gateways.routes,
    *_L2Connections(L2_CONNECTIONS).routes,
    *network_gateways.routes,
    ("PUT", "/v2.0/network-gateways/{}/connect_network", network_gateways.connect),
    ("PUT", "/v2.0/network-gateways/{}/disconnect_network", network_gateways.disconnect),
]

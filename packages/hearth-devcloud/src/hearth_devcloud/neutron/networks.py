"""The API of networks."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    boolean,
    integer,
    list_of,
    nullable,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron import physical
from hearth_devcloud.neutron.rest import Rest, bad_input, owned, stamped
from hearth_devcloud.store import Resource

_MTU_MAX = {"vxlan": 1450, "gre": 1458, "geneve": 1442}
_MTU_PLAIN = 1500
_PROVIDER = ("provider:network_type", "provider:physical_network", "provider:segmentation_id")
NETWORKS = Collection(
    "network",
    "networks",
    "network",
    {
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "admin_state_up": Field(boolean, default=True),
        "shared": Field(boolean, default=False, admin=True),
        "router:external": Field(boolean, default=False, admin=True),
        "is_default": Field(boolean, default=False, admin=True),
        "mtu": Field(integer(0)),
        "port_security_enabled": Field(boolean, default=True),
        "qos_policy_id": Field(nullable(uuid)),
        "dns_domain": Field(text(), default=""),
        "availability_zone_hints": Field(list_of(), default=list, update=False),
        "vlan_transparent": Field(boolean, default=False, update=False),
        "qinq": Field(boolean, default=False, update=False),
        "provider:network_type": Field(text(null=True), admin=True),
        "provider:physical_network": Field(text(null=True), admin=True),
        "provider:segmentation_id": Field(integer(null=True), admin=True),
        "status": READ_ONLY,
        "subnets": READ_ONLY,
    },
    type_name="Network",
    path="/v2.0/networks",
    quota="network",
)


def new_network(
    cloud: Cloud, network_id: str, project_id: str, attributes: Body, *, seed: bool = False
) -> Resource:
    """Create a network with its segment and return it. Raises Refusal.

    `attributes` contains checked values; missing ones get their defaults. `seed` is true for an
    initial network.
    """
    values = {**NETWORKS.for_create({}), **attributes}
    external = values["router:external"]
    body = {
        "id": network_id,
        **values,
        **owned(project_id),
        "mtu": (1500 if external else 1450) if values["mtu"] is None else values["mtu"],
        "status": "ACTIVE",
        "subnets": [],
        "availability_zones": [],
        "ipv4_address_scope": None,
        "ipv6_address_scope": None,
        "l2_adjacency": True,
        **stamped(cloud, 1),
    }
    network = Resource(network_id, NETWORKS.table, project_id, body, seed=seed)
    kind = values["provider:network_type"]
    physical_network, number = (
        values["provider:physical_network"],
        values["provider:segmentation_id"],
    )
    if kind is None and (physical_network or number):
        text_ = "provider:network_type required"
        raise Refusal(400, "InvalidInput", f"Invalid input for operation: {text_}.")
    _check_mtu(kind or "vxlan", values["mtu"])
    segment = physical.new_segment(
        cloud, network, kind or "vxlan", physical_network, number, implicit=True
    )
    _carried_by(network, segment)
    return cloud.store.insert(network)


def _check_mtu(kind: str, mtu: int | None) -> None:
    maximum = _MTU_MAX.get(kind, _MTU_PLAIN)
    if mtu is not None and mtu > maximum:
        raise bad_input(f"Requested MTU is too big, maximum is {maximum}.")


def _carried_by(network: Resource, segment: Resource) -> None:
    for name in ("network_type", "physical_network", "segmentation_id"):
        network.body[f"provider:{name}"] = segment.body[name]


class _Networks(Rest):
    admin_fields = frozenset(_PROVIDER)

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        return new_network(call.cloud, call.cloud.store.new_id(), project_id, values)

    def visible(self, call: Call, resource: Resource) -> bool:
        return bool(resource.body["router:external"]) or super().visible(call, resource)

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        view = super().view(call, resource, created=created)
        carried = call.cloud.store.where(physical.TABLE, network_id=resource.id)
        if len(carried) > 1 and call.caller.is_admin:
            view = {k: v for k, v in view.items() if k not in self.admin_fields}
            names = ("network_type", "physical_network", "segmentation_id")
            view["segments"] = [{f"provider:{n}": s.body[n] for n in names} for s in carried]
        if not created:
            for name in _PROVIDER:
                if name in view:
                    view[name] = view.pop(name)  # at the end
            if not resource.body["router:external"]:
                view.pop("is_default")
        return view

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        for name in ("provider:network_type", "provider:physical_network"):
            if changes.pop(name, None) not in (None, resource.body[name]):
                text_ = f"Plugin does not support updating the provider attribute {name}"
                raise Refusal(400, "InvalidInput", f"Invalid input for operation: {text_}.")
        number = changes.pop("provider:segmentation_id", None)
        if number not in (None, resource.body["provider:segmentation_id"]):
            self._renumber(call, resource, number)
        _check_mtu(resource.body["provider:network_type"], changes.get("mtu"))
        self._check_others(call, resource, changes)
        resource.body.update(changes)

    @staticmethod
    def _check_others(call: Call, network: Resource, changes: Body) -> None:
        """Raise Refusal 409 if a change would take the network away from its users.

        A network that other projects use must stay shared, and one with router gateways must stay
        external.
        """
        ports = call.cloud.store.where(tables.PORTS, network_id=network.id)
        owners = {port.project_id for port in ports if port.project_id} - {network.project_id}
        if network.body["shared"] and changes.get("shared") is False and owners:
            text_ = f"Network {network.id} must stay shared: other projects use it."
            raise Refusal(409, "InvalidSharedSetting", text_)
        inward = changes.get("router:external") is False
        if inward and any(p.body["device_owner"] == "network:router_gateway" for p in ports):
            text_ = f"Network {network.id} must stay external: it has gateway ports."
            raise Refusal(409, "ExternalNetworkInUse", text_)

    @staticmethod
    def _renumber(call: Call, network: Resource, number: int) -> None:
        store = call.cloud.store
        segments = store.where(physical.TABLE, network_id=network.id)
        if len(segments) != 1:
            text_ = "Provider network attributes can be updated only in networks of one segment"
            raise Refusal(400, "InvalidInput", f"Invalid input for operation: {text_}.")
        kind, physical_network = (
            segments[0].body["network_type"],
            segments[0].body["physical_network"],
        )
        new = physical.new_segment(
            call.cloud, network, kind, physical_network, number, implicit=True
        )
        store.remove(new)
        store.change(segments[0], segmentation_id=number)
        _carried_by(network, segments[0])

    def gone(self, call: Call, resource: Resource) -> None:
        store = call.cloud.store
        if store.where(tables.PORTS, network_id=resource.id):
            text = f"Unable to complete operation on network {resource.id}. There are ports in use."
            raise Refusal(409, "NetworkInUse", text)
        for table in (tables.SUBNETS, physical.TABLE):
            for part in store.where(table, network_id=resource.id):
                store.remove(part)


networks = _Networks(NETWORKS)
ROUTES = networks.routes

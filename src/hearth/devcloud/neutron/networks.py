"""Networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hearth.devcloud.collection import READ_ONLY, Collection, Field, boolean, integer, list_of, text
from hearth.devcloud.http import Body, Call, Refusal
from hearth.devcloud.neutron.rest import Rest, owned, stamped
from hearth.devcloud.store import Thing

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud

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
        "mtu": Field(integer(68)),
        "port_security_enabled": Field(boolean, default=True),
        "qos_policy_id": Field(text(36, null=True)),
        "dns_domain": Field(text(), default=""),
        "availability_zone_hints": Field(list_of(), default=list, update=False),
        "vlan_transparent": Field(boolean, default=False, update=False),
        "qinq": Field(boolean, default=False, update=False),
        "provider:network_type": Field(text(), admin=True, update=False),
        "provider:physical_network": Field(text(null=True), admin=True, update=False),
        "provider:segmentation_id": Field(integer(null=True), admin=True, update=False),
        "status": READ_ONLY,
        "subnets": READ_ONLY,
    },
    type_name="Network",
    path="/v2.0/networks",
    quota="network",
)


def new_network(
    cloud: DevCloud, network_id: str, project_id: str, given: Body, *, seed: bool = False
) -> Thing:
    """A network of checked values."""
    values = {**NETWORKS.for_create({}), **given}
    external = values["router:external"]
    body = {
        "id": network_id,
        **values,
        **owned(project_id),
        "mtu": values["mtu"] or (1500 if external else 1450),
        "status": "ACTIVE",
        "subnets": [],
        "availability_zones": [],
        "ipv4_address_scope": None,
        "ipv6_address_scope": None,
        "l2_adjacency": True,
        "provider:network_type": values["provider:network_type"] or "vxlan",
        "provider:segmentation_id": values["provider:segmentation_id"] or cloud.store.new_serial(),
        **stamped(cloud, 1),
    }
    return cloud.store.insert(Thing(network_id, NETWORKS.table, project_id, body, seed=seed))


class _Networks(Rest):
    admin_fields = frozenset(
        {"provider:network_type", "provider:physical_network", "provider:segmentation_id"}
    )

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        if values["mtu"] is not None and values["mtu"] < 68:
            raise Refusal(400, "InvalidInput", "mtu is too small")
        return new_network(call.cloud, call.cloud.store.new_id(), project_id, values)

    def visible(self, call: Call, thing: Thing) -> bool:
        if thing.body["shared"] or thing.body["router:external"]:
            return True
        targets = (call.caller.project_id, "*")
        return any(
            policy.body["object_id"] == thing.id and policy.body["target_tenant"] in targets
            for policy in call.cloud.store.all("network.rbac_policies")
        )

    def view(self, call: Call, thing: Thing, *, created: bool = False) -> Body:
        view = super().view(call, thing, created=created)
        if not created:
            view = {k: v for k, v in view.items() if not k.startswith("provider:")} | {
                k: v for k, v in view.items() if k.startswith("provider:")
            }
            if not thing.body["router:external"]:
                view.pop("is_default")
        return view

    def gone(self, call: Call, thing: Thing) -> None:
        store = call.cloud.store
        if store.where("network.ports", network_id=thing.id):
            text = f"Unable to complete operation on network {thing.id}. There are ports in use."
            raise Refusal(409, "NetworkInUse", text)
        for subnet in store.where("network.subnets", network_id=thing.id):
            store.remove(subnet)


networks = _Networks(NETWORKS)
ROUTES = networks.routes

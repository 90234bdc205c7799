"""Ports: the network cards of nodes; and port groups, which bond several ports."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    boolean,
    mapping,
    nullable,
    text,
    uuid,
)
from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.ironic.base import (
    SERVICE,
    Kind,
    bad,
    checked,
    conflict,
    find,
    given,
    insert,
    links,
    listed,
    mac,
    unique,
    view,
)
from hearth_devcloud.ironic.nodes import NODE
from hearth_devcloud.ironic.patches import patched
from hearth_devcloud.store import Resource, Store, stamp_micro

_LINK = {"switch_id", "port_id", "switch_info", "network_type", "hostname"}
_SWITCH = re.compile(r"^(?:(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:0x)?[0-9a-f]{16})$", re.IGNORECASE)
_FIXED = ("enroll", "manageable", "inspecting")
"""The states of a node in which the wiring of its ports can change, outside of maintenance."""

_WIRING = {"local_link_connection", "physical_network", "portgroup_uuid", "pxe_enabled"}


def _link(value: Any) -> Body:
    link: Body = mapping(value)
    if link.keys() - _LINK:
        raise ValueError(f"invalid keys: {sorted(link.keys() - _LINK)}")
    if not link or link.keys() == {"network_type"}:
        return link
    smart = {"port_id", "hostname"} <= link.keys()
    absent = {"switch_id", "port_id"} - link.keys()
    if absent and not smart:
        raise ValueError(f"missing mandatory keys: {sorted(absent)}")
    if "switch_id" in link and not _SWITCH.match(str(link["switch_id"])):
        raise ValueError(f"switch_id {link['switch_id']} is no MAC address and no datapath id")
    return link


GROUP = Kind(
    Collection(
        SERVICE,
        "portgroups",
        "portgroup",
        {
            "uuid": Field(uuid, update=False),
            "node_uuid": Field(uuid, required=True, update=False),
            "name": Field(nullable(text(255))),
            "address": Field(nullable(mac)),
            "extra": Field(mapping, default=dict),
            "mode": Field(text(255), default="active-backup"),
            "properties": Field(mapping, default=dict),
            "standalone_ports_supported": Field(boolean, default=True),
            "internal_info": Field(default=dict, create=False, update=False),
        },
    ),
    "Portgroup",
    ("uuid", "name", "address"),
    {"mode": 26, "properties": 26},
    {"address": "address"},
)
PORT = Kind(
    Collection(
        SERVICE,
        "ports",
        "port",
        {
            "uuid": Field(uuid, update=False),
            "node_uuid": Field(uuid, required=True),
            "address": Field(mac, required=True),
            "extra": Field(mapping, default=dict),
            "internal_info": Field(default=dict, create=False, update=False),
            "local_link_connection": Field(_link, default=dict),
            "pxe_enabled": Field(boolean, default=True),
            "portgroup_uuid": Field(nullable(uuid)),
            "physical_network": Field(nullable(text(64))),
            "is_smartnic": Field(boolean, default=False),
            "links": READ_ONLY,
        },
    ),
    "Port",
    ("uuid", "address"),
    {
        "internal_info": 18,
        "local_link_connection": 19,
        "pxe_enabled": 19,
        "portgroup_uuid": 24,
        "physical_network": 34,
        "is_smartnic": 53,
    },
    {"address": "address", "node_uuid": "node_uuid"},
)


def plant(store: Store) -> None:
    """Create a port group of each initial node."""
    for node in list(store.all(NODE.table)):
        name = f"{node.body['name']}-bond"
        values = {"node_uuid": node.id, "name": name, "uuid": fixed("portgroup", name)}
        insert(store, GROUP, GROUP.declared.for_create(values), seed=True)


# ports


def _check(call: Call, values: Body, current: Resource | None = None) -> None:
    """Check the references of a port. Raises Refusal 400, or 409 for an address in use."""
    store = call.cloud.store
    find(call, NODE, values["node_uuid"], 400)
    if any(port is not current for port in store.where(PORT.table, address=values["address"])):
        raise conflict(f"A port with MAC address {values['address']} already exists.")
    if values["portgroup_uuid"] is None:
        return
    group = find(call, GROUP, values["portgroup_uuid"], 400)
    if values["pxe_enabled"] and not group.body["standalone_ports_supported"]:
        message = "Port cannot have pxe_enabled if its portgroup does not support standalone ports"
        raise conflict(message)


def create(call: Call) -> Reply:
    """Handle POST of a port; reply with status 201."""
    values = checked(call, PORT, given(call), creating=True)
    values.pop("links")
    _check(call, values)
    port = insert(call.cloud.store, PORT, values)
    reply = Reply(201, view(call, PORT, port))
    reply.headers["Location"] = f"{call.base}/{SERVICE}/v1/ports/{port.id}"
    return reply


def _listed(call: Call, kind: Kind, *, full: bool) -> Reply:
    """List ports or port groups, those of a node or port group if the query names one."""
    keep: dict[str, str] = {}
    node = call.query.pop("node", None)
    if node is not None:
        keep["node_uuid"] = find(call, NODE, node[0]).id
    group = call.query.pop("portgroup", None) if kind is PORT else None
    if group is not None:
        keep["portgroup_uuid"] = find(call, GROUP, group[0]).id
    return listed(
        call,
        kind,
        full=full,
        keep=lambda resource: all(resource.body[n] == v for n, v in keep.items()),
    )


def ports(call: Call) -> Reply:
    """Handle GET /v1/ports: list the ports in brief."""
    return _listed(call, PORT, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /v1/ports/detail: list the ports with all fields."""
    return _listed(call, PORT, full=True)


def show(call: Call) -> Reply:
    """Handle GET of a port."""
    return Reply(200, view(call, PORT, find(call, PORT, call.ids[0])))


def update(call: Call) -> Reply:
    """Handle PATCH of a port; reply with 409 if the state of its node forbids the change."""
    port = find(call, PORT, call.ids[0])
    changes = patched(call, PORT, port)
    node = find(call, NODE, port.body["node_uuid"], 400).body
    free = node["maintenance"] or node["provision_state"] in _FIXED
    wiring = sorted(changes.keys() & _WIRING)
    if wiring and not free:
        states = ", ".join(_FIXED)
        message = f"can not have any connectivity attributes ({', '.join(wiring)}) updated unless"
        raise conflict(f"Port {port.id} {message} node is in one of the states {states}.")
    _check(call, {**port.body, **changes}, port)
    port.body.update(changes)
    port.body["updated_at"] = stamp_micro(call.cloud.store.time)
    return Reply(200, view(call, PORT, port))


def delete(call: Call) -> Reply:
    """Handle DELETE of a port; reply with status 204."""
    port = find(call, PORT, call.ids[0])
    node = call.cloud.store.table(NODE.table)[port.body["node_uuid"]].body
    if node["instance_uuid"] is not None and not node["maintenance"]:
        message = f"Cannot delete the port {port.id}: its node has an instance."
        raise conflict(message)
    call.cloud.store.remove(port)
    return Reply(204)


def of_node(call: Call) -> Reply:
    """Handle GET of the ports or port groups of a node."""
    node = find(call, NODE, call.ids[0])
    kind = PORT if call.segments[-1] == "ports" else GROUP
    return listed(call, kind, keep=lambda port: bool(port.body["node_uuid"] == node.id))


# port groups


def _group_view(call: Call, group: Resource) -> Body:
    group_fields = view(call, GROUP, group)
    if call.version >= (1, 24):
        group_fields["ports"] = links(call, f"portgroups/{group.id}", "ports")
    return group_fields


def create_group(call: Call) -> Reply:
    """Handle POST of a port group; reply with status 201."""
    values = checked(call, GROUP, given(call), creating=True)
    find(call, NODE, values["node_uuid"], 400)
    _check_address(call, values["address"])
    group = insert(call.cloud.store, GROUP, values)
    return Reply(201, _group_view(call, group))


def _check_address(call: Call, address: str | None, current: Resource | None = None) -> None:
    groups = call.cloud.store.where(GROUP.table, address=address) if address else []
    if any(group is not current for group in groups):
        raise conflict(f"A portgroup with MAC address {address} already exists.")


def groups(call: Call) -> Reply:
    """Handle GET /v1/portgroups: list the port groups in brief."""
    return _listed(call, GROUP, full=False)


def group_detail(call: Call) -> Reply:
    """Handle GET /v1/portgroups/detail: list the port groups with all fields."""
    return _listed(call, GROUP, full=True)


def show_group(call: Call) -> Reply:
    """Handle GET of a port group, by its UUID or name."""
    return Reply(200, _group_view(call, find(call, GROUP, call.ids[0])))


def update_group(call: Call) -> Reply:
    """Handle PATCH of a port group."""
    group = find(call, GROUP, call.ids[0])
    changes = patched(call, GROUP, group)
    unique(call.cloud.store, GROUP, changes.get("name"), group)
    _check_address(call, changes.get("address"), group)
    group.body.update(changes)
    group.body["updated_at"] = stamp_micro(call.cloud.store.time)
    return Reply(200, _group_view(call, group))


def delete_group(call: Call) -> Reply:
    """Handle DELETE of a port group without ports; reply with status 204."""
    group = find(call, GROUP, call.ids[0])
    if call.cloud.store.where(PORT.table, portgroup_uuid=group.id):
        raise bad(f"Cannot complete the requested action because portgroup {group.id} has ports.")
    call.cloud.store.remove(group)
    return Reply(204)


def of_group(call: Call) -> Reply:
    """Handle GET of the ports of a port group."""
    group = find(call, GROUP, call.ids[0])
    return listed(call, PORT, keep=lambda port: bool(port.body["portgroup_uuid"] == group.id))


_PORTS, _GROUPS, _NODES = "/v1/ports", "/v1/portgroups", "/v1/nodes"
ROUTES: list[Route] = [
    ("POST", _PORTS, create),
    ("GET", _PORTS, ports),
    ("GET", _PORTS + "/detail", detail),
    ("GET", _PORTS + "/{}", show),
    ("PATCH", _PORTS + "/{}", update),
    ("DELETE", _PORTS + "/{}", delete),
    ("POST", _GROUPS, create_group),
    ("GET", _GROUPS, groups),
    ("GET", _GROUPS + "/detail", group_detail),
    ("GET", _GROUPS + "/{}", show_group),
    ("PATCH", _GROUPS + "/{}", update_group),
    ("DELETE", _GROUPS + "/{}", delete_group),
    ("GET", _GROUPS + "/{}/ports", of_group),
    ("GET", _NODES + "/{}/ports", of_node),
    ("GET", _NODES + "/{}/portgroups", of_node),
]

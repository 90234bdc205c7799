"""Nodes: the machines. Their power and provision states change a short time after a request."""

from __future__ import annotations

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
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
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
    unique,
    view,
)
from hearth_devcloud.ironic.patches import patched
from hearth_devcloud.store import Resource, Store, stamp_micro

_DRIVERS = ("fake-hardware", "ipmi", "redfish")
_INTERFACES = {
    **dict.fromkeys(("boot", "console", "deploy", "inspect", "management", "power", "raid"), 31),
    "vendor": 31,
    "network": 20,
    "storage": 33,
    "rescue": 38,
    "bios": 40,
}
_TEXT = Field(nullable(text(255)))
_MAP = Field(mapping, default=dict)
_SEEDS = ("node-0", "node-1")


def _driver(value: object) -> str:
    if value not in _DRIVERS:
        raise ValueError(f"No valid host was found. Reason: no conductor has the driver {value}")
    return str(value)


def _name(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= 255 or "/" in value or " " in value:
        raise ValueError(f"Cannot create node with invalid name '{value}'")
    return value


NODE = Kind(
    Collection(
        SERVICE,
        "nodes",
        "node",
        {
            "uuid": Field(uuid, update=False),
            "name": Field(_name),
            "driver": Field(_driver, required=True),
            "driver_info": _MAP,
            "properties": _MAP,
            "extra": _MAP,
            "instance_info": _MAP,
            "instance_uuid": Field(nullable(uuid)),
            "resource_class": Field(nullable(text(80))),
            "chassis_uuid": Field(nullable(uuid)),
            "conductor_group": Field(text(255), default=""),
            "automated_clean": Field(nullable(boolean)),
            "protected": Field(boolean, default=False),
            "owner": _TEXT,
            "lessee": _TEXT,
            "description": Field(nullable(text(4096))),
            **{f"{name}_interface": _TEXT for name in _INTERFACES},
            "maintenance": Field(boolean, default=False, create=False),
            **dict.fromkeys(("power_state", "provision_state"), READ_ONLY),
            **dict.fromkeys(("target_power_state", "target_provision_state"), READ_ONLY),
            **dict.fromkeys(("last_error", "maintenance_reason", "reservation"), READ_ONLY),
        },
    ),
    "Node",
    ("uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state"),
    {
        "name": 5,
        "resource_class": 21,
        "conductor_group": 46,
        "automated_clean": 47,
        "protected": 48,
        "owner": 50,
        "description": 51,
        "lessee": 65,
        **{f"{name}_interface": minor for name, minor in _INTERFACES.items()},
    },
    {
        name: name
        for name in (
            *("instance_uuid", "maintenance", "provision_state", "driver", "resource_class"),
            *("owner", "lessee", "conductor_group", "chassis_uuid"),
        )
    },
)
_VERBS = {
    ("enroll", "manage"): ("verifying", "manageable"),
    ("available", "manage"): ("", "manageable"),
    ("manageable", "provide"): ("cleaning", "available"),
    ("manageable", "inspect"): ("inspecting", "manageable"),
    ("manageable", "clean"): ("cleaning", "manageable"),
    ("manageable", "adopt"): ("adopting", "active"),
    ("available", "active"): ("deploying", "active"),
    ("active", "rebuild"): ("deploying", "active"),
    ("active", "deleted"): ("deleting", "available"),
}
"""(state, verb) → (state on the way, state at the end)."""

_POWER = {"power on": "power on", "power off": "power off", "rebooting": "power on"}
_REMOVABLE = ("available", "enroll", "manageable")


def plant(store: Store) -> None:
    """Create two manageable nodes, so that ports can be tried."""
    for name in _SEEDS:
        attributes: Body = {"name": name, "driver": "fake-hardware", "uuid": fixed("node", name)}
        values = NODE.declared.for_create(attributes)
        insert(store, NODE, {**values, **_initial("manageable")}, seed=True)


def _initial(state: str) -> Body:
    return {
        "provision_state": state,
        "power_state": "power off" if state == "manageable" else None,
        "network_interface": "noop",
    }


def create(call: Call) -> Reply:
    """Handle POST of a node; it is in the state enroll, before microversion 1.11 in available."""
    values = checked(call, NODE, given(call), creating=True)
    if values["protected"]:
        raise bad("Cannot create a protected node")
    initial = _initial("available" if call.version < (1, 11) else "enroll")
    chosen = {name: value for name, value in values.items() if value is not None}
    node = insert(call.cloud.store, NODE, {**values, **initial, **chosen})
    reply = Reply(201, view(call, NODE, node))
    reply.headers["Location"] = f"{call.base}/{SERVICE}/v1/nodes/{node.id}"
    return reply


def nodes(call: Call) -> Reply:
    """Handle GET /v1/nodes: list the nodes in brief."""
    return listed(call, NODE)


def detail(call: Call) -> Reply:
    """Handle GET /v1/nodes/detail: list the nodes with all fields."""
    return listed(call, NODE, full=True)


def _own(call: Call) -> Resource:
    return find(call, NODE, call.ids[0])


def show(call: Call) -> Reply:
    """Handle GET of a node, by its UUID or name."""
    node = _own(call)
    answer = view(call, NODE, node)
    for plural, minor in (("ports", 0), ("states", 14), ("portgroups", 24)):
        if call.version >= (1, minor):
            answer[plural] = links(call, f"nodes/{node.id}", plural)
    return Reply(200, answer)


def update(call: Call) -> Reply:
    """Handle PATCH of a node."""
    node = _own(call)
    changes = patched(call, NODE, node)
    if "name" in changes:
        unique(call.cloud.store, NODE, changes["name"], node)
    node.body.update(changes)
    node.body["updated_at"] = stamp_micro(call.cloud.store.time)
    return Reply(200, view(call, NODE, node))


def delete(call: Call) -> Reply:
    """Handle DELETE of a node, with its ports and port groups; reply with status 204."""
    node, store = _own(call), call.cloud.store
    body = node.body
    if body["instance_uuid"] is not None:
        raise conflict(f"Node {node.id} is associated with instance {body['instance_uuid']}.")
    if body["provision_state"] not in _REMOVABLE and not body["maintenance"]:
        state = body["provision_state"]
        raise conflict(f'Can not delete node "{node.id}" while it is in provision state "{state}"')
    for plural in ("ports", "portgroups"):
        for resource in store.where(f"{SERVICE}.{plural}", node_uuid=node.id):
            store.remove(resource)
    store.remove(node)
    return Reply(204)


def states(call: Call) -> Reply:
    """Handle GET of the states of a node."""
    body = _own(call).body
    names = ("power_state", "provision_state", "target_power_state", "target_provision_state")
    return Reply(200, {name: body[name] for name in (*names, "last_error")})


def _target(call: Call) -> str:
    target = given(call).get("target")
    if not isinstance(target, str):
        raise bad("A target state is required")
    return target


def provision(call: Call) -> Reply:
    """Handle PUT of a node's provision state; reply with status 202."""
    node, verb = _own(call), _target(call)
    now = node.body["provision_state"]
    verbs = {name for _, name in _VERBS}
    if verb not in verbs or (now, verb) not in _VERBS:
        message = f'The requested action "{verb}" can not be performed on node "{node.id}" while'
        raise bad(f'{message} it is in state "{now}".')
    if node.body["protected"] and verb in ("deleted", "rebuild"):
        raise Refusal(403, message=f"Node {node.id} is protected and can not be undeployed")
    if node.body["maintenance"] and verb in ("active", "provide"):
        raise bad(f"The node {node.id} is in maintenance mode")
    between, end = _VERBS[now, verb]
    node.body.update(
        provision_state=between or end, target_provision_state=end if between else None
    )
    if between:
        node.hidden["fails"] = call.effects.error
        call.cloud.store.later(call.effects.slow_s or 0, node, "baremetal.provisioned")
    return Reply(202)


def provisioned(cloud: Cloud, node: Resource) -> None:
    """Complete a change of a node's provision state."""
    body = node.body
    if node.hidden.pop("fails", False):
        body.update(provision_state="error", last_error="The operation failed.")
        return
    end = body["target_provision_state"]
    body.update(provision_state=end, target_provision_state=None, last_error=None)
    body["power_state"] = "power on" if end == "active" else "power off"


def power(call: Call) -> Reply:
    """Handle PUT of a node's power state; reply with status 202."""
    node, target = _own(call), _target(call)
    if target not in _POWER:
        raise bad(f"Invalid power state: {target}")
    node.body["target_power_state"] = _POWER[target]
    call.cloud.store.later(call.effects.slow_s or 0, node, "baremetal.powered")
    return Reply(202)


def powered(cloud: Cloud, node: Resource) -> None:
    """Complete a change of a node's power state."""
    node.body.update(power_state=node.body["target_power_state"], target_power_state=None)


def maintain(call: Call) -> Reply:
    """Handle PUT and DELETE of a node's maintenance mode; reply with status 202."""
    node, entering = _own(call), call.method == "PUT"
    reason = given(call).get("reason") if entering and call.raw else None
    node.body.update(maintenance=entering, maintenance_reason=reason)
    return Reply(202)


def drivers(call: Call) -> Reply:
    """Handle GET of the drivers."""
    views = [
        {"name": name, "hosts": ["devcloud"], "links": links(call, "drivers", name)}
        for name in _DRIVERS
    ]
    return Reply(200, {"drivers": views})


_PATH = "/v1/nodes"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, nodes),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PATCH", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/states", states),
    ("PUT", _PATH + "/{}/states/provision", provision),
    ("PUT", _PATH + "/{}/states/power", power),
    ("PUT", _PATH + "/{}/maintenance", maintain),
    ("DELETE", _PATH + "/{}/maintenance", maintain),
    ("GET", "/v1/drivers", drivers),
]

"""The API of servers: create, list, show, update and delete them; their metadata and tags."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import Invalid
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.listing import TAG_FILTERS, ordered, page, same, tagged
from hearth_devcloud.microversion import Since
from hearth_devcloud.nova import order, quotas, view
from hearth_devcloud.nova.base import admin_only, bad, conflict, links, missing
from hearth_devcloud.store import Resource, stamp_micro, stamp_z

FAILS = ("devcloud", "cloudstub")
_FILTERS = TAG_FILTERS | {
    "name",
    "status",
    "image",
    "flavor",
    "uuid",
    "user_id",
    "vm_state",
    "task_state",
    "description",
}


def find(call: Call) -> Resource:
    """Return the server that the path names. Raises Refusal 404."""
    server = call.cloud.store.get(tables.SERVERS, call.ids[0])
    if server is None or not (call.caller.is_admin or server.project_id == call.caller.project_id):
        raise missing("Instance", call.ids[0])
    return server


def create(call: Call) -> Reply:
    """Handle POST of a server; reply with status 202. The server is built later."""
    body = call.json()
    if not isinstance(body, dict) or not isinstance(body.get("server"), dict):
        raise bad("'server' is a required property")
    hints = body.get("os:scheduler_hints") or body.get("OS-SCH-HNT:scheduler_hints") or {}
    if set(body) - {"server", "os:scheduler_hints", "OS-SCH-HNT:scheduler_hints"}:
        raise bad("Additional properties are not allowed")
    attributes = dict(body["server"])
    hints = attributes.pop("os:scheduler_hints", None) or hints
    values = order.checked(call, attributes)
    chosen = order.flavor(call, values)
    count = max(values["min_count"], values["max_count"] or 1)
    image_id = order.image(call, values, chosen)
    group = order.references(call, values, hints)
    networks = order.networks(call, values)
    devices = order.block_devices(call, values)
    groups = [order.security_group(call, str(g.get("name"))) for g in values["security_groups"]]
    increase = {"instances": 1, "cores": chosen.body["vcpus"], "ram": chosen.body["ram"]}
    quotas.check(
        call.cloud, call.caller.project_id or "", {key: n * count for key, n in increase.items()}
    )
    plan: Body = {
        "wanted_networks": networks,
        "wanted_devices": devices,
        "security_group_ids": groups,
        "flavor_id": chosen.id,
        "flavor": {k: v for k, v in chosen.body.items() if k != "access"},
        "image_id": image_id,
        "hints": hints,
        "reservation_id": "r-" + call.cloud.store.new_secret(8),
    }
    servers = [_accept(call, values, dict(plan), number, count) for number in range(count)]
    if group is not None:
        group.body["members"] = [*group.body["members"], *(server.id for server in servers)]
    if values["return_reservation_id"]:
        return Reply(202, {"reservation_id": plan["reservation_id"]})
    server = servers[0]
    view = {
        "id": server.id,
        "links": links(call, "servers", server.id),
        "OS-DCF:diskConfig": values["OS-DCF:diskConfig"],
        "security_groups": values["security_groups"] or [{"name": "default"}],
        "adminPass": values["adminPass"] or call.cloud.store.new_secret(12),
    }
    location = f"{call.base}/compute/v2.1/servers/{server.id}"
    return Reply(202, {"server": view}, {"Location": location})


def _accept(call: Call, values: Body, plan: Body, number: int, count: int) -> Resource:
    store, caller, effects = call.cloud.store, call.caller, call.effects
    server_id, now = store.new_id(), stamp_z(store.time)
    name = values["name"] if count == 1 else f"{values['name']}-{number + 1}"
    body: Body = {
        "id": server_id,
        "name": name,
        "status": "BUILD",
        "vm_state": "building",
        "task_state": "scheduling",
        "metadata": values["metadata"],
        "user_id": caller.user_id,
        "created": now,
        "updated": now,
        "accessIPv4": values["accessIPv4"],
        "accessIPv6": values["accessIPv6"],
        "OS-DCF:diskConfig": values["OS-DCF:diskConfig"],
        "description": values["description"] if call.version >= (2, 19) else name,
        "tags": list(dict.fromkeys(values["tags"])),
    }
    zone = (values["availability_zone"] or "").partition(":")[0]
    slow_s = effects.slow_s
    hidden: Body = {
        **plan,
        "ports": [],
        "own_ports": [],
        "volumes": [],
        "host": None,
        "zone": zone or "nova",
        "pinned_zone": zone or None,
        "key_name": values["key_name"],
        "user_data": values["user_data"],
        "config_drive": "True" if str(values["config_drive"]).lower() == "true" else "",
        "hostname": values["hostname"] or hostname(name),
        "launched_at": None,
        "locked": False,
        "locked_reason": None,
        "fault": None,
        "serial": store.new_serial("server"),
        "build_s": call.cloud.settings.build_s if slow_s is None else slow_s,
        "fails": effects.error or any(values["metadata"].get(k) == "fail" for k in FAILS),
        "actions": [],
    }
    server = store.insert(Resource(server_id, tables.SERVERS, caller.project_id, body, hidden))
    record(call, server, "create")
    store.later(hidden["build_s"] / 2, server, "compute.wire")
    return server


def hostname(name: str) -> str:
    """Return the host name of a server with this name: invalid characters are replaced."""
    text = re.sub(r"[ _.]", "-", name)
    return re.sub(r"[^0-9A-Za-z-]+", "", text).strip("-").lower()[:63] or "server"


def record(call: Call, server: Resource, action: str) -> None:
    """Add an entry to the list of actions of a server."""
    now = stamp_micro(call.cloud.store.time)
    server.hidden["actions"].insert(
        0,
        {
            "action": action,
            "instance_uuid": server.id,
            "request_id": f"req-{call.cloud.store.new_id()}",
            "user_id": call.caller.user_id,
            "project_id": call.caller.project_id,
            "start_time": now,
            "message": None,
            "updated_at": now,
        },
    )


def _matching(call: Call) -> list[Resource]:
    caller, query = call.caller, call.query
    everywhere = caller.is_admin and any(
        query.get(key, ["0"])[0].lower() not in ("0", "false") for key in ("all_tenants",)
    )
    project = call.argument("tenant_id") or call.argument("project_id")
    if not everywhere or not project:
        project = None if everywhere else caller.project_id
    servers = [
        t
        for t in call.cloud.store.all(tables.SERVERS)
        if project is None or t.project_id == project
    ]
    for key in query.keys() & _FILTERS:
        servers = [server for server in servers if _fits(server, key, query[key])]
    servers.reverse()
    return servers


def _fits(server: Resource, key: str, values: list[str]) -> bool:
    """Return whether a server matches at least one of the query's `values` for the filter `key`.

    The tag filters use all values together.
    """
    match key:
        case "name":
            try:
                return any(re.search(value, server.body["name"]) for value in values)
            except re.error:
                return False
        case "status":
            return server.body["status"] in [value.upper() for value in values]
        case "image" | "flavor":
            reference = server.hidden[f"{key}_id"]
            return reference in [value.rpartition("/")[2] for value in values]
        case _ if key in TAG_FILTERS:
            return tagged(key, set(",".join(values).split(",")), server.body["tags"])
        case "uuid":
            return server.id in values
        case _:
            return any(same(pattern, server.body[key]) for pattern in values)


def _page(call: Call, *, detail: bool) -> Reply:
    servers, has_next = page(ordered(_matching(call), call), call)
    render = view.full if detail else view.brief
    body: Body = {"servers": [render(call, server) for server in servers]}
    if has_next:
        query = "&".join(p for p in call.raw_query.split("&") if not p.startswith("marker="))
        href = f"{call.base}/compute{call.path}?{query}&marker={servers[-1].id}"
        body["servers_links"] = [{"rel": "next", "href": href}]
    return Reply(200, body)


def brief(call: Call) -> Reply:
    """Handle GET /servers: list the servers with id, name and links."""
    return _page(call, detail=False)


def detail(call: Call) -> Reply:
    """Handle GET /servers/detail: list the servers with all fields."""
    return _page(call, detail=True)


def show(call: Call) -> Reply:
    """Handle GET of a server."""
    return Reply(200, {"server": view.full(call, find(call))})


def update(call: Call) -> Reply:
    """Handle PUT of a server: change its name, description, access addresses or host name."""
    server, attributes = find(call), call.object("server")
    field_names = {"name", "accessIPv4", "accessIPv6", "OS-DCF:diskConfig"}
    field_names |= {"description"} if call.version >= (2, 19) else set()
    field_names |= {"hostname"} if call.version >= (2, 90) else set()
    if set(attributes) - field_names:
        raise bad(f"Additional properties are not allowed: {sorted(set(attributes) - field_names)}")
    try:
        changes = order.SERVERS.for_update(attributes)
    except Invalid as error:
        raise bad(f"Invalid input for field/attribute {error.message}") from None
    if "hostname" in changes:
        server.hidden["hostname"] = changes.pop("hostname")
    server.body.update(changes)
    server.body["updated"] = stamp_z(call.cloud.store.time)
    body = view.core(call, server, extended=False)
    if call.version >= (2, 75):
        body = view.full(call, server)
    return Reply(200, {"server": body})


def delete(call: Call) -> Reply:
    """Handle DELETE of a server; reply with status 204. The server is removed later."""
    server = find(call)
    if server.hidden["locked"] and not call.caller.is_admin:
        raise conflict(f"Instance {server.id} is locked")
    if server.body["task_state"] != "deleting":
        from hearth_devcloud.nova.life import fail, tell

        server.body["task_state"] = "deleting"
        tell(call.cloud, server, "compute.instance.delete.start")
        record(call, server, "delete")
        if call.effects.error:
            server.hidden["target"] = None
            fail(call.cloud, server, "The instance could not be deleted.")
        else:
            call.cloud.store.later(call.effects.slow_s or 0, server, "compute.deleted")
    return Reply(204)


def _metadata(call: Call, key: str) -> Body:
    attributes = call.object(key)
    try:
        metadata: Body = order.words(attributes)
    except ValueError as error:
        raise bad(f"Invalid input for field/attribute {key}: {error}") from None
    return metadata


def metadata(call: Call) -> Reply:
    """Handle GET of the metadata of a server."""
    return Reply(200, {"metadata": find(call).body["metadata"]})


def add_metadata(call: Call) -> Reply:
    """Handle POST of metadata: add it to the metadata of a server."""
    server = find(call)
    server.body["metadata"] = {**server.body["metadata"], **_metadata(call, "metadata")}
    return Reply(200, {"metadata": server.body["metadata"]})


def set_metadata(call: Call) -> Reply:
    """Handle PUT of metadata: replace all metadata of a server."""
    server = find(call)
    server.body["metadata"] = _metadata(call, "metadata")
    return Reply(200, {"metadata": server.body["metadata"]})


def item(call: Call) -> Reply:
    """Handle GET of a metadata item."""
    metadata = find(call).body["metadata"]
    if call.ids[1] not in metadata:
        raise missing("Metadata item", call.ids[1])
    return Reply(200, {"meta": {call.ids[1]: metadata[call.ids[1]]}})


def set_item(call: Call) -> Reply:
    """Handle PUT of a metadata item."""
    server, metadata = find(call), _metadata(call, "meta")
    if list(metadata) != [call.ids[1]]:
        raise bad("Request body and URI mismatch")
    server.body["metadata"] = {**server.body["metadata"], **metadata}
    return Reply(200, {"meta": metadata})


def remove_item(call: Call) -> Reply:
    """Handle DELETE of a metadata item."""
    server = find(call)
    if call.ids[1] not in server.body["metadata"]:
        raise missing("Metadata item", call.ids[1])
    metadata = {k: v for k, v in server.body["metadata"].items() if k != call.ids[1]}
    server.body["metadata"] = metadata
    return Reply(204)


def tags(call: Call) -> Reply:
    """Handle GET of the tags of a server."""
    return Reply(200, {"tags": find(call).body["tags"]})


def set_tags(call: Call) -> Reply:
    """Handle PUT of tags: replace all tags of a server."""
    server, request = find(call), call.json()
    tags: Any = request.get("tags") if isinstance(request, dict) else None
    if not isinstance(tags, list) or any(
        not isinstance(tag, str) or not 0 < len(tag) <= 60 or "/" in tag or "," in tag
        for tag in tags
    ):
        raise bad(
            "Invalid input for field/attribute tags: expected a list of strings of 1 to 60 "
            "characters each, without '/' or ','"
        )
    if len(tags) > 50:
        raise bad("The number of tags exceeded the per-server limit 50")
    server.body["tags"] = list(dict.fromkeys(tags))
    return Reply(200, {"tags": server.body["tags"]})


def clear_tags(call: Call) -> Reply:
    """Handle DELETE of all tags of a server."""
    find(call).body["tags"] = []
    return Reply(204)


def tag(call: Call) -> Reply:
    """Handle GET of one tag: check whether a server has it."""
    if call.ids[1] not in find(call).body["tags"]:
        raise missing("Tag", call.ids[1])
    return Reply(204)


def add_tag(call: Call) -> Reply:
    """Handle PUT of one tag: add it to a server."""
    server = find(call)
    if call.ids[1] in server.body["tags"]:
        return Reply(204)
    server.body["tags"] = [*server.body["tags"], call.ids[1]]
    return Reply(201)


def remove_tag(call: Call) -> Reply:
    """Handle DELETE of one tag of a server."""
    server = find(call)
    if call.ids[1] not in server.body["tags"]:
        raise missing("Tag", call.ids[1])
    server.body["tags"] = [tag for tag in server.body["tags"] if tag != call.ids[1]]
    return Reply(204)


def log(call: Call) -> Reply:
    """Handle GET os-instance-actions: list the actions of a server."""
    return Reply(200, {"instanceActions": find(call).hidden["actions"]})


def log_entry(call: Call) -> Reply:
    """Handle GET of an action of a server, by its request id."""
    for entry in find(call).hidden["actions"]:
        if entry["request_id"] == call.ids[1]:
            return Reply(200, {"instanceAction": {**entry, "events": []}})
    raise missing("Action", call.ids[1])


def ips(call: Call) -> Reply:
    """Handle GET of the addresses of a server."""
    return Reply(200, {"addresses": view.addresses(call, find(call), extended=False)})


def ips_of(call: Call) -> Reply:
    """Handle GET of the addresses of a server on one network."""
    addresses = view.addresses(call, find(call), extended=False)
    if call.ids[1] not in addresses:
        raise missing("Network", call.ids[1])
    return Reply(200, {call.ids[1]: addresses[call.ids[1]]})


def groups(call: Call) -> Reply:
    """Handle GET of the security groups of a server."""
    store, groups_by_id = call.cloud.store, {}
    for port_id in find(call).hidden["ports"]:
        port = store.table(tables.PORTS).get(port_id)
        for group_id in port.body["security_groups"] if port is not None else []:
            group = store.table(tables.SECURITY_GROUPS).get(group_id)
            if group is not None:
                groups_by_id[group_id] = {
                    "id": group_id,
                    "name": group.body["name"],
                    "description": group.body["description"],
                    "tenant_id": group.project_id,
                    "rules": [],
                }
    return Reply(200, {"security_groups": list(groups_by_id.values())})


def diagnostics(call: Call) -> Reply:
    """Handle GET of the diagnostics of a server, for administrators."""
    admin_only(call)
    find(call)
    return Reply(200, {"state": "running", "driver": "devcloud"})


def password(call: Call) -> Reply:
    """Handle GET of the encrypted password that the guest of a server has posted."""
    return Reply(200, {"password": find(call).hidden.get("password", "")})


def clear_password(call: Call) -> Reply:
    """Handle DELETE of the password that the guest of a server has posted."""
    find(call).hidden.pop("password", None)
    return Reply(204)


_PATH = "/v2.1/servers"
_ONE = _PATH + "/{}"
_TAGGED = (2, 26)
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detail),
    ("GET", _ONE, show),
    ("PUT", _ONE, update),
    ("DELETE", _ONE, delete),
    ("GET", _ONE + "/metadata", metadata),
    ("POST", _ONE + "/metadata", add_metadata),
    ("PUT", _ONE + "/metadata", set_metadata),
    ("GET", _ONE + "/metadata/{}", item),
    ("PUT", _ONE + "/metadata/{}", set_item),
    ("DELETE", _ONE + "/metadata/{}", remove_item),
    ("GET", _ONE + "/tags", Since(_TAGGED, tags)),
    ("PUT", _ONE + "/tags", Since(_TAGGED, set_tags)),
    ("DELETE", _ONE + "/tags", Since(_TAGGED, clear_tags)),
    ("GET", _ONE + "/tags/{}", Since(_TAGGED, tag)),
    ("PUT", _ONE + "/tags/{}", Since(_TAGGED, add_tag)),
    ("DELETE", _ONE + "/tags/{}", Since(_TAGGED, remove_tag)),
    ("GET", _ONE + "/os-instance-actions", log),
    ("GET", _ONE + "/os-instance-actions/{}", log_entry),
    ("GET", _ONE + "/ips", ips),
    ("GET", _ONE + "/ips/{}", ips_of),
    ("GET", _ONE + "/os-security-groups", groups),
    ("GET", _ONE + "/diagnostics", diagnostics),
    ("GET", _ONE + "/os-server-password", password),
    ("DELETE", _ONE + "/os-server-password", clear_password),
]

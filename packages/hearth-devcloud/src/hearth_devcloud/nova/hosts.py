"""The API of availability zones, aggregates and server groups."""

from __future__ import annotations

from hearth_devcloud.http import Actions, Body, Call, Reply, Route
from hearth_devcloud.nova import quotas
from hearth_devcloud.nova.base import admin_only, bad, conflict, missing
from hearth_devcloud.nova.hypervisors import HOSTS
from hearth_devcloud.store import Resource, stamp_micro

_AGGREGATES = "compute.aggregates"
_GROUPS = "compute.server_groups"
POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")


def zone_names(call: Call) -> set[str]:
    """Return the names of the availability zones: `nova`, and those of aggregates with hosts."""
    aggregates = call.cloud.store.all(_AGGREGATES)
    names = (a.body["availability_zone"] for a in aggregates if a.body["hosts"])
    return {"nova", *filter(None, names)}


def zones(call: Call) -> Reply:
    """Handle GET os-availability-zone: list the availability zones."""
    views = [
        {"zoneName": name, "zoneState": {"available": True}, "hosts": None}
        for name in sorted(zone_names(call))
    ]
    return Reply(200, {"availabilityZoneInfo": views})


def zones_detail(call: Call) -> Reply:
    """Handle GET os-availability-zone/detail, for administrators: list the zones without hosts."""
    admin_only(call)
    return zones(call)


def _aggregate(call: Call) -> Resource:
    aggregate = call.cloud.store.get(_AGGREGATES, call.ids[0])
    if aggregate is None:
        raise missing("Aggregate", call.ids[0])
    return aggregate


def _checked(call: Call, current: Resource | None = None) -> Body:
    """Return the checked fields of an aggregate in a request; `current` is the updated aggregate.

    Raises Refusal 400, or 409 if the name is in use.
    """
    attributes = call.object("aggregate")
    if set(attributes) - {"name", "availability_zone"}:
        raise bad(f"Additional properties are not allowed: {sorted(attributes)}")
    name = attributes.get("name", "x")
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise bad("Invalid input for field/attribute name: expected 1 to 255 characters")
    zone = attributes.get("availability_zone")
    if zone is not None and (not isinstance(zone, str) or not zone or ":" in zone):
        raise bad("Invalid input for field/attribute availability_zone: expected text without ':'")
    for aggregate in call.cloud.store.where(_AGGREGATES, name=attributes.get("name")):
        if aggregate is not current:
            raise conflict(f"Aggregate {name} already exists.")
    return attributes


def create_aggregate(call: Call) -> Reply:
    """Handle POST os-aggregates: create an aggregate."""
    admin_only(call)
    attributes, store = _checked(call), call.cloud.store
    if "name" not in attributes:
        raise bad("'name' is a required property")
    number, zone = store.new_serial("aggregate"), attributes.get("availability_zone")
    body = {
        "id": number,
        "name": attributes["name"],
        "created_at": stamp_micro(store.time),
        "updated_at": None,
        "deleted_at": None,
        "deleted": False,
        "availability_zone": zone,
        "hosts": [],
        "metadata": {"availability_zone": zone} if zone else {},
    }
    store.insert(Resource(str(number), _AGGREGATES, None, body))
    view = {key: value for key, value in body.items() if key not in ("hosts", "metadata")}
    return Reply(200, {"aggregate": view})


def aggregates(call: Call) -> Reply:
    """Handle GET os-aggregates: list the aggregates."""
    admin_only(call)
    return Reply(200, {"aggregates": [t.body for t in call.cloud.store.all(_AGGREGATES)]})


def show_aggregate(call: Call) -> Reply:
    """Handle GET of an aggregate."""
    admin_only(call)
    return Reply(200, {"aggregate": _aggregate(call).body})


def update_aggregate(call: Call) -> Reply:
    """Handle PUT of an aggregate's name or zone."""
    admin_only(call)
    aggregate = _aggregate(call)
    attributes = _checked(call, aggregate)
    if not attributes:
        raise bad("'name' or 'availability_zone' is required")
    aggregate.body.update({key: value for key, value in attributes.items() if key == "name"})
    if "availability_zone" in attributes:
        _set_metadata(call, aggregate, {"availability_zone": attributes["availability_zone"]})
    return Reply(200, {"aggregate": aggregate.body})


def _set_metadata(call: Call, aggregate: Resource, changes: Body) -> None:
    """Merge changes into the metadata of an aggregate. One of the keys is `availability_zone`.

    A value of None removes a key. Raises Refusal 409 if a host would be in two zones.
    """
    merged = {**aggregate.body["metadata"], **changes}
    metadata = {key: value for key, value in merged.items() if value is not None}
    zone = metadata.get("availability_zone")
    for host in aggregate.body["hosts"]:
        _one_zone(call, aggregate, host, zone)
    aggregate.body |= {"metadata": metadata, "availability_zone": zone}
    aggregate.body["updated_at"] = stamp_micro(call.cloud.store.time)


def _one_zone(call: Call, current: Resource, host: str, zone: object) -> None:
    """Raise Refusal 409 if a host would be in two availability zones.

    `zone` is the zone of the aggregate `current`. Another aggregate with the same host may have
    no zone or the same zone.
    """
    for aggregate in call.cloud.store.all(_AGGREGATES):
        elsewhere = aggregate.body["availability_zone"]
        shared = aggregate is not current and host in aggregate.body["hosts"]
        if shared and zone and elsewhere and zone != elsewhere:
            raise conflict(f"Host {host} already exists in availability zone {elsewhere}.")


def delete_aggregate(call: Call) -> Reply:
    """Handle DELETE of an aggregate, which must not have hosts."""
    admin_only(call)
    aggregate = _aggregate(call)
    if aggregate.body["hosts"]:
        raise bad(f"Cannot delete aggregate {aggregate.id}: it still has hosts")
    call.cloud.store.remove(aggregate)
    return Reply(200)


def act_on_aggregate(call: Call) -> Reply:
    """Handle POST of the action add_host, remove_host or set_metadata on an aggregate."""
    admin_only(call)
    aggregate, body = _aggregate(call), call.json()
    hosts = aggregate.body["hosts"]
    match body:
        case {"add_host": {"host": str(host)}}:
            if host not in HOSTS:
                raise missing("Compute host", host)
            if host in hosts:
                raise conflict(f"Aggregate {aggregate.id} already has host {host}.")
            _one_zone(call, aggregate, host, aggregate.body["availability_zone"])
            aggregate.body["hosts"] = [*hosts, host]
        case {"remove_host": {"host": str(host)}}:
            if host not in hosts:
                raise missing("Compute host", host)
            aggregate.body["hosts"] = [name for name in hosts if name != host]
        case {"set_metadata": {"metadata": dict(metadata)}}:
            if not all(value is None or isinstance(value, str) for value in metadata.values()):
                raise bad("Invalid input for metadata: expected values that are text or null")
            _set_metadata(call, aggregate, metadata)
        case _:
            raise bad("Expected the name of a host, or an object with metadata")
    return Reply(200, {"aggregate": aggregate.body})


def _group_view(call: Call, group: Resource) -> Body:
    body = group.body
    view: Body = {"id": group.id, "name": body["name"]}
    if call.version >= (2, 64):
        view |= {"policy": body["policy"], "rules": body["rules"]}
    else:
        view |= {"policies": [body["policy"]], "metadata": {}}
    view["members"] = body["members"]
    if call.version >= (2, 13):
        view |= {"project_id": body["project_id"], "user_id": body["user_id"]}
    return view


def create_group(call: Call) -> Reply:
    """Handle POST os-server-groups: create a server group.

    The format of the request changed with microversion 2.64.
    """
    attributes, caller = call.object("server_group"), call.caller
    names = {"name", "policy", "rules"} if call.version >= (2, 64) else {"name", "policies"}
    if set(attributes) - names:
        raise bad(f"Additional properties are not allowed: {sorted(set(attributes) - names)}")
    policies = attributes.get("policies") or [attributes.get("policy")]
    if (
        not isinstance(attributes.get("name"), str)
        or len(policies) != 1
        or policies[0] not in POLICIES
    ):
        raise bad(f"A server group needs a name and one policy of: {', '.join(POLICIES)}")
    project_id, store = caller.project_id or "", call.cloud.store
    quotas.check(call.cloud, project_id, {"server_groups": 1})
    group_id = store.new_id()
    body: Body = {
        "id": group_id,
        "name": attributes["name"],
        "policy": policies[0],
        "rules": attributes.get("rules") or {},
        "members": [],
        "project_id": project_id,
        "user_id": caller.user_id,
    }
    group = store.insert(Resource(group_id, _GROUPS, project_id, body))
    return Reply(200, {"server_group": _group_view(call, group)})


def _group(call: Call) -> Resource:
    group = group_of(call, call.ids[0])
    if group is None:
        raise missing("Instance group", call.ids[0])
    return group


def group_of(call: Call, group_id: str) -> Resource | None:
    """Return the server group with this id, or None if the caller may not use it."""
    group = call.cloud.store.get(_GROUPS, group_id)
    if group is None or call.caller.is_admin or group.project_id == call.caller.project_id:
        return group
    return None


def groups(call: Call) -> Reply:
    """Handle GET os-server-groups: list the server groups."""
    everywhere = call.caller.is_admin and "all_projects" in call.query
    server_groups = [
        _group_view(call, t)
        for t in call.cloud.store.all(_GROUPS)
        if everywhere or t.project_id == call.caller.project_id
    ]
    return Reply(200, {"server_groups": server_groups})


def show_group(call: Call) -> Reply:
    """Handle GET of a server group."""
    return Reply(200, {"server_group": _group_view(call, _group(call))})


def delete_group(call: Call) -> Reply:
    """Handle DELETE of a server group."""
    call.cloud.store.remove(_group(call))
    return Reply(204)


ROUTES: list[Route] = [
    ("GET", "/v2.1/os-availability-zone", zones),
    ("GET", "/v2.1/os-availability-zone/detail", zones_detail),
    ("POST", "/v2.1/os-aggregates", create_aggregate),
    ("GET", "/v2.1/os-aggregates", aggregates),
    ("GET", "/v2.1/os-aggregates/{}", show_aggregate),
    ("PUT", "/v2.1/os-aggregates/{}", update_aggregate),
    ("DELETE", "/v2.1/os-aggregates/{}", delete_aggregate),
    (
        "POST",
        "/v2.1/os-aggregates/{}/action",
        Actions(("add_host", "remove_host", "set_metadata"), act_on_aggregate),
    ),
    ("POST", "/v2.1/os-server-groups", create_group),
    ("GET", "/v2.1/os-server-groups", groups),
    ("GET", "/v2.1/os-server-groups/{}", show_group),
    ("DELETE", "/v2.1/os-server-groups/{}", delete_group),
]

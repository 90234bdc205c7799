"""Shares: file systems in the network. They are `creating` at first, and then `available`."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import Collection, Field, anything, boolean, integer, nullable, text
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import ordered
from hearth_devcloud.manila import metadata, networks, quotas
from hearth_devcloud.manila.base import (
    NETWORKS,
    PATH,
    RULES,
    SERVICE,
    SHARES,
    SNAPSHOTS,
    TEXT,
    TYPES,
    bad,
    checked,
    find,
    flag,
    forbidden,
    limited,
    links,
    matching,
    missing,
    stamped,
    touch,
)
from hearth_devcloud.manila.types import DEFAULT, SERVERS, spec, type_of
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource, stamp_micro

KIND = "Share"
ZONE = "nova"
PROTOCOLS = ("NFS", "CIFS", "GLUSTERFS", "HDFS", "CEPHFS", "MAPRFS")
_DELETABLE = ("available", "error", "inactive")
_HOST = "devcloud@default#pool"
_ADDRESS = "10.254.0.3"  # of the storage that needs no share servers


def _protocol(value: Any) -> str:
    if str(value).upper() not in PROTOCOLS:
        raise ValueError(f"Invalid share protocol provided: {value}")
    return str(value).upper()


_TEXT = Field(nullable(text(255)))
_CREATED = Collection(
    SERVICE,
    "shares",
    "share",
    {
        "share_proto": Field(_protocol, required=True),
        "size": Field(integer(1)),
        **dict.fromkeys(("name", "description", "display_name", "display_description"), _TEXT),
        "share_type": _TEXT,
        "snapshot_id": _TEXT,
        "is_public": Field(boolean, default=False),
        "metadata": Field(metadata.pairs, default=dict),
        "share_network_id": _TEXT,
        "availability_zone": _TEXT,
        "scheduler_hints": Field(anything, default=dict),
    },
)
_UPDATED = Collection(
    SERVICE,
    "shares",
    "share",
    {"display_name": _TEXT, "display_description": _TEXT, "is_public": Field(boolean)},
)
_FILTERS = (
    *("name", "description", "status", "share_type", "snapshot_id", "share_network_id"),
    *("is_public", "host", "share_server_id", "project_id"),
)


def create(call: Call) -> Reply:
    """Handle POST of a share."""
    values = checked(call, _CREATED, creating=True)
    for name in ("name", "description"):
        display_value = values.pop(f"display_{name}")
        values[name] = values[name] or display_value
    if values["availability_zone"] not in (None, ZONE):
        raise missing("Availability zone", values["availability_zone"])
    if values["is_public"] and not call.caller.is_admin:
        raise forbidden("Policy doesn't allow share:create_public_share to be performed.")
    kind = _prepare(call, values)
    if values["size"] is None:
        raise bad("Invalid input received: Share size is required.")
    size = values["size"]
    quotas.check(
        call.cloud,
        call.caller.project_id or "",
        {"shares": 1, "gigabytes": size, "per_share_gigabytes": size},
    )
    values.pop("scheduler_hints")
    body: Body = {
        **stamped(call),
        **values,
        "share_type": kind.id,
        "status": "creating",
        "host": "",
        "user_id": call.caller.user_id,
        "availability_zone": values["availability_zone"] or ZONE,
        "share_server_id": None,
        "access_rules_status": "active",
        "progress": None,
    }
    share = Resource(
        body["id"], SHARES, call.caller.project_id, body, {"fails": call.effects.error}
    )
    store = call.cloud.store
    store.insert(share)
    reply = Reply(200, {"share": view(call, share)})
    slow_s = call.effects.slow_s
    after_s = call.cloud.settings.volume_s if slow_s is None else slow_s
    store.later(after_s, share, "share.ready")
    return reply


def _prepare(call: Call, values: Body) -> Resource:
    """Return the type of a new share; complete the values by those of its snapshot.

    Raises Refusal if the snapshot, the network and the type do not fit together.
    """
    kind: Resource | None = None
    if values["snapshot_id"]:
        snapshot = find(call, SNAPSHOTS, values["snapshot_id"], "Snapshot")
        if snapshot.body["status"] != "available":
            raise bad("Invalid share snapshot: status must be available.")
        parent = call.cloud.store.table(SHARES)[snapshot.body["share_id"]]
        kind = call.cloud.store.table(TYPES)[parent.body["share_type"]]
        if not spec(kind, "create_share_from_snapshot_support"):
            raise bad("The snapshot's parent share does not have this capability.")
        network_id = parent.body["share_network_id"]
        if values["share_network_id"] not in (None, network_id):
            raise bad("Share network ID should be the same as snapshot's parent share's or empty")
        values["share_network_id"] = network_id
        least = snapshot.body["size"]
        values["size"] = values["size"] or least
        if values["size"] < least:
            raise bad(f"Share size '{values['size']}' must be equal or greater than {least}.")
        if values["share_type"] and type_of(call, values["share_type"]) is not kind:
            raise bad("Share type must be that of the snapshot's parent share.")
    if kind is None:
        kind = type_of(call, values["share_type"] or DEFAULT)
    if values["share_network_id"] is not None:
        find(call, NETWORKS, values["share_network_id"], "Share network")
    elif spec(kind, SERVERS):
        raise bad("Share network must be set when the driver_handles_share_servers is true.")
    return kind


def ready(cloud: Cloud, share: Resource) -> None:
    """Complete the creation of a share: it becomes available, or gets the status error.

    A type with share servers needs a network and a subnet of Neutron; other types allow none.
    """
    body = share.body
    network = cloud.store.get(NETWORKS, body["share_network_id"])
    kind = cloud.store.get(TYPES, body["share_type"])
    body["updated_at"] = stamp_micro(cloud.store.time)
    fails = share.hidden.pop("fails", False) or kind is None
    if not fails and kind is not None and spec(kind, SERVERS) and network is not None:
        body["share_server_id"] = networks.allocate(cloud, network)
        fails = body["share_server_id"] is None
    elif network is not None:
        fails = True  # the driver does not expect a share network
    body["status"] = "error" if fails else "available"
    if fails:
        return
    body.update(host=_HOST, progress="100%")
    host = networks.address(network) if network is not None else _ADDRESS
    path = f"share-{share.id}"
    paths = {"NFS": f"{host}:/{path}", "CIFS": f"\\\\{host}\\{path}"}
    export: Body = {
        "id": cloud.store.new_id(),
        "path": paths.get(body["share_proto"], f"{host}:/{path}"),
        "share_instance_id": cloud.store.new_id(),
        "is_admin_only": False,
        "preferred": False,
        "created_at": body["updated_at"],
        "updated_at": body["updated_at"],
    }
    share.hidden["exports"] = [export]


def gone(cloud: Cloud, share: Resource) -> None:
    """Remove a share whose deletion is complete, with its access rules."""
    for rule in cloud.store.where(RULES, share_id=share.id):
        cloud.store.remove(rule)
    cloud.store.remove(share)
    networks.release(cloud, share.body["share_network_id"])


def stuck(cloud: Cloud, share: Resource) -> None:
    """Give a share the status error_deleting: its deletion has failed."""
    share.body["status"] = "error_deleting"


def view(call: Call, share: Resource) -> Body:
    """Return a share in the format of the API."""
    body = share.body
    kind = call.cloud.store.table(TYPES)[body["share_type"]]
    hidden = {"updated_at", "user_id", "share_server_id", "access_rules_status", "progress", "host"}
    share_view: Body = {name: value for name, value in body.items() if name not in hidden}
    share_view |= {"share_type": kind.body["name"], "volume_type": kind.body["name"]}
    share_view["links"] = links(call, "shares", share.id)
    if call.caller.is_admin:
        share_view |= {name: body[name] for name in ("host", "share_server_id")}
    if call.version >= (2, 6):
        share_view |= {"share_type": kind.id, "share_type_name": kind.body["name"]}
    if call.version < (2, 9):
        paths = [export["path"] for export in share.hidden.get("exports", [])]
        share_view |= {"export_location": paths[0] if paths else None, "export_locations": paths}
    later: tuple[tuple[int, Body], ...] = (
        (2, {"snapshot_support": spec(kind, "snapshot_support")}),
        (5, {"task_state": None}),
        (10, {"access_rules_status": body["access_rules_status"]}),
        (11, {"replication_type": None, "has_replicas": False}),
        (16, {"user_id": body["user_id"]}),
        (
            24,
            {
                "create_share_from_snapshot_support": spec(
                    kind, "create_share_from_snapshot_support"
                )
            },
        ),
        (27, {"revert_to_snapshot_support": spec(kind, "revert_to_snapshot_support")}),
        (31, {"share_group_id": None, "source_share_group_snapshot_member_id": None}),
        (32, {"mount_snapshot_support": spec(kind, "mount_snapshot_support")}),
        (54, {"progress": body["progress"]}),
    )
    for minor, fields in later:
        if call.version >= (2, minor):
            share_view |= fields
    return share_view


def _list(call: Call, *, full: bool) -> Reply:
    caller = call.caller
    everywhere = caller.is_admin and flag(call, "all_tenants")
    public = flag(call, "is_public")
    matches = [
        share
        for share in reversed(list(call.cloud.store.all(SHARES)))
        if everywhere
        or share.project_id == caller.project_id
        or (public and share.body["is_public"])
    ]
    names = [name for name in _FILTERS if name != "is_public"]
    matches = ordered(matching(call, matches, names), call)
    shares = limited(call, matches)
    body: Body = {
        "shares": [view(call, share) if full else _brief(call, share) for share in shares]
    }
    if call.version >= (2, 42) and flag(call, "with_count"):
        body["count"] = len(matches)
    return Reply(200, body)


def _brief(call: Call, share: Resource) -> Body:
    name = share.body["name"]
    return {"id": share.id, "name": name, "links": links(call, "shares", share.id)}


def shares(call: Call) -> Reply:
    """Handle GET /shares: list the shares in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /shares/detail: list the shares with all fields."""
    return _list(call, full=True)


def own(call: Call) -> Resource:
    """Return the share that the path names, if the caller may change it. Raises Refusal 404."""
    return find(call, SHARES, call.ids[0], KIND)


def _seen(call: Call) -> Resource:
    """Return the share that the path names; it is the project's own or public."""
    share = call.cloud.store.get(SHARES, call.ids[0])
    return share if share is not None and share.body["is_public"] else own(call)


def show(call: Call) -> Reply:
    """Handle GET of a share."""
    return Reply(200, {"share": view(call, _seen(call))})


def update(call: Call) -> Reply:
    """Handle PUT of a share's name, description or visibility."""
    share, changes = own(call), checked(call, _UPDATED, creating=False)
    if changes.get("is_public") and not (call.caller.is_admin or share.body["is_public"]):
        raise forbidden("Policy doesn't allow share:set_public_share to be performed.")
    share.body.update({name.removeprefix("display_"): value for name, value in changes.items()})
    touch(call, share)
    return Reply(200, {"share": view(call, share)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a share; reply with status 202, or 403 if its status forbids it."""
    share = own(call)
    if share.body["status"] not in _DELETABLE:
        raise forbidden(f"Invalid share: Share status must be one of {_DELETABLE}.")
    snapshots = call.cloud.store.where(SNAPSHOTS, share_id=share.id)
    if snapshots:
        raise forbidden(f"Invalid share: Share still has {len(snapshots)} dependent snapshots.")
    share.body["status"] = "deleting"
    end = "share.stuck" if call.effects.error else "share.gone"
    call.cloud.store.later(call.effects.slow_s or 0, share, end)
    return Reply(202, None, dict(TEXT))


def _exports(call: Call) -> list[Body]:
    hidden = {"is_admin_only", "share_instance_id"} if not call.caller.is_admin else set()
    hidden |= {"preferred"} if call.version < (2, 14) else set()
    return [
        {name: value for name, value in export.items() if name not in hidden}
        for export in _seen(call).hidden.get("exports", [])
    ]


def exports(call: Call) -> Reply:
    """Handle GET of the export locations of a share: the paths to mount it."""
    brief = {"created_at", "updated_at"}
    views = [{n: v for n, v in export.items() if n not in brief} for export in _exports(call)]
    return Reply(200, {"export_locations": views})


def export(call: Call) -> Reply:
    """Handle GET of an export location of a share."""
    for location in _exports(call):
        if location["id"] == call.ids[1]:
            return Reply(200, {"export_location": location})
    raise Refusal(404, message=f"Export location '{call.ids[1]}' not found.")


def zones(call: Call) -> Reply:
    """Handle GET of the availability zones; there is one."""
    created_at = stamp_micro(0.0)
    zone: Body = {"id": "d1ab2ea8-0000-4000-8000-000000000001", "name": ZONE}
    return Reply(
        200, {"availability_zones": [{**zone, "created_at": created_at, "updated_at": None}]}
    )


_PATH = PATH + "/shares"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, shares),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/export_locations", Since((2, 9), exports)),
    ("GET", _PATH + "/{}/export_locations/{}", Since((2, 9), export)),
    ("GET", PATH + "/availability-zones", zones),
    ("GET", PATH + "/os-availability-zone", zones),
]

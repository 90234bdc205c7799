"""Snapshots and backups of volumes."""

from __future__ import annotations

from hearth_devcloud.cinder import quotas, volumes
from hearth_devcloud.cinder.base import admin_only, bad, find, links, mine
from hearth_devcloud.http import Actions, Body, Call, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, page
from hearth_devcloud.store import Resource, stamp_micro

_TEXT = {"Content-Type": "text/html; charset=UTF-8"}
_PAGING = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "all_tenants", "offset"})


def _new(call: Call, table: str, body: Body) -> Resource:
    store = call.cloud.store
    body |= {"id": store.new_id(), "created_at": stamp_micro(store.time), "updated_at": None}
    hidden: Body = {"fails": call.effects.error}
    resource = store.insert(
        Resource(body["id"], f"volume.{table}", call.caller.project_id, body, hidden)
    )
    slow_s = call.effects.slow_s
    store.later(
        call.cloud.settings.volume_s if slow_s is None else slow_s, resource, "volume.ready"
    )
    return resource


def _view(call: Call, snapshot: Resource, *, full: bool) -> Body:
    body = snapshot.body
    keys = [
        "id",
        "created_at",
        "updated_at",
        "name",
        "description",
        "volume_id",
        "status",
        "size",
        "metadata",
    ]
    view: Body = {key: body[key] for key in keys}
    if call.version >= (3, 41):
        view["user_id"] = body["user_id"]
    if full:
        view["os-extended-snapshot-attributes:project_id"] = snapshot.project_id
        done = body["status"] in ("available", "deleting")
        view["os-extended-snapshot-attributes:progress"] = "100%" if done else "0%"
    return view


def create(call: Call) -> Reply:
    """Handle POST of a snapshot; reply with status 202."""
    attributes = call.object("snapshot")
    if not attributes.get("volume_id"):
        raise bad("'volume_id' is a required property")
    volume = find(call, "volumes", attributes["volume_id"], "Volume")
    status, force = volume.body["status"], str(attributes.get("force", False)).lower() == "true"
    if status != "available" and not (status == "in-use" and (force or call.version >= (3, 66))):
        raise bad(f"Invalid volume: status must be available, but is {status}")
    size = volume.body["size"]
    increase = {"snapshots": 1, "gigabytes": size}
    quotas.check(call.cloud, call.caller.project_id or "", increase)
    body: Body = {
        "name": attributes.get("name"),
        "description": attributes.get("description"),
        "volume_id": volume.id,
        "status": "creating",
        "size": size,
        "metadata": attributes.get("metadata") or {},
        "user_id": call.caller.user_id,
    }
    return Reply(202, {"snapshot": _view(call, _new(call, "snapshots", body), full=False)})


def _list(call: Call, *, full: bool) -> Reply:
    snapshots = filtered(mine(call, "snapshots"), call.query, _PAGING)
    snapshots, _ = page(snapshots, call, marker_status=404)
    return Reply(200, {"snapshots": [_view(call, snapshot, full=full) for snapshot in snapshots]})


def brief(call: Call) -> Reply:
    """Handle GET /snapshots: list the snapshots in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /snapshots/detail: list the snapshots with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Resource:
    return find(call, "snapshots", call.ids[0], "Snapshot")


def show(call: Call) -> Reply:
    """Handle GET of a snapshot."""
    return Reply(200, {"snapshot": _view(call, _own(call), full=True)})


def update(call: Call) -> Reply:
    """Handle PUT of a snapshot's name and description."""
    snapshot, attributes = _own(call), call.object("snapshot")
    snapshot.body.update({k: attributes[k] for k in ("name", "description") if k in attributes})
    volumes.touch(call.cloud, snapshot)
    return Reply(200, {"snapshot": _view(call, snapshot, full=False)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a snapshot; reply with status 202."""
    snapshot = _own(call)
    if snapshot.body["status"] not in ("available", "error"):
        raise bad("Invalid snapshot: status must be available or error")
    snapshot.body["status"] = "deleting"
    call.cloud.store.later(call.effects.slow_s or 0, snapshot, "volume.deleted")
    return Reply(202, None, dict(_TEXT))


def act(call: Call) -> Reply:
    """Handle POST of the action os-reset_status on a snapshot, for administrators."""
    admin_only(call)
    _own(call).body["status"] = call.object("os-reset_status").get("status")
    return Reply(202)


def _backup_view(call: Call, backup: Resource) -> Body:
    return {**backup.body, "links": links(call, "backups", backup.id)}


def back_up(call: Call) -> Reply:
    """Handle POST /backups: create a backup of a volume; reply with status 202."""
    attributes = call.object("backup")
    volume = find(call, "volumes", attributes.get("volume_id"), "Volume")
    if volume.body["status"] not in ("available", "in-use"):
        raise bad("Invalid volume: status must be available or in-use")
    quotas.check(call.cloud, call.caller.project_id or "", {"backups": 1})
    body: Body = {
        "name": attributes.get("name"),
        "description": attributes.get("description"),
        "volume_id": volume.id,
        "snapshot_id": attributes.get("snapshot_id"),
        "status": "creating",
        "size": volume.body["size"],
        "availability_zone": "nova",
        "container": attributes.get("container") or "backups",
        "object_count": 1,
        "fail_reason": None,
        "has_dependent_backups": False,
        "is_incremental": bool(attributes.get("incremental")),
        "data_timestamp": stamp_micro(call.cloud.store.time),
    }
    backup = _new(call, "backups", body)
    view = {"id": backup.id, "name": body["name"], "links": links(call, "backups", backup.id)}
    return Reply(202, {"backup": view})


def backups(call: Call) -> Reply:
    """Handle GET /backups: list the backups in brief."""
    views = [
        {"id": t.id, "name": t.body["name"], "links": links(call, "backups", t.id)}
        for t in filtered(mine(call, "backups"), call.query, _PAGING)
    ]
    return Reply(200, {"backups": views})


def backups_detail(call: Call) -> Reply:
    """Handle GET /backups/detail: list the backups with all fields."""
    owned = filtered(mine(call, "backups"), call.query, _PAGING)
    return Reply(200, {"backups": [_backup_view(call, backup) for backup in owned]})


def show_backup(call: Call) -> Reply:
    """Handle GET of a backup."""
    backup = find(call, "backups", call.ids[0], "Backup")
    return Reply(200, {"backup": _backup_view(call, backup)})


def delete_backup(call: Call) -> Reply:
    """Handle DELETE of a backup; reply with status 202."""
    backup = find(call, "backups", call.ids[0], "Backup")
    if backup.body["status"] not in ("available", "error"):
        raise bad("Invalid backup: status must be available or error")
    backup.body["status"] = "deleting"
    call.cloud.store.later(call.effects.slow_s or 0, backup, "volume.deleted")
    return Reply(202, None, dict(_TEXT))


def restore(call: Call) -> Reply:
    """Handle POST restore: restore a backup to an existing volume or to a new one."""
    backup, attributes = find(call, "backups", call.ids[0], "Backup"), call.object("restore")
    if backup.body["status"] != "available":
        raise bad("Invalid backup: status must be available")
    if attributes.get("volume_id"):
        volume = find(call, "volumes", attributes["volume_id"], "Volume")
        if volume.body["status"] != "available":
            raise bad("Invalid volume: volume to be restored to must be available")
        if volume.body["size"] < backup.body["size"]:
            raise Refusal(400, message="the volume is smaller than the backup")
    else:
        name = attributes.get("name") or f"restore_backup_{backup.id}"
        values = {"size": backup.body["size"], "name": name, "user_id": call.caller.user_id}
        volume = volumes.new_volume(call.cloud, call.caller.project_id or "", values)
    volume.body["status"] = "restoring-backup"
    call.cloud.store.later(call.effects.slow_s or 0, volume, "volume.ready")
    view = {
        "backup_id": backup.id,
        "volume_id": volume.id,
        "volume_name": volume.body["name"],
    }
    return Reply(202, {"restore": view})


_PATH = "/v3/snapshots"
_BACKUPS = "/v3/backups"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", Actions(("os-reset_status",), act)),
    *volumes.metadata_routes(_PATH),
    ("POST", _BACKUPS, back_up),
    ("GET", _BACKUPS, backups),
    ("GET", _BACKUPS + "/detail", backups_detail),
    ("GET", _BACKUPS + "/{}", show_backup),
    ("DELETE", _BACKUPS + "/{}", delete_backup),
    ("POST", _BACKUPS + "/{}/restore", restore),
]

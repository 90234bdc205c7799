"""Snapshots and backups of volumes."""

from __future__ import annotations

from hearth_devcloud.cinder import quotas, volumes
from hearth_devcloud.cinder.base import admin_only, bad, find, links, mine
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, page
from hearth_devcloud.store import Thing, stamp_micro

_TEXT = {"Content-Type": "text/html; charset=UTF-8"}
_PAGING = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "all_tenants", "offset"})


def _new(call: Call, table: str, body: Body) -> Thing:
    store = call.cloud.store
    body |= {"id": store.new_id(), "created_at": stamp_micro(store.time), "updated_at": None}
    hidden: Body = {"fails": call.effects.error}
    thing = store.insert(Thing(body["id"], f"volume.{table}", call.caller.project_id, body, hidden))
    slow_s = call.effects.slow_s
    store.later(call.cloud.settings.volume_s if slow_s is None else slow_s, thing, "volume.ready")
    return thing


def _view(call: Call, thing: Thing, *, full: bool) -> Body:
    body = thing.body
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
    shown: Body = {key: body[key] for key in keys}
    if call.version >= (3, 41):
        shown["user_id"] = body["user_id"]
    if full:
        shown["os-extended-snapshot-attributes:project_id"] = thing.project_id
        done = body["status"] in ("available", "deleting")
        shown["os-extended-snapshot-attributes:progress"] = "100%" if done else "0%"
    return shown


def create(call: Call) -> Reply:
    """Handle POST of a snapshot; reply with status 202."""
    given = call.object("snapshot")
    if not given.get("volume_id"):
        raise bad("'volume_id' is a required property")
    volume = find(call, "volumes", given["volume_id"], "Volume")
    status, force = volume.body["status"], str(given.get("force", False)).lower() == "true"
    if status != "available" and not (status == "in-use" and (force or call.version >= (3, 66))):
        raise bad(f"Invalid volume: status must be available, but is {status}")
    size = volume.body["size"]
    more = {"snapshots": 1, "gigabytes": size}
    quotas.check(call.cloud, call.caller.project_id or "", more)
    body: Body = {
        "name": given.get("name"),
        "description": given.get("description"),
        "volume_id": volume.id,
        "status": "creating",
        "size": size,
        "metadata": given.get("metadata") or {},
        "user_id": call.caller.user_id,
    }
    return Reply(202, {"snapshot": _view(call, _new(call, "snapshots", body), full=False)})


def _list(call: Call, *, full: bool) -> Reply:
    things = filtered(mine(call, "snapshots"), call.query, _PAGING)
    found, _ = page(things, call, marker_status=404)
    return Reply(200, {"snapshots": [_view(call, thing, full=full) for thing in found]})


def brief(call: Call) -> Reply:
    """Handle GET /snapshots: list the snapshots in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /snapshots/detail: list the snapshots with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Thing:
    return find(call, "snapshots", call.ids[0], "Snapshot")


def show(call: Call) -> Reply:
    """Handle GET of a snapshot."""
    return Reply(200, {"snapshot": _view(call, _own(call), full=True)})


def update(call: Call) -> Reply:
    """Handle PUT of a snapshot's name and description."""
    thing, given = _own(call), call.object("snapshot")
    thing.body.update({k: given[k] for k in ("name", "description") if k in given})
    volumes.touch(call.cloud, thing)
    return Reply(200, {"snapshot": _view(call, thing, full=False)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a snapshot; reply with status 202."""
    thing = _own(call)
    if thing.body["status"] not in ("available", "error"):
        raise bad("Invalid snapshot: status must be available or error")
    thing.body["status"] = "deleting"
    call.cloud.store.later(call.effects.slow_s or 0, thing, "volume.deleted")
    return Reply(202, None, dict(_TEXT))


def act(call: Call) -> Reply:
    """Handle POST of the action os-reset_status on a snapshot, for administrators."""
    admin_only(call)
    given = call.json()
    if not isinstance(given, dict) or "os-reset_status" not in given:
        raise bad("Unknown action on a snapshot; expected os-reset_status")
    _own(call).body["status"] = given["os-reset_status"].get("status")
    return Reply(202)


def _backup_view(call: Call, thing: Thing) -> Body:
    return {**thing.body, "links": links(call, "backups", thing.id)}


def back_up(call: Call) -> Reply:
    """Handle POST /backups: create a backup of a volume; reply with status 202."""
    given = call.object("backup")
    volume = find(call, "volumes", given.get("volume_id"), "Volume")
    if volume.body["status"] not in ("available", "in-use"):
        raise bad("Invalid volume: status must be available or in-use")
    quotas.check(call.cloud, call.caller.project_id or "", {"backups": 1})
    body: Body = {
        "name": given.get("name"),
        "description": given.get("description"),
        "volume_id": volume.id,
        "snapshot_id": given.get("snapshot_id"),
        "status": "creating",
        "size": volume.body["size"],
        "availability_zone": "nova",
        "container": given.get("container") or "backups",
        "object_count": 1,
        "fail_reason": None,
        "has_dependent_backups": False,
        "is_incremental": bool(given.get("incremental")),
        "data_timestamp": stamp_micro(call.cloud.store.time),
    }
    thing = _new(call, "backups", body)
    shown = {"id": thing.id, "name": body["name"], "links": links(call, "backups", thing.id)}
    return Reply(202, {"backup": shown})


def backups(call: Call) -> Reply:
    """Handle GET /backups: list the backups in brief."""
    found = [
        {"id": t.id, "name": t.body["name"], "links": links(call, "backups", t.id)}
        for t in filtered(mine(call, "backups"), call.query, _PAGING)
    ]
    return Reply(200, {"backups": found})


def backups_detail(call: Call) -> Reply:
    """Handle GET /backups/detail: list the backups with all fields."""
    found = filtered(mine(call, "backups"), call.query, _PAGING)
    return Reply(200, {"backups": [_backup_view(call, thing) for thing in found]})


def show_backup(call: Call) -> Reply:
    """Handle GET of a backup."""
    thing = find(call, "backups", call.ids[0], "Backup")
    return Reply(200, {"backup": _backup_view(call, thing)})


def delete_backup(call: Call) -> Reply:
    """Handle DELETE of a backup; reply with status 202."""
    thing = find(call, "backups", call.ids[0], "Backup")
    if thing.body["status"] not in ("available", "error"):
        raise bad("Invalid backup: status must be available or error")
    thing.body["status"] = "deleting"
    call.cloud.store.later(call.effects.slow_s or 0, thing, "volume.deleted")
    return Reply(202, None, dict(_TEXT))


def restore(call: Call) -> Reply:
    """Handle POST restore: restore a backup to an existing volume or to a new one."""
    thing, given = find(call, "backups", call.ids[0], "Backup"), call.object("restore")
    if thing.body["status"] != "available":
        raise bad("Invalid backup: status must be available")
    if given.get("volume_id"):
        volume = find(call, "volumes", given["volume_id"], "Volume")
        if volume.body["status"] != "available":
            raise bad("Invalid volume: volume to be restored to must be available")
        if volume.body["size"] < thing.body["size"]:
            raise Refusal(400, message="the volume is smaller than the backup")
    else:
        name = given.get("name") or f"restore_backup_{thing.id}"
        values = {"size": thing.body["size"], "name": name, "user_id": call.caller.user_id}
        volume = volumes.new_volume(call.cloud, call.caller.project_id or "", values)
    volume.body["status"] = "restoring-backup"
    call.cloud.store.later(call.effects.slow_s or 0, volume, "volume.ready")
    shown = {
        "backup_id": thing.id,
        "volume_id": volume.id,
        "volume_name": volume.body["name"],
    }
    return Reply(202, {"restore": shown})


_PATH = "/v3/snapshots"
_BACKUPS = "/v3/backups"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", act),
    *volumes.metadata_routes(_PATH),
    ("POST", _BACKUPS, back_up),
    ("GET", _BACKUPS, backups),
    ("GET", _BACKUPS + "/detail", backups_detail),
    ("GET", _BACKUPS + "/{}", show_backup),
    ("DELETE", _BACKUPS + "/{}", delete_backup),
    ("POST", _BACKUPS + "/{}/restore", restore),
]

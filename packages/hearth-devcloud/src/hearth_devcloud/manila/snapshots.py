"""Snapshots of shares."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, anything, nullable, text
from hearth_devcloud.http import Body, Call, Cloud, Reply, Route
from hearth_devcloud.manila import quotas
from hearth_devcloud.manila.base import (
    PATH,
    SERVICE,
    SHARES,
    SNAPSHOTS,
    TEXT,
    TYPES,
    bad,
    checked,
    find,
    forbidden,
    limited,
    links,
    matching,
    mine,
    stamped,
    touch,
)
from hearth_devcloud.manila.types import spec
from hearth_devcloud.store import Resource

_TEXT = Field(nullable(text(255)))
_DECLARED = Collection(
    SERVICE,
    "snapshots",
    "snapshot",
    {
        "share_id": Field(text(36), required=True, update=False),
        "force": Field(anything, default=False, update=False),
        "name": Field(nullable(text(255)), update=False),
        "description": Field(nullable(text(255)), update=False),
        "display_name": _TEXT,
        "display_description": _TEXT,
    },
)
_FILTERS = ("name", "description", "status", "share_id", "size")


def _view(call: Call, snapshot: Resource) -> Body:
    hidden = {"updated_at", *(("user_id",) if call.version < (2, 17) else ())}
    view = {name: value for name, value in snapshot.body.items() if name not in hidden}
    return {**view, "links": links(call, "snapshots", snapshot.id)}


def create(call: Call) -> Reply:
    """Handle POST of a snapshot; reply with status 202."""
    values = checked(call, _DECLARED, creating=True)
    share = find(call, SHARES, values["share_id"], "Share")
    forced = str(values["force"]).lower() in ("true", "1")
    if share.body["status"] != "available" and not forced:
        raise bad("Invalid share: Source share status must be 'available'.")
    if not spec(call.cloud.store.table(TYPES)[share.body["share_type"]], "snapshot_support"):
        message = f"Snapshots cannot be created for share '{share.id}' since it does not have that"
        raise bad(f"{message} capability.")
    size = share.body["size"]
    project_id = call.caller.project_id or ""
    quotas.check(call.cloud, project_id, {"snapshots": 1, "snapshot_gigabytes": size})
    body: Body = {
        **stamped(call),
        "name": values["name"] or values["display_name"],
        "description": values["description"] or values["display_description"],
        "share_id": share.id,
        "share_size": size,
        "share_proto": share.body["share_proto"],
        "size": size,
        "status": "creating",
        "user_id": call.caller.user_id,
    }
    hidden = {"fails": call.effects.error}
    snapshot = call.cloud.store.insert(Resource(body["id"], SNAPSHOTS, project_id, body, hidden))
    reply = Reply(202, {"snapshot": _view(call, snapshot)})
    slow_s = call.effects.slow_s
    after_s = call.cloud.settings.volume_s if slow_s is None else slow_s
    call.cloud.store.later(after_s, snapshot, "share.snapshot")
    return reply


def ready(cloud: Cloud, snapshot: Resource) -> None:
    """Complete the creation of a snapshot."""
    snapshot.body["status"] = "error" if snapshot.hidden.pop("fails", False) else "available"


def gone(cloud: Cloud, snapshot: Resource) -> None:
    """Remove a snapshot whose deletion is complete."""
    cloud.store.remove(snapshot)


def _list(call: Call, *, full: bool) -> Reply:
    snapshots = limited(call, matching(call, mine(call, SNAPSHOTS), _FILTERS))
    brief = ("id", "name")
    views = [
        _view(call, snapshot)
        if full
        else {
            **{n: snapshot.body[n] for n in brief},
            "links": links(call, "snapshots", snapshot.id),
        }
        for snapshot in snapshots
    ]
    return Reply(200, {"snapshots": views})


def snapshots(call: Call) -> Reply:
    """Handle GET /snapshots: list the snapshots in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /snapshots/detail: list the snapshots with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Resource:
    return find(call, SNAPSHOTS, call.ids[0], "Snapshot")


def show(call: Call) -> Reply:
    """Handle GET of a snapshot."""
    return Reply(200, {"snapshot": _view(call, _own(call))})


def update(call: Call) -> Reply:
    """Handle PUT of a snapshot's name or description."""
    snapshot, changes = _own(call), checked(call, _DECLARED, creating=False)
    snapshot.body.update({name.removeprefix("display_"): value for name, value in changes.items()})
    touch(call, snapshot)
    return Reply(200, {"snapshot": _view(call, snapshot)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a snapshot; reply with status 202."""
    snapshot = _own(call)
    if snapshot.body["status"] not in ("available", "error"):
        raise forbidden("Invalid share snapshot: status must be one of ('available', 'error').")
    snapshot.body["status"] = "deleting"
    call.cloud.store.later(call.effects.slow_s or 0, snapshot, "share.snapshot_gone")
    return Reply(202, None, dict(TEXT))


_PATH = PATH + "/snapshots"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, snapshots),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
]

"""The API of backups, from which new instances can be restored."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, boolean, nullable, text
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Thing
from hearth_devcloud.trove import quotas
from hearth_devcloud.trove.base import (
    BACKUPS,
    INSTANCES,
    document,
    find,
    mine,
    paged,
    reference,
    stamp,
    word,
)
from hearth_devcloud.trove.instances import usable

_FIELDS = Collection(
    "database",
    "backups",
    "backup",
    {
        "name": Field(word(), required=True),
        "instance": Field(reference, required=True),
        "description": Field(nullable(text())),
        "parent_id": Field(nullable(reference)),
        "incremental": Field(boolean, default=False),
    },
)


def create(call: Call) -> Reply:
    """Handle POST of a backup; reply with status 202."""
    values, store = document(call, "backup", _FIELDS), call.cloud.store
    instance = find(call, INSTANCES, values["instance"])
    usable(instance)
    if values["parent_id"]:
        find(call, BACKUPS, values["parent_id"])
    quotas.check(call, backups=1)
    now, ident = stamp(store.time), store.new_id()
    body: Body = {
        "id": ident,
        "name": values["name"],
        "description": values["description"],
        "instance_id": instance.id,
        "parent_id": values["parent_id"],
        "datastore": dict(instance.body["datastore"]),
        "status": "NEW",
        "size": None,
        "locationRef": None,
        "project_id": call.caller.project_id,
        "created": now,
        "updated": now,
    }
    made = store.insert(Thing(ident, BACKUPS, call.caller.project_id, body))
    made.hidden["fails"] = call.effects.error
    instance.body["status"] = "BACKUP"
    store.later(call.effects.slow_s or 0, made, "database.backup")
    return Reply(202, {"backup": body})


def done(cloud: Cloud, thing: Thing) -> None:
    """Complete a backup, and end the status BACKUP of its instance."""
    failed = thing.hidden.pop("fails", False)
    status = "FAILED" if failed else "COMPLETED"
    thing.body.update(status=status, size=0.12, updated=stamp(cloud.store.time))
    instance = cloud.store.get(INSTANCES, thing.body["instance_id"])
    if instance is not None and instance.body["status"] == "BACKUP":
        instance.body["status"] = "ACTIVE"


def backups(call: Call) -> Reply:
    """Handle GET of the backups."""
    found, wanted = mine(call, BACKUPS), call.argument("instance_id")
    if wanted:
        found = [one for one in found if one.body["instance_id"] == wanted]
    shown, more = paged(call, "backups", found)
    return Reply(200, {"backups": [one.body for one in shown], **more})


def show(call: Call) -> Reply:
    """Handle GET of a backup."""
    return Reply(200, {"backup": find(call, BACKUPS, call.ids[0]).body})


def delete(call: Call) -> Reply:
    """Handle DELETE of a backup and of those that build on it; reply with status 202."""
    thing = find(call, BACKUPS, call.ids[0])
    if thing.body["status"] == "NEW":
        raise Refusal(422, message=f"Backup {thing.id} is running.")
    _remove(call.cloud, thing)
    return Reply(202)


def _remove(cloud: Cloud, thing: Thing) -> None:
    for child in cloud.store.where(BACKUPS, parent_id=thing.id):
        _remove(cloud, child)
    cloud.store.remove(thing)


_PATH = "/v1.0/backups"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, backups),
    ("GET", _PATH + "/{}", show),
    ("DELETE", _PATH + "/{}", delete),
]

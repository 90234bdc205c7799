"""The API of backups, from which new instances can be restored."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, boolean, nullable, text
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource
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
    backup = store.insert(Resource(ident, BACKUPS, call.caller.project_id, body))
    backup.hidden["fails"] = call.effects.error
    instance.body["status"] = "BACKUP"
    store.later(call.effects.slow_s or 0, backup, "database.backup")
    return Reply(202, {"backup": body})


def done(cloud: Cloud, backup: Resource) -> None:
    """Complete a backup, and end the status BACKUP of its instance."""
    failed = backup.hidden.pop("fails", False)
    status = "FAILED" if failed else "COMPLETED"
    backup.body.update(status=status, size=0.12, updated=stamp(cloud.store.time))
    instance = cloud.store.get(INSTANCES, backup.body["instance_id"])
    if instance is not None and instance.body["status"] == "BACKUP":
        instance.body["status"] = "ACTIVE"


def backups(call: Call) -> Reply:
    """Handle GET of the backups."""
    own_backups, instance_id = mine(call, BACKUPS), call.argument("instance_id")
    if instance_id:
        own_backups = [
            backup for backup in own_backups if backup.body["instance_id"] == instance_id
        ]
    page, links = paged(call, "backups", own_backups)
    return Reply(200, {"backups": [backup.body for backup in page], **links})


def show(call: Call) -> Reply:
    """Handle GET of a backup."""
    return Reply(200, {"backup": find(call, BACKUPS, call.ids[0]).body})


def delete(call: Call) -> Reply:
    """Handle DELETE of a backup and of those that build on it; reply with status 202."""
    backup = find(call, BACKUPS, call.ids[0])
    if backup.body["status"] == "NEW":
        raise Refusal(422, message=f"Backup {backup.id} is running.")
    _remove(call.cloud, backup)
    return Reply(202)


def _remove(cloud: Cloud, backup: Resource) -> None:
    for child in cloud.store.where(BACKUPS, parent_id=backup.id):
        _remove(cloud, child)
    cloud.store.remove(backup)


_PATH = "/v1.0/backups"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, backups),
    ("GET", _PATH + "/{}", show),
    ("DELETE", _PATH + "/{}", delete),
]

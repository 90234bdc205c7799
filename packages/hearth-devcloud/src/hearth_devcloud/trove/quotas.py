"""Quotas of Trove: the number of instances and backups, and the size of all volumes in GB."""

from __future__ import annotations

from hearth_devcloud.collection import integer
from hearth_devcloud.http import Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.trove.base import BACKUPS, INSTANCES, admin_only, bad

DEFAULTS = {"instances": 10, "volumes": 40, "backups": 50}
_TABLE = "database.quotas"


def limits(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the limits of a project; -1 means unlimited."""
    usual = DEFAULTS if cloud.settings.quotas else dict.fromkeys(DEFAULTS, -1)
    quota = cloud.store.get(_TABLE, project_id)
    return {**usual, **(quota.body if quota is not None else {})}


def used(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return what a project uses."""
    sizes = [
        instance.body["volume"]["size"]
        for instance in cloud.store.table(INSTANCES).values()
        if instance.project_id == project_id
    ]
    backups = [b for b in cloud.store.table(BACKUPS).values() if b.project_id == project_id]
    return {"instances": len(sizes), "volumes": sum(sizes), "backups": len(backups)}


def check(call: Call, **increase: int) -> None:
    """Raise Refusal 413 if `increase`, by the name of the quota, would exceed a limit."""
    project_id = call.caller.project_id or ""
    bounds, present = limits(call.cloud, project_id), used(call.cloud, project_id)
    over = [name for name, n in increase.items() if 0 <= bounds[name] < present[name] + n]
    if over:
        raise Refusal(413, message=f"Quota exceeded for resources: {over}.")


def show(call: Call) -> Reply:
    """Handle GET of a project's quotas, for the project itself or an administrator."""
    project_id = call.ids[0]
    if project_id != call.caller.project_id:
        admin_only(call)
    present = used(call.cloud, project_id)
    views = [
        {"resource": name, "limit": limit, "in_use": present[name], "reserved": 0}
        for name, limit in limits(call.cloud, project_id).items()
    ]
    return Reply(200, {"quotas": views})


def update(call: Call) -> Reply:
    """Handle PUT of a project's quotas, for administrators."""
    admin_only(call)
    attributes, store = call.object("quotas"), call.cloud.store
    if unknown := sorted(attributes.keys() - DEFAULTS.keys()):
        raise Refusal(404, message=f"Quota resource {unknown[0]} cannot be found.")
    try:
        values = {name: integer(-1)(value) for name, value in attributes.items()}
    except ValueError as error:
        raise bad(str(error)) from None
    quota = store.get(_TABLE, call.ids[0])
    if quota is None:
        quota = store.insert(Resource(call.ids[0], _TABLE, call.ids[0], {}, seed=True))
    quota.body.update(values)
    return Reply(200, {"quotas": values})


ROUTES: list[Route] = [
    ("GET", "/v1.0/quotas/{}", show),
    ("PUT", "/v1.0/mgmt/quotas/{}", update),
]

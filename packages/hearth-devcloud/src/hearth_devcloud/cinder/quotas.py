"""Quotas and limits of Cinder."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.cinder.base import admin_only, bad
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource

_TABLE = "volume.quotas"
DEFAULTS = {
    "volumes": 10,
    "per_volume_gigabytes": -1,
    "snapshots": 10,
    "gigabytes": 1000,
    "backups": 10,
    "backup_gigabytes": 1000,
    "groups": 10,
}


def limits(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the quota limits of a project by name; -1 means unlimited."""
    quotas = dict(DEFAULTS) if cloud.settings.quotas else dict.fromkeys(DEFAULTS, -1)
    for volume_type in cloud.store.all("volume.types"):
        for kind in ("volumes", "gigabytes", "snapshots"):
            quotas[f"{kind}_{volume_type.body['name']}"] = -1
    quota = cloud.store.get(_TABLE, project_id)
    return {**quotas, **(quota.body if quota is not None else {})}


def used(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the current usage of a project by the name of the quota."""
    total = dict.fromkeys(("volumes", "gigabytes", "snapshots", "backups", "backup_gigabytes"), 0)
    for resource in cloud.store.table(tables.VOLUMES).values():
        if resource.project_id == project_id:
            name = resource.body["volume_type"]
            for key, amount in (("volumes", 1), ("gigabytes", resource.body["size"])):
                total[key] += amount
                total[f"{key}_{name}"] = total.get(f"{key}_{name}", 0) + amount
    for resource in cloud.store.table(tables.VOLUME_SNAPSHOTS).values():
        if resource.project_id == project_id:
            total["snapshots"] += 1
            total["gigabytes"] += resource.body["size"]
    for resource in cloud.store.table("volume.backups").values():
        if resource.project_id == project_id:
            total["backups"] += 1
            total["backup_gigabytes"] += resource.body["size"]
    return total


def check(cloud: Cloud, project_id: str, increase: dict[str, int]) -> None:
    """Raise Refusal 413 if `increase` usage (by quota name) would exceed a quota of the project."""
    bounds = limits(cloud, project_id)
    if all(bounds[key] < 0 for key in increase):
        return
    present = used(cloud, project_id)
    for key, count in increase.items():
        if 0 <= bounds[key] < present[key] + count:
            text = f"Maximum number of {key} allowed ({bounds[key]}) exceeded"
            raise Refusal(413, message=text)


def show(call: Call) -> Reply:
    """Handle GET os-quota-sets/{project}; with the argument `usage=true` also show the usage."""
    project_id = call.ids[0]
    if call.caller.project_id != project_id:
        admin_only(call)
    bounds = limits(call.cloud, project_id)
    if (call.argument("usage") or "").lower() != "true":
        return Reply(200, {"quota_set": {"id": project_id, **bounds}})
    present = used(call.cloud, project_id)
    view: Body = {
        key: {"limit": limit, "in_use": present.get(key, 0), "reserved": 0}
        for key, limit in bounds.items()
    }
    return Reply(200, {"quota_set": {**view, "id": project_id}})


def defaults(call: Call) -> Reply:
    """Handle GET os-quota-sets/{project}/defaults: show the default quotas."""
    return Reply(200, {"quota_set": {"id": call.ids[0], **DEFAULTS}})


def update(call: Call) -> Reply:
    """Handle PUT of a project's quotas, for administrators."""
    admin_only(call)
    attributes, project_id = dict(call.object("quota_set")), call.ids[0]
    attributes.pop("tenant_id", None)
    present = limits(call.cloud, project_id)
    try:
        changes = {key: int(value) for key, value in attributes.items()}
    except (TypeError, ValueError):
        raise bad("The values in quota_set must be integers") from None
    if set(changes) - set(present):
        raise bad(f"Bad key in quota set: {sorted(set(changes) - set(present))}")
    store = call.cloud.store
    quota = store.get(_TABLE, project_id)
    if quota is None:
        quota = store.insert(Resource(project_id, _TABLE, project_id, {}, seed=True))
    quota.body.update(changes)
    return Reply(200, {"quota_set": limits(call.cloud, project_id)})


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's quotas: restore the defaults."""
    admin_only(call)
    quota = call.cloud.store.get(_TABLE, call.ids[0])
    if quota is not None:
        call.cloud.store.remove(quota)
    return Reply(200, None, {"Content-Type": "application/json"})


def absolute(call: Call) -> Reply:
    """Handle GET /limits: the absolute limits and the usage of the project."""
    project_id = call.caller.project_id or ""
    bounds, present = limits(call.cloud, project_id), used(call.cloud, project_id)
    return Reply(
        200,
        {
            "limits": {
                "rate": [],
                "absolute": {
                    "maxTotalVolumes": bounds["volumes"],
                    "maxTotalSnapshots": bounds["snapshots"],
                    "maxTotalVolumeGigabytes": bounds["gigabytes"],
                    "maxTotalBackups": bounds["backups"],
                    "maxTotalBackupGigabytes": bounds["backup_gigabytes"],
                    "totalVolumesUsed": present["volumes"],
                    "totalGigabytesUsed": present["gigabytes"],
                    "totalSnapshotsUsed": present["snapshots"],
                    "totalBackupsUsed": present["backups"],
                    "totalBackupGigabytesUsed": present["backup_gigabytes"],
                },
            }
        },
    )


_PATH = "/v3/os-quota-sets/{}"
ROUTES: list[Route] = [
    ("GET", _PATH, show),
    ("GET", _PATH + "/defaults", defaults),
    ("PUT", _PATH, update),
    ("DELETE", _PATH, reset),
    ("GET", "/v3/limits", absolute),
]

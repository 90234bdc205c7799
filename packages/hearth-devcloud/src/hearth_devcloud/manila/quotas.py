"""Quotas and limits of Manila."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.manila.base import (
    NETWORKS,
    PATH,
    SERVICE,
    SHARES,
    SNAPSHOTS,
    TEXT,
    admin_only,
    bad,
)
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource

_TABLE = f"{SERVICE}.quotas"
DEFAULTS = {
    "gigabytes": 1000,
    "shares": 50,
    "snapshot_gigabytes": 1000,
    "snapshots": 50,
    "share_networks": 10,
    "share_groups": 50,
    "share_group_snapshots": 50,
    "share_replicas": 100,
    "replica_gigabytes": 1000,
    "per_share_gigabytes": -1,
}
_SINCE = {
    **dict.fromkeys(("share_groups", "share_group_snapshots"), 40),
    **dict.fromkeys(("share_replicas", "replica_gigabytes"), 53),
    "per_share_gigabytes": 62,
}


def limits(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the quota limits of a project by name; -1 means unlimited."""
    quotas = dict(DEFAULTS) if cloud.settings.quotas else dict.fromkeys(DEFAULTS, -1)
    quota = cloud.store.get(_TABLE, project_id)
    return {**quotas, **(quota.body if quota is not None else {})}


def used(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the current usage of a project by the name of the quota."""
    total = dict.fromkeys(DEFAULTS, 0)
    for table, count, size in (
        (SHARES, "shares", "gigabytes"),
        (SNAPSHOTS, "snapshots", "snapshot_gigabytes"),
    ):
        for resource in cloud.store.table(table).values():
            if resource.project_id == project_id:
                total[count] += 1
                total[size] += resource.body["size"]
    networks = cloud.store.table(NETWORKS).values()
    total["share_networks"] = sum(network.project_id == project_id for network in networks)
    return total


def check(cloud: Cloud, project_id: str, increase: dict[str, int]) -> None:
    """Raise Refusal 413 if `increase` usage (by quota name) would exceed a quota of the project."""
    bounds, present = limits(cloud, project_id), used(cloud, project_id)
    for key, count in increase.items():
        used_before = 0 if key == "per_share_gigabytes" else present[key]
        if 0 <= bounds[key] < used_before + count:
            text = f"Quota exceeded: maximum number of {key} allowed is {bounds[key]}"
            raise Refusal(413, message=text)


def _visible(call: Call, values: Body) -> Body:
    return {
        name: limit for name, limit in values.items() if call.version >= (2, _SINCE.get(name, 0))
    }


def _project(call: Call) -> str:
    if call.caller.project_id != call.ids[0]:
        admin_only(call)
    return call.ids[0]


def show(call: Call) -> Reply:
    """Handle GET quota-sets/{project}: the limits of a project."""
    project_id = _project(call)
    view = _visible(call, limits(call.cloud, project_id))
    return Reply(200, {"quota_set": {"id": project_id, **view}})


def detail(call: Call) -> Reply:
    """Handle GET quota-sets/{project}/detail: the limits and the usage of a project."""
    project_id = _project(call)
    present = used(call.cloud, project_id)
    view = {
        name: {"in_use": present[name], "limit": limit, "reserved": 0}
        for name, limit in _visible(call, limits(call.cloud, project_id)).items()
    }
    return Reply(200, {"quota_set": {"id": project_id, **view}})


def defaults(call: Call) -> Reply:
    """Handle GET quota-sets/{project}/defaults: the default limits."""
    return Reply(200, {"quota_set": {"id": call.ids[0], **_visible(call, DEFAULTS)}})


def update(call: Call) -> Reply:
    """Handle PUT of a project's limits; reply with 400 if a limit is below the usage."""
    admin_only(call)
    project_id, attributes = call.ids[0], dict(call.object("quota_set"))
    attributes.pop("tenant_id", None)
    force = str(attributes.pop("force", False)).lower() in ("true", "1")
    unknown = attributes.keys() - _visible(call, DEFAULTS).keys()
    if unknown:
        raise bad(f"Bad key(s) {','.join(sorted(unknown))} in quota_set.")
    present, store = used(call.cloud, project_id), call.cloud.store
    for name, value in attributes.items():
        if not isinstance(value, int | str) or not str(value).removeprefix("-").isdecimal():
            raise bad(f"Quota '{value}' for {name} should be integer.")
        if int(value) < -1:
            raise bad("Quota limit must be -1 or greater.")
        if not force and 0 <= int(value) < present[name]:
            message = f"is smaller than already used and reserved {present[name]}."
            raise bad(f"Quota value {value} for {name} {message}")
    quota = store.get(_TABLE, project_id)
    if quota is None:
        quota = store.insert(Resource(project_id, _TABLE, project_id, {}, seed=True))
    quota.body.update({name: int(value) for name, value in attributes.items()})
    return Reply(200, {"quota_set": _visible(call, limits(call.cloud, project_id))})


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's limits: restore the defaults; reply with status 202."""
    admin_only(call)
    quota = call.cloud.store.get(_TABLE, call.ids[0])
    if quota is not None:
        call.cloud.store.remove(quota)
    return Reply(202, None, dict(TEXT))


def absolute(call: Call) -> Reply:
    """Handle GET /limits: the absolute limits and the usage of the caller's project."""
    project_id = call.caller.project_id or ""
    bounds, present = limits(call.cloud, project_id), used(call.cloud, project_id)
    names = {
        "shares": ("maxTotalShares", "totalSharesUsed"),
        "gigabytes": ("maxTotalShareGigabytes", "totalShareGigabytesUsed"),
        "snapshots": ("maxTotalShareSnapshots", "totalShareSnapshotsUsed"),
        "snapshot_gigabytes": ("maxTotalSnapshotGigabytes", "totalSnapshotGigabytesUsed"),
        "share_networks": ("maxTotalShareNetworks", "totalShareNetworksUsed"),
        "share_replicas": ("maxTotalShareReplicas", "totalShareReplicasUsed"),
        "replica_gigabytes": ("maxTotalReplicaGigabytes", "totalReplicaGigabytesUsed"),
    }
    view: Body = {}
    for name in _visible(call, names):
        limit, usage = names[name]
        view |= {limit: bounds[name], usage: present[name]}
    return Reply(200, {"limits": {"rate": [], "absolute": view}})


_OWN = PATH + "/quota-sets/{}"
_OLD = PATH + "/os-quota-sets/{}"
ROUTES: list[Route] = [
    *(("GET", path, show) for path in (_OWN, _OLD)),
    *(("PUT", path, update) for path in (_OWN, _OLD)),
    *(("DELETE", path, reset) for path in (_OWN, _OLD)),
    *(("GET", path + "/defaults", defaults) for path in (_OWN, _OLD)),
    ("GET", _OWN + "/detail", Since((2, 25), detail)),
    ("GET", PATH + "/limits", absolute),
]

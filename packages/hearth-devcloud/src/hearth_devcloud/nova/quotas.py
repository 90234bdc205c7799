"""The API of Nova's quotas and limits, and their enforcement."""

from __future__ import annotations

import re

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Cloud, Reply, Route
from hearth_devcloud.nova.base import admin_only, bad, forbidden
from hearth_devcloud.store import Resource

_TABLE = "compute.quotas"
INTEGER = re.compile(r"-?[0-9]{1,9}")
DEFAULTS = {
    "cores": 20,
    "fixed_ips": -1,
    "floating_ips": -1,
    "injected_file_content_bytes": 10240,
    "injected_file_path_bytes": 255,
    "injected_files": 5,
    "instances": 10,
    "key_pairs": 100,
    "metadata_items": 128,
    "ram": 51200,
    "security_group_rules": -1,
    "security_groups": -1,
    "server_group_members": 10,
    "server_groups": 10,
}
_COUNTED = ("cores", "instances", "key_pairs", "ram", "server_groups", "server_group_members")


def limits(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the quota limits of a project by name; -1 means unlimited."""
    defaults = dict(DEFAULTS)
    if not cloud.settings.quotas:
        defaults |= dict.fromkeys(_COUNTED, -1)
    quota = cloud.store.get(_TABLE, project_id)
    return {**defaults, **(quota.body if quota is not None else {})}


def used(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the usage of a project by quota name: instances, cores, ram and server_groups."""
    total = {"instances": 0, "cores": 0, "ram": 0}
    for server in cloud.store.table(tables.SERVERS).values():
        if server.project_id == project_id:
            flavor = server.hidden["flavor"]
            total["instances"] += 1
            total["cores"] += flavor["vcpus"]
            total["ram"] += flavor["ram"]
    groups = cloud.store.where("compute.server_groups", project_id=project_id)
    total["server_groups"] = len(groups)
    return total


def check(cloud: Cloud, project_id: str, increase: dict[str, int]) -> None:
    """Raise Refusal 403 if `increase` usage (by quota name) would exceed a quota of the project."""
    bounds = limits(cloud, project_id)
    if all(bounds[key] < 0 for key in increase):
        return
    present = used(cloud, project_id)
    for key, count in increase.items():
        if 0 <= bounds[key] < present[key] + count:
            raise forbidden(
                f"Quota exceeded for {key}: Requested {count}, but already used {present[key]}"
                f" of {bounds[key]} {key}"
            )


def _shown(call: Call, project_id: str) -> dict[str, int]:
    return limits(call.cloud, project_id)


def show(call: Call) -> Reply:
    """Handle GET os-quota-sets/{project}: show the limits of a project."""
    if call.caller.project_id != call.ids[0]:
        admin_only(call)
    return Reply(200, {"quota_set": {"id": call.ids[0], **_shown(call, call.ids[0])}})


def defaults(call: Call) -> Reply:
    """Handle GET os-quota-sets/{project}/defaults: show the default limits."""
    return Reply(200, {"quota_set": {"id": call.ids[0], **DEFAULTS}})


def detail(call: Call) -> Reply:
    """Handle GET os-quota-sets/{project}/detail: show limits and usage of a project."""
    if call.caller.project_id != call.ids[0]:
        admin_only(call)
    present = used(call.cloud, call.ids[0])
    view: Body = {
        key: {"limit": limit, "in_use": present.get(key, 0), "reserved": 0}
        for key, limit in _shown(call, call.ids[0]).items()
    }
    return Reply(200, {"quota_set": {"id": call.ids[0], **view}})


def update(call: Call) -> Reply:
    """Handle PUT of a project's quotas. A limit below the usage needs `force` in the body."""
    admin_only(call)
    project_id, attributes = call.ids[0], dict(call.object("quota_set"))
    force = bool(attributes.pop("force", False))
    attributes.pop("tenant_id", None)
    present = used(call.cloud, project_id)
    for key, value in attributes.items():
        if key not in DEFAULTS or not INTEGER.fullmatch(str(value)):
            raise bad(f"Invalid input for quota_set: {key} is unknown or not an integer")
        attributes[key] = int(value)
        if not force and 0 <= attributes[key] < present.get(key, 0):
            limit = present[key]
            raise bad(f"Quota limit {value} for {key} must not be less than the {limit} in use")
    store = call.cloud.store
    quota = store.get(_TABLE, project_id)
    if quota is None:
        quota = store.insert(Resource(project_id, _TABLE, project_id, {}, seed=True))
    quota.body.update(attributes)
    return Reply(200, {"quota_set": _shown(call, project_id)})


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's quotas: restore the defaults."""
    admin_only(call)
    quota = call.cloud.store.get(_TABLE, call.ids[0])
    if quota is not None:
        call.cloud.store.remove(quota)
    return Reply(202)


def absolute(call: Call) -> Reply:
    """Handle GET /limits: the absolute limits and the usage of the project."""
    project_id = call.caller.project_id or ""
    if call.caller.is_admin:
        project_id = call.argument("tenant_id") or project_id
    bounds, present = limits(call.cloud, project_id), used(call.cloud, project_id)
    return Reply(
        200,
        {
            "limits": {
                "rate": [],
                "absolute": {
                    "maxTotalCores": bounds["cores"],
                    "maxPersonality": bounds["injected_files"],
                    "maxPersonalitySize": bounds["injected_file_content_bytes"],
                    "maxTotalInstances": bounds["instances"],
                    "maxTotalKeypairs": bounds["key_pairs"],
                    "maxServerMeta": bounds["metadata_items"],
                    "maxImageMeta": bounds["metadata_items"],
                    "maxTotalRAMSize": bounds["ram"],
                    "maxServerGroups": bounds["server_groups"],
                    "maxServerGroupMembers": bounds["server_group_members"],
                    "maxTotalFloatingIps": bounds["floating_ips"],
                    "maxSecurityGroups": bounds["security_groups"],
                    "maxSecurityGroupRules": bounds["security_group_rules"],
                    "totalRAMUsed": present["ram"],
                    "totalCoresUsed": present["cores"],
                    "totalInstancesUsed": present["instances"],
                    "totalFloatingIpsUsed": 0,
                    "totalSecurityGroupsUsed": 0,
                    "totalServerGroupsUsed": present["server_groups"],
                },
            }
        },
    )


_PATH = "/v2.1/os-quota-sets/{}"
ROUTES: list[Route] = [
    ("GET", _PATH, show),
    ("GET", _PATH + "/defaults", defaults),
    ("GET", _PATH + "/detail", detail),
    ("PUT", _PATH, update),
    ("DELETE", _PATH, reset),
    ("GET", "/v2.1/limits", absolute),
]

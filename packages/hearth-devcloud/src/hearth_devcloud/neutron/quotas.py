"""The API of Neutron's quotas, and their enforcement."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource

DEFAULTS = {
    "network": 100,
    "subnet": 100,
    "subnetpool": -1,
    "port": 500,
    "router_route": 30,
    "router": 10,
    "floatingip": 50,
    "rbac_policy": 10,
    "security_group": 10,
    "security_group_rule": 100,
    "trunk": -1,
    "flow_classifier": 100,
    "port_pair": 100,
    "port_pair_group": 10,
    "port_chain": 10,
}
_TABLES = {
    "network": "networks",
    "subnet": "subnets",
    "subnetpool": "subnetpools",
    "port": "ports",
    "router": "routers",
    "floatingip": "floatingips",
    "rbac_policy": "rbac_policies",
    "security_group": "security_groups",
    "security_group_rule": "security_group_rules",
    "trunk": "trunks",
    "flow_classifier": "flow_classifiers",
    "port_pair": "port_pairs",
    "port_pair_group": "port_pair_groups",
    "port_chain": "port_chains",
}
_QUOTAS = "network.quotas"


def limits(cloud: Cloud, project_id: str) -> dict[str, int]:
    """Return the quota limits of a project by name; -1 means unlimited."""
    defaults = DEFAULTS if cloud.settings.quotas else dict.fromkeys(DEFAULTS, -1)
    quota = cloud.store.get(_QUOTAS, project_id)
    return {**defaults, **(quota.body if quota is not None else {})}


def used(cloud: Cloud, project_id: str, name: str) -> int:
    """Return how many objects of a project count for the quota `name`."""
    table = _TABLES.get(name)
    if table is None:
        return 0
    return cloud.store.count(f"network.{table}", project_id)


def check(cloud: Cloud, project_id: str, name: str, table: str, count: int = 1) -> None:
    """Raise Refusal 409 if `count` more objects would exceed the quota `name` of a project."""
    limit = limits(cloud, project_id)[name]
    if limit >= 0 and used(cloud, project_id, name) + count > limit:
        raise Refusal(409, "OverQuota", f"Quota exceeded for resources: ['{name}'].")


def _may_see(call: Call) -> None:
    if not call.caller.is_admin and call.caller.project_id != call.ids[0]:
        raise Refusal(403, "PolicyNotAuthorized", "rule:get_quota is disallowed by policy")


def _may_set(call: Call) -> None:
    if not call.caller.is_admin:
        raise Refusal(403, "PolicyNotAuthorized", "rule:update_quota is disallowed by policy")


def show(call: Call) -> Reply:
    """Handle GET /v2.0/quotas/{project}: show the limits of a project."""
    _may_see(call)
    return Reply(200, {"quota": limits(call.cloud, call.ids[0])})


def default(call: Call) -> Reply:
    """Handle GET /v2.0/quotas/{project}/default: show the default limits."""
    return Reply(200, {"quota": dict(DEFAULTS)})


def details(call: Call) -> Reply:
    """Handle GET /v2.0/quotas/{project}/details.json: show limits and usage of a project."""
    _may_see(call)
    view: Body = {
        name: {"limit": limit, "used": used(call.cloud, call.ids[0], name), "reserved": 0}
        for name, limit in limits(call.cloud, call.ids[0]).items()
    }
    return Reply(200, {"quota": view})


def update(call: Call) -> Reply:
    """Handle PUT of a project's quotas. A limit below the usage needs `force` in the body."""
    _may_set(call)
    project_id = call.ids[0]
    attributes = dict(call.object("quota"))
    force = bool(attributes.pop("force", False))
    attributes.pop("check_limit", None)
    for name in ("tenant_id", "project_id"):
        attributes.pop(name, None)
    for name, value in attributes.items():
        if name not in DEFAULTS:
            raise Refusal(400, "HTTPBadRequest", f"Unrecognized attribute(s) '{name}'")
        if not force and 0 <= value < used(call.cloud, project_id, name):
            raise Refusal(400, "HTTPBadRequest", f"Quota limit of {name} is below its usage")
    store = call.cloud.store
    quota = store.get(_QUOTAS, project_id)
    if quota is None:
        quota = store.insert(Resource(project_id, _QUOTAS, project_id, {}, seed=True))
    quota.body.update(attributes)
    return Reply(200, {"quota": limits(call.cloud, project_id)})


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's quotas: restore the defaults."""
    _may_set(call)
    quota = call.cloud.store.get(_QUOTAS, call.ids[0])
    if quota is None:
        raise Refusal(404, "TenantQuotaNotFound", f"Quota for {call.ids[0]} could not be found.")
    call.cloud.store.remove(quota)
    return Reply(204)


ROUTES: list[Route] = [
    ("GET", "/v2.0/quotas/{}", show),
    ("GET", "/v2.0/quotas/{}/default", default),
    ("GET", "/v2.0/quotas/{}/details.json", details),
    ("GET", "/v2.0/quotas/{}/details", details),
    ("PUT", "/v2.0/quotas/{}", update),
    ("DELETE", "/v2.0/quotas/{}", reset),
]

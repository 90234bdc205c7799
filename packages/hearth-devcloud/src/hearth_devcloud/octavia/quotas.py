"""The API of Octavia's quotas, and their enforcement."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, Invalid, integer
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.octavia.refusals import bad, only_admins
from hearth_devcloud.store import Resource

_LIMITED = ("loadbalancer", "listener", "member", "pool", "healthmonitor", "l7policy", "l7rule")
_OLD_NAMES = {"load_balancer": "loadbalancer", "health_monitor": "healthmonitor"}
_KEYS = {"rule": "l7rule"}
_HIGHEST = 2_000_000_000

QUOTAS = Collection(
    "load-balancer",
    "quotas",
    "quota",
    {name: Field(integer(-1, _HIGHEST, null=True)) for name in (*_LIMITED, *_OLD_NAMES)},
)
_TABLE = "load-balancer.limits"


def _limits(call: Call, project_id: str) -> Body:
    quota = call.cloud.store.get(_TABLE, project_id)
    return dict.fromkeys(_LIMITED, -1) | (quota.body if quota else {})


def _view(limits: Body, project_id: str) -> Body:
    old = {name: limits[new] for name, new in _OLD_NAMES.items()}
    return {"project_id": project_id, **limits, **old}


def check(call: Call, collection: Collection, project_id: str | None) -> None:
    """Raise Refusal 403 if the project has reached its quota of objects in a collection."""
    name = _KEYS.get(collection.singular, collection.singular)
    limit = _limits(call, project_id or "")[name]
    if limit == -1 or not call.cloud.settings.quotas:
        return
    count = sum(
        t.project_id == project_id for t in call.cloud.store.table(collection.table).values()
    )
    if count >= limit:
        raise Refusal(403, message=f"Quota has been met for resources: {name}")


def _mine(call: Call) -> str:
    project_id = call.ids[0]
    if project_id != call.caller.project_id:
        only_admins(call)
    return project_id


def show(call: Call) -> Reply:
    """Handle GET of a project's limits."""
    project_id = _mine(call)
    return Reply(200, {"quota": _view(_limits(call, project_id), project_id)})


def defaults(call: Call) -> Reply:
    """Handle GET of the default limits of a project."""
    project_id = _mine(call)
    return Reply(200, {"quota": _view(dict.fromkeys(_LIMITED, -1), project_id)})


def index(call: Call) -> Reply:
    """Handle GET of the limits of all projects for which limits were set."""
    only_admins(call)
    views = [_view(_limits(call, t.id), t.id) for t in call.cloud.store.all(_TABLE)]
    return Reply(200, {"quotas": views, "quotas_links": []})


def update(call: Call) -> Reply:
    """Handle PUT of a project's limits; reply with status 202. Null restores a default."""
    only_admins(call)
    project_id, store = call.ids[0], call.cloud.store
    try:
        values = QUOTAS.for_update(call.object("quota"))
    except Invalid as error:
        raise bad(error.message) from None
    quota = store.get(_TABLE, project_id)
    if quota is None:
        quota = Resource(project_id, _TABLE, project_id, {}, seed=True)
        store.adopt(quota)
    for name, value in values.items():
        quota.body[_OLD_NAMES.get(name, name)] = -1 if value is None else value
    return Reply(202, {"quota": _view(_limits(call, project_id), project_id)})


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's limits: restore the defaults; reply with status 202."""
    only_admins(call)
    quota = call.cloud.store.get(_TABLE, call.ids[0])
    if quota is None:
        raise Refusal(404, message=f"Quota {call.ids[0]} not found.")
    call.cloud.store.remove(quota)
    return Reply(202)


def routes(root: str) -> list[Route]:
    """Return the routes of the quotas API below the path `root`."""
    path = root + "/quotas/{}"
    return [
        ("GET", root + "/quotas", index),
        ("GET", path, show),
        ("GET", path + "/default", defaults),
        ("PUT", path, update),
        ("DELETE", path, reset),
    ]

"""The quotas API: the maximum number of alarms per project."""

from __future__ import annotations

from hearth_devcloud.aodh.rules import bad
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource

ALARMS = "alarming.alarms"
_TABLE = "alarming.limits"
_UNLIMITED = -1


def _limit(call: Call, project_id: str) -> int:
    quota = call.cloud.store.get(_TABLE, project_id)
    return int(quota.body["alarms"]) if quota else _UNLIMITED


def check(call: Call, project_id: str) -> None:
    """Raise Refusal 403 if the project has reached its quota of alarms."""
    limit = _limit(call, project_id)
    count = sum(alarm.project_id == project_id for alarm in call.cloud.store.all(ALARMS))
    if call.cloud.settings.quotas and limit != _UNLIMITED and count >= limit:
        raise Refusal(403, message=f"Alarm quota exceeded for user {call.caller.user_id}")


def _view(call: Call, project_id: str) -> Body:
    limits = [{"resource": "alarms", "limit": _limit(call, project_id)}]
    return {"project_id": project_id, "quotas": limits}


def forbidden(call: Call) -> Refusal:
    """Return a Refusal with status 403."""
    return Refusal(403, message="RBAC Authorization Failed")


def only_admins(call: Call) -> None:
    """Raise Refusal 403 unless the caller is an administrator."""
    if not call.caller.is_admin:
        raise forbidden(call)


def show(call: Call) -> Reply:
    """Handle GET of the limits of a project, or of the caller's project if the path names none."""
    project_id = call.ids[0] if call.ids else str(call.caller.project_id)
    if project_id != call.caller.project_id:
        only_admins(call)
    return Reply(200, _view(call, project_id))


def update(call: Call) -> Reply:
    """Handle POST of a project's limits; reply with status 201."""
    only_admins(call)
    request = call.json()
    match request:
        case {
            "project_id": str(project_id),
            "quotas": [{"resource": "alarms", "limit": int(limit)}],
        }:
            pass
        case _:
            message = 'expected project_id, and quotas with one entry: resource "alarms", and limit'
            raise bad(f"Invalid quotas: {message}")
    quota = Resource(project_id, _TABLE, project_id, {"alarms": limit}, seed=True)
    call.cloud.store.adopt(quota)
    return Reply(201, _view(call, project_id))


def reset(call: Call) -> Reply:
    """Handle DELETE of a project's limits; reply with status 204."""
    only_admins(call)
    quota = call.cloud.store.get(_TABLE, call.ids[0])
    if quota is not None:
        call.cloud.store.remove(quota)
    return Reply(204)


ROUTES: list[Route] = [
    ("GET", "/v2/quotas", show),
    ("POST", "/v2/quotas", update),
    ("GET", "/v2/quotas/{}", show),
    ("DELETE", "/v2/quotas/{}", reset),
]

"""The emulated workflow service (Mistral): workflow definitions, executions and cron triggers."""

from __future__ import annotations

from hearth_devcloud.http import Call, Refusal, Reply, Route, Router, Service, at_root, unauthorized
from hearth_devcloud.mistral import cron, executions, run, workflows


def _refusal(call: Call, fault: Refusal) -> Reply:
    side = "Client" if fault.status < 500 else "Server"
    body = {"debuginfo": None, "faultcode": side, "faultstring": fault.message}
    return Reply(fault.status, body)


def _versions(call: Call) -> Reply:
    link = {"href": f"{call.base}/workflow/v2", "target": "v2", "rel": "self"}
    return Reply(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]})


_VERSIONS: list[Route] = [("GET", "/", _versions)]

SERVICE = Service(
    name="workflow",
    router=Router(_VERSIONS, workflows.ROUTES, executions.ROUTES, cron.ROUTES),
    refusal=_refusal,
    open=at_root,
    unauthorized=unauthorized,
)
TRANSITIONS = {
    "workflow.begin": run.begin,
    "workflow.task": run.again,
    "workflow.end": run.end_late,
    "workflow.timeout": run.timeout,
    "workflow.answered": run.answered,
    "workflow.fire": cron.fire,
}

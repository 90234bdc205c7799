"""What the status of a server means for a step that waits for another status.

Nova derives most statuses from the task that is under way. The statuses at rest stay until somebody
requests something: a step that waits for another one then waits in vain.
"""

from collections.abc import Mapping, Set
from typing import Any

from hearth.resources.base import Failed, Later, Progress, Ready
from hearth.resources.collection import NOTHING_SHOWN, unknown_status, went_to

TASK = "OS-EXT-STS:task_state"
AT_WORK = frozenset(
    {
        "BUILD",
        "HARD_REBOOT",
        "MIGRATING",
        "PASSWORD",
        "REBOOT",
        "REBUILD",
        "RESIZE",
        "REVERT_RESIZE",
    }
)
ACTIVE = frozenset({"ACTIVE"})
HALTED = frozenset({"SHUTOFF", "SUSPENDED"})
UNCONFIRMED = frozenset({"VERIFY_RESIZE"})
RUNS_OR_NOT = frozenset({"ACTIVE", "SHUTOFF"})  # a server that its owner stopped stays stopped
AT_REST = frozenset(
    {
        "ACTIVE",
        "PAUSED",
        "RESCUE",
        "SHELVED",
        "SHELVED_OFFLOADED",
        "SHUTOFF",
        "SUSPENDED",
        "VERIFY_RESIZE",
    }
)

LOST = frozenset({None, "DELETED", "ERROR", "SOFT_DELETED"})
WITHOUT_GUEST = LOST | {"PAUSED", "SHELVED", "SHELVED_OFFLOADED", "SHUTOFF", "SUSPENDED"}
"""Statuses in which the guest of a server reports nothing; None: the server does not exist."""


def status_of(body: Mapping[str, Any]) -> str:
    """Return the status in capitals, without a task in parentheses; empty if there is none."""
    return str(body.get("status", "")).partition("(")[0].upper()


def why(body: Mapping[str, Any]) -> str:
    """Return the fault of the server, as the reason for its status."""
    fault = body.get("fault") or {}
    message, code = fault.get("message", "Unknown"), fault.get("code", "Unknown")
    return f"Message: {message}, Code: {code}"


def busy(body: Mapping[str, Any]) -> bool:
    """Return whether the status may change by itself, because a task is under way or not shown.

    An empty body shows neither.
    """
    status = status_of(body)
    return (
        "status" not in body
        or status in AT_WORK
        or (status in AT_REST and body.get(TASK, "not shown") is not None)
    )


def reached(name: str, body: Mapping[str, Any], goals: Set[str]) -> Progress:
    """Report whether the server has one of the statuses `goals`; fail if it cannot get there.

    `name` is the name of the resource. Source: docs/spec/engine.md, section 31.
    """
    status = status_of(body)
    if status in goals:
        return Ready(body)
    if busy(body):
        return not_yet(body)
    if status == "ERROR":
        return Failed(went_to(status, why(body)), retry=True)
    return unknown_status(name, body.get("status"), why(body))


def came_to_rest(body: Mapping[str, Any], goals: Set[str], failure: str) -> Progress:
    """Report whether the server has one of the statuses `goals` and no task under way.

    If it comes to rest in another status, the failure is `failure` and that status.
    """
    if busy(body):
        return not_yet(body)
    status = status_of(body)
    return Ready(body) if status in goals else Failed(f"{failure}, status '{status}'")


def not_yet(body: Mapping[str, Any]) -> Later:
    """Return "not yet", with the status and the task for the reason of a timeout."""
    task = body.get(TASK)
    state = f"status {status_of(body)}" + (f", task {task}" if task else "")
    return Later(body=body, seen=state if body else NOTHING_SHOWN)

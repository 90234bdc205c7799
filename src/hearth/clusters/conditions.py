"""The conditions of a cluster, which add to its status: whether it is ready, blocked, in sync, ….

A condition is stored and returned as {type, status, reason, message, since}, as in Kubernetes;
`status` is "True", "False" or "Unknown". Source: docs/spec/clusters.md, section 12, items 1 and 2.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from hearth.clusters.health import HEALTHY, REASONS_MAX, UNHEALTHY
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.states import BUSY, DELETE_COMPLETE, SETTLED

READY = "Ready"
PROGRESSING = "Progressing"
BLOCKED = "Blocked"
NODES_HEALTHY = "Healthy"
IN_SYNC = "InSync"
TRUE, FALSE, UNSURE = "True", "False", "Unknown"
_OF_NODE = ".Ready"  # the end of a node's key in the reason of the health
_NAMED_MAX = 50  # reasons in a message


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a cluster. Times are seconds since 1970.

    `reason` is one word for programs, and `message` explains it to people. `retry_at` and
    `attempts` are used only in the condition of type BLOCKED.
    """

    type: str
    status: str
    reason: str
    since: float = 0.0
    message: str = ""
    retry_at: float | None = None
    attempts: int = 0


def condition(cluster: Cluster, kind: str) -> Condition | None:
    """Return the cluster's condition of the type `kind`, or None if it has none."""
    return next((entry for entry in conditions(cluster) if entry.type == kind), None)


def conditions(cluster: Cluster) -> list[Condition]:
    """Return all conditions of a cluster."""
    return [msgspec.convert(entry, Condition) for entry in cluster.conditions]


def blocked(cluster: Cluster, reason: str, message: str, *, retry_at: float) -> Cluster:
    """Return a copy of the cluster with a BLOCKED condition, which counts one attempt more.

    `reason` is a word such as "Quota", and `message` explains it. `retry_at` is the time of the
    next attempt, in seconds since 1970.
    """
    before = condition(cluster, BLOCKED)
    block = Condition(
        type=BLOCKED,
        status=TRUE,
        reason=reason,
        message=message,
        retry_at=retry_at,
        attempts=(before.attempts if before is not None else 0) + 1,
    )
    return _with(cluster, block)


def retrying(cluster: Cluster) -> Cluster:
    """Return a copy of the cluster whose BLOCKED condition shows that the next attempt began.

    Without such a condition, return the cluster unchanged.
    """
    before = condition(cluster, BLOCKED)
    if before is None:
        return cluster
    block = msgspec.structs.replace(
        before, status=FALSE, reason="Retrying", message="", retry_at=None
    )
    return _with(cluster, block)


def restarted(cluster: Cluster) -> Cluster:
    """Return a copy of the cluster for the start of an operation, whose time limit begins now.

    The conditions PROGRESSING and BLOCKED of the last operation are removed.
    """
    return msgspec.structs.replace(cluster, conditions=_without(cluster, PROGRESSING, BLOCKED))


def begun_at(cluster: Cluster) -> float:
    """Return when the cluster's current operation began, in seconds since 1970.

    If the cluster is not in an operation, return when it was created.
    """
    progress = condition(cluster, PROGRESSING)
    return cluster.created_at if progress is None or progress.status != TRUE else progress.since


def observed(
    before: Cluster | None,
    after: Cluster,
    groups: Sequence[NodeGroup],
    now: float,
    *,
    lost_uuids: Collection[str] = (),
) -> Cluster:
    """Return a copy of the cluster `after` with all conditions computed anew.

    `before` is the cluster before the change, or None for a new cluster. `groups` are its node
    groups after the change. `lost_uuids` has the UUIDs of groups whose stacks no longer exist. A
    condition keeps its time `since` while its status stays the same; otherwise it gets the time
    `now`.
    """
    if before is not None and before.status in BUSY and after.status not in BUSY:
        after = msgspec.structs.replace(after, conditions=_without(after, BLOCKED))
    block = condition(after, BLOCKED)
    computed = [_ready(after), _progressing(after)]
    computed.append(block or Condition(type=BLOCKED, status=FALSE, reason="NotBlocked"))
    computed += [_healthy(after), _in_sync(after, groups, lost_uuids)]
    previous = {entry.type: entry for entry in conditions(after)}
    if before is not None:
        previous |= {entry.type: entry for entry in conditions(before) if entry.type in previous}
    stamped = [_since(previous.get(entry.type), entry, now) for entry in computed]
    return msgspec.structs.replace(after, conditions=[_as_stored(entry) for entry in stamped])


def _since(before: Condition | None, after: Condition, now: float) -> Condition:
    """Return the condition `after` with the time since which it has its status."""
    is_same = before is not None and before.status == after.status and before.since
    return msgspec.structs.replace(after, since=before.since if before and is_same else now)


def _ready(cluster: Cluster) -> Condition:
    good = cluster.status in SETTLED
    return Condition(
        type=READY,
        status=TRUE if good else FALSE,
        reason=_camel_case(cluster.status),
        message=cluster.status_reason or "",
    )


def _progressing(cluster: Cluster) -> Condition:
    busy = cluster.status in BUSY
    return Condition(
        type=PROGRESSING, status=TRUE if busy else FALSE, reason=_camel_case(cluster.status)
    )


def _healthy(cluster: Cluster) -> Condition:
    status = {HEALTHY: TRUE, UNHEALTHY: FALSE}.get(cluster.health_status or "", UNSURE)
    bad = [
        f"{key} is {value}"
        for key, value in sorted(cluster.health_status_reason.items())
        if value != ("ok" if key == "api" else TRUE) and key != "updated_at"
    ]
    reason = {TRUE: "NodesReady", FALSE: "Unhealthy", UNSURE: "NotExamined"}[status]
    message = ", ".join(bad[:_NAMED_MAX])
    if len(bad) > _NAMED_MAX:
        message += f" and {len(bad) - _NAMED_MAX} more"
    return Condition(type=NODES_HEALTHY, status=status, reason=reason, message=message)


def _in_sync(
    cluster: Cluster, groups: Sequence[NodeGroup], lost_uuids: Collection[str]
) -> Condition:
    """Return the condition IN_SYNC.

    It is true if all stacks exist and Kubernetes has as many nodes as the groups define. It is
    unknown during an operation, and while no nodes are known.
    """
    if cluster.status in BUSY or cluster.status == DELETE_COMPLETE:
        return Condition(type=IN_SYNC, status=UNSURE, reason="InProgress")
    lost = [group.name for group in groups if group.uuid in lost_uuids]
    if lost:
        message = f"The stack of {', '.join(lost)} was deleted."
        return Condition(type=IN_SYNC, status=FALSE, reason="StackDeleted", message=message)
    reasons = cluster.health_status_reason
    nodes = sum(key.endswith(_OF_NODE) for key in reasons)
    node_count = sum(group.node_count for group in groups)
    if nodes == 0 or (nodes < node_count and len(reasons) >= REASONS_MAX):  # not all are listed
        return Condition(type=IN_SYNC, status=UNSURE, reason="NodesNotExamined")
    if nodes != node_count:
        message = f"Kubernetes has {nodes} nodes, the node groups want {node_count}."
        return Condition(type=IN_SYNC, status=FALSE, reason="NodesDiffer", message=message)
    return Condition(type=IN_SYNC, status=TRUE, reason="AsWanted")


def _camel_case(status: str | None) -> str:
    """Return a status in the style of a reason: CREATE_FAILED becomes CreateFailed."""
    return "".join(part.capitalize() for part in (status or "UNKNOWN").split("_"))


def _without(cluster: Cluster, *types: str) -> list[Mapping[str, Any]]:
    """Return the cluster's conditions in stored form, without those of the given types."""
    return [entry for entry in cluster.conditions if entry["type"] not in types]


def _with(cluster: Cluster, new: Condition) -> Cluster:
    conditions = [*_without(cluster, new.type), _as_stored(new)]
    return msgspec.structs.replace(cluster, conditions=conditions)


def _as_stored(entry: Condition) -> dict[str, Any]:
    """Return a condition in stored form, without empty fields."""
    fields: dict[str, Any] = msgspec.to_builtins(entry)
    return {name: value for name, value in fields.items() if value not in (None, "", 0)}

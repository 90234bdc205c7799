"""The states of clusters and node groups: what each allows, and how a cluster's state is computed.

Source: tests/facts/magnum/statuses.json.
"""

from collections.abc import Iterable

from hearth.clusters.objects import MASTER, NodeGroup

CREATE_IN_PROGRESS = "CREATE_IN_PROGRESS"
CREATE_FAILED = "CREATE_FAILED"
CREATE_COMPLETE = "CREATE_COMPLETE"
UPDATE_IN_PROGRESS = "UPDATE_IN_PROGRESS"
UPDATE_FAILED = "UPDATE_FAILED"
UPDATE_COMPLETE = "UPDATE_COMPLETE"
DELETE_IN_PROGRESS = "DELETE_IN_PROGRESS"
DELETE_FAILED = "DELETE_FAILED"
DELETE_COMPLETE = "DELETE_COMPLETE"
ROLLBACK_IN_PROGRESS = "ROLLBACK_IN_PROGRESS"

STATUSES = (
    "ADOPT_COMPLETE", "CHECK_COMPLETE", CREATE_COMPLETE, CREATE_FAILED, CREATE_IN_PROGRESS,
    DELETE_COMPLETE, DELETE_FAILED, DELETE_IN_PROGRESS, "RESTORE_COMPLETE", "RESUME_COMPLETE",
    "RESUME_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", ROLLBACK_IN_PROGRESS,
    "SNAPSHOT_COMPLETE", UPDATE_COMPLETE, UPDATE_FAILED, UPDATE_IN_PROGRESS,
)  # fmt: skip
FAILED = frozenset(
    {CREATE_FAILED, UPDATE_FAILED, DELETE_FAILED, "ROLLBACK_FAILED", "RESUME_FAILED"}
)
SETTLED = frozenset(
    status for status in STATUSES if status.endswith("_COMPLETE") and status != DELETE_COMPLETE
)
"""The states in which an update, an upgrade or a rotation may begin."""
RESIZABLE = SETTLED | {UPDATE_FAILED, UPDATE_IN_PROGRESS}
"""The states in which a resize, a rotation of credentials or a change of groups may begin."""
BUSY = frozenset({CREATE_IN_PROGRESS, UPDATE_IN_PROGRESS, DELETE_IN_PROGRESS, ROLLBACK_IN_PROGRESS})
ORDER = ("_IN_PROGRESS", "_FAILED", "_COMPLETE")


def combined(before: str | None, groups: Iterable[NodeGroup]) -> tuple[str | None, str | None]:
    """Return the status and status reason of a cluster, computed from those of its groups.

    `before` is the current status of the cluster. The reason is None unless the status is a
    failure. Return (None, None) if no group has a status.
    """
    with_status = [group for group in groups if group.status]
    suffix = next(
        (s for s in ORDER if any((group.status or "").endswith(s) for group in with_status)), None
    )
    if suffix is None:
        return None, None
    master = next((g.status or "" for g in with_status if g.is_default and g.role == MASTER), "")
    if all(group.is_default for group in with_status):
        status = _worst(with_status, suffix, master)
    else:
        status = ("DELETE" if master.startswith("DELETE") else "UPDATE") + suffix
    if status == CREATE_COMPLETE and before not in (CREATE_IN_PROGRESS, CREATE_COMPLETE):
        status = UPDATE_COMPLETE
    if status not in FAILED:
        return status, None
    failed = [group.name for group in with_status if group.status in FAILED]
    return status, ", ".join(f"{name} failed" for name in failed)


def _worst(groups: Iterable[NodeGroup], suffix: str, master: str) -> str:
    """Return the status of the masters if it ends with `suffix`, otherwise the first status of a
    group that ends with it.

    The default groups share a stack, so their statuses usually agree.
    """
    if master.endswith(suffix):
        return master
    return next(group.status or "" for group in groups if (group.status or "").endswith(suffix))

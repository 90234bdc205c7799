"""Store a task for the conductors in the transaction that accepts a request for a cluster."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.store.clusters import tasks
from hearth.store.clusters.tasks import Task
from hearth.store.credentials import Requester
from hearth.store.database import Tx

CREATE = "create"
RESIZE = "resize"
UPGRADE = "upgrade"
DELETE = "delete"
CLEAN_UP = "clean_up"
RETRY = "retry"
"""The kind of task that retries a stack operation which failed because of quota or capacity."""

ASIDE = (CLEAN_UP, RETRY)
"""The kinds of tasks during which a cluster is not in progress."""

GROUP_CREATE = "group_create"
GROUP_DELETE = "group_delete"
ROTATE_CA = "rotate_ca"
ROTATE_CREDENTIAL = "rotate_credential"


def hand_over(
    tx: Tx, caller: Caller, cluster_id: str, kind: str, args: Mapping[str, Any], now: float
) -> None:
    """Store a task for the conductors, with the caller's token and rights.

    It replaces a RETRY task of the cluster that has not begun yet.
    """
    tasks.drop_kind(tx, cluster_id, RETRY)
    new = Task(cluster_id=cluster_id, kind=kind, args=args, requester=requester(caller))
    tasks.put(tx, new, now)


def caller_of(requester: Requester) -> Caller:
    """Return the caller who made the stored request, with the token of that request.

    If Hearth itself stored the task, the caller has no token and no rights.
    """
    if requester.rights is None:
        return Caller(user_id="", user_name="", project_id="")
    caller = Caller.with_rights(requester.rights)
    return replace(
        caller,
        token=requester.token,
        auth_url=requester.auth_url,
        delegated=requester.delegated,
        request_id=requester.request_id or "",
    )

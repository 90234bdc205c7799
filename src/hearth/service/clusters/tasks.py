"""Hand a request for a cluster over to the conductors, in the transaction that accepts it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.store import cluster_tasks
from hearth.store.cluster_tasks import Task
from hearth.store.credentials import Requester
from hearth.store.database import Tx

CREATE = "create"
RESIZE = "resize"
UPGRADE = "upgrade"
DELETE = "delete"
CLEAN_UP = "clean_up"
RETRY = "retry"
"""A retry of a stack whose operation failed because of quota or capacity."""

ASIDE = (CLEAN_UP, RETRY)
"""The kinds of tasks that do not keep a cluster in progress."""

GROUP_CREATE = "group_create"
GROUP_DELETE = "group_delete"
ROTATE_CA = "rotate_ca"
ROTATE_CREDENTIAL = "rotate_credential"


def hand_over(
    tx: Tx, caller: Caller, cluster_id: str, kind: str, args: Mapping[str, Any], now: float
) -> None:
    """Store a task for the conductors, with the caller's token and rights.

    The task replaces a retry of the cluster that has not begun yet.
    """
    cluster_tasks.drop_kind(tx, cluster_id, RETRY)
    new = Task(cluster_id=cluster_id, kind=kind, args=args, requester=requester(caller))
    cluster_tasks.put(tx, new, now)


def caller_of(stored: Requester) -> Caller:
    """Return the caller who made a request, with the token of the request.

    For a task that Hearth itself has stored, return a caller without a token and without rights.
    """
    if stored.rights is None:
        return Caller(user_id="", user_name="", project_id="")
    found = Caller.with_rights(stored.rights)
    return replace(
        found,
        token=stored.token,
        auth_url=stored.auth_url,
        delegated=stored.delegated,
        request_id=stored.request_id or "",
    )

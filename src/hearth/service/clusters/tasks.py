"""Store a task for the conductors in the transaction that accepts a request for a cluster."""

from msgspec.structs import replace

from hearth.clusters.task_content import Retry, TaskContent
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.store.clusters import tasks
from hearth.store.clusters.tasks import Task
from hearth.store.credentials import Requester
from hearth.store.database import Tx


def hand_over(tx: Tx, caller: Caller, cluster_id: str, content: TaskContent, now: float) -> None:
    """Store a task for the conductors, with the caller's token and rights.

    It replaces a Retry task of the cluster that has not begun yet.
    """
    tasks.drop_kind(tx, cluster_id, Retry)
    new = Task(cluster_id=cluster_id, content=content, requester=requester(caller))
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

"""Creates, updates and deletes stacks for tasks, through the stack service in the same process.

Each change of a stack is made in the same transaction as the progress of the task that needs it, so
that a change is neither lost nor repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.clusters.definition import KEY_PAIR, TO_REMOVE, ClusterStack
from hearth.clusters.objects import NodeGroup
from hearth.clusters.problems import conflict
from hearth.clusters.task_content import TaskContent
from hearth.conductor.work import Changed, Work
from hearth.engine.core.rules import ActionInProgress
from hearth.model.problem import Rejected
from hearth.model.state import Status
from hearth.service.clusters.stack import requested
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import delete_stack, update_stack
from hearth.store import reads
from hearth.store.clusters import tasks
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx
from hearth.store.rows import StackRow

BUSY_AGAIN_S = 1.0
"""Seconds until a request is repeated if the stack is busy with another operation."""


async def create(
    work: Work,
    name: str,
    cluster_stack: ClusterStack,
    change: Callable[[FullCluster, str], Changed],
    also: Callable[[Tx], None] | None = None,
) -> None:
    """Create a stack as described by `cluster_stack` and end the task, in one transaction.

    `change` is called with the stored cluster and the stack's id; it returns the cluster and the
    groups that change by it. `also` makes further changes. Raises Rejected or Lost.
    """
    caller = replace(work.caller, project_id=work.cluster.project_id)

    def transaction(tx: Tx, row: StackRow) -> None:
        work.advance(tx, None, lambda full: change(full, row.id))
        if also is not None:
            also(tx)

    await create_stack(work.services, caller, name, requested(cluster_stack), also=transaction)


async def update(
    work: Work,
    group: NodeGroup,
    parameters: Mapping[str, Any],
    *,
    step: str | None = None,
    rollback: bool = False,
    content: TaskContent | None = None,
    cluster_stack: ClusterStack | None = None,
    timeout_mins: int | None = None,
    delay_s: float | None = None,
    change: Callable[[FullCluster], Changed] | None = None,
) -> bool:
    """Update the stack of a group with changed parameters, and store `step` as the next step.

    If `step` is None, the task ends. If `cluster_stack` is given, the stack also gets its templates
    and parameters. If `rollback` is true, a failed update is rolled back. `timeout_mins` is the
    time limit of the update; None keeps that of the stack. `change` returns changes to the cluster,
    `content` is the task after the step, None if it is unchanged, and `delay_s` is the time until
    the next step in seconds; None is at once.

    Nodes that an earlier update had to remove are removed by this one, too, unless the earlier one
    is complete: it may not have reached them yet.

    Return false if the stack is busy; the current step is then repeated soon. Raises Rejected or
    Lost.
    """
    row = await row_of(work, group)
    if TO_REMOVE in parameters:
        members = [*await _not_removed_yet(work, row), *parameters[TO_REMOVE]]
        parameters = {**parameters, TO_REMOVE: list(dict.fromkeys(members))}
    request = StackRequest(
        existing=True,
        parameters=parameters,
        disable_rollback=not rollback,
        timeout_mins=timeout_mins,
    )
    if cluster_stack is not None:
        merged = {**cluster_stack.parameters, **parameters}
        merged.pop(KEY_PAIR, None)
        request = replace(requested(cluster_stack), parameters=merged, existing=True)

    def also(tx: Tx, _row: StackRow) -> None:
        work.task = work.advance(tx, step, change, content=content, delay_s=delay_s)

    keep = await _key_of_another(work, row)
    try:
        await update_stack(work.services, work.caller, row, request, also, keep_credential=keep)
    except Rejected as rejected:
        if not isinstance(rejected.problems[0], ActionInProgress):
            raise
        await work.commit(work.task.step, delay_s=BUSY_AGAIN_S)
        return False
    return True


async def _key_of_another(work: Work, row: StackRow) -> bool:
    """Return whether only the creator of a stack can add servers with the cluster's key pair.

    Key pairs belong to users, so the stack must then keep the trust of its creator.
    """
    if not work.cluster.keypair:
        return False
    credential = await work.services.store.read(lambda tx: reads.credential_of(tx, row))
    return (
        credential is not None
        and credential.trust_id is not None
        and credential.user_id != work.caller.user_id
    )


async def _not_removed_yet(work: Work, row: StackRow) -> list[str]:
    """Return the indexes of nodes that the last update had to remove if it is not complete."""
    if row.status is Status.COMPLETE:
        return []
    _, program = await work.services.program(row)
    parameter = program.parameters.get(TO_REMOVE)
    return [] if parameter is None else [str(index) for index in parameter.value or ()]


async def delete(work: Work, group_ids: Sequence[str], *, step: str | None) -> None:
    """Request the delete of the groups' stacks in the given order, and store `step` as the next
    step.

    `group_ids` are the UUIDs of the groups. If `step` is None, the task ends. A stack that does not
    exist counts as deleted. Raises Rejected or Lost.
    """
    groups = [work.group(uuid) for uuid in group_ids]
    stacks = list(dict.fromkeys(g.stack_id for g in groups if g.stack_id))

    def check(tx: Tx, _row: StackRow) -> None:
        tasks.check(tx, work.task)

    for stack_id in stacks:
        row = await _find_by_id(work, stack_id)
        if row is not None:
            await delete_stack(work.services, work.caller, row, check)
    await work.commit(step)


async def row_of(work: Work, group: NodeGroup) -> StackRow:
    """Return the database row of a group's stack. Raises Rejected if the stack does not exist any
    more.
    """
    row = await find_row(work, group)
    if row is None:
        raise conflict(f"The stack of node group {group.name} no longer exists.")
    return row


async def find_row(work: Work, group: NodeGroup) -> StackRow | None:
    """Return the database row of a group's stack; None if the stack does not exist."""
    return None if group.stack_id is None else await _find_by_id(work, group.stack_id)


async def _find_by_id(work: Work, stack_id: str) -> StackRow | None:
    return await work.services.store.read(lambda tx: reads.find_stack(tx, None, stack_id))

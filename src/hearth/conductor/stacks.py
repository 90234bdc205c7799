"""Creates, updates and deletes stacks for tasks, through the stack service in the same process.

Each change of a stack is made in the same transaction as the progress of the task that needs it, so
that a change is neither lost nor repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hearth.clusters.definition import KEY_PAIR, TO_REMOVE, ClusterStack
from hearth.clusters.objects import NodeGroup
from hearth.clusters.problems import conflict
from hearth.conductor.work import Changed, NextStep, Work
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


class StackUpdate(Struct, frozen=True, kw_only=True):
    """An update of the stack of a group.

    `parameters` are those that change. If `cluster_stack` is given, the stack also gets its
    templates and parameters. If `rollback` is true, a failed update is rolled back. `timeout_mins`
    is the time limit of the update; None keeps that of the stack.
    """

    parameters: Mapping[str, Any]
    cluster_stack: ClusterStack | None = None
    rollback: bool = False
    timeout_mins: int | None = None


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
        work.advance(tx, NextStep(change=lambda full: change(full, row.id)))
        if also is not None:
            also(tx)

    await create_stack(work.services, caller, name, requested(cluster_stack), also=transaction)


async def update(
    work: Work, group: NodeGroup, stack_update: StackUpdate, next_step: NextStep
) -> bool:
    """Update the stack of a group, and store the next step of the task.

    Nodes that an earlier update had to remove are removed by this one, too, unless the earlier one
    is complete: it may not have reached them yet.

    Return false if the stack is busy; the current step is then repeated soon. Raises Rejected or
    Lost.
    """
    row = await row_of(work, group)
    request = await _request(work, row, stack_update)

    def also(tx: Tx, _row: StackRow) -> None:
        work.task = work.advance(tx, next_step)

    keep = await _key_of_another(work, row)
    try:
        await update_stack(work.services, work.caller, row, request, also, keep_credential=keep)
    except Rejected as rejected:
        if not isinstance(rejected.problems[0], ActionInProgress):
            raise
        await work.commit(work.task.step, delay_s=BUSY_AGAIN_S)
        return False
    return True


async def _request(work: Work, row: StackRow, stack_update: StackUpdate) -> StackRequest:
    parameters, cluster_stack = stack_update.parameters, stack_update.cluster_stack
    if TO_REMOVE in parameters:
        members = [*await _not_removed_yet(work, row), *parameters[TO_REMOVE]]
        parameters = {**parameters, TO_REMOVE: list(dict.fromkeys(members))}
    if cluster_stack is None:
        return StackRequest(
            existing=True,
            parameters=parameters,
            disable_rollback=not stack_update.rollback,
            timeout_mins=stack_update.timeout_mins,
        )
    merged = {**cluster_stack.parameters, **parameters}
    merged.pop(KEY_PAIR, None)
    return replace(requested(cluster_stack), parameters=merged, existing=True)


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

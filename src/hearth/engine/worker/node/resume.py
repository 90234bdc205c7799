"""Continue the action of an update node that an earlier owner began, from the row of its attempt.

The row has the step that was running and the desired state. Each action has its own function. An
action that is not a part of an update node, such as a suspend, is continued in `walk` or `cleanup`.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import EXTERNAL, Desired, to_write
from hearth.engine.worker.failure import ResourceFailure, failure_of
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.node import adopt, walk
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.child_stack import ChildStack
from hearth.engine.worker.node.create import create, give_way, may_try_again, removed
from hearth.engine.worker.node.outcome import Outcome
from hearth.engine.worker.node.update import changed_metadata
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import NestedType
from hearth.store.rows import AttemptRow

_desired = msgspec.json.Decoder(Desired).decode


async def resume(attempt: Attempt, row: AttemptRow) -> Outcome | None:
    """Continue the action in `row` and return the outcome.

    Return None if the node is not complete: a newer operation must decide what to do. Raises
    Superseded, Stopped, CloudFault, ResourceFailure.
    """
    desired = _desired(msgspec.json.encode(row.wanted))
    rtype = attempt.owned.tools.programs.rtype_named(desired.kind)
    action = attempt.doing = Action(row.action)
    if rtype is None:
        if action is Action.CREATE and row.phase == "intent":
            cause = "its type is no longer available"
            attempt.calls.watch_for(desired.kind, desired.properties, cause)
        raise ResourceFailure("EntityNotFound", f"the type {desired.kind} is no longer available")
    match action:
        case Action.RESUME:
            await walk.wake(attempt, row)
            return None
        case Action.CREATE:
            return await resume_create(attempt, row, rtype, desired)
        case Action.DELETE:
            return await resume_removal(attempt, row, rtype, desired)
        case Action.UPDATE:
            return await resume_change(attempt, row, rtype, desired)
        case Action.ADOPT if EXTERNAL in desired.parts:
            return await adopt.check_outsider(attempt, rtype, desired)
        case _:
            return await resume_adoption(attempt, row, rtype, desired)


async def resume_create(
    attempt: Attempt, row: AttemptRow, rtype: ResourceType, desired: Desired
) -> Outcome:
    """Continue a create. After a failure, delete the object and create again."""
    ctx = _context(attempt, row, rtype, desired)
    try:
        await _carry_out(attempt, row, rtype, ctx, desired, first=partial(give_way, attempt))
    except (CloudFault, ResourceFailure) as problem:
        return await _create_again(attempt, row, rtype, desired, problem)
    return await attempt.succeed(rtype, ctx, desired, Action.CREATE)


async def resume_removal(
    attempt: Attempt, row: AttemptRow, rtype: ResourceType, desired: Desired
) -> Outcome | None:
    """Continue the delete between two attempts of a create, and create again.

    Return None if a newer operation has begun; the node then ends with the failure of the create.
    """
    attempt.doing = Action.CREATE
    ctx = _context(attempt, row, rtype, desired)
    try:
        await _carry_out(attempt, row, rtype, ctx, desired)
    except (CloudFault, ResourceFailure) as problem:
        return await _create_again(attempt, row, rtype, desired, problem)
    deleted = attempt.record.having(action=Action.DELETE, status=Status.COMPLETE)
    if attempt.record.status is Status.IN_PROGRESS:
        attempt.owned.memory.event(deleted, Status.COMPLETE)
    deleted = deleted.having(physical_id=None)
    if attempt.is_over():
        attempt.end_badly(deleted, deleted.reason)
        return None
    attempt.owned.memory.put(deleted.having(reason=USUAL_REASON))
    return await create(attempt, rtype, desired, row.attempt)


async def resume_change(
    attempt: Attempt, row: AttemptRow, rtype: ResourceType, desired: Desired
) -> Outcome:
    """Continue an update."""
    recorded = attempt.record.held
    attempt.attempted = desired
    ctx = attempt.context(
        rtype,
        Action.UPDATE,
        desired.properties,
        before=recorded.properties,
        changes=to_write(recorded, desired.properties),
        update_policy=desired.update_policy,
        template_metadata=changed_metadata(attempt.record, desired),
    )
    if isinstance(rtype, NestedType):
        await ChildStack(attempt).carry_out(rtype, ctx, Action.UPDATE)
    else:
        await attempt.run_update(rtype, ctx, desired, row.attempt, row=row)
    return await attempt.succeed(rtype, ctx, desired, Action.UPDATE)


async def resume_adoption(
    attempt: Attempt, row: AttemptRow, rtype: ResourceType, desired: Desired
) -> Outcome:
    """Continue an adopt, or the check of an object that the stack does not own."""
    ctx = _context(attempt, row, rtype, desired)
    await _carry_out(attempt, row, rtype, ctx, desired)
    return await attempt.succeed(rtype, ctx, desired, Action(row.action))


def _context(
    attempt: Attempt, row: AttemptRow, rtype: ResourceType, desired: Desired
) -> ResourceContext:
    policy = desired.update_policy
    return attempt.context(rtype, Action(row.action), desired.properties, update_policy=policy)


async def _carry_out(
    attempt: Attempt,
    row: AttemptRow,
    rtype: ResourceType,
    ctx: ResourceContext,
    desired: Desired,
    *,
    first: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Wait for the nested stack, or run the rest of the steps; `first` as in `run_steps`."""
    action = Action(row.action)
    if isinstance(rtype, NestedType):
        await ChildStack(attempt).carry_out(rtype, ctx, action)
    else:
        await attempt.run_steps(rtype, ctx, action, desired, row.attempt, first=first, row=row)


async def _create_again(
    attempt: Attempt,
    row: AttemptRow,
    rtype: ResourceType,
    desired: Desired,
    problem: CloudFault | ResourceFailure,
) -> Outcome:
    """Delete the object of a failed create and create again. Raises `problem` if no further attempt
    is allowed.
    """
    if not may_try_again(attempt, problem, row.attempt):
        raise problem
    number = await removed(attempt, rtype, desired, row.attempt, failure_of(problem))
    return await create(attempt, rtype, desired, number)

"""Check, suspend, resume and snapshot of one resource."""

import logging
from collections.abc import Mapping
from functools import partial

from hearth.cloud.fault import CloudFault
from hearth.engine.core import walk
from hearth.engine.core.record import Record
from hearth.engine.core.walk import WalkVerdict
from hearth.engine.worker.failure import ResourceFailure, failure_of
from hearth.engine.worker.known.desired import unchanged
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import snapshots
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.child_stack import ChildStack
from hearth.engine.worker.node.outcome import Done, Failed, Outcome
from hearth.model.state import Action, Status
from hearth.resources.actions import handles
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import NestedType
from hearth.store.rows import AttemptRow

log = logging.getLogger(__name__)

UNSUPPORTED = "CHECK not supported for "


def at_once(owned: OwnedStack, record: Record) -> Outcome | None:
    """Carry out a lifecycle action on a record if that needs no cloud call.

    Return the outcome, or None if a call is needed.
    """
    action = owned.memory.stack.action
    rtype = owned.tools.programs.type_of(record)
    # an unknown type is not skipped: its task reports the error
    handled = rtype is None or isinstance(rtype, NestedType) or handles(rtype, action)
    match walk.verdict(record, action, handled=handled):
        case WalkVerdict.CARRY_OUT:
            return None
        case WalkVerdict.LEAVE:
            return Done()
        case WalkVerdict.MARK:
            _mark(owned, record, action)
            return Done()
        case WalkVerdict.REFUSE:
            message = f"State {record.action}_{record.status} invalid for {action.value.lower()}"
            reason = ResourceFailure("Error", message).reason(record.name)
            return Failed(f"Resource {action} failed: {reason}")
        case WalkVerdict.FAIL:
            message = f"Can not check {record.name}, resource not created yet."
            return _failed(owned, record, ResourceFailure("Error", message).reason(record.name))


def _mark(owned: OwnedStack, record: Record, action: Action) -> None:
    memory = owned.memory
    reason = USUAL_REASON
    if action is Action.CHECK:
        reason = f"{UNSUPPORTED}{record.type}"
    else:
        memory.event(record, Status.IN_PROGRESS, action=action, if_current=True)
    ended = walk.completed(record, action, reason).having(
        traversal=memory.stack.traversal, updated_at=owned.tools.clock.now()
    )
    memory.put(ended, full=ended.held is not record.held, if_current=True)
    memory.event(ended, Status.COMPLETE, ended.reason, if_current=True)


def _failed(owned: OwnedStack, record: Record, reason: str) -> Failed:
    memory = owned.memory
    failed = record.having(
        action=Action.CHECK,
        status=Status.FAILED,
        reason=reason,
        traversal=memory.stack.traversal,
        updated_at=owned.tools.clock.now(),
    )
    memory.put(failed, if_current=True)
    memory.event(failed, Status.FAILED, reason, if_current=True)
    return Failed(reason)


async def carry_out(attempt: Attempt, row: AttemptRow | None) -> Outcome:
    """Carry out the lifecycle action, from the beginning or from the step in the row of an earlier
    owner.

    Raises Superseded, Stopped, CloudFault, ResourceFailure.
    """
    action = attempt.owned.memory.stack.action if row is None else Action(row.action)
    await _act(attempt, action, row)
    attempt.end_row()
    return Done()


async def wake(attempt: Attempt, row: AttemptRow | None = None) -> None:
    """Resume a suspended resource before its update; if that fails, set the record to
    RESUME_FAILED.

    If an earlier owner began this, its `row` has the step.
    """
    try:
        await _act(attempt, Action.RESUME, row)
    except (CloudFault, ResourceFailure) as problem:
        reason = failure_of(problem).reason(attempt.record.name)
        begun = attempt.record.having(action=Action.RESUME, status=Status.IN_PROGRESS)
        if attempt.record.status is not Status.IN_PROGRESS:
            attempt.owned.memory.event(begun, Status.IN_PROGRESS)
        failed = begun.having(status=Status.FAILED, reason=reason)
        attempt.owned.memory.put(failed)
        attempt.owned.memory.event(failed, Status.FAILED, reason)
    attempt.end_row()
    attempt.start_over()


async def _act(attempt: Attempt, action: Action, row: AttemptRow | None) -> None:
    owned, record = attempt.owned, attempt.record
    rtype = owned.tools.programs.type_of(record)
    if rtype is None:
        raise ResourceFailure("EntityNotFound", f"the type {record.type} is no longer available")
    attempt.doing = action
    ctx = attempt.context(rtype, action, record.held.properties)
    desired = unchanged(record)
    before = ctx.data if row is None or row.phase == "intent" else {}
    try:
        begin = partial(attempt.begin, action, rtype, desired, 0, ctx) if row is None else None
        if isinstance(rtype, NestedType):
            await ChildStack(attempt).carry_out(rtype, ctx, action, begin)
        else:
            if begin is not None:
                await begin()
            number = row.attempt if row else 0
            await attempt.run_steps(rtype, ctx, action, desired, number, row=row)
    except Exception:
        await _give_up(attempt, rtype, ctx, action, before)
        raise
    if attempt.is_over() or owned.aim.over:  # the snapshot will not be completed
        await _give_up(attempt, rtype, ctx, action, before)
    acted = attempt.record
    ended = walk.completed(acted, action, USUAL_REASON).having(updated_at=owned.tools.clock.now())
    owned.memory.put(ended, full=ended.held is not acted.held)
    owned.memory.event(ended, Status.COMPLETE, ended.reason)


async def _give_up(
    attempt: Attempt,
    rtype: ResourceType,
    ctx: ResourceContext,
    action: Action,
    before: Mapping[str, str],
) -> None:
    """Delete the objects that the resource created for a failed snapshot; do nothing for other
    actions.

    `before` is the private data before the action. Objects that cannot be deleted now are recorded
    as a failed snapshot, which is deleted before the stack.
    """
    if action is not Action.SNAPSHOT:
        return
    owned = attempt.owned
    failure = None
    if isinstance(rtype, NestedType) and ctx.physical_id is not None:
        failure = await snapshots.drop_taken(owned, ctx.physical_id)
    elif ctx.data != before:
        failure = await snapshots.drop_one(rtype, ctx)
    if failure is not None:
        log.warning("resource %s: cannot delete objects of its snapshot: %s", ctx.name, failure)
        entry = await snapshots.taken(owned, attempt.record, ctx.data)
        owned.memory.always.left_over.append((owned.tools.new_id(), failure, {ctx.name: entry}))
        if owned.memory.stack.action is Action.DELETE:
            attempt.left_over = f"Resource DELETE failed: {failure}"


def checked(owned: OwnedStack) -> tuple[str | None, str, str]:
    """Return the result of a check as (failure, first failure, addition).

    The failure lists all failed resources; it is None if none failed. The addition is appended to
    the reason of a success.
    """
    records = [
        record
        for record in owned.memory.records.values()
        if record.action is Action.CHECK and record.traversal == owned.memory.stack.traversal
    ]
    failed = sorted((r.created_at, r.name, r.reason) for r in records if r.failed)
    if failed:
        parts = [f"{name}: Resource CHECK failed: {reason}" for _, name, reason in failed]
        first = f"Resource CHECK failed: {failed[0][2]}"
        return f"Resource CHECK failed: {'; '.join(parts)}", first, ""
    partly = any(record.reason.startswith(UNSUPPORTED) for record in records)
    return None, "", ". 'CHECK' not fully supported (see resources)" if partly else ""

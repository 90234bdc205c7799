"""The clean-up node of a resource: delete the object, then the record."""

from functools import partial

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.core.retry import retry_delay_s
from hearth.engine.worker.failure import ResourceFailure, failure_of, next_attempt
from hearth.engine.worker.known.desired import unchanged
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import immediate, orphans
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.calls import refusal
from hearth.engine.worker.node.child_stack import ChildStack
from hearth.engine.worker.node.outcome import Done, Failed, Outcome, Removed
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import MakesObject, NestedType
from hearth.resources.read_back import is_lost
from hearth.store.rows import AttemptRow

USERS_TOLD_MAX = 3


async def cleanup(attempt: Attempt, row: AttemptRow | None) -> Outcome:
    """Carry out the clean-up node, or the rest of it from the `row` of an earlier owner; return its
    outcome.

    Raises Superseded, Stopped, CloudFault, ResourceFailure.
    """
    owned, record = attempt.owned, attempt.record
    rtype = owned.tools.programs.type_of(record)
    nothing = record.physical_id is None and not orphans.of(owned, record.id)
    if rtype is None and nothing:  # the create failed before there was an object
        if record.state != "DELETE_IN_PROGRESS":  # otherwise the event was added before
            owned.memory.event(record.having(action=Action.DELETE), Status.IN_PROGRESS)
        owned.memory.event(record.having(action=Action.DELETE), Status.COMPLETE)
        owned.memory.drop(record)
        return Done()
    if rtype is None:
        raise ResourceFailure("EntityNotFound", f"the type {record.type} is no longer available")
    ctx = attempt.context_for(record, rtype)
    if immediate.left_alone(owned, record, rtype):  # objects of lost calls are deleted nevertheless
        leaving = record.having(action=Action.DELETE)
        try:
            await attempt.calls.sweep(rtype, ctx, for_good=True)
        except CloudFault as fault:  # the record is unchanged: its object must stay
            reason = failure_of(fault).reason(record.name)
            owned.memory.event(leaving, Status.IN_PROGRESS)
            owned.memory.event(leaving, Status.FAILED, reason)
            return Failed(f"Resource DELETE failed: {reason}")
        owned.memory.event(leaving, Status.IN_PROGRESS)
        return _removed(owned, leaving)
    await _delete(attempt, rtype, ctx, row)
    await attempt.calls.sweep(rtype, ctx, for_good=True)
    attempt.end_row()
    return _removed(owned, attempt.record)


async def _delete(
    attempt: Attempt, rtype: ResourceType, ctx: ResourceContext, row: AttemptRow | None
) -> None:
    """Delete the object; if the cloud reports a conflict (409), retry a limited number of times."""
    owned, record = attempt.owned, attempt.record
    desired = unchanged(record)
    number = row.attempt if row else 0
    begin = partial(attempt.begin, Action.DELETE, rtype, desired, number, ctx)
    if row is None and not isinstance(rtype, NestedType):
        await begin()
    while True:
        try:
            if isinstance(rtype, NestedType):
                asks = begin if row is None else None
                await ChildStack(attempt).carry_out(rtype, ctx, Action.DELETE, asks)
            else:
                if ctx.physical_id is None and row is None:
                    await attempt.calls.find_unrecorded(rtype, ctx)
                await attempt.run_steps(rtype, ctx, Action.DELETE, desired, number, row=row)
            return
        except CloudFault as fault:
            if not fault.conflict:
                raise
            if await _ends_with_another(attempt, rtype):
                return
            failure = ResourceFailure(fault.type, fault.message + await _used_by(rtype, ctx))
            if number >= owned.tools.retries:
                raise failure from fault
        row = None
        number += 1
        delay_s = retry_delay_s(number, owned.tools.jitter())
        reason = next_attempt(number, owned.tools.retries, delay_s, str(failure))
        owned.tools.observer.attempt_repeated("DELETE")
        owned.memory.put(attempt.record.having(reason=reason))
        attempt.calls.last_seen = refusal(failure)
        # so that the next owner continues the count of attempts
        if not isinstance(rtype, NestedType):
            first = attempt.steps_of(rtype, ctx, Action.DELETE)[0].name
            moved = attempt.row_of(Action.DELETE, "intent", first, number, desired)
            owned.memory.always.moved.append(moved)
        await attempt.calls.pause(delay_s)


async def _ends_with_another(attempt: Attempt, rtype: ResourceType) -> bool:
    """Return whether the delete of the stack deletes another object, and this one with it.

    An example is the attachment of a volume to a server in an error state, which refuses to detach
    volumes. Only an object that nothing can mend is a reason to leave this one to it.
    """
    owned = attempt.owned
    ends_with = rtype.ends_with if isinstance(rtype, MakesObject) else None
    if ends_with is None or owned.memory.stack.action is not Action.DELETE:
        return False
    ident = attempt.record.held.properties.get(ends_with)
    for candidate in owned.memory.records.values():
        kind = owned.tools.programs.type_of(candidate) if candidate.physical_id == ident else None
        if kind is None or immediate.left_alone(owned, candidate, kind):
            continue
        return await is_lost(kind, attempt.context_for(candidate, kind))
    return False


async def _used_by(rtype: ResourceType, ctx: ResourceContext) -> str:
    """Return a sentence that lists what still uses the object; empty if that is unknown."""
    try:
        users = await rtype.used_by(ctx) if isinstance(rtype, MakesObject) else ()
    except CloudFault:  # the conflict is reported without the list
        return ""
    ellipsis = ["..."] if len(users) > USERS_TOLD_MAX else []
    return f" In use by {', '.join([*users[:USERS_TOLD_MAX], *ellipsis])}." if users else ""


def _removed(owned: OwnedStack, record: Record) -> Removed:
    """Add the event that the delete is complete, and return the outcome that deletes the record.

    Call this when the object is deleted, or when it is to stay in the cloud without a record.
    """
    deleted = record.having(status=Status.COMPLETE, reason=USUAL_REASON)
    owned.memory.event(deleted, Status.COMPLETE)
    return Removed(deleted)

"""Create a resource, retry a failed create, and release what older records of the name occupy."""

import logging
from collections.abc import Sequence
from functools import partial

from hearth.cloud.fault import CloudFault, NotFound
from hearth.engine.core.decide import Desired, never_made
from hearth.engine.core.record import Record
from hearth.engine.core.retry import retry_delay_s
from hearth.engine.worker.failure import ResourceFailure, failure_of, next_attempt
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.node import immediate, orphans
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.calls import refusal
from hearth.engine.worker.node.child_stack import ChildStack
from hearth.engine.worker.node.outcome import Outcome
from hearth.model.state import Action, Status
from hearth.resources.actions import action_steps
from hearth.resources.base import ResourceContext, ResourceType, Step
from hearth.resources.capabilities import GivesWay, MakesObject, NestedType
from hearth.resources.read_back import is_lost

log = logging.getLogger(__name__)

DELETE_S = 60.0  # how long a create waits for the delete of an older object that is under way
CONFLICT = "Conflict"  # the error of a type whose service does not refuse a name that is taken
REFUSALS = frozenset({400, 409, 500, 501})  # statuses with which an object itself refuses a call


async def create(
    attempt: Attempt, rtype: ResourceType, desired: Desired, number: int = 0
) -> Outcome:
    """Create the resource; after a failure delete the object and retry, a limited number of times.

    `number` counts the attempts from 0. Raises Superseded, Stopped, CloudFault, ResourceFailure.
    """
    while True:
        policy = desired.update_policy
        ctx = attempt.context(rtype, Action.CREATE, desired.properties, update_policy=policy)
        try:
            begin = partial(attempt.begin, Action.CREATE, rtype, desired, number, ctx)
            if isinstance(rtype, NestedType):
                await ChildStack(attempt).carry_out(rtype, ctx, Action.CREATE, begin)
            else:
                await begin()
                first = partial(give_way, attempt)
                await attempt.run_steps(rtype, ctx, Action.CREATE, desired, number, first=first)
        except (CloudFault, ResourceFailure) as problem:
            if await _made_room(attempt, problem):
                continue
            if not may_try_again(attempt, problem, number):
                raise
            number = await removed(attempt, rtype, desired, number, failure_of(problem))
        else:
            return await attempt.succeed(rtype, ctx, desired, Action.CREATE)


def may_try_again(attempt: Attempt, problem: CloudFault | ResourceFailure, number: int) -> bool:
    """Return whether another attempt of a create may follow the attempt `number`, counted from
    0.
    """
    has_attempts = number < attempt.owned.tools.retries and not attempt.is_over()
    return has_attempts and failure_of(problem).retry


async def removed(
    attempt: Attempt, rtype: ResourceType, desired: Desired, number: int, failure: ResourceFailure
) -> int:
    """Delete the object of a failed create, pause, and return the number of the next attempt.

    A delete that fails with a conflict also counts as an attempt. Raises ResourceFailure if no
    further attempt is allowed.
    """
    while True:
        number += 1
        try:
            await _again(attempt, rtype, desired, number, failure)
        except (CloudFault, ResourceFailure) as problem:
            if not may_try_again(attempt, problem, number):
                raise failure from problem
            failure = failure_of(problem)
            continue
        if attempt.is_over():  # a newer operation needs no further attempt
            raise failure
        return number


async def _again(
    attempt: Attempt, rtype: ResourceType, desired: Desired, number: int, failure: ResourceFailure
) -> None:
    """Record the failure of a create, delete its object, and pause before the next attempt."""
    owned = attempt.owned
    reason = failure.reason(attempt.record.name)
    failed = attempt.record.having(status=Status.FAILED, reason=reason)
    owned.memory.put(failed)
    owned.memory.event(failed, Status.FAILED, reason)
    ctx = attempt.context(rtype, Action.DELETE, desired.properties)
    if failed.physical_id is not None or action_steps(rtype, Action.DELETE, ctx):
        leaving = failed.having(action=Action.DELETE, status=Status.IN_PROGRESS)
        owned.memory.put(leaving)
        owned.memory.event(leaving, Status.IN_PROGRESS)
        await attempt.begin(Action.DELETE, rtype, desired, number, ctx, show=False)
        await attempt.run_steps(rtype, ctx, Action.DELETE, desired, number)
        deleted = attempt.record.having(status=Status.COMPLETE, reason=USUAL_REASON)
        owned.memory.event(deleted, Status.COMPLETE)
        owned.memory.put(deleted.having(physical_id=None))
    delay_s = retry_delay_s(number, owned.tools.jitter())
    retry_reason = next_attempt(number, owned.tools.retries, delay_s, str(failure))
    owned.tools.observer.attempt_repeated("CREATE")
    owned.memory.put(attempt.record.having(reason=retry_reason))
    attempt.calls.last_seen = refusal(failure)
    await attempt.calls.pause(delay_s)


async def give_way(attempt: Attempt) -> None:
    """Make the replaced records release what the new record needs, such as a fixed IP address.

    This runs their `replaced_steps`, even if these ran before. The object of a failed create is
    deleted instead, because nothing depends on it.
    """
    owned = attempt.owned
    for old in others_of(attempt):
        rtype = owned.tools.programs.type_of(old)
        if rtype is None or old.physical_id is None or not _makes_way(attempt, old):
            continue
        failed = old.failed and never_made(old) and not isinstance(rtype, NestedType)
        if failed and not immediate.left_alone(owned, old, rtype):
            await _gone_before(attempt, rtype, attempt.context_for(old, rtype))
        elif isinstance(rtype, GivesWay):
            await _released(attempt, rtype, old)


async def _released(attempt: Attempt, rtype: GivesWay, old: Record) -> None:
    """Run the `replaced_steps` of a replaced record.

    An object that is gone holds nothing. An object that refuses a step is deleted, if its type
    allows that and it need not stay: no later update would end otherwise.
    """
    ctx = attempt.context_for(old, rtype, Action.UPDATE)
    for step in rtype.replaced_steps(ctx):
        try:
            await aside(attempt, rtype, ctx, (step,))
        except NotFound:
            continue
        except (CloudFault, ResourceFailure) as problem:
            if not _refused(problem) or not await _may_go_first(attempt, rtype, old, ctx):
                raise
            log.info("resource %s: deletes the old object first: %s", ctx.name, problem)
            if not await _gone_before(attempt, rtype, attempt.context_for(old, rtype)):
                raise
            return


async def _made_room(attempt: Attempt, problem: CloudFault | ResourceFailure) -> bool:
    """Return whether a failed create may be repeated, because an older object that perhaps held a
    port or a name that only one object can have is gone now.
    """
    if isinstance(problem, CloudFault):
        conflict = problem.conflict
        possible = problem.status in (400, 409) and not problem.over_limit  # 400: of some services
    else:
        possible = conflict = problem.error == CONFLICT
    if not possible or attempt.record.physical_id is not None or attempt.is_over():
        return False
    return await _ended(attempt) or await _cleared(attempt, conflict=conflict)


async def _ended(attempt: Attempt) -> bool:
    """Wait, for a limited time, while older objects are being deleted; return whether one of the
    deletes ended.
    """
    aim, clock = attempt.owned.aim, attempt.owned.tools.clock

    def under_way() -> set[str]:
        leaving = (
            record
            for record in aim.namesakes(attempt.record)
            if record.leaving and not record.failed
        )
        return {
            record.id for record in leaving if record.physical_id and _makes_way(attempt, record)
        }

    before, until = under_way(), clock.now() + DELETE_S
    while before and before == under_way() and clock.now() < until:
        await attempt.calls.pause(1)
    return before != under_way()


async def _cleared(attempt: Attempt, *, conflict: bool) -> bool:
    """Delete older objects that nobody needs; return whether there was one.

    Such an object is one whose delete has failed, or a replaced one that nothing can mend; if it
    holds data, only after a conflict.
    """
    owned, cleared = attempt.owned, False
    for old in others_of(attempt):
        rtype = owned.tools.programs.type_of(old)
        if rtype is None or old.physical_id is None or not _makes_way(attempt, old):
            continue
        ctx = attempt.context_for(old, rtype)
        stays = immediate.left_alone(owned, old, rtype) or old.held.deletion_policy == "Snapshot"
        stays |= isinstance(rtype, NestedType) or not old.failed
        useless = conflict or not (isinstance(rtype, MakesObject) and rtype.holds_data)
        if not stays and (old.leaving or (useless and await is_lost(rtype, ctx))):
            cleared |= await _gone_before(attempt, rtype, ctx)
    return cleared


def _refused(problem: CloudFault | ResourceFailure) -> bool:
    """Return whether the object itself is the cause of the failure of a step."""
    return isinstance(problem, ResourceFailure) or problem.status in REFUSALS


async def _may_go_first(
    attempt: Attempt, rtype: ResourceType, old: Record, ctx: ResourceContext
) -> bool:
    stays = immediate.left_alone(attempt.owned, old, rtype)
    if stays or old.held.deletion_policy == "Snapshot" or not isinstance(rtype, GivesWay):
        return False
    return await rtype.may_go_first(ctx)


async def take_back(attempt: Attempt, rtype: ResourceType) -> bool:
    """Undo the `replaced_steps` of a record that is in charge again; return False if its object is
    gone.
    """
    ctx = attempt.context(rtype, Action.RESTORE, attempt.record.held.properties)
    steps = action_steps(rtype, Action.RESTORE, ctx)
    if not steps:
        return True
    if attempt.record.physical_id is None:  # it was deleted before its replacement was created
        return False
    namesakes = others_of(attempt)
    for namesake in namesakes:  # so that a rollback can return to it
        if namesake.replaced_by is None:
            attempt.owned.memory.put(namesake.having(replaced_by=attempt.record_id))
    if namesakes:
        await attempt.owned.commits.written()
        attempt.not_stale()
        await give_way(attempt)
    number, swept = 0, False
    while True:
        try:
            await aside(attempt, rtype, ctx, steps)
        except CloudFault as fault:
            if isinstance(fault, NotFound):
                return False
            number += 1
            if not fault.conflict or number > attempt.owned.tools.retries:
                raise
            # an object of a lost call may occupy what the resource needs
            swept |= await _swept(attempt)
            if not swept:
                if await _may_go_first(attempt, rtype, attempt.record, ctx):
                    return False
                raise
            await attempt.calls.pause(retry_delay_s(number, attempt.owned.tools.jitter()))
        else:
            return True


async def _swept(attempt: Attempt) -> bool:
    """Delete the objects of lost create calls of this resource name; return whether there were
    any.
    """
    owned, swept = attempt.owned, False
    for namesake in owned.aim.namesakes(attempt.record):
        rtype = owned.tools.programs.type_of(namesake)
        if rtype is not None and orphans.of(owned, namesake.id):
            swept |= await orphans.sweep(owned, rtype, attempt.context_for(namesake, rtype))
    return swept


def others_of(attempt: Attempt) -> list[Record]:
    """Return the other records with the same name, except those that are being deleted or whose
    object is deleted.
    """
    namesakes = attempt.owned.aim.namesakes(attempt.record)
    return [record for record in namesakes if record.action is not Action.DELETE or record.failed]


def _makes_way(attempt: Attempt, record: Record) -> bool:
    """Return whether the attempt's record replaced `record`, directly or through other records."""
    visited: set[str] = set()
    after = record.replaced_by
    while after is not None and after not in visited:
        if after == attempt.record_id:
            return True
        visited.add(after)
        replacement = attempt.owned.memory.records.get(after)
        after = replacement.replaced_by if replacement is not None else None
    return False


async def _gone_before(attempt: Attempt, rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Delete an object before its replacement is created; return False if this fails. Then its
    clean-up node deletes it.
    """
    try:
        await aside(attempt, rtype, ctx, action_steps(rtype, Action.DELETE, ctx))
    except (CloudFault, ResourceFailure) as problem:
        log.info("resource %s: cannot delete the old object first: %s", ctx.name, problem)
        return False
    memory = attempt.owned.memory
    memory.put(memory.records[ctx.record_id].having(physical_id=None))
    return True


async def aside(
    attempt: Attempt, rtype: ResourceType, ctx: ResourceContext, steps: Sequence[Step]
) -> None:
    """Run steps on a record that do not belong to the action of the node.

    These steps have no intent, so an earlier owner may already have carried them out. Therefore a
    conflict counts as success if the `find` of the step finds the result. The private data from a
    step is committed before the next step.
    """
    for step in steps:
        try:
            effect = await attempt.calls.call(rtype, step, ctx)
        except CloudFault as fault:
            if not fault.conflict or step.find is None:
                raise
            effect = await attempt.calls.find(rtype, step, ctx)
            if effect is None:
                raise
        if effect is not None and effect.data:
            ctx.data = attempt.owned.memory.note_data(ctx.record_id, effect.data)
            await attempt.owned.commits.written()
        await attempt.calls.poll(step, ctx)

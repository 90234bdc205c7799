"""The update node of a resource: decide with the evaluated values, then create, update or
replace.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from hearth.engine.core.decide import (
    EXTERNAL,
    Decision,
    Desired,
    Verdict,
    as_found,
    decide,
    must_examine,
    never_made,
)
from hearth.engine.core.record import Record
from hearth.engine.core.walk import asleep, unhealthy
from hearth.engine.worker.failure import ResourceFailure, failure_of
from hearth.engine.worker.known.context import attributes_of
from hearth.engine.worker.known.desired import desired_of, evaluated_of
from hearth.engine.worker.node import adopt, immediate, walk
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.child_stack import ChildStack, is_there, nested_failed
from hearth.engine.worker.node.create import (
    create,
    others_of,
    take_back,
)
from hearth.engine.worker.node.outcome import Done, Failed, Outcome
from hearth.model.state import Action
from hearth.resources.base import Change, ResourceType
from hearth.resources.capabilities import Immediate, MakesObject, NestedType, UpdatedAlways
from hearth.resources.read_back import is_lost, only_grow
from hearth.template import Evaluated, ResourceDefinition

# the verdicts that continue with the same record
_GOES_ON = (Verdict.CREATE, Verdict.UPDATE, Verdict.KEEP)


async def update(attempt: Attempt) -> Outcome:
    """Carry out the update node and return its outcome.

    Raises Superseded, Stopped, CloudFault, ResourceFailure.
    """
    # an unhealthy resource stays suspended, because it is nearly always replaced
    if asleep(attempt.record) and not unhealthy(attempt.record):
        await walk.wake(attempt)
        attempt.not_stale()  # a newer operation may have interrupted the resume
    return await _update_awake(attempt)


async def _update_awake(attempt: Attempt) -> Outcome:
    """Carry out the node of a resource after it was resumed, if it was suspended.

    An unhealthy resource is resumed only here, and only if it is not replaced.
    """
    owned, aim = attempt.owned, attempt.owned.aim
    definition = aim.program.resources[attempt.record.name]
    rtype = owned.tools.programs.rtype_of(definition)
    try:
        evaluated = await aim.evaluated(partial(evaluated_of, aim, definition, rtype))
        former = await _as_made(attempt, rtype, definition, evaluated)
        if former is None:
            resolved = await owned.access.resolve(rtype, evaluated.properties)
            await owned.commits.admission()
            desired = await aim.evaluated(
                partial(desired_of, aim, definition, evaluated, rtype.recorded_as, resolved)
            )
            decision = await _decided(attempt, rtype, desired)
        else:
            rtype, desired, decision = former
    except Exception as problem:
        attempt.not_stale()
        return immediate.fail(owned, attempt.record, failure_of(problem))
    if (refused := immediate.restricted(owned, attempt.record, decision)) is not None:
        return refused
    replaced = decision.verdict is Verdict.REPLACE
    if not replaced and asleep(attempt.record) and unhealthy(attempt.record):
        await walk.wake(attempt)
        attempt.not_stale()
        return await _update_awake(attempt)
    # in a nested stack, the failed resources report it themselves
    sleeps = asleep(attempt.record) and not isinstance(rtype, NestedType)
    if sleeps and not replaced:
        return Failed(f"Resource RESUME failed: {attempt.record.reason}")
    if decision.verdict in _GOES_ON and attempt.record.type != definition.type:
        renamed = attempt.record.having(type=definition.type)
        owned.memory.put(renamed, full=True, if_current=True)
    match decision.verdict:
        case Verdict.KEEP:
            return await _keep(attempt, rtype, desired)
        case Verdict.FAIL:
            failure = ResourceFailure("NotSupported", decision.reason)
            return immediate.fail(owned, attempt.record, failure)
        case Verdict.UPDATE:
            return await _update(attempt, rtype, desired, decision)
        case Verdict.REPLACE:
            return await _replace(attempt, rtype, desired, decision)
        case Verdict.CREATE if definition.external_id is not None:
            return await adopt.outsider(attempt, rtype, desired, definition.external_id)
        case Verdict.CREATE if owned.aim.adopts(attempt.record):
            adopted = await adopt.adopt(attempt, rtype, desired)
            return await update(attempt) if adopted is None else adopted
        case Verdict.CREATE:
            return await create(attempt, rtype, desired)


async def _as_made(
    attempt: Attempt, rtype: ResourceType, definition: ResourceDefinition, evaluated: Evaluated
) -> tuple[ResourceType, Desired, Decision] | None:
    """Return the type, the desired state and the decision for an unchanged resource that another
    form of its type made; None if it is no such resource, or if it is to be replaced.

    So a placeholder stays a placeholder, and an object in the cloud stays there.
    """
    owned, record = attempt.owned, attempt.record
    before = owned.tools.programs.as_made(record, rtype, evaluated.properties)
    if before is None or owned.aim.adopts(record):
        return None
    recorded = record.held
    former = replace(evaluated, properties=recorded.written)
    desired = await owned.aim.evaluated(
        partial(desired_of, owned.aim, definition, former, before.recorded_as, recorded.properties)
    )
    await owned.commits.admission()
    decision = await _decided(attempt, before, desired)
    return None if decision.verdict is Verdict.REPLACE else (before, desired, decision)


async def _decided(attempt: Attempt, rtype: ResourceType, desired: Desired) -> Decision:
    """Return the decision, after the reads from the cloud that it depends on. Raises Superseded."""
    owned, record = attempt.owned, attempt.record
    if owned.aim.adopts(record):
        return Decision(Verdict.CREATE)
    if owned.tools.programs.has_other_form(record, rtype):  # which cannot read its properties
        return Decision(Verdict.REPLACE, "its type is no longer a placeholder, or is one now")
    before = owned.tools.programs.type_of(record)
    update_context = partial(attempt.context, rtype, Action.UPDATE, record.held.properties)
    if isinstance(rtype, NestedType) and not record.new and not await is_there(attempt):
        attempt.not_stale()
        return Decision(Verdict.REPLACE, "its nested stack no longer exists")
    lost = record.failed and await _is_lost(attempt, rtype)
    check_failed = not (
        isinstance(rtype, NestedType) and unhealthy(record) and await nested_failed(attempt)
    )
    observed: Mapping[str, Any] | None = {}
    # Hearth must not replace objects outside of the stack
    outside = EXTERNAL in record.held.parts or EXTERNAL in desired.parts
    unread = record.new or isinstance(rtype, NestedType) or outside or lost
    unfinished = record.failed and (record.held.attempted is not None or never_made(record))
    if owned.aim.observes() and not unread:
        observed = await adopt.observed(rtype, update_context())
    elif unfinished and not unread:
        observed = await adopt.observed(rtype, update_context(), after_failure=True)
    attempt.not_stale()
    if record.replaced_by is not None:  # a rollback returns to it
        if not await take_back(attempt, rtype):
            observed = None
        attempt.not_stale()
        record = attempt.record
    if observed is None:
        return Decision(Verdict.REPLACE, "its object no longer exists in the cloud")
    if observed:
        record = as_found(record, observed, desired.properties, only_grow(rtype))
    return decide(
        record,
        desired,
        rtype.properties,
        lost=lost,
        must_replace=lambda before, after, changes: rtype.must_replace(
            Change(before, after, changes, owned.memory.data.get(record.id, {}))
        ),
        nested=isinstance(rtype, NestedType | UpdatedAlways) and not owned.aim.done_with(record),
        always=owned.aim.always_replaces(rtype, record),
        check_failed=check_failed,
        substitute=isinstance(before, MakesObject) and before.substitute == desired.kind,
    )


async def _is_lost(attempt: Attempt, rtype: ResourceType) -> bool:
    """Return whether only a replacement helps a failed record. Raises CloudFault."""
    record = attempt.record
    ctx = attempt.context(rtype, Action.UPDATE, record.held.properties)
    if never_made(record) or isinstance(rtype, NestedType):
        return await rtype.replace_failed(ctx)
    return must_examine(record) and await is_lost(rtype, ctx)


async def _keep(attempt: Attempt, rtype: ResourceType, desired: Desired) -> Outcome:
    record = attempt.record
    ctx = attempt.context(rtype, record.action, desired.properties)
    attributes = await attributes_of(attempt.owned, record, rtype, ctx, record.held.attributes)
    attempt.not_stale()
    immediate.keep(attempt.owned, record, desired, attributes, rtype.reference(ctx))
    return Done()


async def _replace(
    attempt: Attempt, rtype: ResourceType, desired: Desired, decision: Decision
) -> Outcome:
    owned, old = attempt.owned, attempt.record
    namesakes = others_of(attempt)  # records of attempts that failed or were superseded
    new = immediate.replacement(owned, old, desired, late=decision.late)
    for namesake in namesakes:
        if namesake.replaced_by is None:
            owned.memory.put(namesake.having(replaced_by=new.id), if_current=True)
    attempt.move_to(new)
    if isinstance(rtype, Immediate):
        return immediate.create(owned, new, desired, rtype)
    return await create(attempt, rtype, desired)


async def _update(
    attempt: Attempt, rtype: ResourceType, desired: Desired, decision: Decision
) -> Outcome:
    ctx = attempt.context(
        rtype,
        Action.UPDATE,
        desired.properties,
        before=decision.before,
        changes=decision.changes,
        update_policy=desired.update_policy,
        template_metadata=changed_metadata(attempt.record, desired),
    )
    begin = partial(attempt.begin, Action.UPDATE, rtype, desired, 0, ctx)
    if isinstance(rtype, NestedType):
        await ChildStack(attempt).carry_out(rtype, ctx, Action.UPDATE, begin)
    else:
        await begin()
        await attempt.run_update(rtype, ctx, desired, 0)
    return await attempt.succeed(rtype, ctx, desired, Action.UPDATE)


def changed_metadata(record: Record, desired: Desired) -> Mapping[str, Any] | None:
    """Return the metadata in the template, or None if it is unchanged since the last success."""
    unchanged = desired.parts.get("metadata") == record.held.parts.get("metadata")
    return None if unchanged else desired.metadata

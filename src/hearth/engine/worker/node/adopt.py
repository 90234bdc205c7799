"""Adopt existing objects into a stack, and check objects that are given by an external id."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault, NoAnswer, NotFound
from hearth.engine.core.decide import Desired, updatable
from hearth.engine.worker.failure import ResourceFailure, failure_of
from hearth.engine.worker.known.aim import DOCUMENT, Aim
from hearth.engine.worker.known.desired import desired_of
from hearth.engine.worker.known.document import DocumentWorld
from hearth.engine.worker.node import immediate
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.calls import LOOK_AGAIN_S, PASSING_MAX
from hearth.engine.worker.node.child_stack import ChildStack
from hearth.engine.worker.node.outcome import Outcome
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.model.unknown import unknown_in
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import MakesObject, NestedType
from hearth.resources.read_back import at_rest, only_grow, read_back, real_state
from hearth.store.texts import get_revision
from hearth.template import Evaluated, ResourceDefinition

log = logging.getLogger(__name__)

FIRST_REVISION = 1  # an adopt creates the stack, with this revision


async def adopt(attempt: Attempt, rtype: ResourceType, desired: Desired) -> Outcome | None:
    """Adopt the object whose id the adopted document has for the record. No write call is sent.

    The node fails if the document has no id. Return None in a later operation that continues the
    adoption. Then the record describes the object as in the adopted template, and the caller
    decides what to change.
    """
    later = attempt.owned.aim.adopts_late()
    if later:
        rtype, desired = await _as_adopted(attempt, rtype, desired)
    ctx = attempt.context(rtype, Action.ADOPT, desired.properties)
    begin = partial(attempt.begin, Action.ADOPT, rtype, desired, 0, ctx)
    if isinstance(rtype, NestedType) and DOCUMENT in ctx.data:
        await ChildStack(attempt).carry_out(rtype, ctx, Action.ADOPT, begin)
    elif isinstance(rtype, NestedType) or ctx.physical_id is None:
        # the id in the document does not belong to a stack of Hearth
        if isinstance(rtype, NestedType):
            attempt.owned.memory.put(attempt.record.having(physical_id=None), if_current=True)
        failure = ResourceFailure("Error", "Resource ID was not provided.")
        return immediate.fail(attempt.owned, attempt.record, failure)
    else:
        await begin()
        await attempt.run_steps(rtype, ctx, Action.ADOPT, desired, 0)
    if not later:
        return await attempt.succeed(rtype, ctx, desired, Action.ADOPT)
    await attempt.conclude(rtype, ctx, desired, Action.ADOPT)
    attempt.start_over()
    return None


async def _as_adopted(
    attempt: Attempt, rtype: ResourceType, desired: Desired
) -> tuple[ResourceType, Desired]:
    """Return the type and the desired state of a resource according to the adopted template.

    Properties that can be read have their real values; but one that an update cannot change has it
    only if its value came from a resource that may have changed since. If the adopted template has
    no such resource any more, the real state is all that is known.
    """
    owned, aim = attempt.owned, attempt.owned.aim
    stack, doubtful = owned.memory.stack, frozenset[str]()
    revision = await owned.tools.store.read(lambda tx: get_revision(tx, stack.id, FIRST_REVISION))
    try:
        program = await owned.tools.programs.of(stack, revision)
    except Rejected as problem:  # without the template, nothing is known of the resource
        raise failure_of(problem) from problem
    try:
        definition = program.resources[attempt.record.name]
        rtype = owned.tools.programs.rtype_of(definition)
        entries = revision.document.resources if revision.document else {}
        evaluated, doubtful = await _before_changes(aim, definition, entries)
        resolved = await owned.access.resolve(rtype, evaluated.properties, strict=False)
        first = await aim.evaluated(
            partial(desired_of, aim, definition, evaluated, rtype.recorded_as, resolved)
        )
    except (Rejected, ResourceFailure, LookupError) as problem:
        message = "resource %s is adopted as it is in the cloud; the adopted template fails: %s"
        log.info(message, attempt.record.name, problem)
        assumed = desired.properties if rtype.recorded_as == desired.kind else {}
        first = replace(desired, kind=rtype.recorded_as, properties=assumed)
    documented = first.properties
    ctx = attempt.context(rtype, Action.ADOPT, documented)
    actual = await _shown(attempt, rtype, ctx, doubtful) or {}
    requires = attempt.record.requires | first.requires  # it may still depend on the old resources
    properties = {**documented, **actual}
    # the operation compares this state with the desired one
    return rtype, replace(
        first, definition="", written={}, properties=properties, requires=requires
    )


async def _before_changes(
    aim: Aim, definition: ResourceDefinition, entries: Mapping[str, Any]
) -> tuple[Evaluated, frozenset[str]]:
    """Return the values of a resource of the adopted template before any operation changed the
    stack, and the names of the doubtful properties.

    `entries` are the resources of the adopted document by name. A doubtful property depends on what
    the document does not contain, such as an attribute. It has its value of today, or none if the
    resource on which it depends is gone.
    """
    then = await aim.evaluated(partial(definition.evaluate, DocumentWorld(entries, aim.world)))
    now = await aim.evaluated(partial(definition.evaluate, aim.world))
    doubtful = then.open_properties
    today = doubtful - now.open_properties
    properties = {name: value for name, value in then.properties.items() if name not in doubtful}
    properties |= {name: value for name, value in now.properties.items() if name in today}
    metadata = [
        document for document in (then.metadata, now.metadata) if unknown_in(document) is None
    ]
    evaluated = replace(
        then,
        properties=properties,
        metadata=metadata[0] if metadata else {},
        secret=then.secret | now.secret,
        guarded=then.guarded | now.guarded,
        unknown=frozenset(),
        open_properties=frozenset(),
    )
    return evaluated, doubtful


async def _shown(
    attempt: Attempt, rtype: ResourceType, ctx: ResourceContext, doubtful: frozenset[str]
) -> Mapping[str, Any] | None:
    """Return the real values of the properties that an update can change and of the doubtful ones;
    None if the object is gone. Raises CloudFault.

    A failed read is retried, because without a response the desired state would be recorded as the
    real state.
    """
    looks = 0
    while ctx.physical_id is not None:
        looks += 1
        try:
            actual = await read_back(rtype, ctx)
            if actual is None:
                return None
            unsure = {
                name: value
                for name, value in actual.items()
                # no object is replaced because its service does not show a property
                if name in doubtful and value is not None and name not in only_grow(rtype)
            }
            return {
                **unsure,
                **updatable(rtype.properties, actual, ctx.properties, only_grow(rtype)),
            }
        except CloudFault as fault:
            if isinstance(fault, NotFound):
                return None
            passing = fault.passing or isinstance(fault, NoAnswer)
            if not passing or looks == PASSING_MAX:
                raise
        await attempt.calls.pause(LOOK_AGAIN_S)
    return None


async def observed(
    rtype: ResourceType, ctx: ResourceContext, *, after_failure: bool = False
) -> Mapping[str, Any] | None:
    """Return the properties that could be read from the cloud, or None if the object is gone.

    The result is empty if the read fails. If `after_failure` is true, this is what a failed update
    left: it includes values that no update can lower, and it is empty while a change is under way,
    because the next update must end that.
    """
    if not isinstance(rtype, MakesObject):
        return {}
    if ctx.physical_id is None:
        return None
    try:
        if after_failure and not await at_rest(rtype, ctx):
            return {}
        actual = await real_state(rtype, ctx)
    except CloudFault as fault:
        log.info("resource %s: its state in the cloud cannot be read: %s", ctx.name, fault)
        return {}
    if actual is None:
        return None
    growing = () if after_failure else only_grow(rtype)
    return updatable(rtype.properties, actual, ctx.properties, growing)


async def outsider(
    attempt: Attempt, rtype: ResourceType, desired: Desired, external_id: str
) -> Outcome:
    """Check an object that the stack refers to by an external id but does not own.

    Raises ResourceFailure for a nested stack: a nested stack always belongs to its parent stack.
    """
    if isinstance(rtype, NestedType):
        raise ResourceFailure("StackValidationFailed", "a nested stack cannot have an external_id")
    attempt.owned.memory.put(attempt.record.having(physical_id=external_id), if_current=True)
    ctx = attempt.context(rtype, Action.CHECK, desired.properties)
    await attempt.begin(Action.ADOPT, rtype, desired, 0, ctx)
    return await check_outsider(attempt, rtype, desired)


async def check_outsider(attempt: Attempt, rtype: ResourceType, desired: Desired) -> Outcome:
    """Check an object that the stack does not own; the record already refers to it."""
    attempt.owned.memory.event(attempt.record, Status.COMPLETE)
    attempt.owned.memory.put(attempt.record.having(status=Status.COMPLETE))
    ctx = attempt.context(rtype, Action.CHECK, desired.properties)
    await attempt.begin(Action.CHECK, rtype, desired, 0, ctx)
    await attempt.run_steps(rtype, ctx, Action.CHECK, desired, 0)
    return await attempt.succeed(rtype, ctx, desired, Action.CHECK)

"""Things that exist already: adopted into a stack, or only referred to by an external id."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.decide import Wanted
from hearth.engine.worker.calls import LOOK_AGAIN_S, PASSING_MAX
from hearth.engine.worker.nest import DOCUMENT, Nest
from hearth.engine.worker.trouble import Trouble, trouble_of
from hearth.engine.worker.wanted import wanted_of
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.base import Live, ResourceType
from hearth.store.texts import get_revision

log = logging.getLogger(__name__)

FIRST_REVISION = 1  # an adopt makes a stack

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight


async def adopt(flight: "Flight", kind: ResourceType, wanted: Wanted) -> bool:
    """Take over what the record was given at the start; nothing is called.

    False when that was done in the course of a later operation: the thing is as the adopted
    template says, and what this one wants of it is still to be decided.
    """
    later = flight.work.operation.adopts_late()
    if later:
        kind, wanted = await _as_adopted(flight, kind, wanted)
    live = flight.live(kind, Action.ADOPT, wanted.properties)
    begin = partial(flight.begin, Action.ADOPT, kind, wanted, 0, live)
    if kind.nested and DOCUMENT in live.data:
        await Nest(flight).carry_out(kind, live, Action.ADOPT, begin)
    elif kind.nested or live.physical_id is None:
        if kind.nested:  # an id that a document brings is not that of a stack of this one
            flight.work.put(flight.record.having(physical_id=None), advance=True)
        flight.refuse(Trouble("Error", "Resource ID was not provided."))
        return True
    else:
        await begin()
        await flight.run_steps(kind, live, Action.ADOPT, wanted, 0)
    if not later:
        await flight.succeed(kind, live, wanted, Action.ADOPT)
        return True
    await flight.conclude(kind, live, wanted, Action.ADOPT)
    flight.start_over()
    return False


async def _as_adopted(
    flight: "Flight", kind: ResourceType, wanted: Wanted
) -> tuple[ResourceType, Wanted]:
    """The type, and what the template that came with the document says of the resource; where that
    can not be told any more, what the cloud shows."""
    work, operation = flight.work, flight.work.operation
    stack = work.stack
    first = await work.tools.store.read(lambda tx: get_revision(tx, stack.id, FIRST_REVISION))
    try:
        program = await work.tools.programs.of(stack, first)
    except Rejected as problem:  # nobody here knows what it is
        raise trouble_of(problem) from problem
    try:
        definition = program.resources[flight.record.name]
        kind = work.tools.programs.kind_of(definition)
        evaluated = await operation.evaluated(partial(definition.evaluate, operation.world))
        resolved = await work.resolve(kind, evaluated.properties)
        first_wanted = await operation.evaluated(
            partial(wanted_of, operation, definition, evaluated, kind.name, resolved)
        )
    except (Rejected, Trouble, LookupError) as problem:
        log.info("%s is adopted as it is: %s", flight.record.name, problem)
        known = wanted.properties if kind.name == wanted.kind else {}
        first_wanted = replace(wanted, kind=kind.name, properties=known)
    known = first_wanted.properties  # what they refer to may have been replaced since
    shown = await _shown(flight, kind, flight.live(kind, Action.ADOPT, known)) or {}
    adopted = replace(first_wanted, definition="", written={}, properties={**known, **shown})
    return kind, adopted  # which is compared with what is wanted in any case


async def _shown(flight: "Flight", kind: ResourceType, live: Live) -> Mapping[str, Any] | None:
    """The real state, None if it is gone. Without an answer it would be taken for what is wanted
    now, so a look is repeated. Raises `CloudFault`."""
    looks = 0
    while live.physical_id is not None:
        looks += 1
        try:
            return await kind.observe(live)
        except CloudFault as fault:
            if fault.not_found:
                return None
            passing = fault.passing or isinstance(fault, NoAnswer)
            if not passing or looks == PASSING_MAX:
                raise
        await flight.pause(LOOK_AGAIN_S)
    return None


async def observed(kind: ResourceType, live: Live) -> Mapping[str, Any] | None:
    """The real state, None if it is gone. What can not be read is taken as it is stored."""
    if live.physical_id is None:
        return {} if kind.pure else None
    try:
        return await kind.observe(live)
    except CloudFault as fault:
        if fault.not_found:
            return None
        log.info("%s could not be observed: %s", live.name, fault)
        return {}


async def outsider(flight: "Flight", kind: ResourceType, wanted: Wanted, external_id: str) -> None:
    """Refer to a thing that is not ours: adopted, then checked. Raises Trouble for nested stacks,
    which are always made by the stack above."""
    if kind.nested:
        raise Trouble("StackValidationFailed", "a nested stack can not have an external_id")
    flight.work.put(flight.record.having(physical_id=external_id), advance=True)
    live = flight.live(kind, Action.CHECK, wanted.properties)
    await flight.begin(Action.ADOPT, kind, wanted, 0, live)
    flight.work.event(flight.record, Status.COMPLETE)
    flight.work.put(flight.record.having(status=Status.COMPLETE))
    await flight.begin(Action.CHECK, kind, wanted, 0, live)
    await flight.run_steps(kind, live, Action.CHECK, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.CHECK)

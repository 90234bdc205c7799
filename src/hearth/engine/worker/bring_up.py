"""The update node of a resource: decide with real values, then create, update or replace."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import EXTERNAL, Decision, Verdict, Wanted, decide, to_write
from hearth.engine.core.record import Record
from hearth.engine.core.retry import retry_delay_s
from hearth.engine.core.visit import asleep
from hearth.engine.worker import adopt, pure, visit
from hearth.engine.worker.live import attributes_of
from hearth.engine.worker.nest import Nest, is_there, nested_failed
from hearth.engine.worker.trouble import Trouble, next_attempt, trouble_of
from hearth.engine.worker.wanted import evaluated_of, wanted_of
from hearth.model.state import Action, Status
from hearth.resources.base import Change, Live, Made, ResourceType, Step
from hearth.store.claim import InFlight

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight

log = logging.getLogger(__name__)

_GOES_ON = (Verdict.CREATE, Verdict.UPDATE, Verdict.KEEP)  # with the same record
_wanted = msgspec.json.Decoder(Wanted).decode


async def bring_up(flight: "Flight") -> None:
    """The update node: decide with real values, then create, update or replace."""
    work, operation = flight.work, flight.work.operation
    if asleep(flight.record):  # its resume was overtaken
        await visit.wake(flight)
        flight.not_stale()
    definition = operation.program.resources[flight.record.name]
    kind = work.tools.programs.kind_of(definition)
    try:
        evaluated = await operation.evaluated(partial(evaluated_of, operation, definition, kind))
        resolved = await work.resolve(kind, evaluated.properties)
        await work.turn()
        wanted = await operation.evaluated(
            partial(wanted_of, operation, definition, evaluated, kind.name, resolved)
        )
        decision = await _decided(flight, kind, wanted)
    except Exception as problem:
        flight.not_stale()
        flight.refuse(trouble_of(problem))
        return
    if pure.restricted(operation, flight.key, flight.record, decision):
        return
    sleeps = asleep(flight.record) and not kind.nested  # in a nested stack each tells for itself
    if sleeps and decision.verdict is not Verdict.REPLACE:
        operation.failed(flight.key, f"Resource RESUME failed: {flight.record.reason}")
        return
    if decision.verdict in _GOES_ON and flight.record.type != definition.type:
        renamed = flight.record.having(type=definition.type)
        work.put(renamed, full=True, advance=True)
    match decision.verdict:
        case Verdict.KEEP:
            await _keep(flight, kind, wanted)
        case Verdict.FAIL:
            flight.refuse(Trouble("NotSupported", decision.reason))
        case Verdict.UPDATE:
            await _update(flight, kind, wanted, decision)
        case Verdict.REPLACE:
            await _replace(flight, kind, wanted, decision)
        case Verdict.CREATE if definition.external_id is not None:
            await adopt.outsider(flight, kind, wanted, definition.external_id)
        case Verdict.CREATE if operation.adopts(flight.record):
            if not await adopt.adopt(flight, kind, wanted):
                await bring_up(flight)
        case Verdict.CREATE:
            await _create(flight, kind, wanted, 0)


async def _decided(flight: "Flight", kind: ResourceType, wanted: Wanted) -> Decision:
    """The decision, after what it needs to know of the world was read. Raises `Superseded`."""
    work, record = flight.work, flight.record
    if work.operation.adopts(record):
        return Decision(Verdict.CREATE)
    before = work.tools.programs.type_of(record)
    there = partial(flight.live, kind, Action.UPDATE, record.held.properties)
    if kind.nested and not record.new and not await is_there(flight):
        flight.not_stale()
        return Decision(Verdict.REPLACE, "its nested stack is gone")
    replace_failed = record.failed and await kind.replace_failed(there())
    check_failed = not (kind.nested and record.failed and await nested_failed(flight))
    observed: Mapping[str, Any] | None = {}
    outside = EXTERNAL in record.held.parts or EXTERNAL in wanted.parts  # not ours to make anew
    if work.operation.observes() and not (record.new or kind.nested or outside):
        observed = await adopt.observed(kind, there())
    flight.not_stale()
    if record.replaced_by is not None:  # a rollback returns to it
        if not await _take_back(flight, kind):
            observed = None
        flight.not_stale()
        record = flight.record
    if observed is None:
        return Decision(Verdict.REPLACE, "it is gone in the cloud")
    if observed:
        properties = {**record.held.properties, **observed}
        record = record.having(held=record.held.having(properties=properties))
    return decide(
        record,
        wanted,
        kind.properties,
        replace_failed=replace_failed,
        must_replace=lambda before, after, changed: kind.must_replace(
            Change(before, after, changed)
        ),
        nested=kind.nested and not work.operation.brought_up(record),
        always=work.operation.always_replaces(kind, record),
        check_failed=check_failed,
        substitute=before is not None and before.substitute == wanted.kind,
    )


async def _take_back(flight: "Flight", kind: ResourceType) -> bool:
    """Let the replaced resource have again what its replacement was given; False if it is gone."""
    live = flight.live(kind, Action.RESTORE, flight.record.held.properties)
    steps = kind.taken_back_steps(live)
    if not steps:
        return True
    others = _others(flight)
    for one in others:  # should it be returned to
        if one.replaced_by is None:
            flight.work.put(one.having(replaced_by=flight.record_id))
    if others:
        await flight.work.committed()
        flight.not_stale()
        await _give_way(flight)
    try:
        await _aside(flight, kind, live, steps)
    except CloudFault as fault:
        if not fault.not_found:
            raise
        return False
    return True


def _others(flight: "Flight") -> list[Record]:
    """The other records of that name, but for those that are being deleted."""
    found = flight.work.operation.namesakes(flight.record)
    return [one for one in found if one.action is not Action.DELETE or one.failed]


def _makes_way(flight: "Flight", one: Record) -> bool:
    """Whether a record was replaced by the flight's own, at once or in the end."""
    seen: set[str] = set()
    after = one.replaced_by
    while after is not None and after not in seen:
        if after == flight.record_id:
            return True
        seen.add(after)
        found = flight.work.records.get(after)
        after = found.replaced_by if found is not None else None
    return False


async def _keep(flight: "Flight", kind: ResourceType, wanted: Wanted) -> None:
    record = flight.record
    live = flight.live(kind, record.action, wanted.properties)
    attributes = await attributes_of(flight.work, record, kind, live, record.held.attributes)
    flight.not_stale()
    pure.keep(flight.work.operation, record, wanted, attributes, kind.reference(live))
    flight.done()


async def _replace(
    flight: "Flight", kind: ResourceType, wanted: Wanted, decision: Decision
) -> None:
    work, old = flight.work, flight.record
    others = _others(flight)  # attempts that failed or were overtaken
    new = pure.replacement(work.operation, old, wanted, late=decision.late)
    for one in others:
        if one.replaced_by is None:
            work.put(one.having(replaced_by=new.id), advance=True)
    del work.flights[old.id]
    flight.record_id = new.id
    work.flights[new.id] = flight
    await _create(flight, kind, wanted, 0)


async def _create(flight: "Flight", kind: ResourceType, wanted: Wanted, attempt: int) -> None:
    """Create, and create again after removing what was made, as often as is allowed."""
    while True:
        live = flight.live(kind, Action.CREATE, wanted.properties, update_policy=policy_of(wanted))
        try:
            begin = partial(flight.begin, Action.CREATE, kind, wanted, attempt, live)
            if kind.nested:
                await Nest(flight).carry_out(kind, live, Action.CREATE, begin)
            else:
                await begin()
                first = partial(_give_way, flight)
                await flight.run_steps(kind, live, Action.CREATE, wanted, attempt, first=first)
        except (CloudFault, Trouble) as problem:
            trouble = trouble_of(problem)
            if not trouble.retry or attempt >= flight.work.tools.retries or flight.is_over():
                raise
        else:
            await flight.succeed(kind, live, wanted, Action.CREATE)
            return
        attempt = await _removed(flight, kind, wanted, attempt, trouble)


async def _removed(
    flight: "Flight", kind: ResourceType, wanted: Wanted, attempt: int, trouble: Trouble
) -> int:
    """The next attempt, once what the last one left is gone; a removal that meets a conflict counts
    as an attempt, too. Raises `Trouble`."""
    while True:
        attempt += 1
        try:
            await _again(flight, kind, wanted, attempt, trouble)
        except (CloudFault, Trouble) as problem:
            again = trouble_of(problem)
            if not again.retry or attempt >= flight.work.tools.retries or flight.is_over():
                raise trouble from problem
            trouble = again
            continue
        if flight.is_over():  # nobody wants another one any more
            raise trouble
        return attempt


async def _give_way(flight: "Flight") -> None:
    """Have those that the flight's record replaces give up what it needs, whether or not they
    did. What was never complete goes altogether: nothing is built upon it."""
    operation = flight.work.operation
    for old in _others(flight):
        kind = flight.work.tools.programs.type_of(old)
        if kind is None or old.physical_id is None or not _makes_way(flight, old):
            continue
        live = flight.live_of(old, kind)
        failed = old.state == "CREATE_FAILED" and not kind.nested
        if failed and not pure.left_alone(operation, old, kind):
            await _gone_before(flight, kind, live)
        else:
            await _aside(flight, kind, live, kind.replaced_steps(live))


async def _gone_before(flight: "Flight", kind: ResourceType, live: Live) -> None:
    """Delete what stands in the way of its replacement; its clean-up does it again if it stays."""
    try:
        await _aside(flight, kind, live, kind.steps(Action.DELETE, live))
    except (CloudFault, Trouble) as problem:
        log.info("%s: the failed one is still there: %s", live.name, problem)
        return
    flight.work.put(flight.work.records[live.record_id].having(physical_id=None))


async def _aside(flight: "Flight", kind: ResourceType, live: Live, steps: Sequence[Step]) -> None:
    """Steps on a record beside the action: they may be run again, so no intent is kept. What one
    of them notes is committed before the next."""
    for step in steps:
        made = await flight.call(kind, step, live)
        if made is not None and made.data:
            _absorb_aside(flight, made, live)
            await flight.work.committed()
        await flight.poll(step, live)


def _absorb_aside(flight: "Flight", made: Made, live: Live) -> None:
    assert made.data is not None
    work = flight.work
    work.sure.data[live.record_id] = {**work.sure.data.get(live.record_id, {}), **made.data}
    merged = {**live.data, **made.data}
    live.data = {key: value for key, value in merged.items() if value is not None}
    work.data[live.record_id] = dict(live.data)


async def _again(
    flight: "Flight", kind: ResourceType, wanted: Wanted, attempt: int, trouble: Trouble
) -> None:
    """Between two attempts: show the failure, remove what was made, pause."""
    work = flight.work
    reason = trouble.reason(flight.record.name)
    failed = flight.record.having(status=Status.FAILED, reason=reason)
    work.put(failed)
    work.event(failed, Status.FAILED, reason)
    live = flight.live(kind, Action.DELETE, wanted.properties)
    if failed.physical_id is not None or kind.steps(Action.DELETE, live):
        leaving = failed.having(action=Action.DELETE, status=Status.IN_PROGRESS)
        work.put(leaving)
        work.event(leaving, Status.IN_PROGRESS)
        await flight.begin(Action.DELETE, kind, wanted, attempt, live, show=False)
        await flight.run_steps(kind, live, Action.DELETE, wanted, attempt)
        gone = flight.record.having(status=Status.COMPLETE, reason="state changed")
        work.event(gone, Status.COMPLETE)
        work.put(gone.having(physical_id=None))
    delay_s = retry_delay_s(attempt, work.tools.luck())
    words = next_attempt(attempt, work.tools.retries, delay_s, str(trouble))
    work.put(flight.record.having(reason=words))
    await flight.pause(delay_s)


async def _update(flight: "Flight", kind: ResourceType, wanted: Wanted, decision: Decision) -> None:
    live = flight.live(
        kind,
        Action.UPDATE,
        wanted.properties,
        before=flight.record.held.properties,
        changed=decision.changed,
        update_policy=policy_of(wanted),
    )
    begin = partial(flight.begin, Action.UPDATE, kind, wanted, 0, live)
    if kind.nested:
        await Nest(flight).carry_out(kind, live, Action.UPDATE, begin)
    else:
        await begin()
        await flight.run_steps(kind, live, Action.UPDATE, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.UPDATE)


def policy_of(wanted: Wanted) -> Mapping[str, Any]:
    """The update policy of what a resource shall be."""
    found: Mapping[str, Any] = wanted.parts.get("update_policy", {})
    return found


async def go_on(flight: "Flight", row: InFlight) -> None:
    """Resume what an earlier owner had begun."""
    wanted = _wanted(msgspec.json.encode(row.wanted))
    kind = flight.work.tools.programs.kind_named(wanted.kind)
    action = Action(row.action)
    if kind is None:
        if action is Action.CREATE and row.phase == "intent":
            flight.watch_for(wanted.kind, wanted.properties, "its type is not known any more")
        raise Trouble("EntityNotFound", f"the type {wanted.kind} is not known any more")
    if action is Action.RESUME:
        await visit.wake(flight)
        return
    flight.doing = Action.CREATE if action is Action.DELETE else action
    if action is Action.UPDATE:
        held = flight.record.held
        changed = to_write(held, wanted.properties)
        live = flight.live(
            kind, action, wanted.properties, before=held.properties, changed=changed,
            update_policy=policy_of(wanted),
        )  # fmt: skip
        flight.attempted = wanted
    else:
        live = flight.live(kind, action, wanted.properties, update_policy=policy_of(wanted))
    try:
        if kind.nested:
            await Nest(flight).carry_out(kind, live, action)
        else:
            first = partial(_give_way, flight) if action is Action.CREATE else None
            await flight.run_steps(kind, live, action, wanted, row.attempt, first=first)
    except (CloudFault, Trouble) as problem:
        trouble = trouble_of(problem)
        makes = action in (Action.CREATE, Action.DELETE)  # a delete is that between two attempts
        if not makes or not trouble.retry or row.attempt >= flight.work.tools.retries:
            raise
        flight.row = None
        attempt = await _removed(flight, kind, wanted, row.attempt, trouble)
        await _create(flight, kind, wanted, attempt)
        return
    flight.row = None
    if action is Action.DELETE:  # the pause between two attempts of a create
        gone = flight.record.having(action=Action.DELETE, status=Status.COMPLETE)
        if flight.record.status is Status.IN_PROGRESS:
            flight.work.event(gone, Status.COMPLETE)
        gone = gone.having(physical_id=None)
        if flight.is_over():
            flight.end_badly(gone, gone.reason)
            return
        flight.work.put(gone.having(reason="state changed"))
        await _create(flight, kind, wanted, row.attempt)
        return
    await flight.succeed(kind, live, wanted, action)

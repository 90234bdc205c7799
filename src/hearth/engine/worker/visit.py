"""Check, suspend, resume and snapshot at one resource."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from hearth.cloud.fault import CloudFault
from hearth.engine.core import visit
from hearth.engine.core.decide import Wanted
from hearth.engine.core.graph import Key, Node
from hearth.engine.core.record import Record
from hearth.engine.core.visit import Call
from hearth.engine.worker import snapshots
from hearth.engine.worker.nest import Nest
from hearth.engine.worker.trouble import Trouble, trouble_of
from hearth.model.state import Action, Status
from hearth.resources.base import Live, ResourceType

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight
    from hearth.engine.worker.operation import Operation

log = logging.getLogger(__name__)

UNSUPPORTED = "CHECK not supported for "


def settle(operation: "Operation", node: Node, record: Record) -> bool:
    """Do at once what needs no call; False where the resource has to be flown to."""
    work, action = operation.work, operation.work.stack.action
    kind = work.tools.programs.type_of(record)
    # what nobody here knows is not passed over: to fly to it says so
    handled = kind is None or kind.nested or kind.handles(action)
    match visit.call(record, action, handled=handled):
        case Call.CARRY_OUT:
            return False
        case Call.LEAVE:
            operation.done(node.key)
        case Call.MARK:
            _mark(operation, record, action)
            operation.done(node.key)
        case Call.REFUSE:
            words = f"State {record.action}_{record.status} invalid for {action.value.lower()}"
            reason = Trouble("Error", words).reason(record.name)
            operation.failed(node.key, f"Resource {action} failed: {reason}")
        case Call.FAIL:
            words = f"Can not check {record.name}, resource not created yet."
            _failed(operation, node.key, record, Trouble("Error", words).reason(record.name))
    return True


def _mark(operation: "Operation", record: Record, action: Action) -> None:
    work = operation.work
    reason = "state changed"
    if action is Action.CHECK:
        reason = f"{UNSUPPORTED}{record.type}"
    else:
        work.event(record, Status.IN_PROGRESS, action=action, advance=True)
    ended = record.having(
        action=action, status=Status.COMPLETE, reason=reason, traversal=operation.traversal,
        updated_at=work.tools.clock.now(),
    )  # fmt: skip
    work.put(ended, advance=True)
    work.event(ended, Status.COMPLETE, reason, advance=True)


def _failed(operation: "Operation", key: Key, record: Record, reason: str) -> None:
    work = operation.work
    failed = record.having(
        action=Action.CHECK, status=Status.FAILED, reason=reason, traversal=operation.traversal,
        updated_at=work.tools.clock.now(),
    )  # fmt: skip
    work.put(failed, advance=True)
    work.event(failed, Status.FAILED, reason, advance=True)
    operation.failed(key, reason)


async def carry_out(flight: "Flight") -> None:
    """The calls of a visit, from the first or from where an earlier owner was."""
    action = flight.work.stack.action if flight.row is None else Action(flight.row.action)
    await _act(flight, action)
    flight.end_row()
    flight.done()


async def wake(flight: "Flight") -> None:
    """Resume a resource in the course of an update; where that fails it is one that failed."""
    try:
        await _act(flight, Action.RESUME)
    except (CloudFault, Trouble) as problem:
        reason = trouble_of(problem).reason(flight.record.name)
        begun = flight.record.having(action=Action.RESUME, status=Status.IN_PROGRESS)
        if flight.record.status is not Status.IN_PROGRESS:
            flight.work.event(begun, Status.IN_PROGRESS)
        failed = begun.having(status=Status.FAILED, reason=reason)
        flight.work.put(failed)
        flight.work.event(failed, Status.FAILED, reason)
    flight.end_row()
    flight.start_over()


async def _act(flight: "Flight", action: Action) -> None:
    work, record, row = flight.work, flight.record, flight.row
    kind = work.tools.programs.type_of(record)
    if kind is None:
        raise Trouble("EntityNotFound", f"the type {record.type} is not known any more")
    flight.doing = action
    live = flight.live(kind, action, record.held.properties)
    wanted = Wanted(
        "", record.held.kind, {}, {}, record.held.properties, (), {}, "", record.requires
    )
    before = live.data if row is None or row.phase == "intent" else {}
    try:
        begin = partial(flight.begin, action, kind, wanted, 0, live) if row is None else None
        if kind.nested:
            await Nest(flight).carry_out(kind, live, action, begin)
        else:
            if begin is not None:
                await begin()
            await flight.run_steps(kind, live, action, wanted, row.attempt if row else 0)
    except Exception:
        await _give_up(flight, kind, live, action, before)
        raise
    if flight.is_over() or work.operation.over:  # nobody will ask for what was taken here
        await _give_up(flight, kind, live, action, before)
    ended = flight.record.having(
        status=Status.COMPLETE, reason="state changed", updated_at=work.tools.clock.now()
    )
    work.put(ended)
    work.event(ended, Status.COMPLETE)


async def _give_up(
    flight: "Flight", kind: ResourceType, live: Live, action: Action, before: Mapping[str, str]
) -> None:
    """What was taken for a snapshot that failed meanwhile goes; `before` is older data. What can
    not be deleted now is left as a failed snapshot, which goes before the stack does."""
    if action is not Action.SNAPSHOT:
        return
    work = flight.work
    failure = None
    if kind.nested and live.physical_id is not None:
        failure = await snapshots.drop_taken(work, live.physical_id)
    elif live.data != before:
        failure = await snapshots.drop_one(kind, live)
    if failure is not None:
        log.warning("%s: what was taken for a snapshot stays for now: %s", live.name, failure)
        entry = await snapshots.taken(work, flight.record, live.data)
        work.sure.left_over.append((work.tools.new_id(), failure, {live.name: entry}))
        if work.stack.action is Action.DELETE:
            work.operation.fail(f"Resource DELETE failed: {failure}")


def outcome(operation: "Operation") -> tuple[str | None, str, str]:
    """How a check ended: why it failed or None, the first of the failures in it, and what is to be
    added to the reason where there is none."""
    mine = [
        record
        for record in operation.work.records.values()
        if record.action is Action.CHECK and record.traversal == operation.traversal
    ]
    failed = sorted((r.created_at, r.name, r.reason) for r in mine if r.failed)
    if failed:
        parts = [f"{name}: Resource CHECK failed: {reason}" for _, name, reason in failed]
        first = f"Resource CHECK failed: {failed[0][2]}"
        return f"Resource CHECK failed: {'; '.join(parts)}", first, ""
    partly = any(record.reason.startswith(UNSUPPORTED) for record in mine)
    return None, "", ". 'CHECK' not fully supported (see resources)" if partly else ""

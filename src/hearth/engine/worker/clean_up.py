"""The clean-up node of a resource: remove the physical thing, then the record."""

from functools import partial
from typing import TYPE_CHECKING

from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import Wanted
from hearth.engine.core.record import Record
from hearth.engine.core.retry import retry_delay_s
from hearth.engine.worker import pure, strays
from hearth.engine.worker.nest import Nest
from hearth.engine.worker.trouble import Trouble, next_attempt
from hearth.model.state import Action, Status
from hearth.resources.base import Live, ResourceType

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight


USERS_TOLD_MAX = 3


async def clean_up(flight: "Flight") -> None:
    """The clean-up node: remove the physical thing, then the record."""
    work, record = flight.work, flight.record
    kind = work.tools.programs.type_of(record)
    nothing = record.physical_id is None and not strays.of(work, record.id)
    if kind is None and nothing:  # it failed before it was anything
        if record.state != "DELETE_IN_PROGRESS":  # or it was between two attempts
            work.event(record.having(action=Action.DELETE), Status.IN_PROGRESS)
        work.event(record.having(action=Action.DELETE), Status.COMPLETE)
        work.drop(record)
        flight.done()
        return
    if kind is None:
        raise Trouble("EntityNotFound", f"the type {record.type} is not known any more")
    live = flight.live_of(record, kind)
    if pure.left_alone(work.operation, record, kind):  # but not what a lost call made beside it
        await flight.sweep(kind, live, for_good=True)
        work.event(record.having(action=Action.DELETE), Status.IN_PROGRESS)
        _gone(flight, record.having(action=Action.DELETE))
        return
    wanted = Wanted(
        "", record.held.kind, {}, {}, record.held.properties, (), {}, "", record.requires
    )
    attempt = flight.row.attempt if flight.row else 0
    begin = partial(flight.begin, Action.DELETE, kind, wanted, attempt, live)
    if flight.row is None and not kind.nested:
        await begin()
    while True:
        try:
            if kind.nested:
                asks = begin if flight.row is None else None
                await Nest(flight).carry_out(kind, live, Action.DELETE, asks)
            else:
                if live.physical_id is None and flight.row is None:
                    await flight.find_unrecorded(kind, live)
                await flight.run_steps(kind, live, Action.DELETE, wanted, attempt)
            break
        except CloudFault as fault:
            if not fault.conflict:
                raise
            trouble = Trouble(fault.type, fault.message + await _used_by(kind, live))
            if attempt >= work.tools.retries:
                raise trouble from fault
        flight.row = None
        attempt += 1
        delay_s = retry_delay_s(attempt, work.tools.luck())
        words = next_attempt(attempt, work.tools.retries, delay_s, str(trouble))
        work.put(flight.record.having(reason=words))
        if not kind.nested:  # who takes over goes on counting
            first = flight.steps_of(kind, live, Action.DELETE)[0].name
            row = flight.node_row(Action.DELETE, "intent", first, attempt, wanted)
            work.sure.moved.append(row)
        await flight.pause(delay_s)
    await flight.sweep(kind, live, for_good=True)
    flight.end_row()
    _gone(flight, flight.record)


async def _used_by(kind: ResourceType, live: Live) -> str:
    """Words for what keeps the thing from being deleted; empty where that is not known."""
    try:
        users = await kind.used_by(live)
    except CloudFault:  # the conflict itself is what counts
        return ""
    more = ["..."] if len(users) > USERS_TOLD_MAX else []
    return f" In use by {', '.join([*users[:USERS_TOLD_MAX], *more])}." if users else ""


def _gone(flight: "Flight", record: Record) -> None:
    """What the record stood for is gone, or stays without it: the record goes."""
    work = flight.work
    gone = record.having(status=Status.COMPLETE, reason="state changed")
    work.event(gone, Status.COMPLETE)
    key = None if flight.is_over() else flight.key
    if work.operation.hooks.after(key, gone, Action.DELETE, sure=True):
        work.put(gone)
        return
    work.drop(record)
    flight.done()

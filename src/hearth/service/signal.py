"""Signals: what the outside tells a resource."""

from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.model.problem import NotSupported, Rejected
from hearth.model.state import Action
from hearth.resources.capabilities import DeliversSignals, Signalled
from hearth.service.caller import Caller
from hearth.service.house import House
from hearth.service.live import live_of
from hearth.service.problems import ResourceActionNotSupported
from hearth.service.scale import scale
from hearth.store import accept, events, hooks, messages, reads
from hearth.store.database import Tx
from hearth.store.rows import Event, StackRow

TRIES = 50  # against others who write the same metadata


async def signal(house: House, caller: Caller, row: StackRow, record: Record, details: Any) -> Any:
    """Hand a signal to a resource; gives its metadata afterwards. Raises Rejected."""
    if isinstance(details, dict) and "unset_hook" in details:
        return await _clear_hook(house, row, record, str(details["unset_hook"]))
    if record.action in (Action.SUSPEND, Action.DELETE):
        words = f"Signal resource during {record.action} is not supported."
        raise Rejected([NotSupported(None, words)])
    kind = house.programs.type_of(record)
    if not isinstance(kind, Signalled):
        raise Rejected([ResourceActionNotSupported(None, "signal is not supported for resource.")])
    if isinstance(kind, DeliversSignals):
        details = await _delivered(house, caller, row, record, kind, details)
    for _ in range(TRIES):
        taken, metadata = await _once(house, caller, row, record, kind, details)
        if taken:
            house.bus.tell()
            return metadata
    words = "the resource is signalled by too many at once; try again"
    raise Rejected([NotSupported(None, words)])


async def _clear_hook(house: House, row: StackRow, record: Record, hook: str) -> Any:
    """Let a resource go on that waits at a hook; gives its metadata. Raises Rejected."""
    now, event_id = house.clock.now(), house.new_id()
    await house.store.run_once(lambda tx: hooks.clear(tx, row.id, record, hook, event_id, now))
    house.bus.tell()
    _, _, metadata = await house.store.read(lambda tx: reads.data_of(tx, record.id))
    return metadata


async def _delivered(
    house: House, caller: Caller, row: StackRow, record: Record, kind: DeliversSignals, details: Any
) -> Any:
    """What the type makes of the details in the cloud, before anything is stored."""
    live = await live_of(house, caller, row, record, kind, as_stack=True)
    try:
        return await kind.deliver(live, details)
    except CloudFault as fault:
        raise Rejected([NotSupported(None, f"the signal came to nothing: {fault}")]) from None


async def _once(
    house: House,
    caller: Caller,
    row: StackRow,
    record: Record,
    kind: Signalled,
    details: Any,
) -> tuple[bool, Any]:
    """One try: False if somebody else wrote the metadata meanwhile."""
    version, data, metadata = await house.store.read(lambda tx: reads.data_of(tx, record.id))
    live = await live_of(house, caller, row, record, kind, as_stack=True)
    live.data, live.metadata = data, metadata
    done = kind.signal(live, details)
    if done.scaling is not None:
        event = _event(row, record, house.new_id(), house.clock.now(), str(done.reason))
        return await scale(house, caller, row, done.scaling, event), metadata
    merged = {**data, **(done.data or {})}
    after = {key: value for key, value in merged.items() if value is not None}
    result = metadata if done.metadata is None else done.metadata
    now, event_id = house.clock.now(), house.new_id()

    def transaction(tx: Tx) -> bool:
        if not reads.set_data(tx, row.id, record.id, version, after, result):
            return False
        if done.reason is not None:
            events.append(tx, [_event(row, record, event_id, now, done.reason)])
        accept.send(tx, row.id, messages.Signalled(record.id), now)
        return True

    return await house.store.run_once(transaction), result


def _event(row: StackRow, record: Record, event_id: str, now: float, reason: str) -> Event:
    return Event(
        event_id, row.id, row.root_id, now, record.name, record.type, record.physical_id,
        "SIGNAL", record.status.value, reason,
    )  # fmt: skip

"""Signals to resources: pass a signal to the resource's type, or clear a hook."""

from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.deployments import take
from hearth.model.problem import NotSupported, rejection
from hearth.model.state import Action
from hearth.resources.capabilities import DeliversSignals, ReportsResults, Signalled
from hearth.service.caller import Caller
from hearth.service.context import context_of
from hearth.service.problems import ResourceActionNotSupported
from hearth.service.services import Services
from hearth.service.stacks.replace_resource import replace_resource
from hearth.service.stacks.scale import scale
from hearth.store import accept, events, hooks, messages, reads
from hearth.store.database import Tx
from hearth.store.rows import Event, StackRow

TRIES = 50  # retries while other requests change the same metadata


async def signal(
    services: Services, caller: Caller, row: StackRow, record: Record, details: Any
) -> Any:
    """Pass a signal to a resource, and return the metadata of the resource afterwards.

    `details` is the JSON value in the signal. A signal with the key `unset_hook` clears the hook
    with that name instead. Raises Rejected if the type of the resource takes no signals, or if the
    resource is suspended, being deleted, or not being created yet.
    """
    if isinstance(details, dict) and "unset_hook" in details:
        return await _clear_hook(services, row, record, str(details["unset_hook"]))
    rtype = services.programs.type_of(record)
    if isinstance(rtype, ReportsResults):
        return await _take_results(services, row, record, details)
    if record.action in (Action.INIT, Action.SUSPEND, Action.DELETE):
        message = f"Signal resource during {record.action} is not supported."
        raise rejection(NotSupported, message)
    if not isinstance(rtype, Signalled):
        raise rejection(ResourceActionNotSupported, "signal is not supported for resource.")
    if isinstance(rtype, DeliversSignals):
        details = await _delivered(services, caller, row, record, rtype, details)
    for _ in range(TRIES):
        accepted, metadata = await _once(services, caller, row, record, rtype, details)
        if accepted:
            services.bus.tell()
            return metadata
    message = "the resource receives too many signals at the same time; try again"
    raise rejection(NotSupported, message)


async def _clear_hook(services: Services, row: StackRow, record: Record, hook: str) -> Any:
    """Clear a hook at which a resource waits, and return the metadata of the resource.

    Raises Rejected if the resource does not wait at the hook with this name.
    """
    now, event_id = services.clock.now(), services.new_id()
    await services.store.run_once(lambda tx: hooks.clear(tx, row.id, record, hook, event_id, now))
    services.bus.tell()
    _, _, metadata = await services.store.read(lambda tx: reads.data_of(tx, record.id))
    return metadata


async def _take_results(services: Services, row: StackRow, record: Record, details: Any) -> Any:
    """Store the results of a software deployment; return the metadata of its resource.

    A replaced deployment may still run its DELETE action; `record` is then that of the replaced
    one.
    """
    now, event_id = services.clock.now(), services.new_id()

    def transaction(tx: Tx) -> Any:
        take(tx, row, record, record.id, details, event_id, now)
        return reads.data_of(tx, record.id)[2]

    metadata = await services.store.run_once(transaction)
    services.bus.tell()
    return metadata


async def _delivered(
    services: Services,
    caller: Caller,
    row: StackRow,
    record: Record,
    rtype: DeliversSignals,
    details: Any,
) -> Any:
    """Call the type's `deliver` with the details of the signal, and return its result.

    Raises Rejected if the cloud refuses it. Nothing is stored yet.
    """
    ctx = await context_of(services, caller, row, record, rtype, as_stack=True)
    try:
        return await rtype.deliver(ctx, details)
    except CloudFault as fault:
        raise rejection(
            NotSupported, f"Delivering the signal to {record.name} failed: {fault}"
        ) from None


async def _once(
    services: Services,
    caller: Caller,
    row: StackRow,
    record: Record,
    rtype: Signalled,
    details: Any,
) -> tuple[bool, Any]:
    """Try once to store the effect of a signal; return (stored, metadata).

    `stored` is False if another request has changed the metadata in the meantime.
    """
    version, data, metadata = await services.store.read(lambda tx: reads.data_of(tx, record.id))
    ctx = await context_of(services, caller, row, record, rtype, as_stack=True)
    ctx.data, ctx.metadata = data, metadata
    done = rtype.signal(ctx, details)
    if done.scaling is not None:
        event = _event(row, record, services.new_id(), services.clock.now(), str(done.reason))
        return await scale(services, caller, row, done.scaling, event), metadata
    if done.replaces is not None:
        event = _event(row, record, services.new_id(), services.clock.now(), str(done.reason))
        await replace_resource(services, row, done.replaces, event)
        return True, metadata
    merged = {**data, **(done.data or {})}
    after = {key: value for key, value in merged.items() if value is not None}
    result = metadata if done.metadata is None else done.metadata
    now, event_id = services.clock.now(), services.new_id()

    def transaction(tx: Tx) -> bool:
        if not reads.set_data(tx, row.id, record.id, version, after, result):
            return False
        if done.reason is not None:
            events.append(tx, [_event(row, record, event_id, now, done.reason)])
        accept.send(tx, row.id, messages.Signalled(record.id), now)
        return True

    return await services.store.run_once(transaction), result


def _event(row: StackRow, record: Record, event_id: str, now: float, reason: str) -> Event:
    return Event(
        event_id,
        row.id,
        row.root_id,
        now,
        record.name,
        record.type,
        record.physical_id,
        "SIGNAL",
        record.status.value,
        reason,
    )

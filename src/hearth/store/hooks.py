"""Hooks: entries in the private data of a resource that show whether it waits for a user.

An entry shows that a hook is set or cleared, and is valid only for the traversal in it. Clearing a
hook sends a message to the stack's owner.
"""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from hearth.engine.core.record import Record
from hearth.model.problem import InvalidBreakPointHook, rejection
from hearth.model.state import Action, Hook
from hearth.store import accept, events, reads
from hearth.store.database import Tx
from hearth.store.messages import HookCleared
from hearth.store.prepared import Listed
from hearth.store.rows import DATA, Event
from hearth.store.tables import resource_data

SET = "set"
CLEARED = "cleared"

_DATA = Listed(
    lambda ids: sa.select(resource_data.c.resource_id, resource_data.c.data).where(
        resource_data.c.resource_id.in_(ids)
    )
)


def mark(state: str, traversal: str) -> str:
    """Return the text that the private data of a resource contains for a hook.

    `state` is `SET` or `CLEARED`. The key in the private data is the name of the hook.
    """
    return f"{state}:{traversal}"


def is_set(data: Mapping[str, str], hook: Hook, traversal: str) -> bool:
    """Return whether the resource with this private data waits at a hook in this traversal."""
    return data.get(hook.value) == mark(SET, traversal)


def is_cleared(data: Mapping[str, str], hook: Hook, traversal: str) -> bool:
    """Return whether a user has cleared a hook of this resource in this traversal."""
    return data.get(hook.value) == mark(CLEARED, traversal)


def paused(action: Action, hook: Hook) -> str:
    """Return the reason of the event that reports that a resource waits at a hook."""
    return f"{action} paused until Hook {hook} is cleared"


def waited_at(tx: Tx, record_ids: Sequence[str], traversal: str) -> dict[str, Hook]:
    """Return the hook at which each record waits in this traversal, by record id.

    Records that do not wait are left out. `record_ids` must not be empty.
    """
    data = {
        r.resource_id: tx.unseal(r.data, DATA, r.resource_id) for r in tx.listed(_DATA, record_ids)
    }
    return {
        i: hook
        for i, resource_data in data.items()
        for hook in Hook
        if is_set(resource_data, hook, traversal)
    }


def clear(tx: Tx, stack_id: str, record: Record, name: str, event_id: str, now: float) -> None:
    """Clear the hook `name` at which a resource waits, and store an event about it.

    Raises Rejected if the resource does not wait at that hook, or if the stack does not exist.
    """
    row = accept.lock(tx, stack_id)
    version, data, metadata = reads.data_of(tx, record.id)
    hooks = [hook for hook in Hook if hook.value == name]
    if not hooks or not is_set(data, hooks[0], row.traversal):
        message = f'The "{name}" hook is not defined on {record.type} "{record.name}"'
        raise rejection(InvalidBreakPointHook, message)
    cleared = {**data, name: mark(CLEARED, row.traversal)}
    reads.set_data(tx, stack_id, record.id, version, cleared, metadata)
    event = Event(
        event_id,
        stack_id,
        row.root_id,
        now,
        record.name,
        record.type,
        record.physical_id,
        record.action.value,
        record.status.value,
        f"Hook {name} is cleared",
    )
    events.append(tx, [event])
    accept.send(tx, stack_id, HookCleared(record.id, name), now)

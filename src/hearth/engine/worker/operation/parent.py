"""Messages of a nested stack to its parent stack: the end of an operation, outputs, members."""

from collections.abc import Iterable, Iterator
from typing import Any

from hearth.engine.core.record import Record
from hearth.engine.guarded import guarded_names, hidden_names
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.state import Action, Status
from hearth.model.unknown import nulled
from hearth.resources.base import ResourceType
from hearth.store.claim import member
from hearth.store.commit import Changes, Outgoing
from hearth.store.messages import child_ended
from hearth.store.rows import StackRow
from hearth.template.budget import spending
from hearth.template.deferred import Deferred


def notify_parent(owned: OwnedStack, row: StackRow) -> None:
    """Send the parent stack the end of the operation, with the values that the parent reads.

    The message is in the change set `if_current`. A root stack sends nothing.
    """
    _notify(owned, row, owned.memory.if_current)


def notify_of_change(owned: OwnedStack) -> None:
    """Send the parent stack the values of this stack, because they changed without an operation.

    Do nothing unless the last operation of this stack succeeded.
    """
    stack = owned.memory.stack
    if owned.aim.over and stack.status is Status.COMPLETE:
        _notify(owned, stack.having(parent_traversal=None), owned.memory.always)


def outputs_deferred(owned: OwnedStack) -> Deferred | None:
    """Evaluate the outputs; return a Deferred if that must be done in a separate process, else
    None.
    """
    try:
        owned.aim.compute.attempt(lambda: _outputs(owned))
    except Deferred as deferred:
        return deferred
    return None


def _notify(owned: OwnedStack, row: StackRow, changes: Changes) -> None:
    if row.parent_id is None:
        return
    outputs: dict[str, Any] = {}
    guarded, hidden = set[str](), set[str]()
    if row.status is Status.COMPLETE:
        try:
            outputs, guarded, hidden = owned.aim.compute.attempt(lambda: _outputs(owned))
        except Deferred as deferred:  # at the end of an operation they were evaluated before
            owned.host.spawn(_notify_later(owned, deferred, row))
            return
    members = _members(owned)
    for record, rtype in _exported(owned, members):
        guarded |= guarded_names(record.held, rtype)
        hidden |= hidden_names(record.held)
    names = {"guarded": tuple(sorted(guarded | hidden)), "hidden": tuple(sorted(hidden))}
    ended = child_ended(row, outputs=outputs, members=members, **names)
    changes.messages.append(Outgoing(row.parent_id, ended))


async def _notify_later(owned: OwnedStack, deferred: Deferred, row: StackRow) -> None:
    await owned.aim.compute.settle(deferred, owned.memory.stack.project_id)
    _notify(owned, row, owned.memory.always)
    owned.host.wake()


def _outputs(owned: OwnedStack) -> tuple[dict[str, Any], set[str], set[str]]:
    """Return the outputs that can be evaluated without an error, by name, the names of those that
    contain secrets, and the names of those that contain hidden values.
    """
    aim = owned.aim
    outputs, guarded, hidden = dict[str, Any](), set[str](), set[str]()
    if aim.known_program is None or owned.memory.stack.action is Action.DELETE:
        return outputs, guarded, hidden
    with spending():
        for name, output in aim.program.outputs.items():
            value, error = output.evaluate(aim.world)
            if error is None:
                outputs[name] = nulled(value)
                hides, guards = output.reveals(aim.world)
                if hides:
                    hidden.add(name)
                if guards:
                    guarded.add(name)
    return outputs, guarded, hidden


def _members(owned: OwnedStack) -> dict[str, Any]:
    """Return the resources with their state, by name; empty if the parent stack reads no attribute
    of them.
    """
    if not owned.aim.revision.exports:
        return {}
    members = {}
    for name, record_id in owned.aim.in_charge.items():
        record = owned.memory.records.get(record_id)
        if record is not None and not record.new:
            members[name] = member(record)
    return members


def _exported(
    owned: OwnedStack, members: Iterable[str]
) -> Iterator[tuple[Record, ResourceType | None]]:
    """Yield the records of these resources, with their types."""
    for member_name in members:
        record = owned.memory.records[owned.aim.in_charge[member_name]]
        yield record, owned.tools.programs.type_of(record)

"""Why a resource of a stack in progress is not complete yet, computed from stored rows.

A resource at a hook waits for a user. A resource with the row of an attempt has a call in progress;
only the process that sends the call knows whether it waits for a slot. Any other resource waits for
resources that are not complete: those that it requires or, if it is being deleted or suspended,
those that still use it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.engine.core.record import Record
from hearth.engine.core.walk import WALKS
from hearth.model.state import Action, Hook, Status
from hearth.store.reads import FlightRow
from hearth.store.rows import StackRow
from hearth.template import Program

QUEUED = "queued"  # the phase of a call that is not sent yet


class Waiting(Struct, frozen=True):
    """The reason why a resource waits: `hook`, its own attempt in progress, or `awaited`.

    An attempt `flight` began `elapsed_s` seconds ago; `nested` is the nested stack for which it
    waits, if any. `calls_ahead` is the number of calls in flight if its call waits until one of
    them ends. `awaited` are the records of other resources.
    """

    hook: Hook | None = None
    flight: FlightRow | None = None
    elapsed_s: float = 0.0
    awaited: tuple[Record, ...] = ()
    nested: StackRow | None = None
    calls_ahead: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the reason in the API's format. Heat's API has no such field."""
        if self.hook is not None:
            return {"hook": self.hook.value}
        if self.flight is None:
            return {
                "for": [
                    {"resource": record.name, "status": f"{record.action}_{record.status}"}
                    for record in self.awaited
                ]
            }
        call: dict[str, Any] = {
            "action": self.flight.action,
            "step": self.flight.step,
            "phase": self.flight.phase if self.calls_ahead is None else QUEUED,
            "seconds": round(self.elapsed_s, 1),
            "attempt": self.flight.attempt + 1,
        }
        if self.calls_ahead is not None:
            call["calls_in_flight"] = self.calls_ahead
        if self.nested is not None:
            call["nested"] = {"stack_name": self.nested.name, "stack_status": self.nested.state}
        return {"on": call}


def waiting(
    row: StackRow,
    records: Sequence[Record],
    program: Program | None,
    flights: Mapping[str, FlightRow],
    nested: Mapping[str, StackRow],
    hooks: Mapping[str, Hook],
    queued: Mapping[str, int],
    now: float,
) -> dict[str, Waiting]:
    """Return why records are not complete, by record id; records that do not wait are left out.

    `records` are those in charge of their names. `program` is None if the template does not
    compile. `flights` are the rows of attempts by record id, `nested` are stacks by id, and `hooks`
    are the hooks at which records wait, by record id. `queued` has the number of calls in flight
    for each resource whose call waits for a slot, by name.
    """
    if row.status is not Status.IN_PROGRESS:
        return {}
    busy_ids = flights.keys() | hooks.keys()
    open_ = {
        record.id: record
        for record in records
        if record.id in busy_ids or _open(row, record, program)
    }
    by_name = {record.name: record for record in open_.values()}
    users: dict[str, list[Record]] = {}
    for record in open_.values():
        for provider in record.requires:
            users.setdefault(provider, []).append(record)
    waits: dict[str, Waiting] = {}
    for record in open_.values():
        if record.id in hooks:
            waits[record.id] = Waiting(hooks[record.id])
            continue
        flight = flights.get(record.id)
        if flight is not None:
            elapsed_s = max(0.0, now - flight.started_at)
            below = nested.get(record.physical_id or "")
            ahead = queued.get(record.name) if flight.phase == "intent" else None
            waits[record.id] = Waiting(
                flight=flight, elapsed_s=elapsed_s, nested=below, calls_ahead=ahead
            )
            continue
        if _goes(row) or row.action is Action.SUSPEND or not _in_template(record, program):
            awaited = users.get(record.id, [])
        else:
            needs = program.requires.get(record.name, ()) if program is not None else ()
            awaited = [by_name[name] for name in sorted(needs) if name in by_name]
        if awaited:
            waits[record.id] = Waiting(awaited=tuple(awaited))
    return waits


def _open(row: StackRow, record: Record, program: Program | None) -> bool:
    """Return whether, according to the rows, the operation has not completed this record yet."""
    if row.action in WALKS:
        return record.traversal != row.traversal or record.action is not row.action
    if _goes(row) or record.new or record.status is Status.IN_PROGRESS:
        return True
    if program is None or not _in_template(record, program):
        return True
    return record.held.definition != program.resources[record.name].fingerprint


def _in_template(record: Record, program: Program | None) -> bool:
    """Return whether the template contains the record's resource; true if the template is
    unknown.
    """
    return program is None or record.name in program.resources


def _goes(row: StackRow) -> bool:
    """Return whether the operation deletes all resources of the stack."""
    return row.action is Action.DELETE or (
        row.action is Action.ROLLBACK and row.previous_revision == 0
    )

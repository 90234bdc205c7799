"""The plan of an operation: a pure function of the records and the program aimed at.

It says which record stands for each name, which records provably stay as they are, what goes, and
in what order. Preview shows it and the engine carries out the same object.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from hearth.engine.core import graph as graphs
from hearth.engine.core.choose import choose
from hearth.engine.core.decide import provably_kept
from hearth.engine.core.record import Record


class Foreseen(StrEnum):
    """What is planned for a resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    KEEP = "keep"
    DELETE = "delete"
    RETAIN = "retain"
    EXAMINE = "known only after"


class Aim(Protocol):
    """What the planner reads of a program."""

    @property
    def resources(self) -> Mapping[str, Any]: ...
    @property
    def requires(self) -> Mapping[str, frozenset[str]]: ...
    @property
    def order(self) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Where an operation leads: its revision, the one it starts from, the one it goes back to."""

    revision: int
    before: int
    back_to: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a plan."""

    name: str
    record_id: str
    foreseen: Foreseen
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """What an operation will do.

    `wanted` maps names to record ids, `kept` are records that provably stay, `new` are records to
    be stored, `touched` records whose place in time changed.
    """

    target: Target
    entries: tuple[Entry, ...]
    wanted: Mapping[str, str]
    requires: Mapping[str, frozenset[str]]
    kept: frozenset[str]
    new: tuple[Record, ...] = ()
    touched: tuple[Record, ...] = ()
    existing: tuple[Record, ...] = field(default=(), repr=False)

    def graph(self) -> graphs.Graph:
        """The graph of the operation."""
        return graphs.build(
            wanted=self.wanted, requires=self.requires, existing=self.existing, kept=self.kept
        )

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON; `hash` is equal for equal plans."""
        lines = [
            {"resource": e.name, "action": e.foreseen.value, "reason": e.reason}
            for e in self.entries
        ]
        text = json.dumps(lines, sort_keys=True)
        return {"hash": hashlib.sha256(text.encode()).hexdigest(), "resources": lines}


def plan(
    records: Collection[Record],
    program: Aim | None,
    target: Target,
    *,
    new_id: Callable[[], str],
    now: float,
    examine: Callable[[Record, Any, Mapping[str, str]], bool],
) -> Plan:
    """The plan. `program` is None where nothing shall remain. `examine` tells of a record, its
    definition and the records chosen so far that it must be looked at although neither its
    definition nor anything it requires will change: its values are not those of its last success,
    or it is a stack of its own."""
    by_name: dict[str, list[Record]] = {}
    for one in records:
        by_name.setdefault(one.name, []).append(one)

    resources = program.resources if program else {}
    requires = program.requires if program else {}
    wanted: dict[str, str] = {}
    kept: set[str] = set()
    kept_names: set[str] = set()
    entries: list[Entry] = []
    new: list[Record] = []
    touched: list[Record] = []
    chosen: set[str] = set()
    for name in program.order if program else ():
        definition = resources[name]
        record = choose(
            by_name.get(name, ()),
            wanted=definition.fingerprint,
            back_to=target.back_to,
            before=target.before,
            revision=target.revision,
        )
        if record is None:
            fresh = Record(new_id(), name, definition.type, target.revision, now)
            new.append(fresh)
            wanted[name] = fresh.id
            entries.append(Entry(name, fresh.id, Foreseen.CREATE))
        else:
            chosen.add(record.id)
            if record.until is not None:
                touched.append(record.having(until=None))
            unmoved = requires[name] <= kept_names
            if (
                unmoved
                and provably_kept(record, definition.fingerprint)
                and not examine(record, definition, wanted)
            ):
                kept.add(record.id)
                kept_names.add(name)
                entries.append(Entry(name, record.id, Foreseen.KEEP))
            else:
                entries.append(_open(record, definition.fingerprint, requires[name] - kept_names))
            wanted[name] = record.id

    for one in records:
        if one.id not in chosen:
            entries.append(_going(one))
            if one.until is None and program is not None:  # else the record itself soon goes
                touched.append(one.having(until=target.revision))
    return Plan(
        target,
        tuple(entries),
        wanted,
        {name: requires[name] for name in wanted},
        frozenset(kept),
        tuple(new),
        tuple(touched),
        tuple(records),
    )


def _open(record: Record, definition: str, moved: Collection[str]) -> Entry:
    """A record whose fate shows when its values are known."""
    if record.new:
        return Entry(record.name, record.id, Foreseen.CREATE)
    if record.held.definition != definition:
        return Entry(record.name, record.id, Foreseen.UPDATE, "its definition changed")
    if moved:
        why = f"known only after {', '.join(sorted(moved))}"
        return Entry(record.name, record.id, Foreseen.EXAMINE, why)
    return Entry(record.name, record.id, Foreseen.EXAMINE, f"it is {record.action}_{record.status}")


def _going(record: Record) -> Entry:
    retained = record.held.deletion_policy == "Retain"
    return Entry(record.name, record.id, Foreseen.RETAIN if retained else Foreseen.DELETE)

"""The in-memory state of the cloud: tables of objects, scheduled transitions, ids and time.

A transition is a later change of an object, such as from BUILD to ACTIVE. `settle`, which runs
before each call, carries out the transitions whose time has come.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hearth_devcloud.ledger import Ledger

Body = dict[str, Any]


@dataclass(slots=True, eq=False)
class Thing:
    """An object of the cloud, such as a network or a server.

    API responses are made from `body`; `hidden` is internal. `entry` is the index of the object in
    the audit log, and `seed` is true for an initial object.
    """

    id: str
    table: str
    project_id: str | None
    body: Body
    hidden: Body = field(default_factory=dict)
    entry: int | None = None
    visible_from: float = 0.0
    seed: bool = False


# Indexed fields by table. They must only be changed with `Store.change`.
INDEXED = {
    "network.networks": ("project_id",),
    "network.ports": ("mac_address", "network_id", "project_id"),
    "network.subnets": ("network_id", "project_id"),
    "network.segments": ("network_id", "segmentation_id"),
    "network.floatingips": ("port_id", "project_id"),
    "network.security_groups": ("project_id",),
    "network.security_group_rules": ("security_group_id", "project_id"),
    "volume.snapshots": ("volume_id",),
    "volume.attachments": ("volume_id",),
    "identity.assignments": ("target",),
    "messaging.messages": ("queue",),
}


class Store:
    """The tables of objects, the agenda of scheduled transitions, and the audit log."""

    def __init__(self, seed: int | None = None) -> None:
        self.tables: dict[str, dict[str, Thing]] = {}
        self.ledger = Ledger()
        self.made: list[Thing] = []
        self.changed = False
        self.time: float = time.time()
        self.serials: dict[str, int] = {}
        self._agenda: list[tuple[float, int, str, str, str]] = []
        self._order = itertools.count()
        self._index: dict[tuple[str, str, Any], dict[str, Thing]] = {}
        self._rng = random.Random(seed)  # noqa: S311

    def new_id(self) -> str:
        """Return a new UUID with dashes."""
        text = self.new_hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def new_hex(self) -> str:
        """Return a new UUID as 32 hex digits."""
        number = self._rng.getrandbits(128)
        number = number & ~(0xF << 76) | (4 << 76)
        return f"{number & ~(3 << 62) | (2 << 62):032x}"

    def new_secret(self, length: int = 32) -> str:
        """Return a text of random letters and digits; the same seed gives the same texts."""
        return "".join(self._rng.choices("abcdefghijkmnpqrstuvwxyz23456789", k=length))

    def new_serial(self, kind: str = "") -> int:
        """Return the next number of the counter `kind`. Each counter starts with 1."""
        number = self.serials[kind] = self.serials.get(kind, 0) + 1
        return number

    def table(self, name: str) -> dict[str, Thing]:
        """Return the objects of a table by id, in the order of their creation."""
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = {}
        return found

    def get(self, table: str, thing_id: object) -> Thing | None:
        """Return an object, or None if it does not exist or is not visible yet."""
        thing = self.table(table).get(thing_id) if isinstance(thing_id, str) else None
        if thing is None or thing.visible_from > self.time:
            return None
        return thing

    def all(self, table: str) -> Iterator[Thing]:
        """Yield the visible objects of a table."""
        now = self.time
        return (thing for thing in self.table(table).values() if thing.visible_from <= now)

    def where(self, table: str, **wanted: Any) -> list[Thing]:
        """Return the objects whose body contains all fields in `wanted`, even invisible objects."""
        things = self.table(table)
        for name in INDEXED.get(table, ()):
            if name in wanted:
                things = self._index.get((table, name, wanted.pop(name)), {})
                break
        found = list(things.values())
        for key, value in wanted.items():
            found = [thing for thing in found if thing.body.get(key) == value]
        return found

    def count(self, table: str, project_id: str) -> int:
        """Return the number of objects of a project in a table.

        This is slow for a large table without an index on `project_id`.
        """
        if "project_id" in INDEXED.get(table, ()):
            return len(self._index.get((table, "project_id", project_id), ()))
        return len(self.where(table, project_id=project_id))

    def insert(self, thing: Thing, *, implicit: bool = False) -> Thing:
        """Add a new object and return it. The audit log records it, unless it is an initial one."""
        self.adopt(thing)
        self.changed = True
        if not thing.seed:
            service, _, plural = thing.table.partition(".")
            name = thing.body.get("name")
            thing.entry = self.ledger.created(
                service=service,
                collection=plural,
                id_=thing.id,
                name=name if isinstance(name, str) else None,
                project_id=thing.project_id,
                at=self.time,
                implicit=implicit,
            )
            self.made.append(thing)
        return thing

    def adopt(self, thing: Thing) -> None:
        """Add an object without an entry in the audit log."""
        self.table(thing.table)[thing.id] = thing
        for name in INDEXED.get(thing.table, ()):
            key = (thing.table, name, thing.body.get(name))
            self._index.setdefault(key, {})[thing.id] = thing

    def change(self, thing: Thing, **changes: Any) -> None:
        """Set fields in the body of an object, and update the index."""
        self._forget(thing)
        thing.body.update(changes)
        self.adopt(thing)

    def clear(self) -> None:
        """Remove all objects; the audit log records nothing about it."""
        self.tables = {}
        self._index = {}

    def remove(self, thing: Thing) -> None:
        """Remove an object, if it exists, and record this in the audit log."""
        if self.table(thing.table).pop(thing.id, None) is None:
            return
        self._forget(thing)
        self.changed = True
        if thing.entry is not None:
            self.ledger.deleted(thing.entry, at=self.time)

    def _forget(self, thing: Thing) -> None:
        for name in INDEXED.get(thing.table, ()):
            key = (thing.table, name, thing.body.get(name))
            there = self._index[key]
            there.pop(thing.id, None)
            if not there:
                del self._index[key]

    def later(self, after_s: float, thing: Thing, transition: str) -> None:
        """Schedule a transition of an object in `after_s` seconds; 0 means at the next `settle`."""
        due = self.time + max(0.0, after_s)
        heapq.heappush(self._agenda, (due, next(self._order), thing.table, thing.id, transition))
        self.changed = True

    def settle(self, now: float, run: Callable[[str, Thing], None]) -> None:
        """Call `run(transition, thing)` for all transitions scheduled until `now`, in time order.

        During each call, `time` is the scheduled time of the transition.
        """
        agenda = self._agenda
        while agenda and agenda[0][0] <= now:
            due, _, table, thing_id, transition = heapq.heappop(agenda)
            self.time = max(self.time, due)
            thing = self.table(table).get(thing_id)
            if thing is not None:
                self.changed = True
                run(transition, thing)
        self.time = max(self.time, now)

    @property
    def agenda(self) -> list[tuple[float, int, str, str, str]]:
        """The scheduled transitions as tuples (time, order, table, id, transition)."""
        return self._agenda

    def restore_agenda(self, rows: list[tuple[float, int, str, str, str]]) -> None:
        """Replace the scheduled transitions by those of a saved state."""
        self._agenda = sorted((due, n, t, i, name) for due, n, t, i, name in rows)
        self._order = itertools.count(max((row[1] for row in rows), default=0) + 1)


def stamp_z(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01T00:00:00Z`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_micro(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01T00:00:00.000000`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def stamp_micro_z(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01T00:00:00.000000Z`."""
    return stamp_micro(at) + "Z"

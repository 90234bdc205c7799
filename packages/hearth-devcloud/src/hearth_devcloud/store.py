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

from hearth_devcloud import tables
from hearth_devcloud.ledger import Ledger

Body = dict[str, Any]


@dataclass(slots=True, eq=False)
class Resource:
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
    tables.NETWORKS: ("project_id",),
    tables.PORTS: ("mac_address", "network_id", "project_id"),
    tables.SUBNETS: ("network_id", "project_id"),
    "network.segments": ("network_id", "segmentation_id"),
    tables.FLOATING_IPS: ("port_id", "project_id"),
    tables.SECURITY_GROUPS: ("project_id",),
    tables.SECURITY_GROUP_RULES: ("security_group_id", "project_id"),
    tables.VOLUME_SNAPSHOTS: ("volume_id",),
    "volume.attachments": ("volume_id",),
    "identity.assignments": ("target",),
    "messaging.messages": ("queue",),
}


class Store:
    """The tables of objects, the agenda of scheduled transitions, and the audit log."""

    def __init__(self, seed: int | None = None) -> None:
        self.tables: dict[str, dict[str, Resource]] = {}
        self.ledger = Ledger()
        self.made: list[Resource] = []
        self.changed = False
        self.time: float = time.time()
        self.serials: dict[str, int] = {}
        self._agenda: list[tuple[float, int, str, str, str]] = []
        self._order = itertools.count()
        self._index: dict[tuple[str, str, Any], dict[str, Resource]] = {}
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

    def table(self, name: str) -> dict[str, Resource]:
        """Return the objects of a table by id, in the order of their creation."""
        rows = self.tables.get(name)
        if rows is None:
            rows = self.tables[name] = {}
        return rows

    def get(self, table: str, resource_id: object) -> Resource | None:
        """Return an object, or None if it does not exist or is not visible yet."""
        resource = self.table(table).get(resource_id) if isinstance(resource_id, str) else None
        if resource is None or resource.visible_from > self.time:
            return None
        return resource

    def all(self, table: str) -> Iterator[Resource]:
        """Yield the visible objects of a table."""
        now = self.time
        return (resource for resource in self.table(table).values() if resource.visible_from <= now)

    def where(self, table: str, **fields: Any) -> list[Resource]:
        """Return the objects whose body contains all fields in `fields`, even invisible objects."""
        resources = self.table(table)
        for name in INDEXED.get(table, ()):
            if name in fields:
                resources = self._index.get((table, name, fields.pop(name)), {})
                break
        matching = list(resources.values())
        for key, value in fields.items():
            matching = [resource for resource in matching if resource.body.get(key) == value]
        return matching

    def count(self, table: str, project_id: str) -> int:
        """Return the number of objects of a project in a table.

        This is slow for a large table without an index on `project_id`.
        """
        if "project_id" in INDEXED.get(table, ()):
            return len(self._index.get((table, "project_id", project_id), ()))
        return len(self.where(table, project_id=project_id))

    def insert(self, resource: Resource, *, implicit: bool = False) -> Resource:
        """Add a new object and return it. The audit log records it, unless it is an initial one."""
        self.adopt(resource)
        self.changed = True
        if not resource.seed:
            service, _, plural = resource.table.partition(".")
            name = resource.body.get("name")
            resource.entry = self.ledger.created(
                service=service,
                collection=plural,
                id_=resource.id,
                name=name if isinstance(name, str) else None,
                project_id=resource.project_id,
                at=self.time,
                implicit=implicit,
            )
            self.made.append(resource)
        return resource

    def adopt(self, resource: Resource) -> None:
        """Add an object without an entry in the audit log."""
        self.table(resource.table)[resource.id] = resource
        for name in INDEXED.get(resource.table, ()):
            key = (resource.table, name, resource.body.get(name))
            self._index.setdefault(key, {})[resource.id] = resource

    def change(self, resource: Resource, /, **changes: Any) -> None:
        """Set fields in the body of an object, and update the index."""
        self._forget(resource)
        resource.body.update(changes)
        self.adopt(resource)

    def clear(self) -> None:
        """Remove all objects; the audit log records nothing about it."""
        self.tables = {}
        self._index = {}

    def remove(self, resource: Resource) -> None:
        """Remove an object, if it exists, and record this in the audit log."""
        if self.table(resource.table).pop(resource.id, None) is None:
            return
        self._forget(resource)
        self.changed = True
        if resource.entry is not None:
            self.ledger.deleted(resource.entry, at=self.time)

    def _forget(self, resource: Resource) -> None:
        for name in INDEXED.get(resource.table, ()):
            key = (resource.table, name, resource.body.get(name))
            rows = self._index[key]
            rows.pop(resource.id, None)
            if not rows:
                del self._index[key]

    def later(self, after_s: float, resource: Resource, transition: str) -> None:
        """Schedule a transition of an object in `after_s` seconds; 0 means at the next `settle`."""
        due = self.time + max(0.0, after_s)
        heapq.heappush(
            self._agenda, (due, next(self._order), resource.table, resource.id, transition)
        )
        self.changed = True

    def settle(self, now: float, run: Callable[[str, Resource], None]) -> None:
        """Call `run(transition, resource)` for all transitions due until `now`, in time order.

        During each call, `time` is the scheduled time of the transition.
        """
        agenda = self._agenda
        while agenda and agenda[0][0] <= now:
            due, _, table, resource_id, transition = heapq.heappop(agenda)
            self.time = max(self.time, due)
            resource = self.table(table).get(resource_id)
            if resource is not None:
                self.changed = True
                run(transition, resource)
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

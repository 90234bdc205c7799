"""The states of the demo stack's resources, computed from the stack's events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Line:
    """The state of one resource in the demo.

    `path` contains the names of the resources that lead from the root stack to this resource. Its
    last action began at `since` and ended at `until`, both in seconds; `until` is None while it
    runs.
    """

    path: tuple[str, ...]
    status: str
    since: float
    until: float | None = None
    physical_id: str | None = None

    def elapsed(self, now: float) -> float:
        """Return the duration of the resource's last action in seconds; if it still runs, until
        `now`.
        """
        return (self.until if self.until is not None else now) - self.since


@dataclass
class Board:
    """The states of all resources of the demo; `stack` is the name of the root stack.

    `lines` maps the path of each resource to its state. `marker` is the id of the last event, and
    `status` the state of the root stack.
    """

    stack: str
    lines: dict[tuple[str, ...], Line] = field(default_factory=dict)
    marker: str | None = None
    status: str = ""
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, events: Iterable[Mapping[str, Any]], now: float) -> list[Line]:
        """Apply events in order; return a copy of each changed line, as it was after its event.

        `now` is the time of the changes, in seconds.
        """
        changed = []
        for event in events:
            self.marker = event["id"]
            line = self._take(event, now)
            if line is not None:
                changed.append(Line(**vars(line)))
        return changed

    def _take(self, event: Mapping[str, Any], now: float) -> Line | None:
        name, status = event["resource_name"], event["resource_status"]
        stack = _link(event, "stack").rsplit("/", 2)
        stack_name, stack_id = stack[1], stack[2]
        if event["physical_resource_id"] == stack_id:  # of the stack itself
            if stack_name == self.stack:
                self.status = status
            return None
        path = (*self._place(stack_name), name)
        line = self.lines.get(path)
        if line is None or status.endswith("_IN_PROGRESS"):
            line = self.lines[path] = Line(path, status, now)
        line.status = status
        line.physical_id = event["physical_resource_id"] or line.physical_id
        if not status.endswith("_IN_PROGRESS"):
            line.until = now
        return line

    def _place(self, stack_name: str) -> tuple[str, ...]:
        """Return the path of the resource whose nested stack has this name; empty for the root
        stack.

        A nested stack is named PARENT-RESOURCE-SUFFIX.
        """
        if stack_name == self.stack:
            return ()
        inner = stack_name.removeprefix(f"{self.stack}-").rpartition("-")[0]
        return (inner,)

    def done(self) -> tuple[int, int]:
        """Return (number of resources that are not in progress, number of all resources)."""
        ended = sum(not line.status.endswith("_IN_PROGRESS") for line in self.lines.values())
        return ended, len(self.lines)

    def fresh(self) -> None:
        """Remove all lines before the next action of the stack."""
        self.lines = {}
        self.status = ""


def _link(event: Mapping[str, Any], rel: str) -> str:
    return next(str(link["href"]) for link in event["links"] if link["rel"] == rel)

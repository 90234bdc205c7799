"""The states of the resources of a stack, computed from its events."""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from msgspec import Struct, field


class ResourceLine(Struct):
    """The state of one resource.

    `path` contains the names of the resources that lead from the root stack to this resource. Its
    last action began at `since` and ended at `until`, both in seconds; `until` is None while it
    runs.
    """

    path: tuple[str, ...]
    status: str
    since: float
    until: float | None = None
    physical_id: str | None = None
    type: str = ""
    reason: str = ""

    @property
    def running(self) -> bool:
        """Whether the last action is in progress."""
        return self.status.endswith("_IN_PROGRESS")

    @property
    def failed(self) -> bool:
        """Whether the last action has failed."""
        return self.status.endswith("_FAILED")

    def elapsed(self, now: float) -> float:
        """Return the duration of the resource's last action in seconds; if it still runs, until
        `now`.
        """
        return (self.until if self.until is not None else now) - self.since


class Board(Struct):
    """The states of all resources of a stack; `stack` is the name of the root stack.

    `lines` maps the path of each resource to its state. `marker` is the id of the last event,
    `status` the state of the root stack, and `reason` the reason for it.
    """

    stack: str
    lines: dict[tuple[str, ...], ResourceLine] = field(default_factory=dict)
    marker: str | None = None
    status: str = ""
    reason: str = ""
    _paths: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of nested stacks, by name

    def know(self, nested: Mapping[str, tuple[str, ...]]) -> None:
        """Take over the paths of nested stacks, by stack name, whose first events are not shown."""
        self._paths.update(nested)

    def take(self, events: Iterable[Mapping[str, Any]], now: float) -> list[ResourceLine]:
        """Apply events in order; return a copy of each changed line, as it was after its event.

        `now` is the time of the changes, in seconds.
        """
        lines = []
        for event in events:
            self.marker = event["id"]
            line = self._take(event, now)
            if line is not None:
                lines.append(copy(line))
        return lines

    def _take(self, event: Mapping[str, Any], now: float) -> ResourceLine | None:
        name, status = event["resource_name"], event["resource_status"]
        stack = str(link(event, "stack")).rsplit("/", 2)
        stack_name, stack_id = stack[1], stack[2]
        if event["physical_resource_id"] == stack_id:  # of the stack itself
            if stack_name == self.stack:
                self.status, self.reason = status, event.get("resource_status_reason") or ""
            return None
        path = (*self._place(stack_name), name)
        line = self.lines.get(path)
        if line is None or status.endswith("_IN_PROGRESS"):
            line = self.lines[path] = ResourceLine(path, status, now)
        line.status = status
        line.type = event.get("resource_type") or line.type
        line.reason = event.get("resource_status_reason") or ""
        line.physical_id = event["physical_resource_id"] or line.physical_id
        if not status.endswith("_IN_PROGRESS"):
            line.until = now
        return line

    def _place(self, stack_name: str) -> tuple[str, ...]:
        """Return the path of the resource whose nested stack has this name; empty for the root
        stack.

        A nested stack is named PARENT-RESOURCE-SUFFIX, and all three may contain hyphens. The
        longest name of a known stack is the parent.
        """
        if stack_name == self.stack:
            return ()
        if (known_path := self._paths.get(stack_name)) is not None:
            return known_path
        parent, resource = stack_name, ""
        while parent and not resource:
            parent = parent.rpartition("-")[0]
            if parent == self.stack or parent in self._paths:
                resource = stack_name[len(parent) + 1 :].rpartition("-")[0]
        path = (*self._paths.get(parent, ()), resource or stack_name)
        self._paths[stack_name] = path
        return path

    def done(self) -> tuple[int, int]:
        """Return (number of resources that are not in progress, number of all resources)."""
        ended = sum(not line.running for line in self.lines.values())
        return ended, len(self.lines)

    def fresh(self) -> None:
        """Remove all lines before the next action of the stack."""
        self.lines = {}
        self.status = self.reason = ""


def link(entry: Mapping[str, Any], rel: str) -> str | None:
    """Return the link `rel` of a resource or an event, or None if it has none."""
    return next((str(link["href"]) for link in entry["links"] if link["rel"] == rel), None)

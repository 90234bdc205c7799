"""The audit log of the embedded cloud: all calls and created objects, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

CALLS_MAX = 1_000_000


@dataclass(slots=True)
class Entry:
    """An object in the audit log.

    `created` and `deleted` are the numbers of the calls that created and deleted the object.
    `implicit` is true for an object that the cloud created as part of another one.
    """

    service: str
    collection: str
    id: str
    name: str | None
    project_id: str | None
    created: int
    created_at: float
    deleted: int | None = None
    deleted_at: float | None = None
    implicit: bool = False


@dataclass(slots=True)
class CallEntry:
    """A call in the audit log; status 0 means no response, `ms` is the duration, `trace` is the
    header `traceparent`.
    """

    seq: int
    method: str
    path: str
    status: int
    at: float
    ms: float
    trace: str = ""


class Ledger:
    """The audit log: created objects and calls. A mark hides all earlier entries from `view`."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.calls: list[CallEntry] = []
        self.seq = 0
        self.current = 0
        self.by_trace: dict[str, list[CallEntry]] = {}
        self.first = 0
        self.calls_from = 0

    def next_call(self) -> int:
        """Return the number of a new call: calls are numbered from 1."""
        self.seq = self.current = self.seq + 1
        return self.seq

    def carries_out(self, seq: int) -> None:
        """Note the call that is carried out from now on: it creates and deletes the objects."""
        self.current = seq

    def created(
        self,
        *,
        service: str,
        collection: str,
        id_: str,
        name: str | None,
        project_id: str | None,
        at: float,
        implicit: bool,
    ) -> int:
        """Record a new object; return the index of its entry, for the method `deleted`."""
        self.entries.append(
            Entry(service, collection, id_, name, project_id, self.current, at, implicit=implicit)
        )
        return len(self.entries) - 1

    def deleted(self, index: int, *, at: float) -> None:
        """Record that the object with the entry `index` was deleted."""
        entry = self.entries[index]
        entry.deleted, entry.deleted_at = self.current, at

    def called(self, call: CallEntry) -> None:
        """Record a finished call."""
        if len(self.calls) < CALLS_MAX:
            self.calls.append(call)
            if call.trace:
                self.by_trace.setdefault(_trace_id(call.trace), []).append(call)

    def forget_calls(self) -> None:
        """Forget all calls; the objects remain."""
        self.calls.clear()
        self.by_trace.clear()

    def mark(self) -> None:
        """Start a new section of the log: `view` then omits all earlier objects and calls."""
        self.first = len(self.entries)
        self.calls_from = len(self.calls)

    def of_traces(self, ids: Iterable[str]) -> dict[str, Any]:
        """Return the calls of traces, and the objects that these calls created."""
        calls = [call for trace_id in ids for call in self.by_trace.get(trace_id, ())]
        made_by = {call.seq for call in calls}
        objects = [entry for entry in self.entries[self.first :] if entry.created in made_by]
        return {
            "objects": [asdict(entry) for entry in objects],
            "calls": [asdict(call) for call in calls],
        }

    def view(self, *, calls: bool) -> dict[str, Any]:
        """Return the entries since the last mark for the admin API; `calls` includes the calls."""
        entries = self.entries[self.first :]
        totals: dict[str, dict[str, int]] = {}
        for entry in entries:
            key = f"{entry.service}.{entry.collection}"
            total = totals.setdefault(key, {"created": 0, "deleted": 0, "implicit": 0})
            total["created"] += 1
            total["deleted"] += entry.deleted is not None
            total["implicit"] += entry.implicit
        view: dict[str, Any] = {
            "objects": [asdict(entry) for entry in entries],
            "totals": totals,
            "seq": self.seq,
            "calls_total": len(self.calls) - self.calls_from,
        }
        if calls:
            view["calls"] = [asdict(call) for call in self.calls[self.calls_from :]]
        return view


def _trace_id(traceparent: str) -> str:
    """Return the id of the trace in a header `traceparent`."""
    return traceparent[3:35]

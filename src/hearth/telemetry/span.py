"""A piece of work in a trace."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from hearth.telemetry.about import Trace


class TraceSpan(Struct, frozen=True):
    """A piece of work that has ended, at the position `trace` of a trace.

    `began` and `ended` are seconds since 1970. `kind` is "server" for a request that this process
    answered, "client" for a call that it made, and "internal" for other work.
    """

    name: str
    trace: Trace
    began: float
    ended: float
    kind: str
    failed: bool
    attributes: Mapping[str, str | int]


class SpanSink(Protocol):
    """Takes the spans of this process, for example to send them to a collector."""

    def add(self, span: TraceSpan) -> None:
        """Take a span. Must not block and must not raise."""

    def close(self) -> None:
        """Send the remaining spans, then stop; spans that are added later are lost."""

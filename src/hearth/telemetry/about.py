"""What the running code works on: for log lines, and for the headers of calls to the cloud.

An asyncio task inherits this information from the task that creates it.
"""

import re
from contextvars import ContextVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from hearth.telemetry.ids import random_digits

_HEADER = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
SAMPLED = 1


class Trace(Struct, frozen=True):
    """A position in a trace, as W3C Trace Context describes it: ids in hexadecimal, and flags.

    `parent_id` is the span id of the position before it in this trace, "" if it is the first.
    """

    trace_id: str
    span_id: str
    flags: int = SAMPLED
    parent_id: str = ""

    @property
    def header(self) -> str:
        """The value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    def child(self) -> "Trace":
        """Return a new position in the same trace."""
        return replace(self, span_id=_new_span_id(), parent_id=self.span_id)


def new_trace(share: float = 1.0) -> Trace:
    """Return the first position of a new trace, which is sampled with the probability `share`."""
    trace_id = random_digits()
    sampled = int(trace_id[16:], 16) < share * 2**64
    return Trace(trace_id, _new_span_id(), SAMPLED if sampled else 0)


def _new_span_id() -> str:
    return random_digits()[:16]


def trace_of(header: str) -> Trace | None:
    """Return the position in a header `traceparent`; None if it is invalid.

    Headers of later versions may be longer; their first 55 characters have the same meaning.
    """
    is_valid = header[:2] != "ff" and (len(header) == 55 or header[55:56] == "-")
    match = _HEADER.fullmatch(f"00{header[2:55]}") if is_valid else None
    if match is None or (header[:2] == "00" and len(header) != 55):
        return None
    if match[1] == _NO_TRACE or match[2] == _NO_SPAN:
        return None
    return Trace(match[1], match[2], int(match[3], 16) & SAMPLED)


class About(Struct, frozen=True):
    """The request, project, stack and resource that the running code works for.

    A field is "" if there is none; `trace` is the position in the trace, or None.
    """

    request_id: str = ""
    project_id: str = ""
    stack: str = ""
    stack_id: str = ""
    resource: str = ""
    trace: Trace | None = None

    def words(self) -> dict[str, str]:
        """Return the fields that are set, as texts by name; instead of the trace only its
        `trace_id`.
        """
        fields = {**asdict(self), "trace": None}
        if self.trace is not None:
            fields["trace_id"] = self.trace.trace_id
        return {name: text for name, text in fields.items() if text}


NOTHING = About()
_about: ContextVar[About] = ContextVar("about", default=NOTHING)


def about() -> About:
    """Return the request, project, stack and resource that the running code works for."""
    return _about.get()


def working_on(subject: About) -> None:
    """Set the request, project, stack and resource for which the current asyncio task works from
    now on.

    Tasks that it creates afterwards work for the same ones.
    """
    _about.set(subject)

"""What befalls the first operation: rules for its calls, or something done to its object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.second_steps.operations import First, Write

HANGS_S = 25  # longer than a minute for a process in a hurry
ROUTER = {"status": 404, "body": "default backend - 404"}


@dataclass(frozen=True)
class Fault:
    """A fault; `spares`: the object is there afterwards, and nothing is wrong with it."""

    name: str
    spares: bool = True

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        """Whether it can befall the operation."""
        return bool(writes)


@dataclass(frozen=True)
class OnCall(Fault):
    """A fault of one write call."""

    effect: Mapping[str, Any] = field(default_factory=dict)
    timeout_mins: int = 2
    cancelled: bool = False

    def rule(self, write: Write, trace: str) -> dict[str, Any]:
        """The rule of the embedded cloud."""
        match: dict[str, Any] = {
            "method": write.method,
            "path_regex": write.pattern,
            "trace": trace,
        }
        if not write.alone:
            match["nth"] = write.nth
        return {"match": match, "effect": dict(self.effect)}


@dataclass(frozen=True)
class OnObject(Fault):
    """All write calls are refused, and something happens to the object: before them or after."""

    before: bool = False
    gone: bool = False

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return bool(writes) and not first.makes and first.verb in ("update", "signal")


@dataclass(frozen=True)
class OnRead(Fault):
    """One read call fails: the operation must succeed all the same."""

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return bool(writes) and first.verb == "update"


@dataclass(frozen=True)
class InState(OnObject):
    """Somebody stops or locks the server before the operation, which must end."""

    action: Mapping[str, Any] = field(default_factory=dict)
    undo: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return first.of_server and super().fits(first, writes)


@dataclass(frozen=True)
class Null(Fault):
    """A required property turns out to be null, so that there is no object to delete."""

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return first.makes and bool(first.required)


@dataclass(frozen=True)
class Untrusted(Fault):
    """Keystone has lost the stack's trust, and the services refuse the token of the request."""

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return bool(writes) and first.verb in ("update", "delete", "signal", "rollback")


@dataclass(frozen=True)
class Guest(Fault):
    """Who is asked for a result reports a failure."""

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return first.guest


@dataclass(frozen=True)
class Unserved(Fault):
    """The catalogue lacks the service while the operation goes on; only tried one at a time."""

    def fits(self, first: First, writes: Sequence[Write]) -> bool:
        return bool(writes) and not first.makes


FAULTS: tuple[Fault, ...] = (
    OnCall("400", effect={"status": 400}),
    OnCall("409", effect={"status": 409}),
    OnCall("500", effect={"status": 500}),
    OnCall("500 after", effect={"status": 500, "after": True}),
    OnCall("502 after", effect={"status": 502, "after": True}, timeout_mins=1),
    OnCall("router", effect=ROUTER, timeout_mins=1),
    OnCall("error", spares=False, effect={"error": True}),
    OnCall("timeout", effect={"latency_s": HANGS_S}, timeout_mins=1),
    OnCall("cancel", effect={"latency_s": 2}, cancelled=True),
    OnObject("gone before", spares=False, before=True, gone=True),
    OnObject("gone after", spares=False, gone=True),
    OnObject("in error before", spares=False, before=True),
    OnObject("in error", spares=False),
    OnRead("500 to a read"),
    InState("stopped", before=True, action={"os-stop": None}),
    InState("locked", before=True, action={"lock": None}, undo={"unlock": None}),
    Null("null"),
    Untrusted("dead trust"),
    Guest("guest fails"),
)
UNSERVED = Unserved("no service")
KILLED = (
    OnCall("killed before", effect={"hold": True}),
    OnCall("killed after", effect={"withhold": True}),
)
"""The engine dies before or after the call is carried out; tried with many stacks at once."""

"""One cell: a stack, its first operation with a fault, what comes next, and its end."""

import contextlib
import re
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from tests.second_steps.cells import Cell, fault_named
from tests.second_steps.faults import Null, OnCall, OnObject, OnRead, Stop, Unserved
from tests.second_steps.operations import First, Write, writes_of
from tests.second_steps.watch import Account, Watch, until
from tests.types.case import Subject, Template
from tests.types.cloud import Place
from tests.types.story import Wrong, changes

PATIENCE_S = 150.0
SWEEP_S = 20.0  # until objects of lost calls are deleted
LINGERING = {  # types of which a part stays in the embedded cloud when an object is lost
    "OS::Neutron::LBaaS::Pool": "it stays the default pool of its listener",
    "OS::Neutron::Pool": "its virtual address stays",
    "OS::Octavia::Pool": "it stays the default pool of its listener",
}
PROTECTED = "is protected and cannot be deleted"  # as the template says
LOSING = ("500 after", "502 after", "timeout")  # the answer of a call
REPLACING = ("replace", "may replace")
TAKEN = re.compile(
    "already (allocated|exist|in use|has|taken)|overlaps|collision|Duplicate|Conflict|In use",
    re.IGNORECASE,
)
EVERY_WRITE = ("POST", "PUT", "PATCH", "DELETE")
NOT_TOKENS = "(?<!/auth/tokens)(?<!/OS-TRUST/trusts)$"


class Excused(Exception):
    """What comes next cannot succeed, for a reason that the table knows."""


@dataclass
class Outcome:
    """What came of a cell: how each operation ended, and what is wrong; empty: nothing."""

    cell: Cell
    steps: list[str] = field(default_factory=list)
    wrong: str = ""
    seconds: float = 0.0


class Stack:
    """The stack of a cell."""

    def __init__(self, place: Place, watch: Watch, one: Subject, name: str) -> None:
        self.place, self.watch, self.one, self.name = place, watch, one, name
        self.heat = place.heat(one.case.get("caller", "demo")).of(one.case)
        self.account = Account(place)
        self.path = ""
        self.steps: list[str] = []
        self.keyless = False
        self.snapshot = ""

    # requests

    @contextlib.contextmanager
    def traced(self) -> Iterator[str]:
        """Give the requests inside a trace of their own; yields its id."""
        trace = self.account.new()
        self.heat.http.headers["traceparent"] = f"00-{trace}-{'1' * 16}-01"
        yield trace

    def create(self, template: Template) -> None:
        """Create it; raises Wrong unless it is COMPLETE."""
        with self.traced():
            self.path = self.heat.create(self.name, template)
            self.expect("CREATE_COMPLETE")

    def put(
        self,
        template: Template,
        timeout_mins: int = 10,
        *,
        rollback: bool = False,
        converge: bool = False,
    ) -> None:
        """Ask for an update."""
        body = {
            **({"converge": True} if converge else {}),
            "template": template, "files": self.heat.files, "timeout_mins": timeout_mins,
            "disable_rollback": not rollback,
        }  # fmt: skip
        self.heat.call("PUT", self.path, body)

    def prepare(self, first: First) -> None:
        """Do what must come before an operation."""
        if first.verb == "resume":
            self.act("suspend")
            self.expect("SUSPEND_COMPLETE")
        if first.verb == "restore":
            self.snapshot = self.take_snapshot()
            self.expect("SNAPSHOT_COMPLETE")

    def ask(self, first: First, timeout_mins: int = 10) -> None:
        """Ask for an operation."""
        match first.verb:
            case "update":
                self.put(first.after, timeout_mins)
            case "delete":
                self.heat.call("DELETE", self.path)
            case "snapshot":
                self.take_snapshot()
            case "restore":
                self.heat.call("POST", f"{self.path}/snapshots/{self.snapshot}/restore")
            case action:
                self.act(action)

    def take_snapshot(self) -> str:
        """Ask for a snapshot, and return its id."""
        return str(self.heat.call("POST", f"{self.path}/snapshots", {"name": "s"})["id"])

    def act(self, action: str) -> None:
        """Ask for an action."""
        self.heat.call("POST", f"{self.path}/actions", {action: None})

    # looking

    def ended(self) -> str:
        """Return the state in which the operation ended; raises Wrong if it does not end."""
        deadline, since = time.monotonic() + PATIENCE_S, time.monotonic()
        while time.monotonic() < deadline:
            state = self.watch.state(self.path, since)
            if not state["stack_status"].endswith("IN_PROGRESS"):
                found: str = state["stack_status"]
                self.steps.append(f"{found} {state['stack_status_reason']}"[:300])
                return found
            self.heat.signal(self.path)
            since = time.monotonic()
        self.steps.append(str(state["stack_status"]))
        raise Wrong(f"{state['stack_status']} for {PATIENCE_S:g} s")

    def expect(self, *states: str) -> str:
        """Return the state in which the operation ended; raises Wrong if it is another one."""
        found = self.ended()
        if found not in states:
            raise Wrong(self.steps[-1])
        return found

    def physical_id(self) -> str | None:
        """Return the id of the object; None without the resource or without an object."""
        try:
            shown = self.heat.resource(self.path, self.one.resource)
        except Wrong as wrong:
            if str(wrong).startswith("404"):
                return None
            raise
        return shown["physical_resource_id"] or None

    def planned(self, template: Template) -> str:
        """Return what an update would do with the resource."""
        plan = self.heat.plan(self.path, template)
        found = plan.get(self.one.resource)
        return "" if found is None else found["action"]

    def drifted(self, template: Template) -> list[str]:
        """Return what an update that looks at the cloud would do."""
        plan = self.heat.whole_plan(self.path, template, converge=True)["resources"]
        return [
            f"{entry['action']} {entry['resource']} {entry['reasons']}"
            for entry in plan
            if changes(entry)
        ]


@dataclass(frozen=True)
class Usual:
    """What an operation does without faults: its write calls, and the plan after it."""

    writes: list[Write]
    drifted: dict[str, list[str]]  # by "before" and "after"


def rehearse(stack: Stack, first: First) -> Usual:
    """Carry out an operation without faults. Raises Wrong."""
    try:
        stack.create(first.before)
        drifted = {"before": stack.drifted(first.before)}
        stack.prepare(first)
        with stack.traced() as trace:
            stack.ask(first)
            stack.expect(f"{first.verb.upper()}_COMPLETE")
        reads = first.verb == "check"
        writes = writes_of(stack.account.calls(trace), stack.name, reads=reads)
        if first.verb not in ("suspend", "delete"):
            drifted["after"] = stack.drifted(first.after)
        return Usual(writes, {"after": drifted["before"], **drifted})
    finally:
        end(stack)


def live(stack: Stack, cell: Cell, first: First, usual: Usual) -> None:
    """Live through a cell. Raises Wrong."""
    given = first.after["resources"][stack.one.resource].get("properties") or {}
    stack.keyless = cell.fault in LOSING and not stack.one.kind.has_key(given)
    try:
        stack.create(first.before)
        stack.prepare(first)
        before = stack.physical_id()
        _strike(stack, cell, first, usual, before)
        _next(stack, cell, first, usual)
    except BaseException:
        with contextlib.suppress(Exception):
            end(stack)
        raise
    if not cell.next.startswith("delete"):
        end(stack)


def _strike(stack: Stack, cell: Cell, first: First, usual: Usual, ident: str | None) -> None:
    """The first operation, with its fault; it may fail, but must end."""
    fault = fault_named(cell.fault)
    if isinstance(fault, OnObject) and fault.before and not isinstance(fault, Stop):
        _harm(stack, ident, gone=fault.gone)
    if isinstance(fault, Stop):
        stack.place.connections["demo"].compute.stop_server(ident)
    timeout_mins = fault.timeout_mins if isinstance(fault, OnCall) else 2
    asked = replace(first, after=_with_null(stack, cell, first)) if cell.fault == "null" else first
    with _struck(stack, cell, usual) as trace, _unserved(stack, fault):
        try:
            stack.ask(asked, timeout_mins)
        except Wrong as wrong:
            stack.steps.append(f"refused: {wrong}")
            return
        if isinstance(fault, OnCall) and fault.cancelled:
            until(lambda: _seen(stack, trace), 5)
            with contextlib.suppress(Wrong):  # it may be over
                stack.act("cancel_without_rollback")
        state = stack.ended()
        if isinstance(fault, OnRead) and not state.endswith("COMPLETE"):
            raise Wrong(stack.steps[-1])
    if isinstance(fault, OnObject) and not fault.before:
        _harm(stack, ident, gone=fault.gone)


@contextlib.contextmanager
def _unserved(stack: Stack, fault: Any) -> Iterator[None]:
    """The catalogue lacks the service of the type, if that is the fault."""
    if not isinstance(fault, Unserved):
        yield
        return
    identity = stack.place.connections["admin"].identity
    services = [one.id for one in identity.services() if one.type == stack.one.kind.service]
    endpoints = [one for one in identity.endpoints() if one.service_id in services]
    try:
        for endpoint in endpoints:
            identity.update_endpoint(endpoint, is_enabled=False)
        _fresh_tokens(stack.place)
        yield
    finally:
        for endpoint in endpoints:
            identity.update_endpoint(endpoint, is_enabled=True)
        _fresh_tokens(stack.place)


def _fresh_tokens(place: Place) -> None:
    """A token holds the catalogue of before."""
    for connection in place.connections.values():
        connection.session.invalidate()


def _seen(stack: Stack, trace: str) -> bool:
    rules = stack.place.admin("GET", "knobs")["rules"]
    return any(rule["seen"] for rule in rules if rule["match"]["trace"] == trace)


@contextlib.contextmanager
def _struck(stack: Stack, cell: Cell, usual: Usual, times: int | None = None) -> Iterator[str]:
    """The fault of the cell is on for the requests inside."""
    fault = fault_named(cell.fault)
    with stack.traced() as trace:
        if isinstance(fault, OnCall):
            rules = [fault.rule(usual.writes[cell.call - 1], trace)]
        elif isinstance(fault, OnRead) and times is None:
            rules = [_rule("GET", {"status": 500}, trace=trace, times=1)]
        elif (
            isinstance(fault, Null | Unserved)
            or times is not None
            or (isinstance(fault, OnObject) and fault.before)
        ):
            rules = []
        else:
            rules = _refusing(trace, 400)
        for rule in rules:
            if times is not None:
                rule["match"]["times"] = times
        stack.place.knobs(rules)
        try:
            yield trace
        finally:
            stack.place.admin("DELETE", f"knobs?trace={trace}")


def _refusing(trace: str, status: int) -> list[dict[str, Any]]:
    return [_rule(method, {"status": status}, trace=trace) for method in EVERY_WRITE]


def _rule(method: str, effect: dict[str, Any], **match: Any) -> dict[str, Any]:
    return {"match": {"method": method, "path_regex": NOT_TOKENS, **match}, "effect": effect}


def _with_null(stack: Stack, cell: Cell, first: First) -> Template:
    """The template in which a required property gets a null that is known late."""
    template = deepcopy(first.after)
    nothing = {"type": "OS::Heat::Value", "properties": {"value": None}}
    template["resources"]["nothing"] = nothing
    properties = template["resources"][stack.one.resource]["properties"]
    properties[first.required[cell.call - 1]] = {"get_attr": ["nothing", "value"]}
    return template


def _harm(stack: Stack, ident: str | None, *, gone: bool) -> None:
    """Delete the object, or set it into an error state, behind everybody's back."""
    short = (ident or "").rpartition("/")[2]
    things = stack.place.admin("GET", f"objects?named={short}")["objects"]
    if gone:
        for port in stack.place.admin("GET", "objects?table=network.ports")["objects"]:
            if port["body"]["device_id"] and port["body"]["device_id"].endswith(short):
                stack.place.admin("DELETE", f"objects/{port['id']}")
        stack.place.admin("DELETE", f"objects/{short}")
        return
    for thing in things:
        for key in ("status", "provisioning_status"):
            if key in thing["body"]:
                error = _in_style("ERROR", str(thing["body"][key]))
                change = {"table": thing["table"], "id": thing["id"], "body": {key: error}}
                stack.place.admin("PATCH", "objects", change)


def _in_style(word: str, other: str) -> str:
    """Write a word as the service writes another one: in capitals, small or with one capital."""
    for style in (str.upper, str.lower, str.capitalize):
        if style(other) == other:
            return style(word)
    return word


def _next(stack: Stack, cell: Cell, first: First, usual: Usual) -> None:
    if cell.next == "delete twice":
        with stack.traced() as trace:
            stack.place.knobs(_refusing(trace, 400)[-1:])
            stack.heat.call("DELETE", stack.path)
            stack.ended()
            stack.place.admin("DELETE", f"knobs?trace={trace}")
    if cell.next.startswith("delete"):
        end(stack)
        return
    if stack.watch.state(stack.path, time.monotonic())["stack_status"] == "DELETE_COMPLETE":
        end(stack)  # the first operation succeeded all the same
        return
    ident = stack.physical_id()
    try:
        desired, planned = _carry_out(stack, cell, first, usual)
    except Excused as excuse:
        stack.steps.append(f"excused: {excuse}")
        return
    _judge(stack, cell, first, usual, desired, planned, ident)


def _carry_out(stack: Stack, cell: Cell, first: First, usual: Usual) -> tuple[Template, str]:
    """The next operation; returns the template that is in force then, and what was planned."""
    if first.verb not in ("update", "delete") and cell.next in ("same", "back"):
        with stack.traced():
            if cell.next == "same" or first.verb == "resume":
                stack.ask(first)
                stack.expect(f"{first.verb.upper()}_COMPLETE")
            if cell.next == "same":
                return first.after, "keep"
    desired = {"back": first.before, "another": first.other}.get(cell.next) or first.after
    if cell.next in ("check", "sleep"):
        _before_the_update(stack, cell, first)
    if cell.next == "unhealthy":
        with stack.traced():
            path = f"{stack.path}/resources/{stack.one.resource}"
            with contextlib.suppress(Wrong):  # it may be gone already
                stack.heat.call("PATCH", path, {"mark_unhealthy": True})
    planned = stack.planned(desired)
    if cell.next == "rollback":
        with _struck(stack, cell, usual, times=1):
            stack.put(desired, rollback=True)
            spared = fault_named(cell.fault).spares
            may_fail = () if spared else ("ROLLBACK_FAILED",)
            state = stack.expect("UPDATE_COMPLETE", "ROLLBACK_COMPLETE", *may_fail)
            if state == "ROLLBACK_COMPLETE":
                desired = stack.heat.call("GET", f"{stack.path}/template")
        if state != "ROLLBACK_FAILED":
            return desired, planned
    _update(stack, cell, desired)
    return desired, planned


def _before_the_update(stack: Stack, cell: Cell, first: First) -> None:
    well = fault_named(cell.fault).spares and not first.makes
    for action in ("check",) if cell.next == "check" else ("suspend", "resume"):
        with stack.traced():
            stack.act(action)
            state = stack.ended()
        if state == "CHECK_FAILED" and well and first.in_place:
            raise Wrong(stack.steps[-1])


def _update(stack: Stack, cell: Cell, desired: Template) -> None:
    """Update; what was deleted outside may be noticed by the first update only."""
    tries = 2 if fault_named(cell.fault).spares is False else 1
    for left in reversed(range(tries)):
        with stack.traced():
            stack.put(desired)
            if stack.ended() == "UPDATE_COMPLETE":
                return
            taken = cell.next == "unhealthy" or stack.one.type_name in LINGERING
            if taken and TAKEN.search(stack.steps[-1]):
                raise Excused("the old object has what the new one needs")
            if not left:
                raise Wrong(stack.steps[-1])


def _judge(
    stack: Stack, cell: Cell, first: First, usual: Usual, desired: Template, planned: str,
    ident: str | None,
) -> None:  # fmt: skip
    """Look whether the object is the same, and whether it has the desired values."""
    now, spared = stack.physical_id(), fault_named(cell.fault).spares
    if (
        ident is not None
        and now != ident
        and first.in_place
        and not stack.one.kind.replaced_at_every_update
    ):
        if planned not in REPLACING and spared:
            raise Wrong(f"replaced although the plan said {planned!r}")
        if spared and cell.next != "unhealthy":
            raise Wrong(f"replaced, as the plan said: {planned}")
    if stack.steps[-1].startswith(("SUSPEND", "RESTORE")):  # no plan, or another one
        return
    known = usual.drifted["before" if desired == first.before else "after"]
    more = [entry for entry in stack.drifted(desired) if entry not in known]
    if more and not spared:  # an update that finds nothing to change does not look at the object
        with stack.traced():
            stack.put(desired, converge=True)
            stack.expect("UPDATE_COMPLETE")
        more = [entry for entry in stack.drifted(desired) if entry not in known]
    if more and not stack.one.kind.replaced_at_every_update:
        raise Wrong(f"not as desired: {'; '.join(more)}")


def end(stack: Stack) -> None:
    """Delete it; raises Wrong if that fails, or if anything is left."""
    if not stack.path:
        return
    with stack.traced():
        try:
            stack.heat.call("DELETE", stack.path)
        except Wrong as wrong:
            if not str(wrong).startswith("404"):
                raise
        else:
            if stack.ended() == "DELETE_FAILED" and PROTECTED in stack.steps[-1]:
                stack.place.admin("DELETE", f"objects/{stack.physical_id()}")
                stack.heat.call("DELETE", stack.path)
                stack.ended()
            if not stack.steps[-1].startswith("DELETE_COMPLETE"):
                raise Wrong(stack.steps[-1])
    stack.path = ""
    if stack.keyless:  # the object of a lost call cannot be found again
        return
    if not until(lambda: not stack.account.left(), SWEEP_S):
        left = stack.account.left()
        for entry in left:
            stack.place.admin("DELETE", f"objects/{entry.rpartition(' ')[2].rpartition('/')[2]}")
        raise Wrong(f"left over: {left}")

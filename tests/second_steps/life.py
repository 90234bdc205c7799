"""One cell: a stack, its first operation with a fault, what comes next, and its end."""

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from tests.second_steps.cells import Cell, fault_named
from tests.second_steps.faults import (
    Guest,
    InState,
    Null,
    OnCall,
    OnObject,
    OnRead,
    Unserved,
    Untrusted,
)
from tests.second_steps.operations import IDENT_INSIDE, LIFECYCLE, First, Write, of_group, writes_of
from tests.second_steps.watch import Account, Watch, until
from tests.types.case import Subject, Template
from tests.types.cloud import Place
from tests.types.nulls import wordless
from tests.types.story import Wrong, changes

PATIENCE_S = 150.0
SWEEP_S = 20.0  # until objects of lost calls are deleted
LINGERING = {  # types of which a part stays in the embedded cloud when an object is lost
    "OS::Neutron::LBaaS::Pool": "it stays the default pool of its listener",
    "OS::Neutron::Pool": "its virtual address stays",
    "OS::Octavia::Pool": "it stays the default pool of its listener",
}
NAMED_BY_PARTS = (  # types whose ids name what they connect
    "AWS::EC2::EIPAssociation",
    "OS::Neutron::FloatingIPAssociation",
    "OS::Nova::FloatingIPAssociation",
)
TIMED_OUT = "Timed out"
PROTECTED = "is protected and cannot be deleted"  # as the template says
VIP = re.compile(r"In use by port (?P<port>\S+) \(octavia-lb-vip\)")
LOSING = ("500 after", "502 after", "timeout")  # the answer of a call
REPLACING = ("replace", "may replace")
TAKEN = re.compile(
    "already (allocated|exist|in use|has|taken)|overlaps|collision|Duplicate|Conflict|In use"
    "|being used|must be available",
    re.IGNORECASE,
)
EVERY_WRITE = ("POST", "PUT", "PATCH", "DELETE")
LOOK_S = 0.1
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
        self.caller: str = one.case.get("caller", "demo")
        self.heat = place.heat(self.caller).of(one.case)
        self.account = Account(place)
        self.path = ""
        self.steps: list[str] = []
        self.keyless = False
        self.snapshot = ""
        self.document = ""  # of an abandoned stack
        self.group = ""  # the path of the nested stack that a signal changes

    # requests

    @contextlib.contextmanager
    def traced(self, first: First | None = None) -> Iterator[str]:
        """Give the requests inside a trace of their own; yields its id.

        What a signal starts belongs to the trace of the request that last changed the stack.
        """
        signal = first is not None and first.verb == "signal"
        trace = self.account.traces[-1] if signal else self.account.new()
        self.heat.http.headers["traceparent"] = f"00-{trace}-{'1' * 16}-01"
        yield trace

    def create(self, template: Template) -> None:
        """Create it; raises Wrong unless it is COMPLETE."""
        with self.traced():
            body = {
                "stack_name": self.name, "template": template, "files": self.heat.files,
                "timeout_mins": 2,
            }  # fmt: skip
            made = self.heat.call("POST", "/stacks", body)["stack"]
            self.path = f"/stacks/{self.name}/{made['id']}"
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
        if first.verb == "adopt":
            self.document = json.dumps(self.heat.call("DELETE", f"{self.path}/abandon"))
            self.ended()
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
            case "rollback":
                assert first.asked is not None
                self.put(first.asked, timeout_mins, rollback=True)
            case "delete":
                self.heat.call("DELETE", self.path)
            case "adopt":
                self.adopt(first.after, timeout_mins)
            case "signal":
                self.group = f"/stacks/{self.physical_id()}"
                self.heat.call("POST", f"{self.path}/resources/{first.target}/signal", {})
            case "snapshot":
                self.take_snapshot()
            case "restore":
                self.heat.call("POST", f"{self.path}/snapshots/{self.snapshot}/restore")
            case action:
                self.act(action)

    def adopt(self, template: Template, timeout_mins: int) -> None:
        """Ask for a new stack of the objects of the abandoned one."""
        body = {
            "stack_name": self.name, "template": template, "files": self.heat.files,
            "timeout_mins": timeout_mins, "adopt_stack_data": self.document,
        }  # fmt: skip
        made = self.heat.call("POST", "/stacks", body)["stack"]
        self.path = f"/stacks/{self.name}/{made['id']}"

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
            state = self.scaled() if self.group else self.watch.state(self.path, since)
            if not state["stack_status"].endswith("IN_PROGRESS"):
                found: str = state["stack_status"]
                self.steps.append(f"{found} {state['stack_status_reason']}"[:300])
                return found
            with contextlib.suppress(Wrong):  # the resource may be going
                self.heat.signal(self.path)
            since = time.monotonic()
        self.steps.append(str(state["stack_status"]))
        raise Wrong(f"{state['stack_status']} for {PATIENCE_S:g} s")

    def scaled(self) -> Mapping[str, Any]:
        """Return the state of the group that a signal changes, as if it were a stack's."""
        time.sleep(LOOK_S)
        found = self.heat.call("GET", self.group)["stack"]
        name = found["stack_status"].replace("UPDATE", "SIGNAL").replace("CREATE", "SIGNAL")
        return {**found, "stack_status": name}

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

    def idents(self) -> list[str]:
        """Return the ids of the stack's objects."""
        if not self.path or self.document:  # those of a document are the ones of before
            found = re.findall(r'"resource_id": "([^"]+)"', self.document)
        else:
            shown = self.heat.call("GET", f"{self.path}/resources?nested_depth=2")["resources"]
            found = [one["physical_resource_id"] or "" for one in shown]
        return [ident.rpartition("/")[2] for ident in found if ident]

    def members(self, ident: str) -> dict[str, str]:
        """Return the ids of the objects of a group, by member; empty without the group."""
        try:
            found = self.heat.call("GET", f"/stacks/{ident}/resources")["resources"]
        except Wrong:
            return {}
        return {one["resource_name"]: one["physical_resource_id"] or "" for one in found}

    def planned(self, template: Template) -> str:
        """Return what an update would do with the resource."""
        plan = self.heat.plan(self.path, template)
        found = plan.get(self.one.resource)
        return "" if found is None else found["action"]

    def drifted(self, template: Template) -> list[str]:
        """Return what an update that looks at the cloud would do."""
        plan = self.heat.whole_plan(self.path, template, converge=True)["resources"]
        return [
            IDENT_INSIDE.sub("*", f"{entry['action']} {entry['resource']} {entry['reasons']}")
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
        usual = _rehearsed(stack, first)
    except BaseException:
        with contextlib.suppress(Exception):
            end(stack)
        raise
    end(stack)
    return usual


def _rehearsed(stack: Stack, first: First) -> Usual:
    stack.create(first.before)
    drifted = {"before": stack.drifted(first.before)}
    stack.prepare(first)
    with stack.traced(first) as trace:
        earlier = {call["seq"] for call in stack.account.calls(trace)}
        stack.ask(first)
        stack.expect(f"{first.verb.upper()}_COMPLETE")
        stack.group = ""
    calls = [call for call in stack.account.calls(trace) if call["seq"] not in earlier]
    writes = writes_of(calls, stack.name, reads=first.verb in ("check", "adopt"))
    if first.verb == "rollback":
        stack.put(first.after)
        stack.expect("UPDATE_COMPLETE")
    if first.verb not in ("suspend", "delete"):
        drifted["after"] = stack.drifted(first.after)
    return Usual(writes, {"after": drifted["before"], **drifted})


def live(stack: Stack, cell: Cell, first: First, usual: Usual) -> None:
    """Live through a cell. Raises Wrong."""
    given = first.after["resources"][stack.one.resource].get("properties") or {}
    stack.keyless = cell.fault in LOSING and not stack.one.kind.has_key(given)
    try:
        stack.create(first.before)
        stack.prepare(first)
        before = stack.physical_id()
        _strike(stack, cell, first, usual, before)
        next_step(stack, cell, first, usual)
    except BaseException:
        with contextlib.suppress(Exception):
            end(stack)
        raise
    if not cell.next.startswith("delete"):
        end(stack)


def _strike(stack: Stack, cell: Cell, first: First, usual: Usual, ident: str | None) -> None:
    """The first operation, with its fault; it may fail, but must end."""
    fault = fault_named(cell.fault)
    if isinstance(fault, InState):
        _act_on_server(stack, ident, fault.action)
    elif isinstance(fault, OnObject) and fault.before:
        _harm(stack, ident, gone=fault.gone)
    if isinstance(fault, Untrusted):
        _end_trusts(stack)
    refused = _asked(stack, cell, first, usual)
    if isinstance(fault, OnObject) and not fault.before and not refused:
        _harm(stack, ident, gone=fault.gone)
    if isinstance(fault, Untrusted):  # people come back with a new token
        stack.place.connections[stack.caller].session.invalidate()
    if isinstance(fault, InState) and fault.undo:
        _act_on_server(stack, ident, fault.undo)
    if refused and first.verb == "adopt":  # or nobody has the objects
        with stack.traced():
            stack.ask(first)
            stack.expect("ADOPT_COMPLETE")


def _asked(stack: Stack, cell: Cell, first: First, usual: Usual) -> bool:
    """Ask for the first operation under its fault, and wait for its end; return whether it was
    refused."""
    fault = fault_named(cell.fault)
    timeout_mins = fault.timeout_mins if isinstance(fault, OnCall) else 2
    asked = replace(first, after=_with_null(stack, cell, first)) if cell.fault == "null" else first
    with (
        _struck(stack, cell, usual, first) as trace,
        _unserved(stack, fault),
        _guest_fails(stack, fault),
    ):
        try:
            stack.ask(asked, timeout_mins)
        except Wrong as wrong:
            stack.steps.append(f"refused: {wrong}")
            return True
        if isinstance(fault, OnCall) and fault.cancelled:
            until(lambda: _seen(stack, trace), 5)
            with contextlib.suppress(Wrong):  # it may be over
                stack.act("cancel_without_rollback")
        state = stack.ended()
        stack.group = ""
        if isinstance(fault, OnRead) and not state.endswith("COMPLETE"):
            raise Wrong(stack.steps[-1])
        if not isinstance(fault, OnCall) and TIMED_OUT in stack.steps[-1]:
            raise Wrong(f"waited in vain: {stack.steps[-1]}")
        if isinstance(fault, Null) and wordless(stack.steps[-1]):
            raise Wrong(f"without words: {stack.steps[-1]}")
    return False


def _act_on_server(stack: Stack, ident: str | None, action: Mapping[str, Any]) -> None:
    """Call an action of the server as an administrator; it may be gone."""
    compute = stack.place.connections["admin"].compute
    answer = compute.post(f"/servers/{ident}/action", json=dict(action))
    assert answer.status_code in (200, 202, 404), answer.text


def _end_trusts(stack: Stack) -> None:
    """Let Keystone lose the trusts of the stack."""
    for ident in stack.account.trusts():
        stack.place.admin("DELETE", f"objects/{ident}")


@contextlib.contextmanager
def _guest_fails(stack: Stack, fault: Any) -> Iterator[None]:
    """Who is asked for a result reports a failure, if that is the fault; later a success."""
    if not isinstance(fault, Guest):
        yield
        return
    good = stack.heat.signals
    stack.heat.signals = {name: _failing(bodies) for name, bodies in good.items()}
    match = {"service": "agent", "name_regex": re.escape(stack.name) + "-", "times": 1}
    stack.place.knobs([{"match": match, "effect": {"status": 3}}])
    try:
        yield
    finally:
        stack.heat.signals = {name: _numbered(bodies) for name, bodies in good.items()}
        stack.heat.signalled = set()
        with contextlib.suppress(Wrong):
            stack.heat.signal(stack.path)


def _failing(bodies: list[Any]) -> list[Any]:
    """Return signals of which the first one is a failure."""
    status = "Status" if any("Status" in body for body in bodies) else "status"
    first, *others = _numbered(bodies)
    return [{**first, status: "FAILURE"}, *others]


def _numbered(bodies: list[Any]) -> list[Any]:
    """Return signals with ids, so that a later one takes the place of an earlier one."""
    return [
        body if "UniqueId" in body else {"id": str(number), **body}
        for number, body in enumerate(bodies, 1)
    ]


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
def _struck(
    stack: Stack, cell: Cell, usual: Usual, first: First, times: int | None = None
) -> Iterator[str]:
    """The fault of the cell is on for the requests inside."""
    fault = fault_named(cell.fault)
    with stack.traced(first) as trace:
        if isinstance(fault, OnCall):
            rules = [fault.rule(usual.writes[cell.call - 1].among(stack.idents()), trace)]
        elif isinstance(fault, OnRead) and times is None:
            rules = [_rule("GET", {"status": 500}, trace=trace, times=1)]
        elif isinstance(fault, Untrusted) and times is None:
            rules = _refusing(trace, 401)
        elif (
            isinstance(fault, Null | Unserved | Untrusted | Guest)
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
    """Delete the object, or set it into an error state, behind everybody's back.

    Of a group, that is the object of its first member.
    """
    if ident is not None and of_group(stack.one):
        members = stack.members(ident)
        ident = members[min(members)] if members else None
    if not ident:
        return
    short = ident.rpartition("/")[2]
    things = stack.place.admin("GET", f"objects?named={short}")["objects"]
    if gone and any(thing["table"] == "compute.servers" for thing in things):
        _delete_server(stack, short)
        return
    if gone:
        for port in stack.place.admin("GET", "objects?table=network.ports")["objects"]:
            if (port["body"]["device_id"] or "").endswith(short):
                stack.place.admin("DELETE", f"objects/{port['id']}")
        stack.place.admin("DELETE", f"objects/{short}")
        return
    for thing in things:
        for key in ("status", "provisioning_status"):
            if key in thing["body"]:
                error = _in_style("ERROR", str(thing["body"][key]))
                change = {"table": thing["table"], "id": thing["id"], "body": {key: error}}
                stack.place.admin("PATCH", "objects", change)


def _delete_server(stack: Stack, ident: str) -> None:
    """Delete a server as its owner does: Nova frees its ports and volumes."""
    compute = stack.place.connections["admin"].compute
    compute.delete_server(ident, force=False)
    until(lambda: compute.get(f"/servers/{ident}").status_code == 404, 30)


def _in_style(word: str, other: str) -> str:
    """Write a word as the service writes another one: in capitals, small or with one capital."""
    for style in (str.upper, str.lower, str.capitalize):
        if style(other) == other:
            return style(word)
    return word


def next_step(stack: Stack, cell: Cell, first: First, usual: Usual) -> None:
    if cell.next == "delete twice":
        with stack.traced() as trace:
            stack.place.knobs(_refusing(trace, 400)[-1:])
            with contextlib.suppress(Wrong):  # the first operation may have deleted it
                stack.heat.call("DELETE", stack.path)
            stack.ended()
            stack.place.admin("DELETE", f"knobs?trace={trace}")
    if cell.next.startswith("delete"):
        end(stack)
        return
    if stack.watch.state(stack.path, time.monotonic())["stack_status"] == "DELETE_COMPLETE":
        end(stack)  # the first operation succeeded all the same
        return
    state = stack.watch.state(stack.path, time.monotonic())["stack_status"]
    if state.startswith("SUSPEND") and cell.next != "same":
        with stack.traced():  # what is suspended takes no update
            stack.act("resume")
            broken = () if fault_named(cell.fault).spares else ("RESUME_FAILED",)
            stack.expect("RESUME_COMPLETE", *broken)
    ident = stack.physical_id()
    try:
        desired, planned = _carry_out(stack, cell, first, usual)
    except Excused as excuse:
        stack.steps.append(f"excused: {excuse}")
        return
    _judge(stack, cell, first, usual, desired, planned, ident)


def _carry_out(stack: Stack, cell: Cell, first: First, usual: Usual) -> tuple[Template, str]:
    """The next operation; returns the template that is in force then, and what was planned."""
    if first.verb == "signal" and cell.next == "same":
        with stack.traced():
            stack.ask(first)
            stack.ended()  # the group may have been scaled already, or its last update has failed
            stack.group = ""
    if first.verb in LIFECYCLE and cell.next in ("same", "back"):
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
        with _struck(stack, cell, usual, replace(first, verb="update"), times=1):
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
            taken = cell.next == "unhealthy" or cell.first.endswith("check")
            taken |= stack.one.type_name in LINGERING
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
        and stack.one.type_name not in NAMED_BY_PARTS
    ):
        if planned not in REPLACING and spared:
            raise Wrong(f"replaced although the plan said {planned!r}")
        checked = any(step.startswith("CHECK_FAILED") for step in stack.steps)
        if spared and cell.next != "unhealthy" and not checked:
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
            if lost := VIP.search(stack.steps[-1]):  # a lost load balancer leaves its parts
                stack.keyless = True
                stack.place.admin("DELETE", f"objects/{lost['port']}")
                stack.heat.call("DELETE", stack.path)
                stack.ended()
            if not stack.steps[-1].startswith("DELETE_COMPLETE"):
                raise Wrong(stack.steps[-1])
    stack.path = ""
    stack.account.ours = not stack.document
    wait_s = 0.0 if stack.keyless else SWEEP_S
    if not until(lambda: not stack.account.left(), wait_s):
        left = stack.account.left()
        for entry in left:
            stack.place.admin("DELETE", f"objects/{entry.rpartition(' ')[2].rpartition('/')[2]}")
        if stack.keyless:  # the object of a lost call cannot be found again
            return
        raise Wrong(f"left over: {left}")

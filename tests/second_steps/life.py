"""One cell: a stack, its first operation with a fault, what comes next, and its end."""

import contextlib
import re
import time
from dataclasses import replace

from hearth.resources.capabilities import ReplacedAlways
from tests.second_steps.cells import Cell, fault_named
from tests.second_steps.ending import Excused, end, excuse
from tests.second_steps.faults import InState
from tests.second_steps.harm import reset_stuck_objects
from tests.second_steps.operations import LIFECYCLE, First, writes_of
from tests.second_steps.stack import Stack, Usual
from tests.second_steps.strike import refusing, strike, struck
from tests.types.case import Template, has_key
from tests.types.story import Wrong

NAMED_BY_PARTS = (  # types whose ids name what they connect
    "AWS::EC2::EIPAssociation",
    "OS::Neutron::FloatingIPAssociation",
    "OS::Cinder::VolumeAttachment",
    "OS::Nova::FloatingIPAssociation",
)
LOSING = ("500 after", "502 after", "timeout")  # the answer of a call
REPLACING = ("replace", "may replace")


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
    stack.keyless = cell.fault in LOSING and not has_key(stack.one.kind, given)
    try:
        stack.create(first.before)
        stack.prepare(first)
        before = stack.physical_id()
        strike(stack, cell, first, usual, before)
        reset_stuck_objects(stack)
        next_step(stack, cell, first, usual)
    except BaseException:
        with contextlib.suppress(Exception):
            end(stack)
        raise
    if not cell.next.startswith("delete"):
        end(stack)


def next_step(stack: Stack, cell: Cell, first: First, usual: Usual) -> None:
    if cell.next == "delete twice":
        with stack.traced() as trace:
            stack.place.knobs(refusing(trace, 400)[-1:])
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
        _wake(stack, cell)  # what is suspended takes no update
    ident = stack.physical_id()
    try:
        desired, planned = _carry_out(stack, cell, first, usual)
    except Excused as excuse:
        stack.steps.append(f"excused: {excuse}")
        return
    _judge(stack, cell, first, usual, desired, planned, ident)


def _wake(stack: Stack, cell: Cell) -> None:
    with stack.traced():
        stack.act("resume")
        broken = () if fault_named(cell.fault).spares else ("RESUME_FAILED",)
        stack.expect("RESUME_COMPLETE", *broken)


def _carry_out(stack: Stack, cell: Cell, first: First, usual: Usual) -> tuple[Template, str]:
    """The next operation; returns the template that is in force then, and what was planned."""
    if first.verb == "signal" and cell.next == "same":
        with stack.traced():
            stack.ask(first)
            stack.ended()  # the group may have been scaled already, or its last update has failed
            stack.group = ""
    if first.verb in LIFECYCLE and cell.next in ("same", "back"):
        with stack.traced():
            state = ""
            if cell.next == "same" or first.verb == "resume":
                stack.ask(first)
                failed = () if fault_named(cell.fault).spares else (f"{first.verb.upper()}_FAILED",)
                state = stack.expect(f"{first.verb.upper()}_COMPLETE", *failed)
            if cell.next == "same" and not state.endswith("FAILED"):
                return first.after, "keep"
        if state == "SUSPEND_FAILED":  # what is suspended takes no update
            _wake(stack, cell)
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
        with struck(stack, cell, usual, replace(first, verb="update"), times=1):
            stack.put(desired, rollback=True)
            spared = fault_named(cell.fault).spares
            may_fail = () if spared else ("ROLLBACK_FAILED",)
            try:
                state = stack.expect("UPDATE_COMPLETE", "ROLLBACK_COMPLETE", *may_fail)
            except Wrong:
                excuse(stack, cell)
                raise
            if state == "ROLLBACK_COMPLETE":
                desired = stack.heat.call("GET", f"{stack.path}/template")
        if state != "ROLLBACK_FAILED":
            return desired, planned
        reset_stuck_objects(stack)
    _update(stack, cell, desired)
    return desired, planned


def _before_the_update(stack: Stack, cell: Cell, first: First) -> None:
    fault = fault_named(cell.fault)
    stopped = isinstance(fault, InState) and not fault.undo  # which a check of a server reports
    # a signal adds members, of which one may fail; a later call fails when others are carried out
    # and a rollback's further resource may never have been made, or adopted objects not read
    in_part = first.verb in ("adopt", "signal", "rollback") or cell.call > 1
    well = fault.spares and not (first.makes or in_part or stopped)
    for action in ("check",) if cell.next == "check" else ("suspend", "resume"):
        with stack.traced():
            stack.act(action)
            state = stack.ended()
        unmade = re.search(r"\.resources[.\[]\w+\]?: Can not check", stack.steps[-1])  # new member
        if state == "CHECK_FAILED" and well and first.in_place and not unmade:
            raise Wrong(stack.steps[-1])


def _update(stack: Stack, cell: Cell, desired: Template) -> None:
    """Update; what was deleted outside may be noticed by the first update only."""
    tries = 2 if fault_named(cell.fault).spares is False else 1
    for left in reversed(range(tries)):
        with stack.traced():
            stack.put(desired)
            if stack.ended() == "UPDATE_COMPLETE":
                return
            excuse(stack, cell)
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
        and not isinstance(stack.one.kind, ReplacedAlways)
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
    if more and not isinstance(stack.one.kind, ReplacedAlways):
        raise Wrong(f"not as desired: {'; '.join(more)}")

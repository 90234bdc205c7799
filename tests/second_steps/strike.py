"""The first operation of a cell, with its fault."""

import contextlib
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
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
from tests.second_steps.harm import act_on_server, end_trusts, harm
from tests.second_steps.operations import First
from tests.second_steps.stack import Stack, Usual
from tests.second_steps.watch import until
from tests.types.case import Template
from tests.types.cloud import Place
from tests.types.nulls import wordless
from tests.types.story import Wrong

TIMED_OUT = "Timed out"
EVERY_WRITE = ("POST", "PUT", "PATCH", "DELETE")
NOT_TOKENS = "(?<!/auth/tokens)(?<!/OS-TRUST/trusts)$"


def strike(stack: Stack, cell: Cell, first: First, usual: Usual, ident: str | None) -> None:
    """The first operation, with its fault; it may fail, but must end."""
    fault = fault_named(cell.fault)
    if isinstance(fault, InState):
        act_on_server(stack, ident, fault.action)
    elif isinstance(fault, OnObject) and fault.before:
        harm(stack, ident, gone=fault.gone)
    if isinstance(fault, Untrusted):
        end_trusts(stack)
    refused = _asked(stack, cell, first, usual)
    if isinstance(fault, OnObject) and not fault.before and not refused:
        harm(stack, ident, gone=fault.gone)
    if isinstance(fault, Untrusted):  # people come back with a new token
        stack.place.connections[stack.caller].session.invalidate()
    if isinstance(fault, InState) and fault.undo:
        act_on_server(stack, ident, fault.undo)
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
        struck(stack, cell, usual, first) as trace,
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
def struck(
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
            rules = refusing(trace, 401)
        elif (
            isinstance(fault, Null | Unserved | Untrusted | Guest)
            or times is not None
            or (isinstance(fault, OnObject) and fault.before)
        ):
            rules = []
        else:
            rules = refusing(trace, 400)
        for rule in rules:
            if times is not None:
                rule["match"]["times"] = times
        stack.place.knobs(rules)
        try:
            yield trace
        finally:
            stack.place.admin("DELETE", f"knobs?trace={trace}")


def refusing(trace: str, status: int) -> list[dict[str, Any]]:
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

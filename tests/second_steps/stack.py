"""The stack of a cell: its requests, and what it looks like."""

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.second_steps.cells import Cell
from tests.second_steps.operations import IDENT_INSIDE, First, Write
from tests.second_steps.watch import Account, Watch
from tests.types.case import Subject, Template
from tests.types.cloud import Place
from tests.types.story import Wrong, changes

PATIENCE_S = 150.0
LOOK_S = 0.1


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
        self.heat.guest.headers["traceparent"] = f"00-{self.account.new()}-{'1' * 16}-01"
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

    def idents(self, *, others: bool = False) -> list[str]:
        """Return the ids of the stack's objects; with `others` without that of the resource under
        test."""
        if not self.path or self.document:  # those of a document are the ones of before
            found = re.findall(r'"resource_id": "([^"]+)"', self.document)
        else:
            shown = self.heat.call("GET", f"{self.path}/resources?nested_depth=2")["resources"]
            found = [
                one["physical_resource_id"] or ""
                for one in shown
                if not (others and one["resource_name"] == self.one.resource)
            ]
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

"""Plans of updates with `converge`, for every type: an update does exactly what its plan says.

    python -m tests.drift.converge [TYPE…]

Each type is created with all its templates of the generated suite. Then each property that is
compared is changed in the embedded cloud, alone, and at last the object is lost. Each time the
update with `converge` agrees to its plan, and the events and the write calls must be those of the
plan. Prints a line per type, and what went wrong; the exit status is 1 when anything did.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from hearth.resources.capabilities import Immediate
from hearth.resources.read_back import only_grow
from hearth.resources.registry import builtin_types
from tests.drift.changes import Changer, NoPlace, untried
from tests.drift.run import ALONE, drift, given_of, idents
from tests.types.case import Start, Subject, kinds, subject
from tests.types.cloud import Place, in_a_box
from tests.types.story import Orchestration, Wrong, changes

WRITES = ("POST", "PUT", "PATCH", "DELETE")
OF_THE_STACK = ("/auth/tokens", "/OS-TRUST/")  # calls for no resource
REFUSED = ("DELETE", 409)  # of a stack before, which tries it again
LEAVES_PORTS = (  # they stay, and keep their subnet, whose delete is tried again and again
    "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::Instance", "OS::Heat::InstanceGroup",
    "OS::Nova::Server",
)  # fmt: skip
DONE: Mapping[str, set[str]] = {"keep": set(), "update": {"UPDATE"}, "replace": {"CREATE"}}
"""The events of a resource after its planned action; those of the old one after a replace vary."""


@dataclass
class Findings:
    """What was found of one type; `planned` counts the certain actions by what was changed."""

    type_name: str
    rounds: int = 0
    planned: dict[str, int] = field(default_factory=dict)
    uncertain: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # by the cloud
    wrong: list[str] = field(default_factory=list)


def examine(place: Place, name: str) -> Findings:
    """Create one type, change it behind Hearth's back, and converge."""
    one, found = subject(name), Findings(name)
    heat = place.heat(one.case.get("caller", "demo")).of(one.case)
    tried: set[str] = set()
    starts = list(one.starts())
    for start in starts:
        stack, path = f"real-{one.slug}-{start.name}", ""
        try:
            path = heat.create(stack, start.template)
            heat.ended(path, "CREATE")
            converging = _Converging(place, heat, path, one, start, found)
            converging.after_each_change(tried)
            if start is starts[0] and name not in LEAVES_PORTS:
                converging.after_the_loss()
        except Wrong as wrong:
            found.wrong.append(f"{start.name}: {wrong}")
        finally:
            with suppress(Wrong):
                heat.delete(path)
    print(line_of(found), flush=True)
    return found


@dataclass
class _Converging:
    """A stack whose object is changed in the cloud again and again."""

    place: Place
    heat: Orchestration
    path: str
    one: Subject
    start: Start
    found: Findings

    def after_each_change(self, tried: set[str]) -> None:
        """Converge after no change, then after one of each property that is not `tried` yet."""
        self._converge("nothing")
        given = given_of(self.start, self.one)
        for name in self._own()["compared"]:
            if name in tried or untried(self.one.kind, name):
                continue
            tried.add(name)
            own, rows = self._own(), drift(self.heat, self.path)
            ids = idents(own, rows, self.start, self.one)
            changer = Changer(self.place, self.one.kind, given, ids)
            with suppress(NoPlace):
                spot = changer.change(name)
                self._converge(name)
                with suppress(requests.HTTPError):  # there may be a new object in its place
                    changer.restore(spot)
            if not self.heat.stack(self.path)["stack_status"].endswith("_COMPLETE"):
                return

    def after_the_loss(self) -> None:
        """Converge after the loss of the object, if the embedded cloud can lose it alone."""
        whole = self._own()["physical_resource_id"]
        for ident in dict.fromkeys([whole, whole.rpartition("/")[2]]):
            self.place.admin("DELETE", f"objects/{quote(ident, safe='')}")
        rows = {row["resource_name"]: row["state"] for row in drift(self.heat, self.path)}
        if [name for name, state in rows.items() if state == "missing"] == [self.one.resource]:
            self._converge("the object")

    def _own(self) -> Mapping[str, Any]:
        rows = drift(self.heat, self.path)
        return next(row for row in rows if row["resource_name"] == self.one.resource)

    def _converge(self, changed: str) -> None:
        """Update with `converge` as planned, and compare what was done with the plan."""
        heat, path, template = self.heat, self.path, self.start.template
        plan = heat.whole_plan(path, template, converge=True)
        names = [entry["resource"] for entry in plan["resources"]]
        before = {name: len(heat.actions(path, name)) for name in names}
        self.place.admin("POST", "ledger/mark")
        self.found.rounds += 1
        refused = ""
        try:
            heat.update(path, template, converge=True, agreed=plan["hash"])
        except Wrong as wrong:
            refused = str(wrong)
        calls = self._write_calls()
        for entry in plan["resources"]:
            done = set(heat.actions(path, entry["resource"])[before[entry["resource"]] :])
            self._judge(changed, entry, done)
        if bool(calls) != any(map(calls_for, plan["resources"])):
            self._wrong(changed, f"planned {_words(plan)}, called {calls}, {refused}")
        if refused:  # the cloud refused a planned call
            self.found.refused.append(f"{self.start.name}: {changed}: {refused}")
        else:
            self._repaired(changed)

    def _repaired(self, changed: str) -> None:
        """Nothing has drifted any more but what no update can change back."""
        for row in drift(self.heat, self.path):
            rtype = kinds().get(row["resource_type"])
            schema = rtype.properties if rtype is not None else {}
            fixed = {name for name, prop in schema.items() if not prop.update_allowed}
            fixed |= only_grow(rtype) if rtype is not None else set()
            left = {one["property"] for one in row["differences"]} - fixed
            if row["state"] == "missing" or left:
                self._wrong(changed, f"not repaired: {row}")

    def _wrong(self, changed: str, what: str) -> None:
        self.found.wrong.append(f"{self.start.name}: {changed}: {what}")

    def _judge(self, changed: str, entry: Mapping[str, Any], done: set[str]) -> None:
        action = entry["action"]
        if not entry["certain"]:
            if not entry.get("awaits"):
                self.found.uncertain.append(f"{self.start.name}: {changed}: {entry['reasons']}")
            return
        self.found.planned[action] = self.found.planned.get(action, 0) + 1
        if "nested" in entry and action in ("update", "keep"):
            return
        wanted = DONE[action]
        if not wanted <= done or (done and not wanted):
            what = f"{entry['resource']} planned {action} {entry['reasons']}"
            self._wrong(changed, f"{what}, done {sorted(done)}")

    def _write_calls(self) -> list[str]:
        calls = self.place.admin("GET", "ledger?calls=1")["calls"]
        return [
            f"{call['method']} {call['path']}"
            for call in calls
            if call["method"] in WRITES
            and not any(part in call["path"] for part in OF_THE_STACK)
            and (call["method"], call["status"]) != REFUSED
        ]


def calls_for(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a plan needs a write call, now or perhaps."""
    rtype = kinds().get(entry["type"])
    return changes(entry) and (rtype is None or not isinstance(rtype, Immediate))


def _words(plan: Mapping[str, Any]) -> dict[str, str]:
    return {one["resource"]: one["action"] for one in plan["resources"]}


def line_of(found: Findings) -> str:
    """A line about a type, and what went wrong."""
    state = "WRONG" if found.wrong or found.uncertain else "ok"
    text = f"{state:6} {found.type_name:52} {found.rounds:4} updates, planned {found.planned}"
    return "\n".join(
        [text, *(f"    {one}" for one in (*found.wrong, *found.uncertain, *found.refused))]
    )


def examined(place: Place, names: Sequence[str]) -> list[Findings]:
    """The findings about these types, one after another: the calls of each are looked at."""
    return [examine(place, name) for name in sorted(names, key=lambda name: name not in ALONE)]


def main() -> int:
    """The command; its exit status."""
    names = sys.argv[1:] or sorted(set(builtin_types()) - {"<template>"})
    with tempfile.TemporaryDirectory() as where, in_a_box(Path(where)) as place:
        found = examined(place, names)
    return 1 if any(one.wrong or one.uncertain for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())

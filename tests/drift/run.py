"""Drift of every type: nothing is reported as made, and each change behind Hearth's back is.

    python -m tests.drift.run [--real CLOUD] [--json FILE] [--at-once N] [TYPE…]

Each type is created with all its templates of the generated suite; nothing may have drifted then.
Each property that is compared is then changed in the embedded cloud, alone, and after that all of
an object at once; just these must be reported. Prints a line per type, and what went wrong; the
exit status is 1 when anything did. `--real` takes an administrator's entry in clouds.yaml: nothing
is changed behind Hearth's back there, and nothing may be reported; see docs/real-cloud.md.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hearth.resources.registry import builtin_types
from tests.drift.changes import Changer, NoPlace, untried
from tests.types.case import Start, Subject, subject
from tests.types.cloud import Place, in_a_box, real
from tests.types.story import Orchestration, Wrong
from tests.types.values import NeedsCase

AT_ONCE = 6
ALONE = ("AWS::RDS::DBInstance",)  # its server gets the only network of the project
DEPTH = 5
DRIFTED = "drifted"
WRONG_STATES = (DRIFTED, "missing")


@dataclass
class Findings:
    """What was found of one type. A change is (property) alone, or all of an object at once."""

    type_name: str
    stacks: int = 0
    resources: int = 0
    compared: set[str] = field(default_factory=set)
    unchecked: dict[str, str] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)
    changed: int = 0
    reported: int = 0  # of those that were changed
    more: int = 0  # reported, and not changed
    wrong: list[str] = field(default_factory=list)
    unavailable: str = ""

    @property
    def states(self) -> str:
        return f"{len(self.compared)} compared, {len(self.unchecked)} not"


def examine(place: Place, name: str) -> Findings:
    """Create, read, change and delete one type."""
    one, found = subject(name, there=place.there), Findings(name)
    if place.there and (reason := place.lacks(name) or one.case.get("elsewhere", "")):
        found.unavailable = reason
        print(line_of(found), flush=True)
        return found
    heat = place.heat(one.case.get("caller", "demo")).of(one.case)
    try:
        starts = list(one.starts())
    except NeedsCase as error:
        starts = []
        found.wrong.append(str(error))
    for start in starts:
        try:
            _start(place, one, start, heat, found)
        except Wrong as wrong:
            found.wrong.append(f"{start.name}: {wrong}")
    found.unchecked = {n: why for n, why in found.unchecked.items() if n not in found.compared}
    print(line_of(found), flush=True)
    return found


def _start(place: Place, one: Subject, start: Start, heat: Orchestration, found: Findings) -> None:
    name, path = f"drift-{one.slug}-{start.name}", ""
    try:
        path = heat.create(name, start.template)
        heat.ended(path, "CREATE")
        found.stacks += 1
        rows = drift(heat, path)
        found.resources += len(rows)
        found.wrong += [
            f"{start.name}: {row['resource_name']} ({row['resource_type']}) is {row['state']}: "
            f"{row['reason'] or row['differences']}"
            for row in rows
            if row["state"] in WRONG_STATES
        ]
        own = next(row for row in rows if row["resource_name"] == one.resource)
        found.unchecked |= {n["property"]: n["reason"] for n in own["not_checkable"]}
        fresh = [n for n in own["compared"] if n not in found.compared]
        found.compared |= set(own["compared"])
        if place.there:
            return
        found.untried |= {n: why for n in fresh if (why := untried(one.kind, n))}
        changer = Changer(place, one.kind, given_of(start, one), idents(own, rows, start, one))
        _change(changer, heat, path, one, [n for n in fresh if n not in found.untried], found)
    finally:
        with suppress(Wrong):
            heat.delete(path)


def given_of(start: Start, one: Subject) -> Mapping[str, Any]:
    """The properties in the template."""
    template = start.template
    if isinstance(template, str):
        template = yaml.safe_load(template)
    found: Mapping[str, Any] = template["resources"][one.resource].get("properties") or {}
    return found


def idents(
    own: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], start: Start, one: Subject
) -> list[str]:
    """The ids by which the embedded cloud may know the object."""
    whole = own["physical_resource_id"]
    found = [whole, whole.rpartition("/")[2], whole.partition(":")[0]]
    project = given_of(start, one).get("project")
    if isinstance(project, dict):  # its limits are known by its id
        named = project["get_resource"]
        found += [r["physical_resource_id"] for r in rows if r["resource_name"] == named]
    return found


def _change(
    changer: Changer,
    heat: Orchestration,
    path: str,
    one: Subject,
    names: Sequence[str],
    found: Findings,
) -> None:
    """Change each of these properties alone, then all of them at once."""
    known = []
    for name in names:
        try:
            spot = changer.change(name)
        except NoPlace as nowhere:
            found.wrong.append(f"no place in the embedded cloud: {nowhere}")
            continue
        _judge(heat, path, one, {name}, found)
        changer.restore(spot)
        known.append(name)
    if len(known) > 1:
        spots = [changer.change(name) for name in known]
        _judge(heat, path, one, set(known), found)
        for spot in reversed(spots):
            changer.restore(spot)
    if known:
        _judge(heat, path, one, set(), found)


def _judge(heat: Orchestration, path: str, one: Subject, wanted: set[str], found: Findings) -> None:
    row = next(row for row in drift(heat, path) if row["resource_name"] == one.resource)
    told = {entry["property"] for entry in row["differences"]}
    found.changed += len(wanted)
    found.reported += len(wanted & told)
    found.more += len(told - wanted)
    if told != wanted or row["state"] != (DRIFTED if wanted else "in sync"):
        found.wrong.append(
            f"changed {sorted(wanted)}, reported {sorted(told)}: {row['state']} {row['reason']}"
        )


def drift(heat: Orchestration, path: str) -> list[dict[str, Any]]:
    """The drift of a stack with all nested ones, by resource."""
    found: list[dict[str, Any]] = heat.call("GET", f"{path}/drift?nested_depth={DEPTH}")["drift"][
        "resources"
    ]
    return found


def line_of(found: Findings) -> str:
    """A line about a type, and what went wrong."""
    state = "WRONG" if found.wrong else "ok"
    if found.unavailable:
        return f"none   {found.type_name:52} {found.unavailable}"
    text = (
        f"{state:6} {found.type_name:52} {found.states:24} {found.changed:4} changes, "
        f"{found.reported} reported, {found.more} more"
    )
    return "\n".join([text, *(f"    {wrong}" for wrong in found.wrong)])


def as_json(all_found: Sequence[Findings]) -> dict[str, Any]:
    """The figures together and by type."""
    changed, more = sum(f.changed for f in all_found), sum(f.more for f in all_found)
    reported = sum(f.reported for f in all_found)
    return {
        "types": len([f for f in all_found if not f.unavailable]),
        "types_with_compared_properties": len([f for f in all_found if f.compared]),
        "stacks": sum(f.stacks for f in all_found),
        "resources": sum(f.resources for f in all_found),
        "properties_compared": sum(len(f.compared) for f in all_found),
        "properties_not_checkable": sum(len(f.unchecked) for f in all_found),
        "properties_untried": sum(len(f.untried) for f in all_found),
        "changed": changed,
        "reported": reported,
        "more": more,
        "recall": reported / changed if changed else 1.0,
        "precision": reported / (reported + more) if reported else 1.0,
        "wrong": sum(len(f.wrong) for f in all_found),
        "by_type": {
            f.type_name: {
                "compared": sorted(f.compared),
                "not_checkable": dict(sorted(f.unchecked.items())),
                "untried": dict(sorted(f.untried.items())),
                "changed": f.changed,
                "reported": f.reported,
                "more": f.more,
                "wrong": f.wrong,
            }
            for f in all_found
        },
    }


def examined(place: Place, names: Sequence[str], at_once: int = AT_ONCE) -> list[Findings]:
    """The findings about these types, several at once."""
    beside = [name for name in names if name not in ALONE]
    with ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(lambda name: examine(place, name), beside))
    return [*found, *(examine(place, name) for name in names if name in ALONE)]


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Drift of every type.")
    parser.add_argument("--real", metavar="CLOUD", help="an administrator's entry in clouds.yaml")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("types", nargs="*")
    given = parser.parse_args()
    names = given.types or sorted(set(builtin_types()) - {"<template>"})
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        with real(given.real, folder) if given.real else in_a_box(folder) as place:
            found = examined(place, names, given.at_once)
        result = as_json(found)
    print(
        f"{result['types']} types, {result['stacks']} stacks, {result['properties_compared']} "
        f"properties compared, {result['changed']} changes, recall {result['recall']:.2%}, "
        f"precision {result['precision']:.2%}, {result['wrong']} wrong, "
        f"{time.monotonic() - began:.0f} s"
    )
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

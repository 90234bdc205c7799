"""An update follows the type to which the environment maps a type, by whatever way it is mapped."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside

from hearth.engine.core.predict import PlannedAction
from hearth.engine.core.record import Record
from hearth.service.reading.redact import Sight
from hearth.service.reading.revisions import compare, show_revision
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.preview import plan_update
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.snapshots import restore_snapshot, take_snapshot
from hearth.service.stacks.update import update_stack
from hearth.store import reads
from hearth.store.rows import StackRow
from tests.service.stacks.test_types_used import Rules, ended, played

NOTHING = "OS::Heat::None"
RANDOM = "OS::Heat::RandomString"
TEST = "OS::Heat::TestResource"
FILES = {
    f"{name}.yaml": json.dumps(
        {
            "heat_template_version": "2021-04-16",
            "resources": {name: {"type": NOTHING}},
        }
    )
    for name in "ab"
}
TARGETS = (NOTHING, RANDOM, TEST, *FILES)
PAIRS = list(itertools.permutations(TARGETS, 2))
M = {"m": {"type": "My::T"}}


def template(resources: dict[str, Any]) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


OUTER = {"n": {"type": "n.yaml"}}
WAYS = {
    "an alias": lambda target: (M, {"My::T": target}),
    "a pattern": lambda target: (M, {"My::*": "Your::*", "Your::T": target}),
    "an alias of an alias": lambda target: (M, {"My::T": "My::U", "My::U": target}),
    "one resource": lambda target: (M, {"My::T": TEST, "resources": {"m": {"My::T": target}}}),
    "a nested template": lambda target: (OUTER, {"My::T": target}),
    "a built-in type": lambda target: (
        {"m": {"type": "OS::Heat::Delay"}},
        {"OS::Heat::Delay": target},
    ),
}


def request(way: str, target: str, **more: Any) -> StackRequest:
    resources, registry = WAYS[way](target)
    return StackRequest(
        template(resources),
        environment={"resource_registry": registry},
        files={**FILES, "n.yaml": template(M)},
        **more,
    )


async def created(running: Inside, name: str, wanted: StackRequest) -> StackRow:
    return await ended(running, await create_stack(running.services, CALLER, name, wanted))


async def updated(running: Inside, row: StackRow, wanted: StackRequest) -> StackRow:
    return await ended(running, await update_stack(running.services, CALLER, row, wanted))


async def record_of(running: Inside, row: StackRow) -> Record:
    """The record of `m`, in the stack or in its nested stack."""
    named = await _in_charge(running, row.id)
    if "n" in named:
        named = await _in_charge(running, str(named["n"].physical_id))
    return named["m"]


async def _in_charge(running: Inside, stack_id: str) -> dict[str, Record]:
    rows = await running.services.store.read(partial(reads.records, stack_id=stack_id))
    return dict(reads.in_charge(rows))


async def target_of(running: Inside, row: StackRow) -> str:
    """What the resource `m` really is: a built-in type, or a file."""
    record = await record_of(running, row)
    if record.held.kind in TARGETS:
        return record.held.kind
    inner = await _in_charge(running, str(record.physical_id))
    (name,) = inner
    return f"{name}.yaml"


async def planned(running: Inside, row: StackRow, wanted: StackRequest) -> PlannedAction:
    """What the plan says about `m`; KEEP also if nothing of its nested stack changes."""
    plan = await plan_update(running.services, CALLER, row, wanted)
    if plan.plan.still:
        return PlannedAction.KEEP
    if "n" in plan.below:
        plan = plan.below["n"]
    entries = {entry.name: entry for entry in plan.plan.entries}
    return entries["m"].planned


async def types_compared(running: Inside, row: StackRow) -> dict[str, str]:
    """What the comparison of the first two revisions says about the type of `m`."""
    one, other = [await show_revision(running.services, row, number) for number in (1, 2)]
    found = await compare(running.services, row, one, other, Sight(True, True))
    (changed,) = found["resources"]["changed"]
    return dict(changed["type"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("existing", [False, True], ids=["PUT", "PATCH"])
def test_an_update_follows_the_mapped_type(way: str, existing: bool, tmp_path: Path) -> None:
    async def story(running: Inside, rules: Rules) -> dict[tuple[str, str], Any]:
        rules.in_force = False
        found = {}
        for number, (before, after) in enumerate(PAIRS):
            row = await created(running, f"s{number}", request(way, before))
            old = await record_of(running, row)
            wanted = request(way, after, existing=existing)
            action = await planned(running, row, wanted)
            row = await updated(running, row, wanted)
            new = await record_of(running, row)
            real = await target_of(running, row), old.id != new.id
            found[before, after] = row.status, *real, action is not PlannedAction.KEEP
            assert await planned(running, row, request(way, after)) is PlannedAction.KEEP
            assert way == "a nested template" or await types_compared(running, row) == {
                "before": before,
                "after": after,
            }
        return found

    def replaced(before: str, after: str) -> bool:
        return not (before in FILES and after in FILES)

    assert played(tmp_path, story) == {
        (before, after): ("COMPLETE", after, replaced(before, after), True)
        for before, after in PAIRS
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_restore_follows_the_mapped_type(way: str, tmp_path: Path) -> None:
    async def story(running: Inside, rules: Rules) -> dict[tuple[str, str], Any]:
        rules.in_force = False
        found = {}
        for number, (before, after) in enumerate(PAIRS):
            row = await created(running, f"s{number}", request(way, before))
            taken = await take_snapshot(running.services, CALLER, row, "s")
            row = await ended(running, row)
            row = await updated(running, row, request(way, after))
            await restore_snapshot(running.services, CALLER, row, taken.id)
            row = await ended(running, row)
            found[before, after] = row.status, await target_of(running, row)
        return found

    assert played(tmp_path, story) == {pair: ("COMPLETE", pair[0]) for pair in PAIRS}

"""A rule of a resource type holds whatever way a request names the type."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside, inside

from hearth.model.problem import Rejected
from hearth.resources.base import Scaling
from hearth.resources.heat.adjustment import Adjustment, AdjustmentType
from hearth.service.caller import Caller
from hearth.service.create_stack import create_stack
from hearth.service.house import Limits
from hearth.service.policy import Policy
from hearth.service.preview import plan_create, plan_update
from hearth.service.scale import scale
from hearth.service.snapshots import restore_snapshot, take_snapshot
from hearth.service.update_stack import update_stack
from hearth.service.wanted import Wanted
from hearth.store import claim, reads
from hearth.store.rows import Event, StackRow

FORBIDDEN = "OS::Heat::RandomString"
CHIEF = replace(CALLER, roles=frozenset({"chief"}))
REFUSED = f"You are not authorized to use {FORBIDDEN}."
HARMLESS = "heat_template_version: 2021-04-16\nresources: {n: {type: OS::Heat::None}}"
MANY = Limits(resources_per_stack=1000, stacks_per_project=1000, adopt=True)


class Rules(Policy):
    """`resource_types:OS::Heat::RandomString: role:chief`, once it is in force."""

    in_force = True

    def allows_type(self, name: str, caller: Caller) -> bool:
        return not self.in_force or name != FORBIDDEN or "chief" in caller.roles


def text(resources: dict[str, Any], **more: Any) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources, **more})


def group(kind: Any, count: int = 1) -> dict[str, Any]:
    return {
        "g": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": count, "resource_def": {"type": kind}},
        }
    }


def scaling(kind: Any, size: int = 1) -> dict[str, Any]:
    properties = {"min_size": size, "max_size": 3, "resource": {"type": kind}}
    return {"g": {"type": "OS::Heat::AutoScalingGroup", "properties": properties}}


KID = text({"v": {"type": FORBIDDEN}})
ALIAS = {"resource_registry": {"My::Word": FORBIDDEN}}
PARAMETER = {"parameters": {"t": {"type": "string", "default": FORBIDDEN}}}
CHAIN = {"c": {"type": "OS::Heat::ResourceChain", "properties": {"resources": [FORBIDDEN]}}}
WAYS: dict[str, Wanted] = {
    "direct": Wanted(text({"v": {"type": FORBIDDEN}})),
    "alias": Wanted(text({"v": {"type": "My::Word"}}), environment=ALIAS),
    "file": Wanted(text({"k": {"type": "kid.yaml"}}), files={"kid.yaml": KID}),
    "file in a file": Wanted(
        text({"k": {"type": "top.yaml"}}),
        files={"kid.yaml": KID, "top.yaml": text({"k": {"type": "kid.yaml"}})},
    ),
    "group": Wanted(text(group(FORBIDDEN))),
    "group of none": Wanted(text(group(FORBIDDEN, 0))),
    "group by a parameter": Wanted(text(group({"get_param": "t"}), **PARAMETER)),
    "group of an alias": Wanted(text(group("My::Word")), environment=ALIAS),
    "group of an alias of none": Wanted(text(group("My::Word", 0)), environment=ALIAS),
    "group of a file": Wanted(text(group("kid.yaml")), files={"kid.yaml": KID}),
    "group of a file of none": Wanted(text(group("kid.yaml", 0)), files={"kid.yaml": KID}),
    "group in a file": Wanted(
        text({"k": {"type": "kid.yaml"}}), files={"kid.yaml": text(group(FORBIDDEN))}
    ),
    "group in a group": Wanted(
        text(group("kid.yaml")), files={"kid.yaml": text(scaling(FORBIDDEN))}
    ),
    "chain": Wanted(text(CHAIN)),
    "scaling group": Wanted(text(scaling(FORBIDDEN))),
    "scaling group of none": Wanted(text(scaling(FORBIDDEN, 0))),
    "scaling group by a parameter": Wanted(text(scaling({"get_param": "t"}, 0), **PARAMETER)),
}
WORD = {"w": {"type": "OS::Heat::Value", "properties": {"value": FORBIDDEN}}}
LATER = {"get_attr": ["w", "value"]}  # a type that nobody knows before the stack is made
DEFINITION = {"w": {**WORD["w"], "properties": {"value": {"type": FORBIDDEN}}}}
WHOLE = {**group("")["g"], "properties": {"count": 1, "resource_def": LATER}}
LATE_WAYS: dict[str, Wanted] = {
    "the type": Wanted(text({**WORD, **group(LATER)})),
    "the definition": Wanted(text({**DEFINITION, "g": WHOLE})),
}
ENTRANCES: dict[str, Callable[[Inside, Caller, StackRow, Wanted], Awaitable[Any]]] = {
    "create": lambda h, who, row, wanted: create_stack(h.house, who, "new", wanted),
    "preview": lambda h, who, row, wanted: plan_create(h.house, who, "new", wanted),
    "update": lambda h, who, row, wanted: update_stack(h.house, who, row, wanted),
    "patch": lambda h, who, row, wanted: update_stack(
        h.house, who, row, replace(wanted, existing=True)
    ),
    "preview of an update": lambda h, who, row, wanted: plan_update(h.house, who, row, wanted),
    "adopt": lambda h, who, row, wanted: create_stack(
        h.house, who, "new", Wanted(), adopt=document(wanted)
    ),
}


def document(wanted: Wanted) -> str:
    found = {"template": json.loads(str(wanted.template)), "resources": {}}
    return json.dumps(
        {**found, "files": dict(wanted.files), "environment": dict(wanted.environment)}  # type: ignore[arg-type]
    )


def played(path: Path, story: Callable[[Inside, Rules], Awaitable[Any]]) -> Any:
    async def told() -> Any:
        rules = Rules()
        async with inside(path / "hearth.db", MANY, policy=rules) as house:
            return await story(house, rules)

    return asyncio.run(told())


async def refusal(call: Awaitable[Any]) -> str:
    try:
        await call
    except Rejected as rejected:
        return "; ".join(problem.message for problem in rejected.problems)
    return "accepted"


async def ended(house: Inside, row: StackRow) -> StackRow:
    async with asyncio.timeout(20):
        while True:
            found = await house.house.store.read(partial(claim.row, stack_id=row.id))
            assert found is not None
            if found.status != "IN_PROGRESS" and not found.owner:
                return found
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_known_is_refused_at_every_entrance(way: str, tmp_path: Path):
    async def story(house: Inside, rules: Rules) -> dict[str, str]:
        row, _ = await house.create("there", HARMLESS)
        return {
            name: await refusal(enter(house, CALLER, row, WAYS[way]))
            for name, enter in ENTRANCES.items()
        }

    assert played(tmp_path, story) == dict.fromkeys(ENTRANCES, REFUSED)


@pytest.mark.parametrize("way", WAYS)
def test_whom_the_rule_allows_has_it_by_every_way(way: str, tmp_path: Path):
    async def story(house: Inside, rules: Rules) -> tuple[str, str]:
        row = await ended(house, await create_stack(house.house, CHIEF, "new", WAYS[way]))
        restored = await refusal(_restored(house, row))
        return f"{row.action}_{row.status}", restored

    state, restored = played(tmp_path, story)
    assert (state, restored) == ("CREATE_COMPLETE", REFUSED)


async def _restored(house: Inside, row: StackRow) -> None:
    made = await take_snapshot(house.house, CHIEF, row, "s")
    await ended(house, row)
    await restore_snapshot(house.house, CALLER, row, made.id)


@pytest.mark.parametrize("way", LATE_WAYS)
def test_what_only_an_engine_learns_is_refused_by_the_engine(way: str, tmp_path: Path):
    async def story(house: Inside, rules: Rules) -> list[StackRow]:
        made = await create_stack(house.house, CALLER, "new", LATE_WAYS[way])
        there, _ = await house.create("there", HARMLESS)
        changed = await update_stack(house.house, CALLER, there, LATE_WAYS[way])
        allowed = await create_stack(house.house, CHIEF, "chiefs", LATE_WAYS[way])
        return [await ended(house, row) for row in (made, changed, allowed)]

    made, changed, allowed = played(tmp_path, story)
    assert allowed.status == "COMPLETE"
    for row in (made, changed):
        assert row.status == "FAILED"
        assert REFUSED in row.reason


def test_a_group_does_not_grow_by_a_type_that_its_last_requester_may_not_have(tmp_path: Path):
    async def story(house: Inside, rules: Rules) -> list[tuple[str, int]]:
        rules.in_force = False
        asked = Wanted(text(scaling(FORBIDDEN, 0)))
        rows = {
            who: await ended(house, await create_stack(house.house, caller, who, asked))
            for who, caller in (("member", CALLER), ("chief", CHIEF))
        }
        rules.in_force = True
        return [await _grown(house, row) for row in rows.values()]

    assert played(tmp_path, story) == [("FAILED", 0), ("COMPLETE", 1)]


async def _grown(house: Inside, row: StackRow) -> tuple[str, int]:
    """The state of the group's own stack after a signal to grow by one, and its members."""
    wanted = Scaling("g", Adjustment(1, AdjustmentType.CHANGE), 0.0, "ChangeInCapacity")
    ident = house.house.new_id()
    event = Event(ident, row.id, row.root_id, 0.0, "p", "t", None, "SIGNAL", "COMPLETE", "said")
    assert await scale(house.house, CALLER, row, wanted, event)
    house.house.bus.tell()
    records = await house.house.store.read(lambda tx: reads.records(tx, row.id))
    child_id = reads.in_charge(records)["g"].physical_id
    child = await house.house.store.read(lambda tx: reads.stack_by_physical_id(tx, child_id))
    child = await ended(house, child)
    members = await house.house.store.read(lambda tx: reads.records(tx, child.id))
    return child.status.value, len(members)

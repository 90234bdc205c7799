"""A rule of a resource type holds whatever way a request names the type."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside, inside
from msgspec import structs
from msgspec.structs import replace

from hearth.model.problem import Rejected
from hearth.resources.base import Scaling
from hearth.resources.heat.adjustment import Adjustment, AdjustmentType
from hearth.service.caller import Caller
from hearth.service.limits import RequestLimits
from hearth.service.policy import Policy
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.preview import plan_create, plan_update
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.scale import scale
from hearth.service.stacks.snapshots import restore_snapshot, take_snapshot
from hearth.service.stacks.update import update_stack
from hearth.store import claim, reads
from hearth.store.rows import Event, StackRow

FORBIDDEN = "OS::Heat::RandomString"
CHIEF = replace(CALLER, roles=frozenset({"chief"}))
REFUSED = f"You are not authorized to use {FORBIDDEN}."
HARMLESS = "heat_template_version: 2021-04-16\nresources: {n: {type: OS::Heat::None}}"
MANY = RequestLimits(max_stacks_per_tenant=1000, enable_stack_adopt=True)


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
WAYS: dict[str, StackRequest] = {
    "direct": StackRequest(text({"v": {"type": FORBIDDEN}})),
    "alias": StackRequest(text({"v": {"type": "My::Word"}}), environment=ALIAS),
    "file": StackRequest(text({"k": {"type": "kid.yaml"}}), files={"kid.yaml": KID}),
    "file in a file": StackRequest(
        text({"k": {"type": "top.yaml"}}),
        files={"kid.yaml": KID, "top.yaml": text({"k": {"type": "kid.yaml"}})},
    ),
    "group": StackRequest(text(group(FORBIDDEN))),
    "group of none": StackRequest(text(group(FORBIDDEN, 0))),
    "group by a parameter": StackRequest(text(group({"get_param": "t"}), **PARAMETER)),
    "group of an alias": StackRequest(text(group("My::Word")), environment=ALIAS),
    "group of an alias of none": StackRequest(text(group("My::Word", 0)), environment=ALIAS),
    "group of a file": StackRequest(text(group("kid.yaml")), files={"kid.yaml": KID}),
    "group of a file of none": StackRequest(text(group("kid.yaml", 0)), files={"kid.yaml": KID}),
    "group in a file": StackRequest(
        text({"k": {"type": "kid.yaml"}}), files={"kid.yaml": text(group(FORBIDDEN))}
    ),
    "group in a group": StackRequest(
        text(group("kid.yaml")), files={"kid.yaml": text(scaling(FORBIDDEN))}
    ),
    "chain": StackRequest(text(CHAIN)),
    "scaling group": StackRequest(text(scaling(FORBIDDEN))),
    "scaling group of none": StackRequest(text(scaling(FORBIDDEN, 0))),
    "scaling group by a parameter": StackRequest(text(scaling({"get_param": "t"}, 0), **PARAMETER)),
}
WORD = {"w": {"type": "OS::Heat::Value", "properties": {"value": FORBIDDEN}}}
LATER = {"get_attr": ["w", "value"]}  # a type that nobody knows before the stack is made
DEFINITION = {"w": {**WORD["w"], "properties": {"value": {"type": FORBIDDEN}}}}
WHOLE = {**group("")["g"], "properties": {"count": 1, "resource_def": LATER}}
LATE_WAYS: dict[str, StackRequest] = {
    "the type": StackRequest(text({**WORD, **group(LATER)})),
    "the definition": StackRequest(text({**DEFINITION, "g": WHOLE})),
}
ENTRANCES: dict[str, Callable[[Inside, Caller, StackRow, StackRequest], Awaitable[Any]]] = {
    "create": lambda h, who, row, wanted: create_stack(h.services, who, "new", wanted),
    "preview": lambda h, who, row, wanted: plan_create(h.services, who, "new", wanted),
    "update": lambda h, who, row, wanted: update_stack(h.services, who, row, wanted),
    "patch": lambda h, who, row, wanted: update_stack(
        h.services, who, row, structs.replace(wanted, existing=True)
    ),
    "preview of an update": lambda h, who, row, wanted: plan_update(h.services, who, row, wanted),
    "adopt": lambda h, who, row, wanted: create_stack(
        h.services, who, "new", StackRequest(), adopt=document(wanted)
    ),
}


def document(wanted: StackRequest) -> str:
    found = {"template": json.loads(str(wanted.template)), "resources": {}}
    return json.dumps(
        {**found, "files": dict(wanted.files), "environment": dict(wanted.environment)}  # type: ignore[arg-type]
    )


def played(path: Path, story: Callable[[Inside, Rules], Awaitable[Any]]) -> Any:
    async def told() -> Any:
        rules = Rules()
        async with inside(path / "hearth.db", MANY, policy=rules) as running:
            return await story(running, rules)

    return asyncio.run(told())


async def refusal(call: Awaitable[Any]) -> str:
    try:
        await call
    except Rejected as rejected:
        return "; ".join(problem.message for problem in rejected.problems)
    return "accepted"


async def ended(running: Inside, row: StackRow) -> StackRow:
    async with asyncio.timeout(20):
        while True:
            found = await running.services.store.read(partial(claim.row, stack_id=row.id))
            assert found is not None
            if found.status != "IN_PROGRESS" and not found.owner:
                return found
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_known_is_refused_at_every_entrance(way: str, tmp_path: Path):
    async def story(running: Inside, rules: Rules) -> dict[str, str]:
        row, _ = await running.create("there", HARMLESS)
        return {
            name: await refusal(enter(running, CALLER, row, WAYS[way]))
            for name, enter in ENTRANCES.items()
        }

    assert played(tmp_path, story) == dict.fromkeys(ENTRANCES, REFUSED)


@pytest.mark.parametrize("way", WAYS)
def test_whom_the_rule_allows_has_it_by_every_way(way: str, tmp_path: Path):
    async def story(running: Inside, rules: Rules) -> tuple[str, str]:
        row = await ended(running, await create_stack(running.services, CHIEF, "new", WAYS[way]))
        restored = await refusal(_restored(running, row))
        return f"{row.action}_{row.status}", restored

    state, restored = played(tmp_path, story)
    assert (state, restored) == ("CREATE_COMPLETE", REFUSED)


async def _restored(running: Inside, row: StackRow) -> None:
    made = await take_snapshot(running.services, CHIEF, row, "s")
    await ended(running, row)
    await restore_snapshot(running.services, CALLER, row, made.id)


@pytest.mark.parametrize("way", LATE_WAYS)
def test_what_only_an_engine_learns_is_refused_by_the_engine(way: str, tmp_path: Path):
    async def story(running: Inside, rules: Rules) -> list[StackRow]:
        made = await create_stack(running.services, CALLER, "new", LATE_WAYS[way])
        there, _ = await running.create("there", HARMLESS)
        changed = await update_stack(running.services, CALLER, there, LATE_WAYS[way])
        allowed = await create_stack(running.services, CHIEF, "chiefs", LATE_WAYS[way])
        return [await ended(running, row) for row in (made, changed, allowed)]

    made, changed, allowed = played(tmp_path, story)
    assert allowed.status == "COMPLETE"
    for row in (made, changed):
        assert row.status == "FAILED"
        assert REFUSED in row.reason


@pytest.mark.parametrize("size", [0, 1])
def test_a_group_does_not_grow_by_a_type_that_its_last_requester_may_not_have(
    size: int, tmp_path: Path
):
    async def story(running: Inside, rules: Rules) -> list[tuple[str, int]]:
        rules.in_force = False
        asked = StackRequest(text(scaling(FORBIDDEN, size)))
        rows = {
            who: await ended(running, await create_stack(running.services, caller, who, asked))
            for who, caller in (("member", CALLER), ("chief", CHIEF))
        }
        rules.in_force = True
        return [await _grown(running, row) for row in rows.values()]

    assert played(tmp_path, story) == [("FAILED", size), ("COMPLETE", size + 1)]


def test_a_group_of_a_forbidden_type_shrinks(tmp_path: Path):
    async def story(running: Inside, rules: Rules) -> tuple[str, int]:
        rules.in_force = False
        asked = StackRequest(text(scaling(FORBIDDEN, 1)))
        row = await ended(running, await create_stack(running.services, CALLER, "new", asked))
        assert await _grown(running, row) == ("COMPLETE", 2)
        rules.in_force = True
        return await _grown(running, row, -1)

    assert played(tmp_path, story) == ("COMPLETE", 1)


async def _grown(running: Inside, row: StackRow, by: int = 1) -> tuple[str, int]:
    """The state of the group's own stack after a signal to change its size, and its members.

    A signal does nothing until the group has recorded the resize before it: signal until one does.
    """
    store = running.services.store
    wanted = Scaling("g", Adjustment(by, AdjustmentType.CHANGE), 0.0, "ChangeInCapacity")
    ident = running.services.new_id()
    event = Event(ident, row.id, row.root_id, 0.0, "p", "t", None, "SIGNAL", "COMPLETE", "said")
    async with asyncio.timeout(20):
        while await store.read(lambda tx: reads.get_event(tx, row.id, ident)) is None:
            await scale(running.services, CALLER, row, wanted, event)
            running.services.bus.tell()
            await asyncio.sleep(0.01)
    records = await store.read(lambda tx: reads.records(tx, row.id))
    child_id = reads.in_charge(records)["g"].physical_id
    child = await store.read(lambda tx: reads.stack_by_physical_id(tx, child_id))
    child = await ended(running, child)
    members = await store.read(lambda tx: reads.records(tx, child.id))
    return child.status.value, len(members)

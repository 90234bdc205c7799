"""An adoption that a later operation continues knows what the objects are like, and keeps them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from hearth.engine.worker.ports import Occasion
from hearth.model.problem import StackValidationFailed
from hearth.model.state import Action
from hearth.resources.lookup import Names
from hearth.schema import Resolve
from hearth.store.accept import OperationRequest
from hearth.store.document import document
from hearth.store.rows import Document
from tests.simulator import checks
from tests.simulator.cloud import Fault, TwinCloud
from tests.simulator.draw import Template, revision_of
from tests.simulator.explore import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.scenarios import ABANDON
from tests.simulator.types import Thing
from tests.simulator.world import World

Story = Callable[[World, str], Awaitable[None]]
OF_R0: Any = {"get_resource": "r0"}
U_OF_R0: Any = {"get_attr": ["r0", "u"]}
OF_V1: Any = {"get_attr": ["v1", "value"]}
PAIR: Template = {"r0": {"r": "1"}, "r1": {"r": OF_R0}}
CHAIN: Template = {"r0": {"u": "1"}, "v1": {"value": OF_R0, "k": ""}, "r2": {"r": OF_V1}}


class Objector:
    """A plug-in that fails every adoption."""

    async def pre(self, occasion: Occasion) -> None:
        if occasion.action == "ADOPT":
            raise ValueError("not today")

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        pass


def told(template: Template, story: Story) -> None:
    """Run a story on a stack whose adoption failed before it had begun."""
    loop = VirtualLoop()

    async def main() -> None:
        world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
        world.start_engines(1)
        (engine,) = world.engines
        engine.tools = replace(engine.tools, plugins=(Objector(),))
        first = await world.create("s", revision_of(template))
        await world.rest()
        row = world.stack(first)
        body = world.store.transact(lambda tx: document(tx, row), write=False)
        await world.operate(first, ABANDON)
        await world.rest()
        given = revision_of(template, document=Document(Action.ADOPT, body["resources"]))
        adopted = await world.create("t", given, action=Action.ADOPT)
        await world.rest()
        assert world.stack(adopted).state == "ADOPT_FAILED"
        await story(world, adopted)
        world.close()

    run(loop, main())


async def asked(world: World, stack_id: str, action: Action, template: Template | None) -> str:
    revision = None if template is None else revision_of(template)
    await world.operate(stack_id, OperationRequest(action, revision, disable_rollback=True))
    await world.rest()
    return world.stack(stack_id).state


def updated(before: Template, after: Template, *, kept: set[str]) -> None:
    """Adopt with the template `before`, update to `after`, and compare the cloud with it.

    `kept` are the ids of the objects that must remain.
    """

    async def story(world: World, stack_id: str) -> None:
        assert await asked(world, stack_id, Action.UPDATE, after) == "UPDATE_COMPLETE"
        assert list(checks.as_wanted(world, after, {})) == []
        assert kept <= world.twin.things.keys()

    told(before, story)


CHANGES: dict[str, tuple[Template, Template, set[str]]] = {
    "nothing": (PAIR, PAIR, {"r0#1", "r1#1"}),
    "nothing in a chain": (CHAIN, CHAIN, {"r0#1", "r2#1"}),
    "the object referred to": (PAIR, {**PAIR, "r0": {"r": "2"}}, set()),
    "nothing is referred to any more": (PAIR, {"r1": {}}, set()),
    "the end of a chain": (CHAIN, {"r2": {}}, set()),
}


async def shows_nothing(self: Any, ctx: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_value_from_another_resource_is_that_of_the_adopted_object(
    monkeypatch: pytest.MonkeyPatch, change: str, readable: bool
) -> None:
    if not readable:
        monkeypatch.setattr(Thing, "observe", shows_nothing)
    before, after, kept = CHANGES[change]
    updated(before, after, kept=kept)


def test_an_attribute_that_has_changed_since_is_read_from_the_object_that_has_it() -> None:
    before: Template = {"r0": {"u": "1"}, "r1": {"r": U_OF_R0}}
    updated(before, {**before, "r0": {"u": "2"}}, kept={"r0#1"})
    updated(before, before, kept={"r0#1", "r1#1"})


@pytest.mark.parametrize("shown", [{}, {"r": None}])
def test_no_object_is_replaced_because_a_property_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, shown: dict[str, Any]
) -> None:
    async def observe(self: Any, ctx: Any) -> dict[str, Any]:
        return shown

    monkeypatch.setattr(Thing, "observe", observe)
    before: Template = {"r0": {"u": "1"}, "r1": {"r": U_OF_R0}}
    updated(before, before, kept={"r0#1", "r1#1"})


def test_a_reference_that_is_no_id_is_still_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(world: World, stack_id: str) -> None:
        assert await asked(world, stack_id, Action.UPDATE, PAIR) == "UPDATE_COMPLETE"
        assert world.twin.things.keys() == {"r0#1", "r1#1"}

    monkeypatch.setattr(Thing, "observe", shows_nothing)
    monkeypatch.setattr(Thing, "reference", lambda self, ctx: f"the one named {ctx.name}")
    told(PAIR, story)


def test_a_name_that_is_not_found_any_more_is_not_the_desired_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {"old", "new"}

    async def id_of(self: Names, kind: str, value: str, at: Any = None) -> Any:
        return value if value in known else StackValidationFailed(None, f"no {value}")

    async def story(world: World, stack_id: str) -> None:
        known.remove("old")
        after: Template = {"r0": {"r": "new"}}
        assert await asked(world, stack_id, Action.UPDATE, after) == "UPDATE_COMPLETE"
        assert list(checks.as_wanted(world, after, {})) == []

    monkeypatch.setattr(Thing, "translation", (Resolve(("r",), "thing"),))
    monkeypatch.setattr(Names, "id_of", id_of)
    told({"r0": {"r": "old"}}, story)


def test_a_check_before_the_adoption_fails_and_replaces_nothing() -> None:
    async def story(world: World, stack_id: str) -> None:
        assert await asked(world, stack_id, Action.CHECK, None) == "CHECK_FAILED"
        assert world.record(stack_id, "r0").state == "CHECK_FAILED"
        assert await asked(world, stack_id, Action.UPDATE, PAIR) == "UPDATE_COMPLETE"
        assert world.twin.things.keys() == {"r0#1", "r1#1"}
        assert {world.record(stack_id, name).state for name in PAIR} == {"ADOPT_COMPLETE"}

    told(PAIR, story)


@pytest.mark.parametrize("after", [{"r1": {}}, {}, None])
def test_no_object_goes_before_the_one_that_depends_on_it(after: Template | None) -> None:
    async def story(world: World, stack_id: str) -> None:
        action = Action.UPDATE if after is not None else Action.DELETE
        assert (await asked(world, stack_id, action, after)).endswith("_COMPLETE")
        assert_deleted_in_turn(world, "r1#1", "r0#1")

    told(PAIR, story)


def test_an_adopted_object_that_is_not_replaced_yet_depends_on_what_it_did_before() -> None:
    async def story(world: World, stack_id: str) -> None:
        world.twin.faults = [Fault("r1", "create", "error")]
        after: Template = {"r1": {}}
        assert await asked(world, stack_id, Action.UPDATE, after) == "UPDATE_FAILED"
        assert await asked(world, stack_id, Action.DELETE, None) == "DELETE_COMPLETE"
        assert_deleted_in_turn(world, "r1#1", "r0#1")

    told(PAIR, story)


def assert_deleted_in_turn(world: World, *ids: str) -> None:
    calls = [one for one in world.twin.calls if one.op == "delete" and one.thing in ids]
    assert [one.thing for one in calls] == [*ids]
    for before, after in pairwise(calls):
        assert before.end is not None
        assert before.end <= after.start

"""How far a request reaches: down into nested stacks, and beside one that is under way already."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.engine.programs.programs import Programs
from hearth.engine.worker.stack_worker import TAKEOVERS_MAX
from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store.accept import OperationRequest
from hearth.store.database import Tx
from hearth.store.reads import event_of
from hearth.store.rows import Revision, StackRow, stack_row
from hearth.store.tables import event, stack
from tests.simulator.cloud import TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Thing
from tests.simulator.world import World

VERSION = "2021-04-16"
STEP_S = 10.0  # that each call to the twin takes


def chain(mark: str = "") -> dict[str, Any]:
    """Three things, each after the one before."""
    return {
        name: {"type": "Test::Node", "properties": {"u": mark}, "depends_on": list(after)}
        for name, after in (("a", ""), ("b", "a"), ("c", "b"))
    }


def nested(mark: str = "") -> Revision:
    """A chain two levels below the root."""

    def text(resources: dict[str, Any]) -> str:
        return json.dumps({"heat_template_version": VERSION, "resources": resources})

    files = {"mid.yaml": text({"low": {"type": "low.yaml"}}), "low.yaml": text(chain(mark))}
    return Revision(template=text({"mid": {"type": "mid.yaml"}}), files=files)


def with_nested(mark: str = "") -> Revision:
    """A chain in a nested stack, and a thing after it."""
    inner = {"heat_template_version": VERSION, "resources": chain(mark)}
    after = {"type": "Test::Node", "properties": {"u": mark}, "depends_on": ["mid"]}
    outer = {"mid": {"type": "mid.yaml"}, "after": after}
    template = {"heat_template_version": VERSION, "resources": outer}
    return Revision(template=json.dumps(template), files={"mid.yaml": json.dumps(inner)})


def flat(mark: str = "") -> Revision:
    template = {"heat_template_version": VERSION, "resources": chain(mark)}
    return Revision(template=json.dumps(template))


class Reach(World):
    """A world whose stacks are looked at as a tree."""

    def tree(self) -> dict[int, StackRow]:
        """The stacks by depth, of one whose tree has no branches."""

        def read(tx: Tx) -> dict[int, StackRow]:
            return {row.depth: stack_row(tx, row) for row in tx.rows(sa.select(stack))}

        return self.store.transact(read, write=False)

    def states(self) -> list[str]:
        return [row.state for _, row in sorted(self.tree().items())]

    def events(self, row: StackRow) -> list[str]:
        """What a stack itself went through, with reasons."""
        query = sa.select(event).where(event.c.stack_id == row.id).order_by(event.c.seq)
        rows = self.store.transact(
            lambda tx: [event_of(tx, row).event for row in tx.rows(query)], write=False
        )
        return [
            f"{one.action}_{one.status} {one.reason}"
            for one in rows
            if one.resource_name == row.name
        ]

    def called(self, op: str) -> list[str]:
        return [call.name for call in self.twin.calls if call.op == op]


def told(story: Callable[[Reach], Awaitable[Any]]) -> Any:
    loop = VirtualLoop()

    async def main() -> Any:
        programs = Programs(Catalog({"Test::Node": Thing()}), template_type=TemplateResource)
        world = Reach(loop, programs, lambda loop: TwinCloud(loop.time, op_time_s=STEP_S))
        world.start_engines()
        return await story(world)

    return run(loop, main())


def test_a_cancel_without_rollback_reaches_all_nested_stacks() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", nested())
        await asyncio.sleep(STEP_S / 2)
        await world.cancel(root, rollback=False)
        await world.rest()
        assert world.states() == ["CREATE_FAILED"] * 3
        assert {row.reason for row in world.tree().values()} == {"Stack CREATE cancelled"}
        assert world.called("create") == ["a"]  # which went on to its end, and nothing after it
        low = world.tree()[2].id
        assert world.record(low, "a").state == "CREATE_COMPLETE"
        await world.operate(root, OperationRequest(Action.UPDATE, nested()))  # goes on from there
        await world.rest()
        assert world.states() == ["UPDATE_COMPLETE"] * 3
        assert world.called("create") == ["a", "b", "c"]

    told(story)


def test_a_cancelled_update_is_rolled_back_all_the_way_down() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", nested())
        await world.rest()
        await world.operate(root, OperationRequest(Action.UPDATE, nested("new")))
        await asyncio.sleep(STEP_S / 2)
        await world.cancel(root, rollback=True)
        await world.rest()
        assert world.tree()[0].state == "ROLLBACK_COMPLETE"
        assert world.events(world.tree()[0])[-3].startswith("UPDATE_FAILED Stack UPDATE cancelled")
        assert world.called("update") == ["a", "a"]  # there and back; the others never began
        assert {thing.values["u"] for thing in world.twin.things.values()} == {""}

    told(story)


@pytest.mark.parametrize("rollback", [True, False])
@pytest.mark.parametrize("owned", [True, False])
def test_a_cancel_is_heard_that_is_read_together_with_its_request(
    rollback: bool, owned: bool
) -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", flat())
        if owned:
            await asyncio.sleep(STEP_S / 2)
        else:
            await world.rest()
        await world.operate(root, OperationRequest(Action.UPDATE, flat("new")))
        await world.cancel(root, rollback=rollback)
        await world.rest()
        assert world.called("update") == []
        told = world.events(world.tree()[0])
        assert "UPDATE_FAILED Stack UPDATE cancelled" in told
        end = "ROLLBACK_COMPLETE" if rollback else "UPDATE_FAILED"
        assert world.states() == [end]

    told(story)


def test_an_update_that_is_given_up_on_is_rolled_back_though_all_of_it_was_done() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", flat("old"))
        await world.rest()
        await world.operate(
            root, OperationRequest(Action.UPDATE, flat("new"), disable_rollback=False)
        )
        await world.rest()
        died = {
            "status": "IN_PROGRESS",
            "takeovers": TAKEOVERS_MAX + 1,
            "due_at": world.clock.now(),
        }
        world.store.transact(lambda tx: tx.execute(stack.update().values(died)))
        await world.rest()
        assert world.states() == ["ROLLBACK_COMPLETE"]
        assert {thing.values["u"] for thing in world.twin.things.values()} == {"old"}

    told(story)


def test_a_nested_stack_is_updated_once_by_an_operation_that_changes_hands() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", with_nested("old"))
        await world.rest()
        await world.operate(root, OperationRequest(Action.UPDATE, with_nested("new")))
        while world.tree()[1].state != "UPDATE_COMPLETE":
            await asyncio.sleep(1.0)
        await asyncio.sleep(STEP_S / 2)  # the one after it is under way
        world.kill_engines()
        world.start_engines()
        await world.rest()
        assert world.states() == ["UPDATE_COMPLETE", "UPDATE_COMPLETE"]
        told_of = [one for one in world.events(world.tree()[1]) if one.startswith("UPDATE_IN")]
        assert len(told_of) == 1

    told(story)


@pytest.mark.parametrize("action", [Action.CHECK, Action.SUSPEND, Action.SNAPSHOT, Action.DELETE])
@pytest.mark.parametrize("rollback", [True, False])
def test_what_is_no_update_cannot_be_cancelled(action: Action, rollback: bool) -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", flat())
        if rollback:
            with pytest.raises(Rejected, match="CREATE_IN_PROGRESS is not supported"):
                await world.cancel(root, rollback=True)
        await world.rest()
        await world.operate(root, OperationRequest(action))
        with pytest.raises(Rejected) as refused:
            await world.cancel(root, rollback=rollback)
        words = f"Cancelling update when stack is {action}_IN_PROGRESS is not supported."
        assert refused.value.problems[0].message == words
        await world.rest()

    told(story)


def test_an_update_that_takes_over_stops_nested_stacks_before_their_next_step() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", nested("old"))
        await asyncio.sleep(STEP_S / 2)
        await world.operate(root, OperationRequest(Action.UPDATE, nested("new")))
        await world.rest()
        assert world.tree()[0].state == "UPDATE_COMPLETE"
        created = [call.name for call in world.twin.calls if call.op == "create"]
        assert created == ["a", "b", "c"]
        assert world.called("update") == ["a"]  # b and c were never made under the old values
        assert {thing.values["u"] for thing in world.twin.things.values()} == {"new"}
        assert "CREATE_FAILED Stack CREATE cancelled" in world.events(world.tree()[2])

    told(story)


def test_a_delete_breaks_off_what_runs_at_every_level_and_says_so() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", nested())
        await asyncio.sleep(STEP_S / 2)
        after = await world.operate(root, OperationRequest(Action.DELETE))
        assert after.state == "DELETE_IN_PROGRESS"  # when the call returns
        await world.rest()
        assert world.states() == ["DELETE_COMPLETE"] * 3
        for row in world.tree().values():
            assert "CREATE_FAILED Stack CREATE cancelled" in world.events(row)
        assert world.called("create") == ["a"]
        assert world.twin.things == {}

    told(story)


def test_a_second_delete_joins_the_one_that_runs() -> None:
    async def story(world: Reach) -> None:
        root = await world.create("s", nested())
        await world.rest()
        first = await world.operate(root, OperationRequest(Action.DELETE))
        await asyncio.sleep(STEP_S / 2)
        second = await world.operate(root, OperationRequest(Action.DELETE))
        assert second.traversal == first.traversal
        await world.rest()
        assert world.called("delete") == ["c", "b", "a"]  # each once
        begun = [one for one in world.events(world.tree()[0]) if one.startswith("DELETE_IN")]
        assert len(begun) == 1
        with pytest.raises(Rejected):
            await world.operate(root, OperationRequest(Action.DELETE))

    told(story)

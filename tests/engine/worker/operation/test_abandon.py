"""An abandon that fails is repeated, and still leaves every object in the cloud."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.engine.worker.node import orphans
from hearth.engine.worker.ports import Occasion
from hearth.model.state import Action
from hearth.store.accept import OperationRequest
from hearth.store.claim import Orphan
from hearth.store.document import document
from tests.simulator.cloud import TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.explore import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.scenarios import ABANDON, NESTED
from tests.simulator.world import World


class Objector:
    """A plug-in that fails the deletes of the stacks whose ids it has."""

    def __init__(self) -> None:
        self.refuses: set[str] = set()

    async def pre(self, occasion: Occasion) -> None:
        if occasion.action == "DELETE" and occasion.stack_id in self.refuses:
            raise ValueError("not today")

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        pass


def told(story: Callable[[World, Objector, str], Awaitable[None]]) -> None:
    """Run a story on the stack NESTED."""
    loop = VirtualLoop()

    async def main() -> None:
        world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
        world.start_engines(1)
        (engine,) = world.engines
        objector = Objector()
        engine.tools = replace(engine.tools, plugins=(objector,))
        stack_id = await world.create("s", revision_of(NESTED))
        await world.rest()
        await story(world, objector, stack_id)
        world.close()

    run(loop, main())


async def asked(world: World, stack_id: str, operation: OperationRequest) -> str:
    await world.operate(stack_id, operation)
    await world.rest()
    return world.stack(stack_id).state


def names(world: World, stack_id: str) -> dict[str, Any]:
    """Return the resources of the stack's document, those of a nested stack in their place."""

    def named(body: dict[str, Any]) -> dict[str, Any]:
        return {name: named(one) for name, one in body.get("resources", {}).items()}

    row = world.stack(stack_id)
    return named(world.store.transact(lambda tx: document(tx, row), write=False))


def test_the_nested_stack_whose_abandon_failed_is_abandoned_in_the_end() -> None:
    async def story(world: World, objector: Objector, stack_id: str) -> None:
        before = sorted(world.twin.things)
        child = str(world.record(stack_id, "n1").physical_id)
        objector.refuses.add(child)
        assert await asked(world, stack_id, ABANDON) == "DELETE_FAILED"
        assert names(world, stack_id) == {"r0": {}, "n1": {"n1_0": {}}}
        objector.refuses.clear()
        assert await asked(world, stack_id, ABANDON) == "DELETE_COMPLETE"
        assert sorted(world.twin.things) == before

    told(story)


def test_a_delete_that_had_begun_in_a_nested_stack_is_completed() -> None:
    """Its document does not have the nested stack, so nobody would know of the objects."""

    async def story(world: World, objector: Objector, stack_id: str) -> None:
        objector.refuses.add(str(world.record(stack_id, "n1").physical_id))
        assert await asked(world, stack_id, OperationRequest(Action.DELETE)) == "DELETE_FAILED"
        assert names(world, stack_id) == {"r0": {}}
        objector.refuses.clear()
        assert await asked(world, stack_id, ABANDON) == "DELETE_COMPLETE"
        assert [one.name for one in world.mine()] == ["r0"]

    told(story)


def test_a_delete_after_an_abandon_that_failed_deletes() -> None:
    async def story(world: World, objector: Objector, stack_id: str) -> None:
        objector.refuses.add(str(world.record(stack_id, "n1").physical_id))
        assert await asked(world, stack_id, ABANDON) == "DELETE_FAILED"
        objector.refuses.clear()
        assert await asked(world, stack_id, OperationRequest(Action.DELETE)) == "DELETE_COMPLETE"
        assert not world.mine()

    told(story)


def test_a_failed_look_for_orphans_does_not_cost_the_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(world: World, objector: Objector, stack_id: str) -> None:
        record = world.record(stack_id, "r0")
        before = sorted(world.twin.things)

        async def refuses(*_: Any) -> bool:
            raise CloudFault("test", 403, "Forbidden", "not for you")

        orphan = Orphan("o", record.id, record.type, world.clock.now(), {})
        monkeypatch.setattr(orphans, "of", lambda owned, ident: [orphan] * (ident == record.id))
        monkeypatch.setattr(orphans, "sweep", refuses)
        assert await asked(world, stack_id, ABANDON) == "DELETE_FAILED"
        assert world.stack(stack_id).reason.endswith("not for you")
        assert names(world, stack_id)["r0"] == {}
        monkeypatch.undo()
        assert await asked(world, stack_id, ABANDON) == "DELETE_COMPLETE"
        assert sorted(world.twin.things) == before

    told(story)

"""What an engine needed for a stack is freed when it gives the stack back, without a collection."""

import asyncio
import gc
from collections import Counter

import pytest

from hearth.model.state import Action
from hearth.store.accept import OperationRequest
from tests.simulator.cloud import TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.history import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.world import World

BEFORE = {
    "a": {"r": "1", "m": "1"},
    "b": {"u": "1", "after": ["a"]},
    "nested": {"child": {"nested_0": {}}, "p": "1"},
}
AFTER = {
    "replaced": {"a": {"r": "2", "m": "1"}, "b": {"u": "2"}, "nested": BEFORE["nested"]},
    "nested": {**BEFORE, "nested": {"child": {"nested_0": {}, "nested_1": {}}, "p": "2"}},
    "fewer": {"b": {"u": "1"}},
    "refused": {**BEFORE, "a": {"r": "1", "m": "2"}},
}


@pytest.mark.parametrize("change", AFTER)
def test_a_stack_leaves_no_cycles(change: str) -> None:
    loop = VirtualLoop()
    world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
    ends = "ROLLBACK" if change == "refused" else "UPDATE_COMPLETE"

    async def life(name: str) -> None:
        stack_id = await world.create(name, revision_of(BEFORE), timeout_mins=60)
        await world.rest()
        revision = revision_of(AFTER[change])
        update = OperationRequest(Action.UPDATE, revision, disable_rollback=False)
        await world.operate(stack_id, update)
        await world.rest()
        assert world.stack(stack_id).state.startswith(ends)
        await world.operate(stack_id, OperationRequest(Action.DELETE))
        await world.rest()
        await asyncio.sleep(60.0)

    async def story() -> Counter[str]:
        world.start_engines(1)
        await life("first")
        gc.collect()
        gc.disable()
        try:
            await life("second")
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            return Counter(
                type(one).__qualname__
                for one in gc.garbage
                if type(one).__module__.startswith("hearth.engine.worker")
            )
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    assert run(loop, story()) == Counter()
    world.close()

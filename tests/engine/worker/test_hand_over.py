"""A graceful stop: what an engine was at goes on at once with another."""

import asyncio

import pytest

from hearth.model.state import Status
from hearth.sim.cloud import TwinCloud
from hearth.sim.draw import revision_of
from hearth.sim.history import PROGRAMS
from hearth.sim.loop import VirtualLoop, run
from hearth.sim.world import World

CHAIN = {f"r{i}": {"after": [f"r{i - 1}"] if i else []} for i in range(4)}


@pytest.mark.parametrize("turns", range(0, 60, 3))
def test_a_stack_with_nodes_that_could_start_is_handed_over_and_completed(turns):
    loop = VirtualLoop()
    world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time, op_time_s=5.0))

    async def story() -> None:
        world.start_engines(1)
        stack_id = await world.create("s", revision_of(CHAIN), timeout_mins=60)
        await _turns(turns)
        world.stop(world.engines[0])
        await _turns(1000)  # more than enough, and no time passes
        assert world.stack(stack_id).owner is None
        world.start_engines(1)
        await world.rest(limit_s=60.0)
        assert world.stack(stack_id).status is Status.COMPLETE
        assert all(world.twin.made[name] == 1 for name in CHAIN)

    run(loop, story())


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)

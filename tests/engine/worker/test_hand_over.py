"""A graceful stop: what an engine was at goes on at once with another."""

import asyncio
import socket

import pytest

from hearth.model.state import Action, Status
from hearth.store.accept import OperationRequest
from hearth.store.engines import drain
from tests.simulator.cloud import TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.history import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.world import World

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


def test_a_delete_that_comes_while_its_stack_is_given_back_is_begun_once():
    """Wherever it comes in: nothing is left behind by the one who gives the stack back."""
    late = []
    for turns in range(400):
        loop = VirtualLoop()
        world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))

        async def story(world: World = world, turns: int = turns) -> list[str]:
            world.start_engines(1)
            stack_id = await world.create("s", revision_of({}), timeout_mins=60)
            await _turns(turns)
            await world.operate(stack_id, OperationRequest(Action.DELETE))
            await world.rest(limit_s=60.0)
            assert world.stack(stack_id).state == "DELETE_COMPLETE"
            return [name for task in asyncio.all_tasks() if "_farewell" in (name := repr(task))]

        late += run(loop, story())
        world.close()
    assert late == []


@pytest.mark.parametrize("before_s", [0.0, 0.5, 1.5, 2.5])
def test_a_claim_that_is_under_way_is_handed_over_too(before_s):
    """The database takes its time, and the engine is stopped before it knows what it was given."""
    loop = VirtualLoop()
    world = World(
        loop, PROGRAMS, lambda loop: TwinCloud(loop.time, op_time_s=5.0), slow=lambda: 1.0
    )

    async def story() -> None:
        world.start_engines(1)
        await asyncio.sleep(10.0)
        stack_id = await world.create("s", revision_of(CHAIN), timeout_mins=60)
        await asyncio.sleep(before_s)
        first = world.engines[0]
        await first.stop()
        world.kill(first)
        row = world.stack(stack_id)
        assert (row.owner, row.takeovers) == (None, 0)
        world.start_engines(1)
        await world.rest(limit_s=90.0)
        assert world.stack(stack_id).state == "CREATE_COMPLETE"
        assert world.stack(stack_id).takeovers == 0

    run(loop, story())
    world.close()


def test_a_drained_engine_releases_its_stacks_and_takes_none_until_it_may_again():
    loop = VirtualLoop()
    world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time, op_time_s=5.0))

    async def story() -> None:
        world.start_engines(1)
        stack_id = await world.create("s", revision_of(CHAIN), timeout_mins=60)
        await asyncio.sleep(3.0)
        first = world.engines[0]
        assert world.stack(stack_id).owner == first.id
        world.store.transact(lambda tx: drain(tx, socket.gethostname(), draining=True))
        await asyncio.sleep(30.0)
        row = world.stack(stack_id)
        assert (row.owner, row.takeovers, row.status) == (None, 0, Status.IN_PROGRESS)
        assert not first.workers
        made = sum(world.twin.made.values())
        world.store.transact(lambda tx: drain(tx, socket.gethostname(), draining=False))
        await world.rest(limit_s=90.0)
        assert world.stack(stack_id).state == "CREATE_COMPLETE"
        assert made < len(CHAIN)
        assert all(world.twin.made[name] == 1 for name in CHAIN)

    run(loop, story())
    world.close()

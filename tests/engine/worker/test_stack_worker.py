"""A worker works on a stack only as long as its engine owns the stack."""

from __future__ import annotations

import asyncio

import pytest

from hearth.model.state import Action
from hearth.sim.cloud import TwinCloud
from hearth.sim.draw import revision_of
from hearth.sim.explore import PROGRAMS
from hearth.sim.loop import VirtualLoop, run
from hearth.sim.world import World
from hearth.store.accept import OperationRequest
from hearth.store.claim import Loaded
from hearth.store.credentials import Requester
from hearth.store.database import Tx
from hearth.store.tables import stack


@pytest.mark.parametrize("busy", [False, True])
def test_the_rows_of_a_new_owner_are_left_alone(busy: bool) -> None:
    """They came late: a worker that went on would create a trust that nobody knows.

    If `busy` is true, the worker reads them for a newer operation.
    """
    loop = VirtualLoop()

    async def main() -> None:
        world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
        world.start_engines(1)
        (engine,) = world.engines
        load = engine.loader.load

        def taken_over(tx: Tx) -> None:
            tx.execute(stack.update().values(owner="another", epoch=stack.c.epoch + 1))

        async def loaded_late(stack_id: str) -> Loaded | None:
            engine.loader.load = load  # type: ignore[method-assign]
            world.store.transact(taken_over)
            return await load(stack_id)

        if not busy:
            engine.loader.load = loaded_late  # type: ignore[method-assign]
        ident = await world.create("s", revision_of({"r0": {}}))
        await asyncio.sleep(1.0)
        if busy:
            engine.loader.load = loaded_late  # type: ignore[method-assign]
            update = OperationRequest(
                Action.UPDATE, revision_of({"r0": {"u": "1"}}), requester=Requester(user_id="b")
            )
            await world.operate(ident, update)
            await asyncio.sleep(1.0)
        assert world.stack(ident).owner == "another"
        assert len(world.trusts.living) == int(busy)
        assert not engine.workers
        world.close()

    run(loop, main())

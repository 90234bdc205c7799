"""A worker works on a stack only as long as its engine owns the stack."""

from __future__ import annotations

import asyncio

import pytest

from hearth.model.state import Action
from hearth.store.accept import OperationRequest
from hearth.store.claim import Loaded
from hearth.store.credentials import Requester
from hearth.store.database import Tx
from hearth.store.tables import stack
from tests.simulator.cloud import TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.explore import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.world import World


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


def test_a_stack_that_cannot_be_read_fails_once_and_keeps_nobody_busy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = VirtualLoop()

    async def main() -> None:
        world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time))
        world.start_engines(1)
        (engine,) = world.engines
        load = engine.loader.load
        ident = await world.create("s", revision_of({"r0": {}}))
        await asyncio.sleep(300.0)
        assert world.stack(ident).state == "CREATE_COMPLETE"

        async def unreadable(stack_id: str) -> Loaded | None:
            if stack_id == ident:
                raise ValueError("its private data are no map")
            return await load(stack_id)

        engine.loader.load = unreadable  # type: ignore[method-assign]
        for action in (Action.UPDATE, Action.DELETE):
            caplog.clear()
            wanted = OperationRequest(action, revision_of({"r0": {"u": "1"}}))
            await world.operate(ident, wanted)
            await asyncio.sleep(60.0)
            row = world.stack(ident)
            assert (row.state, row.owner) == (f"{action.value}_FAILED", None)
            assert "its private data are no map" in row.reason
            errors = [one for one in caplog.records if one.levelname == "ERROR"]
            assert [one.getMessage() for one in errors] == [
                f"stack {ident} fails: internal error of the engine"
            ]
        other = await world.create("other", revision_of({"r0": {}}))
        await asyncio.sleep(300.0)
        assert world.stack(other).state == "CREATE_COMPLETE"
        world.close()

    run(loop, main())

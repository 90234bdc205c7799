"""The log tells each state that a stack comes to, and why a resource failed."""

import asyncio
import logging

import pytest
import sqlalchemy as sa

from hearth.engine.worker.life_log import LifeLog
from hearth.model.state import Action
from hearth.store import reads
from hearth.store.accept import OperationRequest
from hearth.store.rows import Event
from hearth.store.tables import event
from hearth.telemetry.observer import UNOBSERVED
from tests.simulator.cloud import Fault, TwinCloud
from tests.simulator.draw import revision_of
from tests.simulator.history import PROGRAMS
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.world import World

CHAIN = {f"r{i}": {"after": [f"r{i - 1}"] if i else []} for i in range(3)}
LOGGER = "hearth.engine.worker.life_log"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "hearth.engine.worker")
    return caplog


def a_world() -> tuple[VirtualLoop, World]:
    loop = VirtualLoop()
    return loop, World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time, op_time_s=5.0))


def events_of(world: World) -> list[Event]:
    query = sa.select(event).order_by(event.c.seq)
    return world.store.transact(
        lambda tx: [reads.event_of(tx, row).event for row in tx.rows(query)], write=False
    )


def lines(told: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in told.records if r.name == LOGGER]


@pytest.mark.parametrize("faults", [0, 1])
def test_each_end_that_is_stored_has_its_line(told: pytest.LogCaptureFixture, faults: int):
    loop, world = a_world()
    if faults:
        world.twin.faults = [Fault("r1", "create", "error")]

    async def story() -> str:
        world.start_engines(1)
        stack_id = await world.create("s", revision_of(CHAIN), timeout_mins=60)
        await world.rest(limit_s=600.0)
        await world.operate(stack_id, OperationRequest(Action.DELETE))
        await world.rest(limit_s=600.0)
        return stack_id

    stack_id = run(loop, story())
    found = lines(told)
    for one in events_of(world):
        mine = one.physical_id == one.stack_id
        if one.status == "FAILED":
            reason = " ".join(one.reason.split())
            end = f": {one.action} failed: {reason}"
            who = "" if mine else f": resource {one.resource_name} ("
            assert any(
                level == "WARNING" and who in line and line.endswith(end) for level, line in found
            ), one
        elif mine and one.status == "COMPLETE":
            assert ("INFO", f"{name_of(stack_id)}: {one.action} completed") in found
        elif mine:
            assert ("INFO", f"{name_of(stack_id)}: {one.action} started") in found
    assert all("\n" not in line for _, line in found)
    assert bool(faults) == any(level == "WARNING" for level, _ in found)


def test_a_reason_is_one_line(told: pytest.LogCaptureFixture):
    loop, world = a_world()

    async def story() -> str:
        return await world.create("s", revision_of(CHAIN), timeout_mins=60)

    stack = world.stack(run(loop, story()))
    reason = "no\r\n2026-01-01 INFO forged"
    failed = Event("e", stack.id, stack.id, 1.0, "r", "T", None, "CREATE", "FAILED", reason)
    LifeLog(UNOBSERVED, lambda name: None).happened(stack, None, [failed])
    assert told.records[-1].getMessage().endswith("CREATE failed: no 2026-01-01 INFO forged")


def name_of(stack_id: str) -> str:
    return f"stack s ({stack_id}) of project p, -"


@pytest.mark.parametrize(
    ("graceful", "words"), [(True, "continues on this engine"), (False, "taken over")]
)
def test_who_goes_on_with_an_operation_says_so(
    told: pytest.LogCaptureFixture, graceful: bool, words: str
):
    loop, world = a_world()

    async def story() -> None:
        world.start_engines(1)
        await world.create("s", revision_of(CHAIN), timeout_mins=60)
        await asyncio.sleep(7.0)
        if graceful:
            world.stop(world.engines[0])
        else:
            world.kill(world.engines[0])
        await asyncio.sleep(20.0)
        world.start_engines(1)
        await world.rest(limit_s=600.0)

    run(loop, story())
    said = [line for _, line in lines(told) if "CREATE" in line]
    assert [words in line for line in said] == [False, True, False], said
    if graceful:
        assert "released 1 stacks" in told.text

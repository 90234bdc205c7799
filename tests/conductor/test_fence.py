"""A conductor whose task was taken over sends no write call any more."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.clusters.task_content import CreateCluster
from hearth.conductor.steps import STEPS
from hearth.conductor.work import Work
from hearth.process.lifetime import until_stopped
from hearth.process.sockets import Sockets
from hearth.store.clusters.tables import cluster_task
from tests.conductor.world import World, story, world

TAKEN = {"owner": "another", "epoch": cluster_task.c.epoch + 1, "leased_until": 4e9}
EXPIRED = {"leased_until": 1.0}


async def stalled(
    here: World, monkeypatch: pytest.MonkeyPatch, **then: Any
) -> Callable[[], Awaitable[None]]:
    """Let the first step of a create stall: when it goes on, its row has other values. Return a
    function that waits until the step has ended.
    """
    step, ended = STEPS[CreateCluster]["identity"], asyncio.Event()

    async def identity(work: Work) -> None:
        changed = cluster_task.update().where(cluster_task.c.id == work.task.id).values(then)
        if not ended.is_set():
            await here.services.store.run(lambda tx: tx.execute(changed) and None)
        try:
            await step(work)
        finally:
            ended.set()

    monkeypatch.setitem(STEPS[CreateCluster], "identity", identity)  # type: ignore[arg-type]

    async def wait() -> None:
        await asyncio.wait_for(ended.wait(), 30)

    return wait


async def process(here: World) -> asyncio.Task[int]:
    """Start what `hearth serve --role cluster` runs, without its API."""
    ready = asyncio.Event()
    running = until_stopped(here.process, Sockets(), work=False, clusters=True, ready=ready.set)
    task = asyncio.create_task(running)
    await ready.wait()
    return task


@story
async def test_a_conductor_that_was_taken_over_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with world(tmp_path) as here:
        wait = await stalled(here, monkeypatch, **TAKEN)
        running = await process(here)
        made = await here.create(await here.template())
        await wait()
        assert here.in_keystone(made.uuid) == []
        rows = await here.services.store.read(lambda tx: tx.rows(sa.select(cluster_task)))
        assert [row.owner for row in rows] == ["another"]
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0


@story
async def test_a_conductor_whose_lease_has_expired_goes_on_with_a_new_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with world(tmp_path) as here:
        wait = await stalled(here, monkeypatch, **EXPIRED)
        running = await process(here)
        made = await here.create(await here.template())
        await wait()
        assert here.in_keystone(made.uuid) == []
        async with asyncio.timeout(30):
            while len(here.in_keystone(made.uuid)) < 2:
                await asyncio.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0

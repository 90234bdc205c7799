"""Conductors that die again and again: a cluster outlives them, and leaves nothing behind."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec import structs

from hearth.clusters.requests import GroupRequest, ResizeRequest, UpgradeRequest
from hearth.conductor.conductor import Conductor
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.members import members_of
from hearth.service.clusters.node_groups import create_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_ca, rotate_credential
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters.key_table import cluster_identity, cluster_key_pair, cluster_rotation
from hearth.store.clusters.tables import cluster_task
from hearth.store.database import Store, Tx
from tests.conductor.test_notifications import words
from tests.conductor.world import World, story, world
from tests.selection import part_of

T = TypeVar("T")
LIVES_MAX = 1000
POINTS = [(writes, after) for writes in (4, 5, 6, 7) for after in (False, True)]


class Killed(BaseException):
    """The process is dead: nothing of it goes on."""


class MortalStore:
    """The store of a process that dies at one of its transactions: instead of it, or after it."""

    def __init__(self, store: Store, writes: int, *, after: bool) -> None:
        self._store = store
        self._left = writes
        self._after = after
        self.dead = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        self._check()
        return await self._store.read(fn)

    async def run(self, fn: Callable[[Tx], T]) -> T:
        return await self._mortal(lambda: self._store.run(fn))

    async def run_once(self, fn: Callable[[Tx], T]) -> T:
        return await self._mortal(lambda: self._store.run_once(fn))

    def _check(self) -> None:
        if self.dead.is_set():
            raise Killed

    async def _mortal(self, write: Any) -> Any:
        self._check()
        self._left -= 1
        if self._left <= 0 and not self._after:
            self.dead.set()
            raise Killed
        done = await write()
        if self._left <= 0:
            self.dead.set()
            raise Killed
        return done


class Mortals:
    """Conductors of which each dies after some transactions, and is followed by the next one."""

    def __init__(self, here: World, writes: int, *, after: bool) -> None:
        self._here = here
        self._how = (writes, after)
        self.lives = 0

    async def live(self) -> None:
        """Start one conductor after the other."""
        here, (writes, after) = self._here, self._how
        while self.lives < LIVES_MAX:
            self.lives += 1
            # lives of different lengths, so that no step can only be reached by longer ones
            store: Any = MortalStore(here.services.store, writes + self.lives % 8, after=after)
            services = structs.replace(here.services, store=store)
            conductor = Conductor(services, here.files, f"host{self.lives % 3}")
            here.conductor, here._task = conductor, asyncio.create_task(conductor.run())
            await store.dead.wait()
            await here.kill()
        raise AssertionError(f"the story needs more than {LIVES_MAX} lives")


async def told(here: World) -> None:
    """The life of a cluster, with a request of each kind."""
    services, caller = here.services, here.caller
    made = await here.create(await here.template(), node_count=1)

    async def good() -> Any:
        found = await here.settled(made.uuid, 240)
        assert found is not None
        assert (found.status or "").endswith("_COMPLETE"), found.status_reason
        return found

    found = await good()
    assert len(await here.stacks()) == 1
    await resize_cluster(services, caller, found, ResizeRequest(3))
    assert len(await members_of(services, await good(), "default-worker")) == 3
    await create_group(services, caller, await good(), GroupRequest(name="gpu", node_count=1))
    await good()
    assert len(await here.stacks()) == 2
    await rotate_ca(services, caller, await good())
    await good()
    await rotate_credential(services, caller, await good())
    newer = await here.template(name="newer", image_id="ubuntu-kube-v1.32.1")
    await upgrade_cluster(services, caller, await good(), UpgradeRequest(newer.uuid))
    last = await good()
    assert last.cluster_template_id == newer.uuid
    assert await here.count(cluster_key_pair) == 4
    assert await here.count(cluster_identity) == 1
    assert len(here.in_keystone(made.uuid)) == 2
    await delete_cluster(services, caller, last)
    assert await here.settled(made.uuid, 240) is None


@pytest.mark.slow
@pytest.mark.parametrize(("writes", "after"), part_of(POINTS, 8))
@story
async def test_a_cluster_outlives_its_conductors(tmp_path: Path, writes: int, after: bool) -> None:
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        mortals = Mortals(here, writes, after=after)
        living = asyncio.create_task(mortals.live())
        telling = asyncio.create_task(told(here))
        await asyncio.wait({living, telling}, return_when=asyncio.FIRST_COMPLETED)
        living.cancel()
        if not telling.done():
            telling.cancel()
            await living
        await telling
        await asyncio.gather(living, return_exceptions=True)
        assert mortals.lives > 5
        assert await here.stacks() == []
        for table in (cluster_key_pair, cluster_identity, cluster_rotation, cluster_task):
            assert await here.count(table) == 0, table.name
        found = [one for one in await words(here) if one.startswith("cluster")]
        for operation, times in (("create", 1), ("update", 5), ("delete", 1)):
            for outcome in ("pending", "success"):
                assert found.count(f"cluster.{operation} {outcome}") == times, found
        here.conductor = None

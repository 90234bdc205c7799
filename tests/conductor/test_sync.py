"""The synchronisation goes on although one cluster of a batch cannot be read or stored."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.conductor import sync
from hearth.store.clusters.tables import cluster, node_group
from tests.conductor.world import World, story, world

pytestmark = pytest.mark.slow


async def two(here: World) -> tuple[str, str]:
    """The UUIDs of two complete clusters that the next synchronisation must examine."""
    conductor = here.start()
    template = await here.template()
    found = [await here.create(template, name=name) for name in ("broken", "sound")]
    for one in found:
        assert (await here.settled(one.uuid)) is not None
    await conductor.stop()
    await here.services.store.run(lambda tx: tx.execute(node_group.update().values(seen=None)))
    return found[0].uuid, found[1].uuid


async def unseen(here: World, uuid: str) -> int:
    """How many groups of a cluster must still be examined."""
    return await here.count(
        node_group, node_group.c.cluster_id == uuid, node_group.c.seen.is_(None)
    )


@story
async def test_a_cluster_that_cannot_be_read_stops_no_other(tmp_path: Path):
    async with world(tmp_path) as here:
        broken, sound = await two(here)
        bad = sa.update(cluster).where(cluster.c.uuid == broken).values(body=b"nothing")
        await here.services.store.run(lambda tx: tx.execute(bad))
        await sync.Sync(here.services).settled()
        assert (await unseen(here, broken), await unseen(here, sound)) == (2, 0)


@story
async def test_a_cluster_that_cannot_be_stored_stops_no_other(tmp_path: Path):
    async with world(tmp_path) as here:
        broken, sound = await two(here)
        store, evaluated = sync._store, []

        def failing(tx: Any, read: Any, *more: Any) -> None:
            if read.cluster.uuid == broken:
                raise ValueError("a fault of ours")
            store(tx, read, *more)

        class Counted(sync.Sync):
            async def _state(self, whole: Any, stack: Any) -> Any:
                evaluated.append(whole.cluster.uuid)
                return await super()._state(whole, stack)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sync, "_store", failing)
            await Counted(here.services).settled()
        assert (await unseen(here, broken), await unseen(here, sound)) == (2, 0)
        assert sorted(evaluated) == sorted([broken, sound])  # once each

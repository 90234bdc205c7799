"""Resizes of which one comes before the other has ended: all named nodes leave, and no other."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hearth.clusters.objects import DEFAULT_WORKER, Cluster
from hearth.clusters.requests import ResizeRequest
from hearth.conductor.sync import Sync
from hearth.service.clusters.members import members_of
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_credential
from hearth.store.clusters import clusters, tasks
from tests.conductor.test_conductor import created
from tests.conductor.world import World, small_files, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

SLOW_S = 0.6


def slow_before_the_workers(here: World, **properties: Any) -> None:
    """Let an update of the cluster's stack take a while before it reaches the workers."""
    wanted = {
        "value": {"get_param": "number_of_minions"},
        "action_wait_secs": {"update": SLOW_S},
        **properties,
    }
    slow = {"type": "OS::Heat::TestResource", "properties": wanted}
    here.files = small_files({"slow": slow}, workers_after=["slow"])


async def resize(here: World, found: Cluster, count: int, *names: str) -> None:
    await resize_cluster(here.services, here.caller, found, ResizeRequest(count, names))


async def indexes(here: World, uuid: str) -> list[str]:
    found = await here.whole(uuid)
    assert found is not None
    return [one.index for one in await members_of(here.services, found.cluster, DEFAULT_WORKER)]


async def taken(here: World, uuid: str) -> None:
    """Wait until a conductor has begun what was asked for."""
    while await here.services.store.read(lambda tx: tasks.of_cluster(tx, uuid)):
        await asyncio.sleep(0.01)


async def ends(here: World, found: Cluster, left: Sequence[str]) -> Cluster:
    after = await here.settled(found.uuid)
    assert after is not None
    assert after.status == "UPDATE_COMPLETE", after.status_reason
    assert await indexes(here, found.uuid) == left
    whole = await here.whole(found.uuid)
    assert whole is not None
    assert whole.defaults[-1].node_count == len(left)
    return after


@pytest.mark.parametrize("gap_s", [0.0, 0.1, 0.3, 0.7, None])
@story
async def test_all_nodes_leave_that_one_of_two_requests_names(
    tmp_path: Path, gap_s: float | None
) -> None:
    async with world(tmp_path) as here:
        slow_before_the_workers(here)
        here.start()
        found = await created(here, node_count=4)
        await resize(here, found, 3, "0")
        if gap_s is None:
            await taken(here, found.uuid)
        else:
            await asyncio.sleep(gap_s)
        await resize(here, found, 2, "2")
        after = await ends(here, found, ["1", "3"])
        await resize(here, after, 3)  # names are not sticky
        await ends(here, found, ["1", "3", "4"])


@story
async def test_three_requests_of_which_the_last_names_two(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        slow_before_the_workers(here)
        here.start()
        found = await created(here, node_count=5)
        for count, names in ((4, ["0"]), (3, ["2"]), (1, ["3", "4"])):
            await resize(here, found, count, *names)
            await taken(here, found.uuid)
        await ends(here, found, ["1"])


@story
async def test_another_operation_follows_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        slow_before_the_workers(here)
        here.start()
        found = await created(here, node_count=3)
        await resize(here, found, 2, "0")
        await taken(here, found.uuid)
        await rotate_credential(here.services, here.caller, found)
        after = await ends(here, found, ["1", "2"])
        await resize(here, after, 3)
        await ends(here, found, ["1", "2", "3"])


@story
async def test_an_update_fails_before_it_reaches_the_workers(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        fails = {"equals": [{"get_param": "number_of_minions"}, 2]}
        slow_before_the_workers(here, fail={"if": [fails, True, False]})
        here.start()
        found = await created(here, node_count=3)
        await resize(here, found, 2, "0")
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_FAILED"
        assert await indexes(here, found.uuid) == ["0", "1", "2"]
        await resize(here, after, 1, "2")
        await ends(here, found, ["1"])


@story
async def test_a_look_from_before_the_end_of_a_task_is_not_stored(tmp_path: Path) -> None:
    """Otherwise the cluster would be complete while the update of its stack goes on."""
    async with world(tmp_path) as here:
        slow_before_the_workers(here)
        conductor = here.start()
        found = await created(here, node_count=2)
        await conductor.stop()
        await resize(here, found, 1, "0")
        await here.services.store.run(lambda tx: clusters.look_again(tx, found.uuid))
        sync = Sync(here.services)
        read = sync._states

        async def nothing() -> int:
            return 0

        async def slowly(one: Any) -> Any:
            states = await read(one)
            worker = here.start()
            worker.sync.busy = worker.sync.settled = nothing  # type: ignore[method-assign]
            await taken(here, found.uuid)
            await worker.stop()
            return states

        sync._states = slowly  # type: ignore[method-assign]
        await sync.busy()
        whole = await here.whole(found.uuid)
        assert whole is not None
        assert whole.cluster.status == "UPDATE_IN_PROGRESS"
        here.start()
        await ends(here, found, ["1"])

"""Clusters and node groups whose stacks were never created, and deletes in every state."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.requests import GroupRequest, ResizeRequest, UpgradeRequest
from hearth.clusters.states import STATUSES
from hearth.clusters.task_content import Retry, UnknownTask
from hearth.model.problem import Rejected
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.node_groups import create_group, delete_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_credential
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters import clusters, tasks
from hearth.store.clusters.tables import cluster_task
from hearth.store.clusters.tasks import Task
from hearth.store.database import Tx
from tests.conductor.test_conductor import created, gone
from tests.conductor.world import World, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


async def settled(here: World, uuid: str) -> Cluster:
    found = await here.settled(uuid)
    assert found is not None
    return found


async def with_lost_group(here: World) -> tuple[Cluster, NodeGroup]:
    """Return a cluster in UPDATE_FAILED with a group whose stack the stack service refused."""
    here.start()
    found = await created(here)
    limits = here.services.limits
    here.services.limits = structs.replace(limits, max_stacks_per_tenant=1)
    made = await create_group(
        here.services, here.caller, found, GroupRequest(name="big", role="big")
    )
    after = await settled(here, found.uuid)
    here.services.limits = limits
    assert after.status == "UPDATE_FAILED"
    whole = await here.whole(found.uuid)
    assert whole is not None
    (group,) = whole.extras
    assert (group.uuid, group.stack_id, group.status) == (made.uuid, None, "CREATE_FAILED")
    assert len(await here.stacks()) == 1
    return after, group


@pytest.mark.parametrize("force", [False, True])
@story
async def test_a_cluster_with_a_lost_group_is_deleted(tmp_path: Path, force: bool) -> None:
    async with world(tmp_path) as here:
        found, _ = await with_lost_group(here)
        await delete_cluster(here.services, here.caller, found, force=force)
        await gone(here, found.uuid)


@story
async def test_operations_over_a_lost_group(tmp_path: Path) -> None:
    """They leave it alone or are refused, and end; deleting the group mends the cluster."""
    async with world(tmp_path) as here:
        found, group = await with_lost_group(here)
        services, caller = here.services, here.caller
        with pytest.raises(Rejected, match="could not be created"):
            await resize_cluster(services, caller, found, ResizeRequest(2, nodegroup="big"))
        newer = await here.template(name="newer", image_id="ubuntu-kube-v1.32.1")
        with pytest.raises(Rejected, match="could not be created"):
            await upgrade_cluster(
                services, caller, found, UpgradeRequest(newer.uuid, nodegroup="big")
            )
        for begin in (
            lambda: resize_cluster(services, caller, found, ResizeRequest(2)),
            lambda: rotate_credential(services, caller, found),
            lambda: upgrade_cluster(services, caller, found, UpgradeRequest(newer.uuid)),
        ):
            await begin()
            after = await settled(here, found.uuid)
            assert await here.statuses(found.uuid) == {
                "default-master": "UPDATE_COMPLETE",
                "default-worker": "UPDATE_COMPLETE",
                "big": "CREATE_FAILED",
            }
            assert after.status == "UPDATE_FAILED"
            assert "big failed" in (after.status_reason or "")
        assert after.cluster_template_id == newer.uuid
        await delete_group(services, caller, after, group)
        assert (await settled(here, found.uuid)).status == "UPDATE_COMPLETE"
        await delete_cluster(services, caller, after)
        await gone(here, found.uuid)


@story
async def test_a_resize_behind_a_create_that_fails(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        conductor = here.start()
        found = await created(here)
        await conductor.stop()
        services, caller = here.services, here.caller
        services.limits = structs.replace(services.limits, max_stacks_per_tenant=1)
        wanted = GroupRequest(name="big", node_count=1)
        await create_group(services, caller, found, wanted)
        await resize_cluster(services, caller, found, ResizeRequest(3, nodegroup="big"))
        here.start()
        assert (await settled(here, found.uuid)).status == "UPDATE_FAILED"
        whole = await here.whole(found.uuid)
        assert whole is not None
        (group,) = whole.extras
        assert (group.status, group.node_count) == ("CREATE_FAILED", 1)
        assert "stacks" in (group.status_reason or "")  # what the stack service said
        await delete_cluster(services, caller, found)
        await gone(here, found.uuid)


@story
async def test_a_conductor_dies_while_it_creates_a_group(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        conductor = here.start()
        found = await created(here)
        services, caller = here.services, here.caller
        services.limits = structs.replace(services.limits, max_stacks_per_tenant=1)
        await conductor.stop()
        group = await create_group(services, caller, found, GroupRequest(name="big"))
        here.start()
        while await here.count(cluster_task, cluster_task.c.epoch > 0) == 0:
            await asyncio.sleep(0)
        await here.kill()
        await delete_group(services, caller, found, group)
        await delete_cluster(services, caller, found)
        here.start()
        await gone(here, found.uuid)


async def forget_tasks(here: World, uuid: str) -> None:
    """Remove the tasks of a cluster, so that what was asked for is never created."""
    await here.services.store.run(lambda tx: tasks.drop_of_cluster(tx, uuid))


async def put_in(here: World, status: str, uuid: str, group: NodeGroup | None = None) -> None:
    """Store this status in a cluster and its groups, as if an operation had left it there.

    If `group` is given, only that group gets it.
    """

    def change(tx: Tx) -> None:
        found = clusters.load(tx, uuid, lock=True)
        assert found is not None
        after = found.cluster if group else clusters.at(found.cluster, status=status)
        groups = [g for g in found.groups if group is None or g.uuid == group.uuid]
        changed = [structs.replace(one, status=status) for one in groups]
        clusters.save(tx, found, after, changed, now=1.0)

    await here.services.store.run(change)


@pytest.mark.parametrize("force", [False, True])
@story
async def test_a_cluster_is_deleted_in_every_state(tmp_path: Path, force: bool) -> None:
    async with world(tmp_path) as here:
        conductor = here.start()
        services, caller = here.services, here.caller
        template = await here.template()
        for status in STATUSES:
            made = await here.create(template, node_count=0)
            found = await settled(here, made.uuid)
            assert found.status == "CREATE_COMPLETE", found.status_reason
            await conductor.stop()
            group = await create_group(services, caller, found, GroupRequest(name="big"))
            await forget_tasks(here, made.uuid)
            await put_in(here, status, made.uuid)
            if status.startswith("UPDATE"):
                await delete_group(services, caller, found, group)
            for _ in range(2):
                await delete_cluster(services, caller, found, force=force)
            conductor = here.start()
            await gone(here, made.uuid)


@pytest.mark.parametrize("has_stack", [False, True])
@story
async def test_a_group_is_deleted_in_every_state(tmp_path: Path, has_stack: bool) -> None:
    async with world(tmp_path) as here:
        conductor = here.start()
        services, caller = here.services, here.caller
        found = await created(here, node_count=0)
        for status in STATUSES:
            group = await create_group(
                services, caller, found, GroupRequest(name="big", node_count=0)
            )
            if has_stack:
                await settled(here, found.uuid)
                assert len(await here.stacks()) == 2
            await conductor.stop()
            if not has_stack:
                await forget_tasks(here, found.uuid)
            await put_in(here, status, found.uuid, group)
            for _ in range(2):
                await delete_group(services, caller, found, group)
            conductor = here.start()
            after = await settled(here, found.uuid)
            assert after.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"), (status, after)
            assert "big" not in await here.statuses(found.uuid)
            assert len(await here.stacks()) == 1


@story
async def test_a_retry_whose_stack_is_gone_ends(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        whole = await here.whole(found.uuid)
        assert whole is not None
        lost = structs.replace(whole.defaults[-1], stack_id="no-stack")
        await here.services.store.run(lambda tx: clusters.save(tx, whole, found, [lost], now=1.0))
        again = Task(cluster_id=found.uuid, content=Retry(lost.uuid))
        await here.services.store.run(lambda tx: tasks.put(tx, again, 1.0))
        after: Any = await settled(here, found.uuid)
        assert after.status == "CREATE_COMPLETE"


@story
async def test_a_task_that_only_another_version_knows_stops_no_others(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        first = await created(here)
        unknown = Task(cluster_id=first.uuid, content=UnknownTask("from_the_future"))
        await here.services.store.run(lambda tx: tasks.put(tx, unknown, 1.0))
        await created(here, name="second")
        assert await here.count(cluster_task, cluster_task.c.kind == "from_the_future") == 1

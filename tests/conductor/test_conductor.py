"""Conductors: what they do for each request, and what is left when one dies at any point."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hearth.clusters.conditions import IN_SYNC, condition
from hearth.clusters.objects import DEFAULT_MASTER, DEFAULT_WORKER
from hearth.clusters.requests import ClusterChanges, GroupRequest, ResizeRequest, UpgradeRequest
from hearth.model.problem import Rejected
from hearth.service.clusters.change import change_cluster
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.node_groups import create_group, delete_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_ca, rotate_credential
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters.key_table import cluster_identity, cluster_key_pair, cluster_rotation
from hearth.store.clusters.tables import cluster_task
from tests.conductor.world import World, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


async def created(here: World, **wanted: Any) -> Any:
    made = await here.create(await here.template(), **wanted)
    found = await here.settled(made.uuid)
    assert found is not None
    assert found.status == "CREATE_COMPLETE", found.status_reason
    return found


async def gone(here: World, uuid: str) -> None:
    """Nothing of a cluster is left anywhere."""
    assert await here.settled(uuid) is None
    assert await here.stacks() == []
    assert here.in_keystone(uuid) == []
    for table in (cluster_key_pair, cluster_identity, cluster_rotation, cluster_task):
        assert await here.count(table) == 0, table.name


@story
async def test_a_cluster_from_create_to_delete(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=2)
        (port,) = [
            one for one in here.cloud.cloud.store.all("network.ports")
            if one.body["name"].startswith("first-")
        ]  # fmt: skip
        assert found.api_address == f"https://{port.body['fixed_ips'][0]['ip_address']}:6443"
        (row,) = await here.stacks()
        assert (row.id, row.tags) == (found.stack_id, f"cluster:{found.uuid}")
        assert row.name.startswith("first-")
        assert await here.statuses(found.uuid) == dict.fromkeys(
            (DEFAULT_MASTER, DEFAULT_WORKER), "CREATE_COMPLETE"
        )
        assert await here.count(cluster_key_pair) == 4
        assert len(here.in_keystone(found.uuid)) == 2  # one for nodes, one for the service
        await delete_cluster(here.services, here.caller, found)
        await gone(here, found.uuid)


@story
async def test_requests_to_resize_are_merged(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        counts = (3, 4, 2, 5, 3)
        await asyncio.gather(
            *(resize_cluster(here.services, here.caller, found, ResizeRequest(n)) for n in counts)
        )
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        whole = await here.whole(found.uuid)
        assert whole is not None
        assert whole.defaults[-1].node_count == 3


@story
async def test_a_named_node_is_removed_and_an_unknown_one_refused(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=3)
        from hearth.service.clusters.members import members_of

        before = await members_of(here.services, found, DEFAULT_WORKER)
        assert [one.index for one in before] == ["0", "1", "2"]
        with pytest.raises(Rejected, match="7"):
            await resize_cluster(here.services, here.caller, found, ResizeRequest(2, ("7",)))
        await resize_cluster(
            here.services, here.caller, found, ResizeRequest(2, (before[1].server_id or "",))
        )
        await here.settled(found.uuid)
        left = await members_of(here.services, found, DEFAULT_WORKER)
        assert [one.index for one in left] == ["0", "2"]
        await resize_cluster(here.services, here.caller, found, ResizeRequest(2, ("0",)))
        await here.settled(found.uuid)
        left = await members_of(here.services, found, DEFAULT_WORKER)
        assert [one.index for one in left] == ["2", "3"]  # the node was replaced


@story
async def test_a_group_of_its_own_stack(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        group = await create_group(
            here.services, here.caller, found, GroupRequest(name="gpu", node_count=2, role="gpu")
        )
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        assert (await here.statuses(found.uuid))["gpu"] == "CREATE_COMPLETE"
        assert len(await here.stacks()) == 2
        await delete_group(here.services, here.caller, found, group)
        await here.settled(found.uuid)
        assert "gpu" not in await here.statuses(found.uuid)
        assert len(await here.stacks()) == 1


@story
async def test_rotations_leave_one_set_of_keys_and_one_credential(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        await rotate_ca(here.services, here.caller, found)
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        assert after.ca_cert_ref not in (None, found.ca_cert_ref)
        assert await here.count(cluster_key_pair) == 4
        assert await here.count(cluster_rotation) == 0
        await rotate_credential(here.services, here.caller, after)
        last = await here.settled(found.uuid)
        assert last is not None
        assert last.identity_id not in (None, found.identity_id)
        assert await here.count(cluster_identity) == 1
        assert len(here.in_keystone(found.uuid)) == 2


@story
async def test_an_upgrade_follows_the_template(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        newer = await here.template(name="newer", image_id="ubuntu-kube-v1.32.1")
        await upgrade_cluster(here.services, here.caller, found, UpgradeRequest(newer.uuid))
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        assert after.cluster_template_id == newer.uuid
        whole = await here.whole(found.uuid)
        assert whole is not None
        assert {group.image_id for group in whole.groups} == {newer.image_id}


@story
async def test_a_stack_that_somebody_deleted_is_noticed(tmp_path: Path):
    async with world(tmp_path) as here:
        conductor = here.start()
        found = await created(here)
        from hearth.service.stacks.find import find_stack
        from hearth.service.stacks.update import delete_stack

        row = await find_stack(here.services, here.caller, here.caller.project_id, found.stack_id)
        await delete_stack(here.services, here.caller, row)
        while await here.stacks():
            await asyncio.sleep(0.02)
        await conductor.sync.settled()
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_FAILED"
        assert "no longer exists" in (after.status_reason or "")
        in_sync = condition(after, IN_SYNC)
        assert in_sync is not None
        assert (in_sync.status, in_sync.reason) == ("False", "StackDeleted")


@story
async def test_health_is_reported_without_a_stack_update(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        changed = ClusterChanges(health_status="UNHEALTHY", health_status_reason={"api": "no"})
        after = await change_cluster(here.services, here.caller, found, changed)
        assert (after.health_status, after.status) == ("UNHEALTHY", "CREATE_COMPLETE")

"""What becomes of a cluster when a step fails: one test for each line of spec/clusters.md, 9, that
a conductor decides. Lines of the API are in tests/api/clusters.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hearth.clusters.config import ClusterConfig
from hearth.clusters.requests import GroupRequest, ResizeRequest, UpgradeRequest
from hearth.conductor.conductor import Conductor
from hearth.model.problem import Rejected
from hearth.service.clusters import certificates
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.node_groups import create_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_ca
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters.key_table import cluster_key_pair
from hearth.store.clusters.tables import cluster
from hearth.template import Limits
from tests.conductor.test_conductor import created, gone
from tests.conductor.world import World, small_files, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

BALANCER = {
    "name": "kube_service_web", "vip_subnet_id": "private-subnet",
    "description": "Kubernetes external service default/web from cluster {uuid}",
}  # fmt: skip


def with_resources(here: World, **resources: Any) -> None:
    """Give the stacks of clusters more resources."""
    here.files = small_files(resources)


async def failed(here: World, **wanted: Any) -> Any:
    """Create a cluster that fails; delete it again, and return how it was."""
    made = await here.create(await here.template(), **wanted)
    found = await here.settled(made.uuid)
    assert found is not None
    assert found.status == "CREATE_FAILED"
    assert set((await here.statuses(made.uuid)).values()) == {"CREATE_FAILED"}
    await delete_cluster(here.services, here.caller, found)
    await gone(here, made.uuid)
    return found


@story
async def test_keystone_refuses_the_credential_of_the_nodes(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        match = {"service": "identity", "method": "POST", "path_regex": "application_credentials"}
        effect = {"status": 403, "body": {"error": {"message": "no more of these", "code": 403}}}
        here.cloud.cloud.knobs.add([{"match": match, "effect": effect}])
        found = await failed(here)
        assert "no more of these" in found.status_reason
        assert await here.count(cluster_key_pair) == 0


@story
async def test_a_certificate_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise certificates.bad_request("The random source is broken.")

    monkeypatch.setattr(certificates, "new_ca", broken)
    async with world(tmp_path) as here:
        here.start()
        assert (await failed(here)).status_reason == "The random source is broken."


@story
async def test_a_fault_that_passes_is_waited_for(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        match = {"service": "identity", "method": "POST", "path_regex": "application_credentials"}
        here.cloud.cloud.knobs.add([{"match": {**match, "times": 2}, "effect": {"status": 503}}])
        found = await created(here)
        assert len(here.in_keystone(found.uuid)) == 2


@story
async def test_the_stack_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        with_resources(here, wrong={"type": "OS::Nova::Sever"})
        here.start()
        assert "OS::Nova::Sever" in (await failed(here)).status_reason


@story
async def test_a_resource_fails(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        server = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": "private"}]}
        with_resources(here, broken={"type": "OS::Nova::Server", "properties": server})
        match = {"service": "compute", "method": "POST", "path_regex": "/servers"}
        effect = {
            "status": 403,
            "body": {"forbidden": {"message": "no such key pair", "code": 403}},
        }
        here.cloud.cloud.knobs.add([{"match": match, "effect": effect}])
        here.start()
        found = await failed(here)
        assert "default-master failed, default-worker failed" in found.status_reason
        assert "broken of stack" in found.status_reason
        assert "no such key pair" in found.status_reason


@story
async def test_nodes_that_never_signal_end_with_the_time_limit(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        handle = {"type": "OS::Heat::WaitConditionHandle"}
        waiting = {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 1},
        }
        with_resources(here, handle=handle, waiting=waiting)
        here.start()
        assert "waiting of stack" in (await failed(here)).status_reason


@story
async def test_a_refused_resize_gives_the_group_its_former_number(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        services = here.services
        services.programs.limits = Limits(max_resources_per_stack=20)
        await resize_cluster(services, here.caller, found, ResizeRequest(50))
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_FAILED"
        assert "20" in (after.status_reason or "")
        whole = await here.whole(found.uuid)
        assert whole is not None
        assert whole.defaults[-1].node_count == 1
        await resize_cluster(services, here.caller, after, ResizeRequest(2))  # and it can go on
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE"


@story
async def test_operations_in_the_wrong_state_are_refused_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        template = await here.template()
        made = await here.create(template)  # no conductor works
        for refused in (
            resize_cluster(here.services, here.caller, made, ResizeRequest(2)),
            upgrade_cluster(here.services, here.caller, made, UpgradeRequest(template.uuid)),
            rotate_ca(here.services, here.caller, made),
        ):
            with pytest.raises(Rejected, match="not supported in this state"):
                await refused
        with pytest.raises(Rejected, match="no api_address"):
            await create_group(here.services, here.caller, made, GroupRequest(name="more"))
        found = await here.whole(made.uuid)
        assert found is not None
        assert found.cluster.status == "CREATE_IN_PROGRESS"


@story
async def test_an_upgrade_of_a_driver_without_upgrades_is_refused(tmp_path: Path) -> None:
    config = ClusterConfig(disabled_drivers=("k8s_ubuntu_v1",))
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        template = await here.template(name="other")
        here.services.clusters = structs.replace(
            here.services.clusters, disabled_drivers=config.disabled_drivers
        )
        with pytest.raises(Rejected, match="No installed driver"):
            await upgrade_cluster(here.services, here.caller, found, UpgradeRequest(template.uuid))


@story
async def test_load_balancers_of_software_in_the_cluster_go_first(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        cloud = here.services.cloud(here.caller)
        subnets = await cloud.listing("network", "/v2.0/subnets")
        subnet = next(one["id"] for one in subnets if one["name"] == "private-subnet")
        for uuid in (found.uuid, here.services.new_id()):
            body = {**BALANCER, "vip_subnet_id": subnet}
            body["description"] = BALANCER["description"].format(uuid=uuid)
            await cloud.request(
                "load-balancer", "POST", "/v2.0/lbaas/loadbalancers", json={"loadbalancer": body}
            )
        await delete_cluster(here.services, here.caller, found)
        await gone(here, found.uuid)
        left = await cloud.listing("load-balancer", "/v2.0/lbaas/loadbalancers")
        assert [one for one in left if found.uuid in one["description"]] == []
        assert len([one for one in left if one["provisioning_status"] != "DELETED"]) == 1


@story
async def test_a_load_balancer_that_stays_stops_the_delete(tmp_path: Path) -> None:
    config = ClusterConfig(pre_delete_lb_timeout_s=0.5)
    async with world(tmp_path, config) as here:
        here.start()
        found = await created(here)
        cloud = here.services.cloud(here.caller)
        subnets = await cloud.listing("network", "/v2.0/subnets")
        body = {
            **BALANCER,
            "vip_subnet_id": next(s["id"] for s in subnets if s["name"] == "private-subnet"),
            "description": BALANCER["description"].format(uuid=found.uuid),
        }
        await cloud.request(
            "load-balancer", "POST", "/v2.0/lbaas/loadbalancers", json={"loadbalancer": body}
        )
        match = {"service": "load-balancer", "method": "DELETE"}
        here.cloud.cloud.knobs.add([{"match": match, "effect": {"status": 409}}])
        await delete_cluster(here.services, here.caller, found)
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "DELETE_FAILED"
        assert "kube_service_web" in (after.status_reason or "")
        assert len(await here.stacks()) == 1


@story
async def test_the_quota_holds_for_creates_at_the_same_moment(tmp_path: Path) -> None:
    async with world(tmp_path, ClusterConfig(max_clusters_per_project=2)) as here:
        template = await here.template()
        made = await asyncio.gather(
            *(here.create(template, name=f"c{n}") for n in range(6)), return_exceptions=True
        )
        refused = [one for one in made if isinstance(one, BaseException)]
        assert len(refused) == 4
        assert all("quota" in str(one) for one in refused)
        assert await here.count(cluster) == 2


@story
async def test_two_conductors_share_the_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        other = Conductor(here.services, here.files, "there")
        running = asyncio.create_task(other.run())
        template = await here.template()
        made = await asyncio.gather(*(here.create(template, name=f"c{n}") for n in range(8)))
        for one in made:
            found = await here.settled(one.uuid)
            assert found is not None
            assert found.status == "CREATE_COMPLETE", found.status_reason
        assert len(await here.stacks()) == 8
        assert await here.count(cluster_key_pair) == 32
        await asyncio.gather(*(delete_cluster(here.services, here.caller, one) for one in made))
        for one in made:
            assert await here.settled(one.uuid) is None
        assert await here.stacks() == []
        await other.stop()
        await running

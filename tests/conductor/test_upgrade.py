"""Upgrades: new workers first, old ones drained, never less nodes than wanted, stop and resume."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hearth.clusters import outputs
from hearth.clusters.objects import DEFAULT_WORKER, Cluster
from hearth.clusters.requests import GroupRequest, ResizeRequest, UpgradeRequest
from hearth.conductor import upgrade
from hearth.service.clusters.members import members_of
from hearth.service.clusters.node_groups import create_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters import clusters
from hearth.store.database import Tx
from tests.conductor.kubernetes import Kubernetes, served
from tests.conductor.test_conductor import created
from tests.conductor.world import World, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

NEWER = "ubuntu-kube-v1.32.1"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "LOOK_AGAIN_S", 0.05)
    monkeypatch.setattr("hearth.conductor.waiting.LOOK_AGAIN_S", 0.05)


@contextlib.asynccontextmanager
async def kubernetes(
    here: World, cluster: Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Kubernetes]:
    """Give a cluster a Kubernetes API."""
    made = Kubernetes()
    async with served(here, cluster, folder, made.answer) as address:
        monkeypatch.setattr(outputs, "api_address", lambda *_: address)
        now = here.services.clock.now()

        def change(tx: Tx) -> None:
            clusters.changed(
                tx, cluster.uuid, lambda one: clusters.at(one.cluster, api_address=address), now
            )

        await here.services.store.run(change)
        yield made


async def indexes(here: World, cluster: Cluster, group: str = DEFAULT_WORKER) -> dict[str, str]:
    """Return the servers of a group by their index."""
    found = await members_of(here.services, cluster, group)
    return {one.index: one.server_id or "" for one in found}


async def counts(here: World, uuid: str) -> dict[str, int]:
    whole = await here.whole(uuid)
    assert whole is not None
    return {group.name: group.node_count for group in whole.groups}


async def upgraded(here: World, cluster: Cluster, batch: int = 1) -> Cluster:
    newer = await here.template(name="newer", image_id=NEWER)
    await upgrade_cluster(here.services, here.caller, cluster, UpgradeRequest(newer.uuid, batch))
    after = await here.settled(cluster.uuid)
    assert after is not None
    return after


async def stack_name(here: World) -> str:
    (row,) = await here.stacks()
    return str(row.name)


@story
@pytest.mark.parametrize("tag", [None, "v1.32.1"])
async def test_the_label_kube_tag_follows_the_version(tmp_path: Path, tag: str | None) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, labels={"kube_tag": "v1.31.4", "own": "x"})
        labels = {"kube_tag": tag} if tag else {}
        newer = await here.template(name="newer", image_id=NEWER, labels=labels)
        await upgrade_cluster(here.services, here.caller, found, UpgradeRequest(newer.uuid))
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        assert after.labels == {"kube_tag": after.coe_version, "own": "x"}
        group = await create_group(here.services, here.caller, after, GroupRequest(name="late"))
        assert group.labels["kube_tag"] == "v1.32.1"


@story
async def test_old_workers_go_after_new_ones_are_ready_and_they_are_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=3)
        before = await indexes(here, found)
        name = await stack_name(here)
        async with kubernetes(here, found, tmp_path, monkeypatch) as api:
            for index in range(3):
                api.pod(f"{name}-node-{index}", f"web-{index}")
            api.pod(f"{name}-node-0", "logs", ownerReferences=[{"kind": "DaemonSet"}])
            api.pod(f"{name}-node-0", "static", annotations={"kubernetes.io/config.mirror": "x"})
            after = await upgraded(here, found, 2)
            assert after.status == "UPDATE_COMPLETE", after.status_reason
            nodes = [f"{name}-node-{index}" for index in range(3)]
            assert api.log == [
                f"cordon {nodes[0]}", "evict web-0", f"cordon {nodes[1]}", "evict web-1",
                f"forget {nodes[0]}", f"forget {nodes[1]}",
                f"cordon {nodes[2]}", "evict web-2", f"forget {nodes[2]}",
            ]  # fmt: skip
        now = await indexes(here, found)
        assert now.keys() == {"3", "4", "5"}
        assert not set(now.values()) & set(before.values())
        assert (await counts(here, found.uuid))[DEFAULT_WORKER] == 3
        assert after.coe_version == "v1.32.1"
        # a later resize neither brings back old nodes nor replaces new ones
        await resize_cluster(here.services, here.caller, after, ResizeRequest(4))
        assert (await here.settled(found.uuid)).status == "UPDATE_COMPLETE"  # type: ignore[union-attr]
        assert set(now.items()) < set((await indexes(here, found)).items())


@story
async def test_the_group_never_has_less_workers_than_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=3)
        async with kubernetes(here, found, tmp_path, monkeypatch) as api:
            seen: list[set[str]] = []

            async def look() -> None:
                seen.append(set(await indexes(here, found)))

            api.on_cordon = look
            assert (await upgraded(here, found)).status == "UPDATE_COMPLETE"
        assert seen == [{"0", "1", "2", "3"}, {"1", "2", "3", "4"}, {"2", "3", "4", "5"}]


@story
async def test_an_upgrade_stops_at_pods_that_stay_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=2)
        name = await stack_name(here)
        async with kubernetes(here, found, tmp_path, monkeypatch) as api:
            api.pod(f"{name}-node-1", "database")
            api.kept.add("database")
            monkeypatch.setattr(upgrade, "LIMIT_S", 0.5)
            stopped = await upgraded(here, found)
            assert stopped.status == "UPDATE_FAILED"
            assert "Pods are still running on old nodes: default/database" in (
                stopped.status_reason or ""
            )
            assert (await indexes(here, found)).keys() == {"1", "2", "3"}
            assert (await counts(here, found.uuid))[DEFAULT_WORKER] == 2  # one is temporary
            kept = (await indexes(here, found))["2"]
            api.kept.clear()
            resumed = await upgraded(here, stopped)
            assert resumed.status == "UPDATE_COMPLETE", resumed.status_reason
            now = await indexes(here, found)
            assert now.keys() == {"2", "3"}
            assert now["2"] == kept
            assert (await counts(here, found.uuid))[DEFAULT_WORKER] == 2


@story
async def test_no_old_worker_goes_before_the_new_ones_are_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=2)
        async with kubernetes(here, found, tmp_path, monkeypatch) as api:
            api.unready.add("2")
            monkeypatch.setattr(upgrade, "LIMIT_S", 0.5)
            stopped = await upgraded(here, found)
            assert stopped.status == "UPDATE_FAILED"
            assert "New nodes are not ready" in (stopped.status_reason or "")
            assert api.log == []
            assert here.conductor is not None
            await here.conductor.sync.settled()  # the stack itself is complete
            whole = await here.whole(found.uuid)
            assert whole is not None
            assert whole.cluster.status == "UPDATE_FAILED"
            assert "New nodes are not ready" in (whole.cluster.status_reason or "")
            assert {"0", "1"} < (await indexes(here, found)).keys()


@story
async def test_nodes_of_a_cluster_that_cannot_be_reached_are_replaced_undrained(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await created(here, node_count=1)
        group = await create_group(
            here.services, here.caller, found, GroupRequest(name="more", node_count=2)
        )
        assert (await here.settled(found.uuid)).status == "UPDATE_COMPLETE"  # type: ignore[union-attr]
        after = await upgraded(here, found, 2)
        assert after.status == "UPDATE_COMPLETE", after.status_reason
        assert (await indexes(here, found)).keys() == {"1"}
        assert (await indexes(here, found, group.name)).keys() == {"2", "3"}
        told = await here.services.store.read(lambda tx: clusters.events_of(tx, found.uuid))
        lost = [event for event in told if event["event"] == "nodegroup.not_drained"]
        assert {event["group"] for event in lost} == {DEFAULT_WORKER, "more"}

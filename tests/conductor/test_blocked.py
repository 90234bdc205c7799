"""Operations that wait for quota or capacity, and what the conditions of a cluster say."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hearth.clusters import obstacles
from hearth.clusters.conditions import (
    BLOCKED,
    PROGRESSING,
    READY,
    Condition,
    begun_at,
    condition,
)
from hearth.clusters.requests import ResizeRequest, UpgradeRequest
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters.tables import cluster_task
from tests.conductor.test_conductor import created, gone
from tests.conductor.test_faults import with_resources
from tests.conductor.world import World, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

FULL = {"forbidden": {"message": "VolumeLimitExceeded: quota 'volumes' is used up", "code": 413}}
BROKEN = {"badRequest": {"message": "this volume type cannot be used", "code": 400}}
VOLUME = {
    "type": "OS::Cinder::Volume",
    "properties": {"size": 1, "metadata": {"nodes": {"get_param": "number_of_minions"}}},
    "metadata": {},
}
WAIT_S = 30.0


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstacles, "DELAY_S", 0.2)


def refuse_volumes(here: World, status: int = 413, body: Any = None) -> None:
    match = {"service": "volume", "method": "POST", "path_regex": "/volumes$"}
    effect = {"status": status, "body": body or FULL}
    here.cloud.cloud.knobs.add([{"match": match, "effect": effect}])


async def told(here: World, uuid: str, kind: str, status: str) -> Condition:
    """Wait until a condition of a cluster has a status; return it."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = await here.whole(uuid)
            assert found is not None
            one = condition(found.cluster, kind)
            if one is not None and one.status == status:
                return one
            await asyncio.sleep(0.02)


async def of(here: World, uuid: str, kind: str) -> tuple[str, str]:
    found = await here.whole(uuid)
    assert found is not None
    one = condition(found.cluster, kind)
    assert one is not None
    return one.status, one.reason


@story
async def test_a_create_without_quota_waits_until_there_is_some(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        with_resources(here, volume=VOLUME)
        here.start()
        refuse_volumes(here)
        made = await here.create(await here.template())
        found = await told(here, made.uuid, BLOCKED, "True")
        assert found.reason == "Quota"
        assert "quota 'volumes' is used up" in found.message
        assert found.retry_at is not None
        assert found.retry_at > found.since
        whole = await here.whole(made.uuid)
        assert whole is not None
        assert whole.cluster.status == "CREATE_IN_PROGRESS"
        assert (whole.cluster.status_reason or "").startswith("Blocked (Quota): volume of stack")
        assert await of(here, made.uuid, PROGRESSING) == ("True", "CreateInProgress")
        while found.attempts < 2:  # it is tried, and refused again
            found = await told(here, made.uuid, BLOCKED, "True")
            await asyncio.sleep(0.02)
        here.cloud.cloud.knobs.clear()
        settled = await here.settled(made.uuid)
        assert settled is not None
        assert (settled.status, settled.status_reason) == ("CREATE_COMPLETE", None)
        assert set((await here.statuses(made.uuid)).values()) == {"CREATE_COMPLETE"}
        assert await of(here, made.uuid, BLOCKED) == ("False", "NotBlocked")
        assert await of(here, made.uuid, READY) == ("True", "CreateComplete")
        assert len(list(here.cloud.cloud.store.all("volume.volumes"))) == 1


@story
async def test_a_blocked_cluster_can_be_deleted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "DELAY_S", 3600.0)
    monkeypatch.setattr(obstacles, "DELAY_MAX_S", 3600.0)
    async with world(tmp_path) as here:
        with_resources(here, volume=VOLUME)
        here.start()
        refuse_volumes(here)
        made = await here.create(await here.template())
        await told(here, made.uuid, BLOCKED, "True")
        assert await here.count(cluster_task) == 1
        await delete_cluster(here.services, here.caller, made)
        await gone(here, made.uuid)


@story
async def test_the_time_limit_ends_a_blocked_operation(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        with_resources(here, volume=VOLUME)
        here.start()
        refuse_volumes(here)
        made = await here.create(await here.template(), create_timeout=1)
        await told(here, made.uuid, BLOCKED, "True")
        clock = here.services.clock
        now = clock.now
        clock.now = lambda: now() + 61.0  # type: ignore[method-assign]
        settled = await here.settled(made.uuid)
        assert settled is not None
        assert settled.status == "CREATE_FAILED"
        assert "quota 'volumes' is used up" in (settled.status_reason or "")
        assert await of(here, made.uuid, BLOCKED) == ("False", "NotBlocked")
        assert await of(here, made.uuid, READY) == ("False", "CreateFailed")


@story
async def test_what_waiting_cannot_mend_fails_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        with_resources(here, volume=VOLUME, other=VOLUME)
        here.start()
        match = {"service": "volume", "method": "POST", "path_regex": "/volumes$"}
        rules = [
            {"match": {**match, "nth": 1}, "effect": {"status": 413, "body": FULL}},
            {"match": match, "effect": {"status": 400, "body": BROKEN}},
        ]
        here.cloud.cloud.knobs.add(rules)
        made = await here.create(await here.template())
        settled = await here.settled(made.uuid)
        assert settled is not None
        assert settled.status == "CREATE_FAILED"
        assert await here.count(cluster_task) == 0


@story
async def test_a_new_size_replaces_one_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "DELAY_S", 3600.0)
    monkeypatch.setattr(obstacles, "DELAY_MAX_S", 3600.0)
    async with world(tmp_path) as here:
        properties = {**VOLUME["properties"], "size": {"get_param": "number_of_minions"}}  # type: ignore[dict-item]
        with_resources(here, volume={**VOLUME, "properties": properties})
        here.start()
        found = await created(here)
        match = {"service": "volume", "method": "POST", "path_regex": "/action$"}
        here.cloud.cloud.knobs.add([{"match": match, "effect": {"status": 413, "body": FULL}}])
        await resize_cluster(here.services, here.caller, found, ResizeRequest(2))
        first = await told(here, found.uuid, BLOCKED, "True")
        whole = await here.whole(found.uuid)
        assert whole is not None
        assert whole.cluster.status == "UPDATE_IN_PROGRESS"
        begun = begun_at(whole.cluster)
        here.cloud.cloud.knobs.clear()
        await resize_cluster(here.services, here.caller, found, ResizeRequest(3))
        settled = await here.settled(found.uuid)
        assert settled is not None
        assert settled.status == "UPDATE_COMPLETE"
        assert begun <= first.since
        assert await of(here, found.uuid, BLOCKED) == ("False", "NotBlocked")


@story
async def test_an_upgrade_waits_too(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        named = {"size": 1, "name": {"get_param": "minion_image"}}
        with_resources(here, volume={**VOLUME, "properties": named})
        here.start()
        found = await created(here)
        match = {"service": "volume", "method": "PUT"}
        here.cloud.cloud.knobs.add([{"match": match, "effect": {"status": 413, "body": FULL}}])
        newer = await here.template(name="newer", image_id="ubuntu-kube-v1.32.1")
        await upgrade_cluster(here.services, here.caller, found, UpgradeRequest(newer.uuid))
        await told(here, found.uuid, BLOCKED, "True")
        here.cloud.cloud.knobs.clear()
        settled = await here.settled(found.uuid)
        assert settled is not None
        assert settled.status == "UPDATE_COMPLETE"

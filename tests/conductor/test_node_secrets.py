"""Which URL the nodes of each stack get, with the secret that proves their role."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from hearth.clusters.definition import MASTER_URL, NODE_URL
from hearth.clusters.objects import MASTER, WORKER, Cluster
from hearth.clusters.requests import GroupRequest
from hearth.service.clusters import stack as requests_of_stacks
from hearth.service.clusters.node_groups import create_group
from hearth.service.clusters.node_url import FORMER, credential_url, role_of
from hearth.service.clusters.rotate import rotate_ca, rotate_credential
from hearth.store import reads
from hearth.store.clusters import identities
from tests.conductor.test_conductor import created
from tests.conductor.world import World, small_files, story, world

pytestmark = pytest.mark.slow


async def roles(here: World, cluster: Cluster) -> dict[str, dict[str, str | None]]:
    """Return the roles that the URLs in each stack prove: {group: {parameter: role}}."""
    whole = await here.whole(cluster.uuid)
    assert whole is not None
    found: dict[str, dict[str, str | None]] = {}
    for group in (whole.defaults[0], *whole.extras):
        ident = group.stack_id or ""
        row = await here.services.store.read(lambda tx, i=ident: reads.find_stack(tx, None, i))  # type: ignore[misc]
        _, program = await here.services.program(row)
        urls = {name: program.parameters[name].value for name in (NODE_URL, MASTER_URL)
                if name in program.parameters}  # fmt: skip
        its = whole.cluster.identity_id
        found[group.name] = {
            name: role_of(here.services, cluster.uuid, its, unquote(url.partition("=")[2]))
            for name, url in urls.items()
        }
    return found


async def proving(here: World, cluster: Cluster) -> list[bool]:
    """Return whether masters must prove their role, for each identity of a cluster."""
    kept = await here.services.store.read(lambda tx: identities.of_cluster(tx, cluster.uuid))
    return [one.secrets.roles for one in kept]


async def settled(here: World, cluster: Cluster) -> Cluster:
    found = await here.settled(cluster.uuid)
    assert found is not None
    assert (found.status or "").endswith("_COMPLETE"), found.status_reason
    return found


async def with_group(here: World, cluster: Cluster) -> Cluster:
    wanted = GroupRequest(name="gpu", node_count=1)
    await create_group(here.services, here.caller, cluster, wanted)
    return await settled(here, cluster)


@story
async def test_only_masters_get_the_secret_of_masters_also_after_rotations(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start()
        found = await with_group(here, await created(here))
        wanted = {
            "default-master": {NODE_URL: WORKER, MASTER_URL: MASTER},
            "gpu": {NODE_URL: WORKER, MASTER_URL: None},
        }
        assert await roles(here, found) == wanted
        assert await proving(here, found) == [True]
        await rotate_credential(here.services, here.caller, found)
        after = await settled(here, found)
        assert after.identity_id != found.identity_id
        assert await roles(here, after) == wanted
        assert await proving(here, after) == [True]
        await rotate_ca(here.services, here.caller, after)
        assert await roles(here, await settled(here, after)) == wanted


def shared_url(services: Any, cluster: Cluster, role: str) -> str:
    return "" if role == MASTER else credential_url(services, cluster, FORMER)


@story
async def test_stacks_of_earlier_versions_keep_one_secret_for_all_nodes(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.files = small_files(without={MASTER_URL})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(requests_of_stacks, "credential_url", shared_url)
            conductor = here.start()
            found = await created(here)
            await conductor.stop()
        assert await roles(here, found) == {"default-master": {NODE_URL: FORMER}}
        here.files = small_files()
        here.start()
        found = await with_group(here, found)
        await rotate_credential(here.services, here.caller, found)
        after = await settled(here, found)
        assert after.identity_id != found.identity_id
        assert await roles(here, after) == {
            "default-master": {NODE_URL: FORMER},
            "gpu": {NODE_URL: WORKER, MASTER_URL: None},
        }
        assert await proving(here, after) == [False]

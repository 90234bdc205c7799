"""Operations of a member of the project on a cluster with the key pair of another member."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.cloud.credential import PasswordCredential
from hearth.clusters.requests import GroupRequest, ResizeRequest, UpgradeRequest
from hearth.service.caller import Caller
from hearth.service.clusters.node_groups import create_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.upgrade import upgrade_cluster
from hearth.store.clusters import clusters
from tests.conductor.world import World, caller_of, small_files, story, world

pytestmark = pytest.mark.slow

KEY = "laptop"
KEYED = {
    "type": "OS::Heat::ResourceGroup",
    "properties": {
        "count": {"get_param": "number_of_minions"},
        "resource_def": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.tiny",
                "key_name": {"get_param": "ssh_key_name"},
                "networks": [{"network": "private"}],
            },
        },
    },
}


@asynccontextmanager
async def two_members(folder: Path) -> AsyncIterator[tuple[World, Caller]]:
    """Run a world whose caller has a key pair, and return it with another member of the project."""
    async with world(folder) as here:
        here.files = small_files({"keyed": KEYED})
        here.start()
        cloud = here.services.cloud(here.caller)
        await cloud.request("compute", "POST", "/os-keypairs", json={"keypair": {"name": KEY}})
        yield here, await colleague(here)


async def colleague(here: World) -> Caller:
    who = PasswordCredential(
        here.cloud.auth_url, "admin", "secret", user_domain_name="Default", project_name="admin",
        project_domain_name="Default",
    )  # fmt: skip
    admin = here.process.pool.cloud(who)
    body: dict[str, Any] = {"name": "colleague", "password": "secret", "domain_id": "default"}
    made = await admin.request("identity", "POST", "/v3/users", json={"user": body})
    user, project = made.part("user")["id"], here.caller.project_id
    for role in await admin.listing("identity", "/v3/roles"):
        if role["name"] in ("member", "reader"):
            path = f"/v3/projects/{project}/users/{user}/roles/{role['id']}"
            await admin.request("identity", "PUT", path)
    return await caller_of(here.process, here.cloud.auth_url, "colleague")


async def keys(here: World) -> list[str | None]:
    """Return the key pair of each server."""
    listed = await here.services.cloud(here.caller).listing("compute", "/servers/detail")
    return [one["key_name"] for one in listed]


@story
async def test_a_colleague_resizes_upgrades_and_extends_a_cluster_with_a_key_pair(
    tmp_path: Path,
) -> None:
    async with two_members(tmp_path) as (here, other):
        template = await here.template(keypair_id=KEY)
        made = await here.create(template, node_count=1)
        found = await here.settled(made.uuid)
        assert found is not None
        assert found.status == "CREATE_COMPLETE", found.status_reason

        await resize_cluster(here.services, other, found, ResizeRequest(2))
        found = await here.settled(made.uuid)
        assert found is not None
        assert found.status == "UPDATE_COMPLETE", found.status_reason
        assert await keys(here) == [KEY, KEY]

        await create_group(here.services, other, found, GroupRequest(name="more"))
        found = await here.settled(made.uuid)
        assert found is not None
        assert found.status == "UPDATE_COMPLETE", found.status_reason
        assert sorted(await keys(here), key=str) == [None, KEY, KEY]
        events = await here.services.store.read(lambda tx: clusters.events_of(tx, made.uuid))
        noted = [one for one in events if one["event"] == "nodegroup.without_key_pair"]
        assert [one["group"] for one in noted] == ["more"]

        await upgrade_cluster(here.services, other, found, UpgradeRequest(template.uuid))
        found = await here.settled(made.uuid)
        assert found is not None
        assert found.status == "UPDATE_COMPLETE", found.status_reason
        assert sorted(await keys(here), key=str) == [None, KEY, KEY]


@story
async def test_a_cluster_shrinks_after_its_key_pair_was_deleted(tmp_path: Path) -> None:
    async with two_members(tmp_path) as (here, _):
        made = await here.create(await here.template(keypair_id=KEY), node_count=2)
        found = await here.settled(made.uuid)
        assert found is not None
        await here.services.cloud(here.caller).request("compute", "DELETE", f"/os-keypairs/{KEY}")
        await resize_cluster(here.services, here.caller, found, ResizeRequest(1))
        found = await here.settled(made.uuid)
        assert found is not None
        assert found.status == "UPDATE_COMPLETE", found.status_reason
        assert await keys(here) == [KEY]

"""Objects of users on the network of a cluster: they stop its delete, unless it is forced."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from hearth.cloud.contract import Cloud
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.events import cluster_events
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster
from tests.conductor.test_conductor import created, gone
from tests.conductor.world import World, small_files, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

NETWORK = {
    "net": {"type": "OS::Neutron::Net", "properties": {"name": "of-cluster"}},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.9.0.0/24"},
    },
    "router": {
        "type": "OS::Neutron::Router",
        "properties": {"name": "way-out", "external_gateway_info": {"network": "public"}},
    },
    "inside": {
        "type": "OS::Neutron::RouterInterface",
        "properties": {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}},
    },
    "port": {"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}},
    "node": {
        "type": "OS::Nova::Server",
        "properties": {
            "name": "node-0", "image": "cirros", "flavor": "m1.tiny",
            "networks": [{"port": {"get_resource": "port"}}],
        },
    },
}  # fmt: skip
NETWORK["port"]["depends_on"] = ["inside"]


def prepare(here: World) -> None:
    """Give clusters a network of their own, and let deletes fail at once."""
    here.files = small_files(NETWORK)
    engine: Any = here.process.engine
    engine.tools = structs.replace(engine.tools, retries=0)
    here.start()


async def on_network(here: World) -> tuple[Cloud, dict[str, Any]]:
    """Return the cloud of the user, and the network of the cluster."""
    cloud = here.services.cloud(here.caller)
    nets = await cloud.listing("network", "/v2.0/networks")
    return cloud, next(one for one in nets if one["name"] == "of-cluster")


async def server(cloud: Cloud, name: str, network_id: str) -> str:
    """Create a server of the user."""
    flavor = next(f for f in await cloud.listing("compute", "/flavors") if f["name"] == "m1.tiny")
    image = next(i for i in await cloud.listing("image", "/v2/images") if i["name"] == "cirros")
    body = {
        "name": name, "flavorRef": flavor["id"], "imageRef": image["id"],
        "networks": [{"uuid": network_id}],
    }  # fmt: skip
    made = await cloud.request("compute", "POST", "/servers", json={"server": body})
    ident = str(made.part("server")["id"])
    for _ in range(200):
        shown = (await cloud.request("compute", "GET", f"/servers/{ident}")).part("server")
        if shown["status"] == "ACTIVE":
            break
    return ident


@story
async def test_a_server_of_the_user_stops_the_delete_until_it_is_forced(tmp_path: Path):
    async with world(tmp_path) as here:
        prepare(here)
        found = await created(here)
        cloud, net = await on_network(here)
        mine = await server(cloud, "web", net["id"])
        await delete_cluster(here.services, here.caller, found)
        after = await here.settled(found.uuid)
        assert after is not None
        assert after.status == "DELETE_FAILED"
        wanted = f"server web ({mine}) on network of-cluster ({net['id']})"
        assert wanted in (after.status_reason or "")
        assert "force=true" in (after.status_reason or "")

        await delete_cluster(here.services, here.caller, after, force=True)
        await gone(here, found.uuid)
        shown = (await cloud.request("compute", "GET", f"/servers/{mine}")).part("server")
        assert (shown["status"], shown["addresses"]) == ("ACTIVE", {})
        nets = await cloud.listing("network", "/v2.0/networks")
        assert "of-cluster" not in {one["name"] for one in nets}


@story
async def test_a_forced_delete_detaches_everything_and_says_what_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    last: list[tuple[FullCluster, list[Any]]] = []

    def remove(tx: Any, whole: FullCluster, now: float) -> None:
        last.append((whole, clusters.events_of(tx, whole.cluster.uuid)))
        real(tx, whole, now)

    real = clusters.remove
    monkeypatch.setattr(clusters, "remove", remove)
    async with world(tmp_path) as here:
        prepare(here)
        found = await created(here)
        cloud, net = await on_network(here)
        subnet = net["subnets"][0]

        async def make(service: str, path: str, root: str, body: dict[str, Any]) -> Any:
            made = await cloud.request(service, "POST", path, json={root: body})
            return made.part(root)

        routers = await cloud.listing("network", "/v2.0/routers")
        own = next(one["id"] for one in routers if one["name"] == "way-out")
        port = await make(
            "network", "/v2.0/ports", "port", {"network_id": net["id"], "name": "lonely"}
        )
        public = next(
            one["id"] for one in await cloud.listing("network", "/v2.0/networks")
            if one["name"] == "public"
        )  # fmt: skip
        floating = await make(
            "network", "/v2.0/floatingips", "floatingip",
            {"floating_network_id": public, "port_id": port["id"]},
        )  # fmt: skip
        other = await make("network", "/v2.0/routers", "router", {"name": "uplink"})
        side = await make(
            "network", "/v2.0/ports", "port", {"network_id": net["id"], "name": "side"}
        )
        path = f"/v2.0/routers/{other['id']}/add_router_interface"
        await cloud.request("network", "PUT", path, json={"port_id": side["id"]})
        foreign = await make("network", "/v2.0/networks", "network", {"name": "foreign"})
        its = await make(
            "network", "/v2.0/subnets", "subnet",
            {"network_id": foreign["id"], "cidr": "10.77.0.0/24", "ip_version": 4},
        )  # fmt: skip
        path = f"/v2.0/routers/{own}/add_router_interface"
        await cloud.request("network", "PUT", path, json={"subnet_id": its["id"]})
        volume = await make("block-storage", "/volumes", "volume", {"name": "pvc-1", "size": 1})
        node = next(
            one for one in await cloud.listing("compute", "/servers") if one["name"] == "node-0"
        )
        for _ in range(200):
            path = f"/volumes/{volume['id']}"
            answer = await cloud.request("block-storage", "GET", path)
            if answer.part("volume")["status"] == "available":
                break
        path = f"/servers/{node['id']}/os-volume_attachments"
        await cloud.request(
            "compute", "POST", path, json={"volumeAttachment": {"volumeId": volume["id"]}}
        )
        assert subnet

        await delete_cluster(here.services, here.caller, found, force=True)
        await gone(here, found.uuid)
        ((whole, events),) = last
        reason = whole.cluster.status_reason or ""
        assert reason.startswith("Detached from the cluster and left in the cloud: ")
        assert f"volume pvc-1 ({volume['id']}) on server node-0" in reason
        assert f"floating IP {floating['floating_ip_address']}" in reason
        assert f"router uplink ({other['id']})" in reason
        told = [one for event in events for one in event.get("objects", ())]
        assert {one["kind"] for one in told} == {
            "floating IP", "interface", "port", "router", "volume",
        }  # fmt: skip
        answer = await cloud.request("block-storage", "GET", f"/volumes/{volume['id']}")
        assert answer.part("volume")["status"] == "available"
        kept = {one["name"] for one in await cloud.listing("network", "/v2.0/routers")}
        assert "uplink" in kept
        ips = await cloud.listing("network", "/v2.0/floatingips")
        assert floating["id"] in {one["id"] for one in ips}


@story
async def test_a_network_that_the_cluster_only_uses_is_left_alone(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        cloud = here.services.cloud(here.caller)
        private = next(
            one["id"] for one in await cloud.listing("network", "/v2.0/networks")
            if one["name"] == "private"
        )  # fmt: skip
        mine = await server(cloud, "web", private)
        await delete_cluster(here.services, here.caller, found, force=True)
        await gone(here, found.uuid)
        assert await cluster_events(here.services, found) == []
        shown = (await cloud.request("compute", "GET", f"/servers/{mine}")).part("server")
        assert shown["addresses"].keys() == {"private"}

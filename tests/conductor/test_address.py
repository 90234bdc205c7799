"""The address of a cluster's API: what users can write into its stack, and whom Hearth calls."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from msgspec.structs import replace

from hearth.cloud.fault import CloudFault, NoService
from hearth.clusters.objects import Cluster
from hearth.conductor.address import is_own, url_of
from hearth.conductor.health import HealthCheck
from hearth.conductor.kubernetes import kubernetes_api
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import update_stack
from hearth.store import reads
from hearth.store.clusters import clusters
from hearth.store.clusters.tables import cluster as table
from hearth.store.database import Tx
from tests.clusters.examples import CLUSTER
from tests.conductor.test_conductor import created
from tests.conductor.world import World, story, world

FLOATING = {"id": "f", "floating_ip_address": "172.24.4.9"}
PORT = {"id": "p", "device_id": "", "fixed_ips": [{"ip_address": "10.0.0.5", "subnet_id": "s"}]}
BALANCER = {"id": "b", "vip_address": "fd00::5"}
LISTS = {"floatingips": [FLOATING], "ports": [PORT], "loadbalancers": [BALANCER]}


class Lists:
    """A cloud that lists objects and ignores all filters; `problems` are faults by collection."""

    def __init__(self, **problems: CloudFault) -> None:
        self.problems = problems
        self.asked: list[str] = []

    async def listing(self, service: str, path: str) -> list[Any]:
        self.asked.append(path)
        name = path.partition("?")[0].rpartition("/")[2]
        if name in self.problems:
            raise self.problems[name]
        return LISTS[name]


def own(cloud: Lists, address: str, *ids: str) -> bool:
    found: Any = cloud
    return asyncio.run(is_own(found, ids, address))


@pytest.mark.parametrize(
    ("address", "ident"), [("172.24.4.9", "f"), ("10.0.0.5", "p"), ("fd00::5", "b")]
)
def test_an_address_belongs_to_the_stack_that_made_its_object(address: str, ident: str):
    assert own(Lists(), address, ident)
    assert own(Lists(), address, *"fpb")
    assert not own(Lists(), address, *({"f", "p", "b"} - {ident}))
    assert not own(Lists(), address)


def test_an_object_of_the_stack_has_its_own_addresses_only():
    for address in ("172.24.4.8", "10.0.0.55", "fd00::6", "127.0.0.1", "169.254.169.254"):
        assert not own(Lists(), address, "f", "p", "b")
    assert own(Lists(), "fd00:0:0::5", "b")


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1:9099/latest/meta-data?x=", "10.0.0.5/", "10.0.0.5@127.0.0.1", "localhost",
     "172.24.4.9 ", "0x7f000001", "2130706433", "[fd00::5]", "10.0.0.5#", "10.0.0.05", "None"],
)  # fmt: skip
def test_a_text_that_is_no_address_is_not_even_asked_for(text: str):
    cloud = Lists()
    assert not own(cloud, text, "f", "p", "b")
    assert cloud.asked == []


def test_a_cloud_that_may_not_be_asked_confirms_nothing_and_an_outage_decides_nothing():
    forbidden, broken = (CloudFault("network", status, "x", "y") for status in (403, 503))
    assert not own(Lists(floatingips=forbidden, ports=forbidden), "10.0.0.5", "f", "p")
    assert own(Lists(floatingips=forbidden), "10.0.0.5", "p")
    assert not own(Lists(loadbalancers=NoService("load-balancer")), "fd00::5", "b")
    with pytest.raises(CloudFault):
        own(Lists(ports=broken), "10.0.0.5", "p")


def test_only_an_address_that_fits_the_cluster_is_called():
    secure = replace(CLUSTER, ca_cert_ref="a-key")
    for cluster, url in (
        (secure, "https://172.24.4.9:6443"), (secure, "https://[fd00::1]:6443"),
        (CLUSTER, "http://172.24.4.9:8080"),
    ):  # fmt: skip
        assert url_of(replace(cluster, api_address=url)) == url
    for cluster, url in (
        (secure, "http://172.24.4.9:8080"), (CLUSTER, "https://172.24.4.9:6443"),
        (CLUSTER, "http://127.0.0.1:9099/latest/meta-data?x=:8080"), (secure, None),
        (CLUSTER, "http://localhost:8080"), (CLUSTER, "http://172.24.4.9"),
        (CLUSTER, "http://a@172.24.4.9:8080"), (CLUSTER, "http://172.24.4.9:8080#"),
        (CLUSTER, "http://172.24.4.9:99999"), (CLUSTER, "http://[::1:8080"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".*"):
            url_of(replace(cluster, api_address=url))


async def with_outputs(here: World, cluster: Cluster, **outputs: str) -> None:
    """Let a user update the stack of a cluster with other outputs, and a parameter."""
    row = await here.services.store.read(
        lambda tx: reads.find_stack(tx, None, cluster.stack_id or "")
    )
    assert row is not None
    template = yaml.safe_load(here.files.template)
    template["outputs"] |= {name: {"value": value} for name, value in outputs.items()}
    request = StackRequest(
        existing=True, template=yaml.safe_dump(template), parameters={"tls_disabled": "true"}
    )
    await update_stack(here.services, here.caller, row, request)


async def in_line(here: World, cluster: Cluster) -> Cluster:
    """Return the cluster when the state of its stack has been stored."""
    async with asyncio.timeout(60):
        while True:
            whole = await here.whole(cluster.uuid)
            assert whole is not None
            row = await here.services.store.read(
                lambda tx: reads.find_stack(tx, None, cluster.stack_id or "")
            )
            assert row is not None
            mark = f"{row.traversal}:{row.state}"
            if row.state == "UPDATE_COMPLETE" and set(whole.seen.values()) == {mark}:
                return whole.cluster
            await asyncio.sleep(0.02)


@pytest.mark.slow
@story
async def test_an_output_that_users_write_is_no_address(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as here:
        here.start()
        before = await created(here)
        assert before.api_address.startswith("https://10.")
        for text in ("127.0.0.1:9099/latest/meta-data?x=", "169.254.169.254"):
            with caplog.at_level(logging.WARNING):
                await with_outputs(here, before, api_address=text)
                after = await in_line(here, before)
            assert after.api_address == before.api_address
            assert "not one of its addresses" in caplog.text
            caplog.clear()


@pytest.mark.slow
@story
async def test_an_outage_of_neutron_delays_the_address(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        match = {"service": "network", "method": "GET", "path_regex": "/floatingips"}
        here.cloud.cloud.knobs.add([{"match": match, "effect": {"status": 503}}])
        here.start()
        made = await here.create(await here.template())
        async with asyncio.timeout(60):
            while not any(row.status == "COMPLETE" for row in await here.stacks()):
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        whole = await here.whole(made.uuid)
        assert whole is not None
        assert (whole.cluster.status, whole.cluster.api_address) == ("CREATE_IN_PROGRESS", None)
        here.cloud.cloud.knobs.rules.clear()
        after = await here.settled(made.uuid)
        assert after is not None
        assert after.status == "CREATE_COMPLETE"
        assert (after.api_address or "").startswith("https://10.")


@contextlib.asynccontextmanager
async def internal(calls: list[str]) -> AsyncIterator[str]:
    """Serve something that only this machine can reach; yield its address."""

    async def answer(request: web.Request) -> web.Response:
        calls.append(f"{request.method} {request.path}")
        return web.json_response({"SecretAccessKey": "canary"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.slow
@story
async def test_an_address_that_is_not_public_is_not_called(tmp_path: Path) -> None:
    """Not for health, and not for drains; also if an earlier version has stored it."""
    calls: list[str] = []
    async with world(tmp_path) as here, internal(calls) as address:
        conductor = here.start()
        found = await created(here)
        await conductor.stop()
        here.conductor = None
        check = HealthCheck(here.services)

        def change(tx: Tx) -> None:
            values = {"api_address": address, "ca_cert_ref": None}
            clusters.changed(tx, found.uuid, lambda one: clusters.at(one.cluster, **values), 1.0)

        async def asked(rounds: int = 3) -> Cluster:
            for _ in range(rounds):
                await here.services.store.run(
                    lambda tx: tx.execute(table.update().values(health_at=0.0)) and None
                )
                await check.round()
            whole = await here.whole(found.uuid)
            assert whole is not None
            return whole.cluster

        await here.services.store.run(change)
        allowed = here.services.clusters
        here.services.clusters = replace(allowed, networks=())
        sick = await asked()
        assert (sick.health_status, calls) == ("UNKNOWN", [])
        assert "127.0.0.1 is not a public address" in sick.health_status_reason["api"]
        for act in ("cordon", "forget", "node", "pods"):
            with pytest.raises(OSError, match="not a public address"):
                async with kubernetes_api(here.services, sick) as api:
                    await getattr(api, act)("farm-node-0")
        assert calls == []
        here.services.clusters = allowed
        await asked(1)
        assert calls == ["GET /healthz", "GET /api/v1/nodes"]

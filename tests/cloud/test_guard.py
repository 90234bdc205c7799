"""Clouds that users name: only public addresses are called, and little is told of what is there."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest
from aiohttp import web

from hearth.cloud import CloudConfig, CloudFault, transport
from hearth.cloud.fault import NOT_ITS_OWN
from hearth.cloud.foreign_credential import foreign_credential
from hearth.cloud.guard import Guard
from hearth.cloud.pool import CloudPool

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "INTERNALSECRET"
INSIDE = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]",
          "[::ffff:127.0.0.1]"]  # fmt: skip


class Inside:
    """What only this machine reaches: it counts who comes, and answers with a secret."""

    def __init__(self):
        self.seen = []
        self.status, self.text, self.kind = 400, json.dumps({"error": {"message": SECRET}}), "json"

    async def answer(self, request):
        self.seen.append(request.path)
        if request.path.endswith("/auth/tokens"):
            return web.json_response(
                {"token": self.token}, status=201, headers={"X-Subject-Token": "t"}
            )
        return web.Response(
            status=self.status, text=self.text, content_type=f"application/{self.kind}"
        )


@asynccontextmanager
async def inside(networks=()):
    """The machine's own service, and a pool that may call `networks`."""
    service = Inside()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", service.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    pool = CloudPool(CloudConfig(foreign_cloud_networks=networks))
    try:
        yield service, port, pool
    finally:
        await pool.aclose()
        await runner.cleanup()


def credential(url):
    auth = {"auth_url": url, "user_id": "u", "password": "p", "project_id": "p"}
    return foreign_credential(json.dumps({"auth_type": "v3password", "auth": auth}))


def catalogue(url):
    """The token of a hostile Keystone, whose orchestration service is at the URL."""
    endpoint = {"id": "e", "interface": "public", "region": "r", "region_id": "r", "url": url}
    return {
        "methods": ["password"], "expires_at": "2099-01-01T00:00:00.000000Z",
        "issued_at": "2020-01-01T00:00:00.000000Z", "user": {"id": "u", "name": "u",
        "domain": {"id": "d", "name": "d"}}, "roles": [], "audit_ids": [],
        "project": {"id": "p", "name": "p", "domain": {"id": "d", "name": "d"}},
        "catalog": [{"id": "s", "type": "orchestration", "name": "h", "endpoints": [endpoint]}],
    }  # fmt: skip


async def refusal(call):
    with pytest.raises(CloudFault) as fault:
        await call
    return fault.value


@pytest.mark.parametrize("host", INSIDE)
def test_an_auth_url_inside_is_not_called(host):
    async def story():
        async with inside() as (service, port, pool):
            cloud = pool.cloud(credential(f"http://{host}:{port}/v3"))
            return await refusal(cloud.request("orchestration", "GET", "/stacks")), service.seen

    fault, seen = asyncio.run(story())
    assert seen == []
    assert fault.type in ("ConnectFailure", "NoAnswer", "ConnectTimeout")
    assert fault.message == "Keystone does not answer"


@pytest.mark.parametrize("host", INSIDE)
def test_a_service_of_the_catalogue_inside_is_not_called(host):
    """Its Keystone may be called, its orchestration service is elsewhere inside."""

    async def story():
        networks = (ip_network("127.0.0.2/32"),)
        async with inside(networks) as (service, port, pool):
            app = web.Application()
            app.router.add_route("*", "/{rest:.*}", service.answer)
            runner = web.AppRunner(app)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.2", 0)
            await site.start()
            try:
                far = runner.addresses[0][1]
                service.token = catalogue(f"http://{host}:{port}/json")
                cloud = pool.cloud(credential(f"http://127.0.0.2:{far}/v3"))
                asked = cloud.request("orchestration", "POST", "/stacks", json={})
                return await refusal(asked), service.seen
            finally:
                await runner.cleanup()

    fault, seen = asyncio.run(story())
    assert [path for path in seen if "/json" in path] == []
    assert "/v3/auth/tokens" in seen
    assert fault.message in (
        "orchestration: the service does not answer",
        "POST /json/stacks: no answer",
    )


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (json.dumps({"error": {"message": SECRET * 100}}), "json", (SECRET * 100)[:200]),
        (f"<p>{SECRET}</p>", "html", NOT_ITS_OWN.format(400, "Bad Request")),
        (SECRET, "text", NOT_ITS_OWN.format(400, "Bad Request")),
        (f'{{"odd": "{SECRET}"}}', "json", NOT_ITS_OWN.format(400, "Bad Request")),
    ],
)
def test_little_is_told_of_what_answers(text, kind, told, monkeypatch):
    monkeypatch.setattr(transport, "ATTEMPTS_MAX", 1)

    async def story():
        async with inside(LOOPBACK) as (service, port, pool):
            service.token = catalogue(f"http://127.0.0.1:{port}/x")
            service.text, service.kind = text, kind
            cloud = pool.cloud(credential(f"http://127.0.0.1:{port}/v3"))
            bad = await refusal(cloud.request("orchestration", "GET", "/stacks"))
            service.status, service.text, service.kind = 200, f"<p>{SECRET}", "json"
            unread = await refusal(cloud.request("orchestration", "DELETE", "/stacks"))
            return bad, unread

    bad, unread = asyncio.run(story())
    assert bad.message == told
    assert SECRET not in unread.message


def test_closed_ports_and_other_protocols_look_alike():
    async def story():
        with socket.create_server(("127.0.0.1", 0)) as mute:
            closed = socket.create_server(("127.0.0.1", 0))
            ports = [closed.getsockname()[1], mute.getsockname()[1]]
            closed.close()
            told = set()
            for port in ports:
                async with inside() as (_, _, pool):
                    cloud = pool.cloud(credential(f"http://127.0.0.1:{port}/v3"))
                    fault = await refusal(cloud.request("orchestration", "GET", "/stacks"))
                    told.add((fault.type, fault.message))
            return told

    assert len(asyncio.run(story())) == 1


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("8.8.8.8", True), ("10.0.0.1", False), ("169.254.169.254", False), ("::1", False),
        ("64:ff9b::7f00:1", False), ("::ffff:10.0.0.1", False), ("224.0.0.1", False),
        ("2001:4860:4860::8888", True), ("fe80::1%eth0", False), ("100.64.0.1", False),
        ("64:ff9b:1::a00:1", False), ("::10.0.0.1", False), ("fec0::1", False),
        ("::ffff:0:10.0.0.1", False), ("2002:a00:1::", False), ("2002:808:808::", True),
    ],
)  # fmt: skip
def test_public_addresses_pass(address, allowed):
    assert Guard().allows(address) is allowed
    assert Guard((ip_network("0.0.0.0/0"), ip_network("::/0"))).allows(address)

"""Other regions and other clouds, from the cloud that there is."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest
from aiohttp import web

from hearth.cloud import CloudConfig, CloudFault, PasswordCredential
from hearth.cloud.fallback import FallbackCloud, UnauthorizedCloud
from hearth.cloud.foreign_credential import foreign_credential
from hearth.cloud.pool import CloudPool
from hearth.cloud.reach import Reach, Tls
from hearth_devcloud.server import serve
from hearth_devcloud.settings import Settings
from tests.cloud.connections import abort_connections
from tests.cloud.test_reach import certificate, demo_of, more_endpoints
from tests.cloud.test_transport import Town

FAR = {"interface": "public", "region_id": "Far", "url": "http://far/net"}
LOOPBACK = (ip_network("127.0.0.0/8"),)
NEVER = CloudFault("identity", 401, "Unauthorized", "no")


def credential(kind="v3password", **auth):
    return foreign_credential(json.dumps({"auth_type": kind, "auth": auth}))


def demo_at(auth_url):
    return credential(
        auth_url=auth_url, username="demo", password="secret", project_name="demo",
        user_domain_id="default", project_domain_id="default",
    )  # fmt: skip


@asynccontextmanager
async def own(config=None):
    """A cloud as its user demo sees it."""
    running = await serve(settings=Settings())
    pool = CloudPool(config or CloudConfig(region="RegionOne", foreign_cloud_networks=LOOPBACK))
    try:
        yield running, pool, pool.cloud(demo_of(running))
    finally:
        await pool.aclose()
        await running.close()


async def all_kinds(cloud):
    """Credentials of whoever `cloud` is of, each as a secret would hold it."""
    who = await cloud.whoami()
    path = f"/v3/users/{who.user_id}/application_credentials"
    body = {"application_credential": {"name": "far"}}
    made = (await cloud.request("identity", "POST", path, json=body)).part("application_credential")
    there = {"auth_url": who.auth_url}
    secret = {"application_credential_secret": made["secret"]}
    by_id = {**there, **secret, "application_credential_id": made["id"]}
    by_name = {
        **there, **secret, "application_credential_name": "far", "user_id": who.user_id
    }  # fmt: skip
    yield demo_at(who.auth_url)
    yield credential("v3applicationcredential", **by_id)
    yield credential("v3applicationcredential", **by_name)
    token = {**there, "token": await cloud.token(), "project_id": who.project_id}
    yield credential("v3token", **token)


def test_each_kind_of_credential_leads_to_its_own_cloud():
    async def story():
        found = []
        async with own() as (_, _, here), own() as (_, _, there):
            wanted = (await there.endpoint("network"), (await there.whoami()).project_id)
            async for one in all_kinds(there):
                away = here.elsewhere(credential=one)
                assert "secret" not in repr(one).replace("_secret", "")
                assert await away.listing("network", "/v2.0/networks")
                found.append((await away.endpoint("network"), (await away.whoami()).project_id))
            return wanted, found

    wanted, found = asyncio.run(story())
    assert found == [wanted] * 4


def test_a_region_is_one_of_this_cloud_under_the_same_credential():
    async def story():
        config = CloudConfig(
            region="RegionOne",
            foreign_cloud_networks=LOOPBACK,
            services={"network": Reach(region="RegionOne")},
        )
        async with own(config) as (running, _, here):
            await more_endpoints(running, "network", FAR)
            far = here.elsewhere(region="Far")
            assert await far.endpoint("network") == "http://far/net"
            assert (await far.whoami()).user_id == (await here.whoami()).user_id
            with pytest.raises(CloudFault, match="no network service") as none:
                await here.elsewhere(region="Nowhere").endpoint("network")
            return none.value.type

    assert asyncio.run(story()) == "EndpointNotFound"


def test_another_clouds_region_is_that_of_its_catalogue():
    async def story():
        async with own() as (_, _, here), own() as (there, _, _):
            await more_endpoints(there, "network", FAR)
            away = here.elsewhere(region="Far", credential=demo_at(there.auth_url))
            return await away.endpoint("network")

    assert asyncio.run(story()) == "http://far/net"


def test_what_leads_to_the_same_place_is_the_same_cloud():
    async def story():
        async with own() as (_, _, here):
            one = demo_at("http://far")
            far = here.elsewhere(credential=one)
            assert here.elsewhere(credential=demo_at("http://far")) is far
            assert here.elsewhere(region="RegionOne") is here
            others = [
                here.elsewhere(region="Far"),
                here.elsewhere(tls=Tls(insecure=True)),
                here.elsewhere(credential=one, region="Far"),
                here.elsewhere(credential=one, tls=Tls(insecure=True)),
                here.elsewhere(credential=demo_at("http://farther")),
            ]
            return len({id(cloud) for cloud in (here, far, *others)})

    assert asyncio.run(story()) == 7


def test_a_cloud_that_does_not_answer_is_a_passing_fault():
    async def story():
        async with own() as (_, _, here):
            with pytest.raises(CloudFault) as fault:
                await here.elsewhere(credential=demo_at("http://127.0.0.1:9")).token()
            return fault.value

    fault = asyncio.run(story())
    assert (fault.passing, fault.type) == (True, "ConnectFailure")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("mine", [Tls(), Tls(insecure=True)])
@pytest.mark.parametrize("keystone", ["http", "https"])
@pytest.mark.parametrize(
    ("names", "works"), [((), False), (("ca_text",), True), (("insecure",), True)]
)
def test_certificates_of_another_cloud_are_believed_as_its_user_says(
    tmp_path, monkeypatch, keystone, names, works, mine
):
    """Whatever is said of the cloud that there is: `mine`."""
    monkeypatch.setattr("hearth.cloud.transport.LASTING_MAX", 1)
    path = certificate(tmp_path)
    said = {name: name == "insecure" or path.read_text() for name in names}
    town = Town()

    async def story():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        app = web.Application()
        app.router.add_post("/v3/auth/tokens", town.keystone)
        app.router.add_route("*", "/net/v2.0/{rest:.*}", town.network)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        (_, secure), (_, plain) = runner.addresses
        town.url = f"https://127.0.0.1:{secure}"
        auth_url = town.url if keystone == "https" else f"http://127.0.0.1:{plain}"
        pool = CloudPool(CloudConfig(tls=mine, foreign_cloud_networks=LOOPBACK))
        here = pool.cloud(PasswordCredential("http://127.0.0.1:9", "u", "p"))
        there = here.elsewhere(credential=demo_at(auth_url), tls=Tls(**said) if said else None)
        try:
            return (await there.request("network", "GET", "/v2.0/networks")).body
        finally:
            await pool.aclose()
            await runner.cleanup()
            await abort_connections()

    if works:
        assert asyncio.run(story()) == {"networks": []}
    else:
        with pytest.raises(CloudFault) as fault:
            asyncio.run(story())
        assert fault.value.type == ("SSLError" if keystone == "https" else "ConnectFailure")


def test_an_authority_without_a_certificate_is_told():
    async def story():
        async with own() as (_, _, here):
            for credential in (None, demo_at("http://far")):
                with pytest.raises(CloudFault, match="authority cannot be read") as fault:
                    here.elsewhere(credential=credential, tls=Tls(ca_text="none"))
                assert fault.value.type == "WrongCertificate"

    asyncio.run(story())


class Ended:
    """A cloud whose credential is over, here and in other regions."""

    async def endpoint(self, service):
        raise NEVER

    def elsewhere(self, *, region=None, credential=None, tls=None):
        return self if credential is None else f"cloud of {credential}"


def test_what_outlives_a_token_does_so_in_another_region():
    async def story():
        async with own() as (running, _, here):
            await more_endpoints(running, "network", FAR)
            return await FallbackCloud(Ended(), here).elsewhere(region="Far").endpoint("network")

    assert asyncio.run(story()) == "http://far/net"


def test_another_clouds_credential_has_nothing_to_do_with_what_outlives_a_token():
    assert FallbackCloud(Ended(), Ended()).elsewhere(credential="x") == "cloud of x"


def test_where_nothing_is_left_no_region_is_left():
    either = FallbackCloud(Ended(), UnauthorizedCloud("It is over."))
    with pytest.raises(CloudFault, match=r"It is over\."):
        asyncio.run(either.elsewhere(region="Far").endpoint("network"))

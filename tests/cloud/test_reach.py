"""Services that are reached by endpoints of their own, and certificates that are believed."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hearth.cloud import CloudConfig, CloudFault, PasswordCredential
from hearth.cloud.pool import CloudPool
from hearth.cloud.reach import Reach, Tls
from hearth_devcloud.server import serve
from hearth_devcloud.settings import Settings
from tests.cloud.connections import abort_connections


def demo_of(running: Any, user: str = "demo") -> PasswordCredential:
    return PasswordCredential(
        running.auth_url, user, "secret", user_domain_id="default", project_name=user,
        project_domain_id="default",
    )  # fmt: skip


async def more_endpoints(running: Any, service: str, *added: dict[str, str]) -> None:
    """Entries of the catalogue, made by the administrator instead of those there are."""
    pool = CloudPool(CloudConfig())
    try:
        admin = pool.cloud(demo_of(running, "admin"))
        services = await admin.listing("identity", "/v3/services")
        (found,) = [one["id"] for one in services if one["type"] == service]
        for one in added:
            if one["region_id"] != "RegionOne":
                region = {"region": {"id": one["region_id"]}}
                await admin.request("identity", "POST", "/v3/regions", json=region)
            body = {"endpoint": {"service_id": found, **one}}
            for old in await admin.listing("identity", "/v3/endpoints"):
                if all(old[name] == value for name, value in body["endpoint"].items()
                       if name != "url"):  # fmt: skip
                    await admin.request("identity", "DELETE", f"/v3/endpoints/{old['id']}")
            await admin.request("identity", "POST", "/v3/endpoints", json=body)
    finally:
        await pool.aclose()


def test_a_service_may_have_an_interface_and_a_region_of_its_own():
    async def story() -> list[str]:
        running = await serve(settings=Settings())
        inside = {"interface": "internal", "region_id": "RegionOne", "url": "http://inside/net"}
        far = {"interface": "public", "region_id": "Far", "url": "http://far/image"}
        await more_endpoints(running, "network", inside)
        await more_endpoints(running, "image", far)
        services = {"network": Reach(interface="internal"), "image": Reach(region="Far")}
        pool = CloudPool(CloudConfig(region="RegionOne", services=services))
        try:
            cloud = pool.cloud(demo_of(running))
            return [await cloud.endpoint(one) for one in ("network", "image", "object-store")]
        finally:
            await pool.aclose()
            await running.close()

    network, image, objects = asyncio.run(story())
    assert network.startswith("http://inside/net")
    assert image.startswith("http://far/image")
    assert objects.startswith("http://127.0.0.1:")


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate of this machine that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "both.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    ("names", "shows", "works"),
    [
        ((), False, False),
        (("ca_file",), False, True),
        (("insecure",), False, True),
        (("ca_file",), True, False),
        (("ca_file", "cert_file"), True, True),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_certificates_are_believed_and_shown_as_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...],
    shows: bool, works: bool, alone: bool,
):  # fmt: skip
    """`shows`: the service wants to see one. `alone`: it is said for this service only."""
    for name in ("ATTEMPTS_MAX", "LASTING_MAX"):
        monkeypatch.setattr(f"hearth.cloud.transport.{name}", 2)
    path = certificate(tmp_path)
    said: dict[str, Any] = {name: name == "insecure" or str(path) for name in names}

    async def story() -> Any:
        running = await serve(settings=Settings())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        if shows:
            context.load_verify_locations(path)
            context.verify_mode = ssl.CERT_REQUIRED
        app = web.Application()

        async def answer(_: web.Request) -> web.Response:
            return web.json_response({"networks": []})

        app.router.add_get("/{any:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        url = f"https://127.0.0.1:{port}"
        added = {"interface": "internal", "region_id": "RegionOne", "url": url}
        await more_endpoints(running, "network", added)
        reach = Reach(interface="internal", tls=Tls(**said) if alone else None)
        tls = Tls() if alone else Tls(**said)
        pool = CloudPool(CloudConfig(tls=tls, services={"network": reach}))
        try:
            cloud = pool.cloud(demo_of(running))
            return (await cloud.request("network", "GET", "/v2.0/networks")).body
        finally:
            await pool.aclose()
            await runner.cleanup()
            await running.close()
            await abort_connections()

    if works:
        assert asyncio.run(story()) == {"networks": []}
    else:
        with pytest.raises(CloudFault):
            asyncio.run(story())

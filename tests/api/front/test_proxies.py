"""Proxies: what they say of a request counts where the operator says so, and only what can be."""

from pathlib import Path

import pytest
import requests

from hearth.api.front.proxies import first_proxy
from tests.api.front.conftest import Site, served
from tests.clients.signing import Signer

PROXY = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "cloud.example",
    "X-Forwarded-Prefix": "/orchestration",
    "X-Forwarded-For": "192.0.2.7",
}


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"x-forwarded-proto": "https"}, {"proto": "https"}),
        ({"x-forwarded-proto": "HTTPS, http"}, {"proto": "https"}),
        ({"x-forwarded-proto": "javascript"}, {}),
        ({"x-forwarded-host": "a.example, b"}, {"host": "a.example"}),
        ({"x-forwarded-host": "a.example:8443"}, {"host": "a.example:8443"}),
        ({"x-forwarded-host": "[2001:db8::1]:80"}, {"host": "[2001:db8::1]:80"}),
        ({"x-forwarded-host": "a/b"}, {}),
        ({"x-forwarded-host": "a b"}, {}),
        ({"x-forwarded-host": "a", "x-forwarded-port": "8443"}, {"host": "a:8443"}),
        ({"x-forwarded-host": "a", "x-forwarded-port": "80"}, {"host": "a"}),
        (
            {"x-forwarded-host": "a", "x-forwarded-port": "443", "x-forwarded-proto": "https"},
            {"host": "a", "proto": "https"},
        ),
        ({"x-forwarded-host": "[::1]", "x-forwarded-port": "99"}, {"host": "[::1]:99"}),
        ({"x-forwarded-prefix": "/a/b/"}, {"prefix": "/a/b"}),
        ({"x-forwarded-prefix": "a"}, {}),
        ({"x-forwarded-prefix": "/../x"}, {}),
        ({"x-forwarded-prefix": "//evil.example"}, {}),
        ({"x-forwarded-for": "192.0.2.7, 10.0.0.1"}, {"for": "192.0.2.7"}),
        ({"x-forwarded-for": "192.0.2.7:999"}, {"for": "192.0.2.7"}),
        ({"x-forwarded-for": "unknown"}, {}),
        (
            {"forwarded": 'for="[2001:db8::1]:80";proto=https;host="a:1", for=10.0.0.1'},
            {"for": "2001:db8::1", "proto": "https", "host": "a:1"},
        ),
        (
            {"forwarded": "proto=https", "x-forwarded-proto": "http", "x-forwarded-prefix": "/p"},
            {"proto": "https", "prefix": "/p"},
        ),
    ],
)
def test_of_what_a_proxy_says_counts_what_can_be(headers: dict[str, str], found: dict[str, str]):
    assert first_proxy(headers) == found


def a_signer(hearth: Site, url: str) -> Signer:
    """A key pair of the user demo, for an API at that address."""
    (user,) = hearth.cloud.cloud.store.where("identity.users", name="demo")
    pair = hearth.cloud.call(
        "POST", f"/identity/v3/users/{user.id}/credentials/OS-EC2", {"tenant_id": hearth.project()}
    ).json()["credential"]
    return Signer(url, pair["access"], pair["secret"])


@pytest.mark.slow
def test_links_are_those_of_the_proxy_once_it_is_believed(tmp_path: Path):
    with served(tmp_path) as hearth:
        assert hearth.process is not None
        versions = requests.get(f"{hearth.url}/", headers=PROXY, timeout=10).json()["versions"]
        assert versions[0]["links"][0]["href"] == f"{hearth.url}/v1/"

        hearth.reload(oslo_middleware={"enable_proxy_headers_parsing": "true"})
        base = "https://cloud.example/orchestration/v1"
        versions = requests.get(f"{hearth.url}/", headers=PROXY, timeout=10).json()["versions"]
        assert versions[0]["links"][0]["href"] == f"{base}/"
        document = requests.get(f"{hearth.url}/openapi.json", headers=PROXY, timeout=10).json()
        assert document["servers"][0]["url"] == base
        template = {"heat_template_version": "2021-04-16"}
        path = f"/v1/{hearth.project()}/stacks"
        made = hearth.call(
            "POST", path, json={"stack_name": "s", "template": template}, headers=PROXY
        )
        href = made.json()["stack"]["links"][0]["href"]
        assert href.startswith(f"{base}/{hearth.project()}/stacks/s/")
        sent = hearth.call("GET", f"{path}/s", headers=PROXY)
        assert (sent.status_code, sent.headers["Location"]) == (302, href)
        assert hearth.told("GET /orchestration/v1/").split()[4] == "192.0.2.7"

        unversioned = {**PROXY, "Accept": "application/vnd.openstack.orchestration-v1+json"}
        listed = hearth.call("GET", f"/{hearth.project()}/stacks", headers=unversioned)
        assert listed.json()["stacks"][0]["links"][0]["href"] == href
        cfn = requests.get(f"{hearth.cfn_url}/", headers=PROXY, timeout=10).json()["versions"]
        assert cfn[0]["links"][0]["href"] == f"{base}/"
        for below, url in (("", hearth.cfn_url), ("/cfn", hearth.url)):
            signer = a_signer(hearth, f"https://cloud.example/orchestration{below}/v1/")
            signed = signer.version_2("GET", {"Action": "ListStacks"})
            for headers, status in ((PROXY, 200), ({}, 403)):
                reply = requests.get(
                    f"{url}{below}/v1/", params=signed, headers=headers, timeout=10
                )
                assert reply.status_code == status, reply.text
        refused = requests.get(f"{hearth.url}{path}", headers=PROXY, timeout=10)
        assert refused.status_code == 401

"""Requests that no client sends: each is refused in time, and the service goes on."""

import json
import time
from typing import Any

import pytest

from tests.api.clusters.server import Api

pytestmark = pytest.mark.slow

DEEP = "[" * 20_000 + "]" * 20_000
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"<xml/>",
    "no UTF-8": b'{"name": "\xff"}',
    "a number": b"7",
    "text": b'"x"',
    "null": b"null",
    "a list": b"[]",
    "half of a surrogate pair": b'{"name": "\\ud800"}',
    "NaN": b'{"node_count": NaN}',
    "deep": DEEP.encode(),
    "many": b'{"labels": [' + b"{}," * 60_000 + b"{}]}",
    "long": b'{"name": "' + b"a" * 2_000_000 + b'"}',
    "a huge number": b'{"node_count": 1' + b"0" * 5_000 + b"}",
    "a huge fraction": b'{"node_count": 1e999999}',
    "a null character": b'{"name": "a\\u0000b", "coe": "kubernetes", "image_id": "\\u0000"}',
    "twice": b'{"colour": "a", "colour": "b"}',
    "no names": b'{"": {"": {"": ""}}}',
}
POSTS = (
    "/v1/clusters", "/v1/clustertemplates", "/v1/clusters/c1/actions/resize",
    "/v1/clusters/c1/actions/upgrade", "/v1/clusters/c1/nodegroups", "/v1/certificates",
    "/v1/quotas", "/v1/federations",
)  # fmt: skip
PATCHES = (
    "/v1/clusters/c1", "/v1/clusters/c1/nodegroups/default-worker", "/v1/clustertemplates/used",
    "/v1/federations/nothing", "/v1/quotas/p/Cluster",
)  # fmt: skip
ROUTES = [("POST", path) for path in POSTS] + [("PATCH", path) for path in PATCHES]


@pytest.fixture(scope="module", autouse=True)
def objects(magnum: Api) -> None:
    magnum.cluster("c1", magnum.template("used"))


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_hostile_body_is_refused(magnum: Api, method: str, path: str, name: str):
    begun = time.monotonic()
    reply = magnum.call(method, path, by="admin", raw=BODIES[name])
    allowed = {400, 413}
    if (method, name) == ("PATCH", "a list") and "quotas" not in path:
        allowed = {200, 202, 404}  # no operations
    assert reply.status_code in allowed, reply.text
    assert time.monotonic() - begun < 5
    words = {"many": "lists and maps", "long": "too large"}.get(name, "")
    assert words in reply.text
    assert reply.json()["errors"][0]["title"] if allowed == {400, 413} else True


@pytest.mark.parametrize(
    "path",
    [
        "/v1/clusters/%00", "/v1/clusters/a%00b", "/v1/clusters?sort_key=%00",
        "/v1/clusters/" + "a" * 5_000, "/v1/clusters/%F0%9F%90%A2", "/v1/clusters/%FF",
        "/v1/clusters/'; DROP TABLE cluster; --", "/v1/clusters/..%2F..%2Fetc%2Fpasswd",
        "/v1/clusters/../../etc/passwd", "//evil.example/clusters", "/v1//clusters",
        "/v1/clusters?limit=99999999999999999999", "/v1/clusters?limit=1.5", "/v1/clusters?limit=",
        "/v1/clusters?limit=%C2%B2", "/v1/clusters?marker=%27", "/v1/clusters?sort_dir=",
        "/v1/clusters?" + "&".join(f"a{n}=1" for n in range(500)),
        "/v1/quotas?marker=99999999999999999999", "/v1/certificates/x?ca_cert_type=" + "a" * 4_000,
        "/v1/stats?project_id=" + "a" * 4_000, "/v1/clusters/c1/nodegroups/%25",
        "/v1/clusters/c1/nodegroups?role=" + "a" * 4_000,
    ],
)  # fmt: skip
def test_a_hostile_address_is_refused(magnum: Api, path: str):
    reply = magnum.call("GET", path, by="admin")
    assert reply.status_code in (200, 400, 404), reply.text
    if reply.status_code == 200:
        assert reply.json() in ({"nodegroups": []}, {"clusters": 0, "nodes": 0})


@pytest.mark.parametrize("by", [None, "member"])
@pytest.mark.parametrize(
    "path",
    ["/v1/nodes/%00/x", "/v1/nodes/x/%00", "/v1/nodes/%00", "/nodes/x%00", "/%00", "/v1/%00",
     "/v1/clusters/%00", "/v1/nodes/x?a=%00"],
)  # fmt: skip
def test_a_null_character_is_refused_before_any_route(magnum: Api, path: str, by: str | None):
    reply = magnum.call("GET", path, by=by)
    assert (reply.status_code, "null character" in reply.text) == (400, True), reply.text


@pytest.mark.parametrize(
    "version",
    ["", " ", "container-infra 1.1\t", "container-infra " + "1" * 5_000, "container-infra 1.1.1",
     "container-infra 0x1.1", "container-infra -1.1", "container-infra 999999999.999999999"],
)  # fmt: skip
def test_a_hostile_version_is_refused(magnum: Api, version: str):
    headers = {"OpenStack-API-Version": version.strip("\t")} if version.strip() else {}
    reply = magnum.call("GET", "/v1/clusters", version=None, headers=headers)
    assert reply.status_code in ((406,) if headers and "1.1\t" not in version else (200,))


def test_patches_grow_nothing_without_limit(magnum: Api):
    operations = [{"op": "add", "path": f"/labels/k{n}", "value": "v" * 60_000} for n in range(10)]
    reply = magnum.call("PATCH", "/v1/clustertemplates/used", operations)
    assert reply.status_code in (200, 400)
    literal = "{" + ",".join(f"'k{n}': 'v'" for n in range(9_000)) + "}"
    one: list[dict[str, Any]] = [{"op": "replace", "path": "/labels", "value": literal}]
    assert magnum.call("PATCH", "/v1/clustertemplates/used", one).status_code == 400
    bomb = "{'a':" * 90 + "1" + "}" * 90
    one[0]["value"] = bomb
    assert magnum.call("PATCH", "/v1/clustertemplates/used", one).status_code == 400


def test_errors_do_not_return_what_was_sent_at_length(magnum: Api):
    for body in ({"name": "a" * 100_000}, {"a" * 100_000: 1}, {"labels": "b" * 100_000}):
        reply = magnum.call("POST", "/v1/clusters", body)
        assert reply.status_code == 400
        assert len(reply.text) < 5_000


def test_errors_of_the_cloud_are_no_errors_of_the_service(magnum: Api):
    import requests

    url = f"{magnum.cloud.url}/devcloud/knobs"
    for status, expected in ((403, 403), (401, 403), (500, 503), (503, 503)):
        match = {"service": "image", "path_regex": "/v2/images"}
        rules = {"rules": [{"match": match, "effect": {"status": status}}]}
        requests.post(url, json=rules, timeout=10).raise_for_status()
        body = {"coe": "kubernetes", "image_id": "img"}
        reply = magnum.call("POST", "/v1/clustertemplates", body)
        requests.delete(url, timeout=10).raise_for_status()
        assert reply.status_code == expected, reply.text
        (error,) = reply.json()["errors"]
        assert error["code"] == ("client" if expected < 500 else "server")


def test_the_service_still_answers(magnum: Api):
    assert json.loads(magnum.call("GET", "/v1/clusters").text)["clusters"][0]["name"] == "c1"

"""The credential of a node: only certificates of its own cluster, and reports of its health."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest
import requests
from msgspec import structs
from starlette.requests import Request

from hearth.api.clusters import fault
from hearth.api.clusters.routes import ROUTES
from hearth.api.front import access_log
from hearth.clusters.objects import MASTER, WORKER, Cluster
from hearth.service.clusters.node_url import FORMER, credential_url
from hearth.store.clusters import clusters, find, identities
from hearth.store.clusters.identities import Identity, Secrets
from hearth.store.database import Tx
from tests.api.clusters.server import Api, running
from tests.service.clusters.requests import csr

pytestmark = pytest.mark.slow

HEALTH = [{"op": "replace", "path": "/health_status", "value": "UNHEALTHY"}]
COUNT = [{"op": "replace", "path": "/node_count", "value": 9}]
SECRET = "s" * 32
PERSONS = ("node", "admin's node")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running(tmp_path_factory.mktemp("api")) as api:
        template = api.template("public", public=True)
        for name, owner in zip(PERSONS, ("member", "admin"), strict=True):
            cluster = api.cluster(f"of-{owner}", template, by=owner, keys=True)
            _credential(api, name, owner, cluster)
        yield api


def _credential(api: Api, name: str, owner: str, cluster: str) -> None:
    """Log in with an application credential of a cluster's owner, as its nodes do."""
    url = f"{api.cloud.url}/identity/v3"
    headers = {"X-Auth-Token": api.tokens[owner]}
    wanted = {"application_credential": {"name": name, "secret": SECRET}}
    path = f"{url}/users/{api.users[owner]}/application_credentials"
    made = requests.post(path, json=wanted, headers=headers, timeout=10)
    made.raise_for_status()
    credential = made.json()["application_credential"]
    its = {"id": credential["id"], "secret": SECRET}
    auth = {"identity": {"methods": ["application_credential"], "application_credential": its}}
    reply = requests.post(f"{url}/auth/tokens", json={"auth": auth}, timeout=10)
    api.tokens[name] = reply.headers["X-Subject-Token"]
    identity = Identity(
        id=api.services.new_id(), cluster_id=cluster, mode="application_credential",
        project_id=api.projects["demo"], user_id=api.users[owner], created_at=1.0,
        delegation_id=credential["id"], secrets=Secrets(node_secret=SECRET),
    )  # fmt: skip

    def transaction(tx: Tx) -> None:
        identities.put(tx, identity)
        clusters.changed(
            tx, cluster, lambda found: clusters.at(found.cluster, identity_id=identity.id), 1.0
        )

    api.run(transaction)


def own(person: str) -> str:
    return "of-member" if person == "node" else "of-admin"


@pytest.mark.parametrize("person", PERSONS)
def test_a_node_gets_certificates_of_its_cluster_only(nodes: Api, person: str):
    for cluster, read, sign in (
        (own(person), 200, 201),
        ({"of-member", "of-admin"}.difference({own(person)}).pop(), 403, 403),
    ):
        shown = nodes.call("GET", f"/v1/certificates/{cluster}", by=person)
        assert shown.status_code == read
        body = {"cluster_uuid": cluster, "csr": csr()}
        assert nodes.call("POST", "/v1/certificates", body, by=person).status_code == sign


@pytest.mark.parametrize("person", PERSONS)
def test_a_node_reports_health_of_its_cluster_and_changes_nothing_else(nodes: Api, person: str):
    mine = f"/v1/clusters/{own(person)}"
    assert nodes.call("PATCH", mine, HEALTH, by=person).status_code == 202
    assert nodes.call("GET", mine).json()["health_status"] == "UNHEALTHY"
    for body in (COUNT, [*HEALTH, *COUNT]):
        assert nodes.call("PATCH", mine, body, by=person).status_code == 403
    other = "/v1/clusters/of-admin" if person == "node" else "/v1/clusters/of-member"
    again = [{"op": "replace", "path": "/health_status", "value": "HEALTHY"}]
    assert nodes.call("PATCH", other, again, by=person).status_code == 403


def test_a_node_proves_itself_in_a_header_a_query_or_as_earlier_in_the_path(nodes: Api):
    found = nodes.services.store.transact(lambda tx: _of(tx, "of-member"))
    url = credential_url(nodes.services, found)
    place, _, secret = url.partition("?secret=")
    assert place.endswith(f"/v1/nodes/{found.uuid}")
    assert unquote(secret) not in place
    own = f"/v1/nodes/{found.uuid}"
    header = {"X-Hearth-Node": unquote(secret)}
    given = [
        nodes.call("GET", own, by=None, headers=header),
        nodes.call("GET", f"{own}?secret={secret}", by=None),
        nodes.call("GET", f"{own}/{secret}", by=None),
    ]
    assert [one.status_code for one in given] == [200] * 3
    assert {one.json()["application_credential_secret"] for one in given} == {SECRET}
    assert {one.headers["Cache-Control"] for one in given} == {"no-store"}
    for path, headers in (
        (own, {}), (f"{own}?secret=", {}), (f"{own}/x", {}), (own, {"X-Hearth-Node": "x"}),
        (f"/v1/nodes/nothing?secret={secret}", {}), ("/v1/nodes/of-admin", header),
        (own, {"X-Hearth-Node": "\u00e9"}),
    ):  # fmt: skip
        assert nodes.call("GET", path, by=None, headers=headers).status_code == 404


def test_a_node_shows_in_a_header_that_it_is_a_master(nodes: Api):
    found = nodes.services.store.transact(lambda tx: _of(tx, "of-member"))
    kept = nodes.run(lambda tx: identities.of_cluster(tx, found.uuid))
    (before,) = kept
    strict = replace(before, secrets=structs.replace(before.secrets, roles=True))
    nodes.run(lambda tx: identities.change(tx, strict))
    try:
        signed = []
        for role in (MASTER, WORKER, FORMER, None):
            url = "" if role is None else credential_url(nodes.services, found, role)
            headers = {"X-Hearth-Node": unquote(url.partition("?secret=")[2])}
            for organisation in ("system:masters", "system:nodes"):
                request = csr(name="system:node:farm-node-0", organisation=organisation)
                body = {"cluster_uuid": found.uuid, "csr": request}
                reply = nodes.call("POST", "/v1/certificates", body, by="node", headers=headers)
                signed.append(reply.status_code)
        assert signed == [201, 201, 403, 201, 403, 201, 403, 201]
    finally:
        nodes.run(lambda tx: identities.change(tx, before))


def _of(tx: Tx, name: str) -> Cluster:
    (found,) = find.by_ident(tx, Cluster, name)
    return found


def test_the_secret_of_a_path_is_in_no_log(caplog: pytest.LogCaptureFixture):
    """The access log and the log of errors, for each form in which the path reaches the service."""
    quiet: Any = SimpleNamespace(request_ended=lambda *_: None, spans=None)
    paths = (
        "/v1/nodes/c-1/SECRET", "/nodes/c-1/SECRET", "/container-infra/v1/nodes/c-1/SECRET",
        "/v1/nodes/c-1/a/SECRET", "/v1//nodes//c-1//SECRET", "/v1/nodes/c-1/\nSECRET",
    )  # fmt: skip
    caplog.set_level(logging.INFO)
    for path in paths:
        for method in ("GET", "POST"):
            scope: dict[str, Any] = {
                "type": "http", "method": method, "path": path, "query_string": b"secret=SECRET",
                "headers": [(b"x-hearth-node", b"SECRET")], "state": {},
            }  # fmt: skip
            access_log.write(scope, 200, 1, 0.0, quiet)
            asyncio.run(fault.unexpected(Request(scope), ValueError()))
    assert caplog.text.count("/nodes/") + caplog.text.count("//nodes//") >= 4 * len(paths)
    assert "SECRET" not in caplog.text
    stack = {**scope, "path": "/v1/p/stacks/nodes/ID/resources/web"}
    access_log.write(stack, 200, 1, 0.0, quiet)
    assert "/v1/p/stacks/nodes/ID/resources/web " in caplog.text


def test_reported_reasons_are_stored_in_a_bounded_size(nodes: Api):
    value = {f"n{number}.Ready": "x" * 60_000 for number in range(10)}
    reasons = [{"op": "replace", "path": "/health_status_reason", "value": value}]
    assert nodes.call("PATCH", "/v1/clusters/of-member", reasons, by="node").status_code == 202
    shown = nodes.call("GET", "/v1/clusters/of-member").json()["health_status_reason"]
    assert {len(one) for one in shown.values()} == {260}


BODIES: dict[str, Any] = {
    "/clusters": {"cluster_template_id": "public"},
    "/clustertemplates": {"coe": "kubernetes", "image_id": "img"},
    "/clusters/{ident}/actions/resize": {"node_count": 1},
    "/clusters/{ident}/actions/upgrade": {"cluster_template": "public"},
    "/quotas": {"project_id": "p", "hard_limit": 1},
    "/quotas/{project_id}/{resource}": {"hard_limit": 1},
    "/federations": {"hostcluster_id": "x", "properties": {"dns-zone": "x"}},
}
OTHERS = [
    one
    for one in ROUTES
    if one.rule not in ("certificate:get", "cluster:update") and one.path != "/certificates"
]


@pytest.mark.parametrize("person", PERSONS)
@pytest.mark.parametrize("endpoint", OTHERS, ids=lambda one: f"{one.method} {one.path}")
def test_every_other_route_refuses_a_node(nodes: Api, person: str, endpoint: Any):
    ident = "public" if "template" in endpoint.path else own(person)
    path = endpoint.path.replace("{ident}", ident).replace("{group}", "default-worker")
    path = path.replace("{project_id}", nodes.projects["demo"]).replace("{resource}", "Cluster")
    body = BODIES.get(endpoint.path, {}) if endpoint.method == "POST" else []
    if endpoint.method == "PATCH" and "quotas" in path:
        body = {"hard_limit": 1}
    reply = nodes.call(endpoint.method, f"/v1{path}", body, by=person)
    if "federations/{" in endpoint.path:
        assert reply.status_code == 404  # there is none
    elif endpoint.path.endswith("/kubeconfig"):
        assert reply.status_code in (400, 403)
    else:
        assert reply.status_code == 403, reply.text

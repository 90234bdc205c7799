"""Every recorded route at the lowest, two middle and the highest microversion."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from hearth.api.clusters.routes import ROUTES
from hearth.store.clusters.tables import cluster_quota
from tests.api.clusters.server import Api
from tests.service.clusters.requests import csr

pytestmark = pytest.mark.slow

FACTS = Path(__file__).parents[2] / "facts" / "magnum" / "routes.json"
ROWS: list[dict[str, Any]] = json.loads(FACTS.read_text())["routes"]
VERSIONS = ((1, 1), (1, 9), (1, 12), (1, 14))
ADMINS = {"quota:get_all", "quota:create", "quota:update", "quota:delete", "magnum-service:get_all"}
FRONT = {"/healthcheck"}  # is not in this application
NUMBER = itertools.count()
UPGRADE = "/v1/clusters/{id_or_name}/actions/upgrade"


def number(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


class World:
    """Makes what each route needs; `ask` sends the request of a row."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.template = api.template("routes")
        self.keyed = api.cluster("keyed", self.template, keys=True)

    def ask(self, row: dict[str, Any], version: tuple[int, int]) -> requests.Response:
        method, path = row["method"], row["path"]
        by = "admin" if row["policy"] in ADMINS else "member"
        way, body = self.filled(method, path)
        text = ".".join(map(str, version))
        reply = self.api.call(method, way, body, by=by, version=text)
        self.api.settle()
        return reply

    def filled(self, method: str, path: str) -> tuple[str, Any]:
        """Return the path with objects in it that are new, and a body that succeeds."""
        body = BODIES.get((method, path), lambda _: None)(self)
        if "/clustertemplates/{" in path:
            return path.replace("{id_or_name}", self.api.template(f"t{next(NUMBER)}")), body
        if "/nodegroups/{" in path:
            uuid = self.api.cluster(f"c{next(NUMBER)}", self.template)
            group = self.extra_group(uuid)
            first = path.split("/nodegroups/")[0]
            return f"{first.replace('{id_or_name}', uuid)}/nodegroups/{group}", body
        if "/clusters/{" in path:
            uuid = self.api.cluster(f"c{next(NUMBER)}", self.template)
            return path.replace("{id_or_name}", uuid), body
        if "/federations/{" in path:
            return path.replace("{id_or_name}", self.federation()), body
        own = self.api.projects["demo"]
        path = path.replace("{project_id}", own).replace("{resource}", "Cluster")
        return path.replace("{cluster}", self.keyed), body

    def extra_group(self, cluster: str) -> str:
        made = self.api.call(
            "POST", f"/v1/clusters/{cluster}/nodegroups", {"name": "extra", "node_count": 2}
        )
        self.api.settle()
        return str(made.json()["uuid"])

    def federation(self) -> str:
        body = {"hostcluster_id": self.keyed, "properties": {"dns-zone": "e.com."}}
        return str(self.api.call("POST", "/v1/federations", body).json()["uuid"])

    def quota(self, *, there: bool) -> dict[str, Any]:
        self.api.run(lambda tx: tx.execute(cluster_quota.delete()))
        body = {"project_id": self.api.projects["demo"], "resource": "Cluster", "hard_limit": 900}
        if there:
            self.api.call("POST", "/v1/quotas", body, by="admin")
        return body


Make = Callable[[World], Any]
COUNT = [{"op": "replace", "path": "/node_count", "value": 2}]
BODIES: dict[tuple[str, str], Make] = {
    ("POST", "/v1/clustertemplates"): lambda world: {"coe": "kubernetes", "image_id": "img"},
    ("PATCH", "/v1/clustertemplates/{id_or_name}"): lambda world: [
        {"op": "replace", "path": "/name", "value": "renamed"}
    ],
    ("POST", "/v1/clusters"): lambda world: {"cluster_template_id": world.template},
    ("PATCH", "/v1/clusters/{id_or_name}"): lambda world: COUNT,
    ("POST", "/v1/clusters/{id_or_name}/actions/resize"): lambda world: {"node_count": 2},
    ("POST", UPGRADE): lambda world: {"cluster_template": world.template},
    ("POST", "/v1/clusters/{id_or_name}/nodegroups"): lambda world: {"name": "more"},
    ("PATCH", "/v1/clusters/{id_or_name}/nodegroups/{id_or_name}"): lambda world: [
        {"op": "replace", "path": "/max_node_count", "value": 9}
    ],
    ("POST", "/v1/certificates"): lambda world: {"cluster_uuid": world.keyed, "csr": csr()},
    ("POST", "/v1/quotas"): lambda world: world.quota(there=False),
    ("PATCH", "/v1/quotas/{project_id}/{resource}"): lambda world: world.quota(there=True),
    ("DELETE", "/v1/quotas/{project_id}/{resource}"): lambda world: (
        world.quota(there=True) and None
    ),
    ("POST", "/v1/federations"): lambda world: {
        "hostcluster_id": world.keyed,
        "properties": {"dns-zone": "e.com."},
    },
    ("PATCH", "/v1/federations/{id_or_name}"): lambda world: [
        {"op": "add", "path": "/member_ids", "value": world.keyed}
    ],
}


@pytest.fixture(scope="module")
def world(magnum: Api) -> World:
    magnum.configure(max_clusters_per_project=1000)
    return World(magnum)


def expected(row: dict[str, Any], version: tuple[int, int]) -> int | None:
    """Return the status of a row at a version; None if another row of the path applies."""
    since, until = row["since"], row.get("until")
    if until is not None and version > number(until):
        return None
    if since == "any" or number(since) <= version:
        return int(row["success"])
    others = [
        one
        for one in ROWS
        if (one["method"], one["path"]) == (row["method"], row["path"]) and one is not row
    ]
    if others:
        return None
    if row["path"] == UPGRADE and version == (1, 7):
        return 400
    return 406


@pytest.mark.parametrize("version", VERSIONS, ids=lambda one: ".".join(map(str, one)))
def test_each_recorded_route_succeeds_from_its_version_on(world: World, version: tuple[int, int]):
    wrong = []
    for row in ROWS:
        status = expected(row, version)
        if row["path"] in FRONT or status is None:
            continue
        reply = world.ask(row, version)
        if reply.status_code != status:
            name = f"{row['method']} {row['path']}"
            wrong.append(f"{name}: {reply.status_code}, not {status}: {reply.text[:200]}")
        if status == 204 and reply.content:
            wrong.append(f"{row['path']}: a body")
        if row["path"] != "/" and reply.headers.get("vary") != "OpenStack-API-Version":
            wrong.append(f"{row['path']}: no version in the headers")
    assert wrong == []


def test_the_routes_are_the_recorded_ones_and_our_own():
    recorded = {(row["method"], _form(row["path"]), row["policy"]) for row in ROWS}
    ours = {
        (one.method, _form(f"/v1{one.path}"), one.rule)
        for one in ROUTES
        if not one.beyond_magnum and one.rule != "cluster:update"
    }
    update = "cluster:update + cluster:update_health_status"
    assert {one for one in recorded if one[2] not in (None, update)} == ours
    assert [one.path for one in ROUTES if one.beyond_magnum] == [
        "/clusters/{ident}/events",
        "/clusters/{ident}/kubeconfig",
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['method']} {row['path']}")
def test_each_route_needs_a_token_and_refuses_unknown_arguments(world: World, row: dict[str, Any]):
    if row["policy"] is None:
        return
    path, _ = world.filled(row["method"], row["path"])
    anonymous = world.api.call(row["method"], path, by=None)
    assert (anonymous.status_code, "Keystone uri" in anonymous.headers["WWW-Authenticate"]) == (
        401,
        True,
    )
    refused = world.api.call(row["method"], f"{path}?colour=red", {}, by="admin")
    assert (refused.status_code, refused.json()["errors"][0]["title"]) == (
        400,
        'Unknown query argument "colour"',
    )


@pytest.mark.parametrize("form", ["/v1{}", "/v1{}/", "{}", "{}/"])
def test_a_path_may_lack_the_version_and_end_with_a_slash(world: World, form: str):
    for path in ("/clusters", "/clusters/keyed", "/clusters/keyed/nodegroups", "/stats"):
        reply = world.api.call("GET", form.format(path))
        assert reply.status_code == 200, (path, reply.text)
    assert world.api.call("GET", form.format("/clusters/keyed/") + "/").status_code == 404


def test_other_paths_and_methods_do_not_exist(world: World):
    for path in ("/v2/clusters", "/v1/v1/clusters", "/nothing", "/v1/clusters/a/b"):
        reply = world.api.call("GET", path)
        assert (reply.status_code, reply.json()["errors"][0]["code"]) == (404, "")
    for method in ("PUT", "HEAD"):
        reply = world.api.call(method, "/v1/clusters/keyed")
        assert (reply.status_code, "GET" in reply.headers["Allow"]) == (405, True)


def _form(path: str) -> str:
    parts = ["{}" if part.startswith("{") else part for part in path.rstrip("/").split("/") if part]
    return "/" + "/".join(parts)

"""The policy walk: each rule of the cluster service, asked for by each kind of person.

What is expected is computed from the recorded defaults, not from the product's rules.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from hearth.clusters.config import ClusterConfig
from hearth.service.cluster_policy_rules import defaults
from hearth.service.policy import Policy
from tests.api.clusters.server import Api, running
from tests.service.clusters.requests import csr

pytestmark = pytest.mark.slow

FACTS = Path(__file__).parents[2] / "facts" / "magnum" / "policies.json"
RECORDED = json.loads(FACTS.read_text())
RULES: dict[str, str] = {one["rule"]: one["default"] for one in RECORDED["rules"]}
BASE: dict[str, str] = RECORDED["base_rules"]
ROLES: dict[str, frozenset[str]] = {
    "admin": frozenset({"admin", "member", "reader"}),
    "member": frozenset({"member", "reader"}),
    "colleague": frozenset({"member", "reader"}),
    "reader": frozenset({"reader"}),
    "nobody": frozenset({"heat_stack_owner"}),
    "guest": frozenset({"heat_stack_user"}),
    "stranger": frozenset({"member", "reader"}),
    "outer admin": frozenset({"admin", "member", "reader"}),
}
OUTSIDE = {"stranger", "outer admin"}
OWNER = "member"
FORBIDDEN = (403, 404)


@dataclass
class World:
    """A member's cluster, templates and federation."""

    api: Api
    names: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, by: str, body: Any = None) -> requests.Response:
        way = "/v1" + path.format(**self.names)
        reply = self.api.call(method, way, body, by=by)
        self.api.settle()
        return reply


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    config = ClusterConfig(max_clusters_per_project=1000)
    with running(tmp_path_factory.mktemp("api"), config) as api:
        used, free = api.template("used"), api.template("free")
        found = World(api)
        cluster = api.cluster("walked", used, keys=True)
        body = {"hostcluster_id": cluster, "properties": {"dns-zone": "e.com."}}
        federation = api.call("POST", "/v1/federations", body).json()["uuid"]
        found.names = {
            "cluster": cluster, "template": free, "used": used, "federation": federation,
            "project": api.projects["demo"], "group": "default-worker",
        }  # fmt: skip
        yield found


HEALTH = [{"op": "replace", "path": "/health_status", "value": "HEALTHY"}]
COUNT = [{"op": "replace", "path": "/node_count", "value": 4}]
LIMIT = [{"op": "replace", "path": "/max_node_count", "value": 9}]
NAME = [{"op": "replace", "path": "/name", "value": "free"}]
ONE = "/clusters/{cluster}"
CASES: dict[str, tuple[str, str, Any]] = {
    "certificate:create": ("POST", "/certificates", lambda w: signing(w)),
    "certificate:get": ("GET", "/certificates/{cluster}", None),
    "certificate:rotate_ca": ("PATCH", "/certificates/{cluster}", None),
    "cluster:create": (
        "POST", "/clusters", lambda w: {"cluster_template_id": w.names["used"], "master_count": 2}
    ),
    "cluster:delete": ("DELETE", ONE, None),
    "cluster:detail": ("GET", "/clusters/detail", None),
    "cluster:get": ("GET", ONE, None),
    "cluster:get_all": ("GET", "/clusters", None),
    "cluster:update": ("PATCH", ONE, COUNT),
    "cluster:update_health_status": ("PATCH", ONE, HEALTH),
    "cluster:resize": ("POST", f"{ONE}/actions/resize", {"node_count": 3}),
    "cluster:upgrade": (
        "POST", f"{ONE}/actions/upgrade", lambda w: {"cluster_template": w.names["used"]}
    ),
    "clustertemplate:create": ("POST", "/clustertemplates", {"coe": "kubernetes", "image_id": "x"}),
    "clustertemplate:delete": ("DELETE", "/clustertemplates/{used}", None),
    "clustertemplate:detail": ("GET", "/clustertemplates/detail", None),
    "clustertemplate:get": ("GET", "/clustertemplates/{template}", None),
    "clustertemplate:get_all": ("GET", "/clustertemplates", None),
    "clustertemplate:update": ("PATCH", "/clustertemplates/{template}", NAME),
    "credential:rotate": ("PATCH", "/credentials/{cluster}", None),
    "federation:create": ("POST", "/federations", {"hostcluster_id": "nothing"}),
    "federation:delete": ("DELETE", "/federations/{federation}", None),
    "federation:detail": ("GET", "/federations/detail", None),
    "federation:get": ("GET", "/federations/{federation}", None),
    "federation:get_all": ("GET", "/federations", None),
    "federation:update": ("PATCH", "/federations/{federation}", []),
    "magnum-service:get_all": ("GET", "/mservices", None),
    "quota:create": ("POST", "/quotas", {"hard_limit": 1}),
    "quota:delete": ("DELETE", "/quotas/{project}/Cluster", None),
    "quota:get": ("GET", "/quotas/{project}/Cluster", None),
    "quota:get_all": ("GET", "/quotas", None),
    "quota:update": ("PATCH", "/quotas/{project}/Cluster", {"hard_limit": 1}),
    "stats:get_all": ("GET", "/stats?project_id={project}", None),
    "nodegroup:get": ("GET", f"{ONE}/nodegroups/{{group}}", None),
    "nodegroup:get_all": ("GET", f"{ONE}/nodegroups", None),
    "nodegroup:create": ("POST", f"{ONE}/nodegroups", {"role": "master"}),
    "nodegroup:delete": ("DELETE", f"{ONE}/nodegroups/{{group}}", None),
    "nodegroup:update": ("PATCH", f"{ONE}/nodegroups/{{group}}", LIMIT),
}  # fmt: skip
OF_OWN_PROJECT = {
    "cluster:create", "cluster:detail", "cluster:get_all", "clustertemplate:create",
    "clustertemplate:detail", "clustertemplate:get_all", "federation:create",
    "federation:detail", "federation:get_all", "magnum-service:get_all", "quota:create",
    "quota:delete", "quota:get_all", "quota:update",
}  # fmt: skip
"""Rules about the caller's own project: strangers pass them, and see and change their own."""
ACROSS = {
    "cluster:get", "cluster:update", "cluster:update_health_status", "cluster:delete",
    "cluster:upgrade", "clustertemplate:get", "clustertemplate:update", "clustertemplate:delete",
    "nodegroup:get", "nodegroup:get_all", "quota:get", "stats:get_all",
}  # fmt: skip
"""What administrators of other projects find; resize, for example, is not among it."""
INDIRECT = {
    "cluster:delete_all_projects", "cluster:detail_all_projects", "cluster:get_one_all_projects",
    "cluster:get_all_all_projects", "cluster:update_all_projects", "cluster:upgrade_all_projects",
    "clustertemplate:delete_all_projects", "clustertemplate:detail_all_projects",
    "clustertemplate:get_one_all_projects", "clustertemplate:get_all_all_projects",
    "clustertemplate:update_all_projects", "clustertemplate:publish",
    "nodegroup:get_all_all_projects", "nodegroup:get_one_all_projects",
}  # fmt: skip
OWNER_ONLY = {"certificate:create", "certificate:get"}


def signing(world: World) -> dict[str, str]:
    return {"cluster_uuid": world.names["cluster"], "csr": csr()}


def may(rule: str, person: str, *, owner_only: bool = False) -> bool:
    """Return whether the recorded default lets a person in."""
    if person == "outer admin" and rule not in OF_OWN_PROJECT | ACROSS:
        return False
    if rule == "cluster:update_health_status":  # its route also needs the other rule
        return may("cluster:update", person)
    own_project = person not in OUTSIDE or rule in OF_OWN_PROJECT
    is_user = person == OWNER or rule in OF_OWN_PROJECT or (rule in OWNER_ONLY and not owner_only)
    return _holds(RULES[rule], ROLES[person], own_project=own_project, is_user=is_user)


def _holds(check: str, roles: frozenset[str], *, own_project: bool, is_user: bool) -> bool:
    words = check.replace("project_id:%(project_id)s", str(own_project))
    words = words.replace("user_id:%(user_id)s", str(is_user))
    words = re.sub(r"role:(\w+)", lambda found: str(found[1] in roles), words)
    words = re.sub(
        r"rule:(\w+)",
        lambda found: str(_holds(BASE[found[1]], roles, own_project=own_project, is_user=is_user)),
        words,
    )
    assert set(re.findall(r"\w+", words)) <= {"True", "False", "and", "or", "not"}, words
    return bool(eval(words))


def test_every_recorded_rule_is_walked_or_checked_with_another_one():
    assert CASES.keys() | INDIRECT == RULES.keys()
    assert RULES.keys() <= defaults().keys()


def statuses(world: World, rule: str) -> dict[str, int]:
    method, path, body = CASES[rule]
    body = body(world) if callable(body) else body
    found = {}
    for person in sorted(ROLES, key=lambda one: may(rule, one)):  # who changes something is last
        found[person] = world.ask(method, path, person, body).status_code
    return found


def refusals(rule: str, person: str) -> set[int]:
    """Return the statuses that mean: not allowed. What is not theirs does not exist for others."""
    if person not in OUTSIDE or rule in OF_OWN_PROJECT:
        return {403}
    return {400, 403} if rule == "certificate:create" else {403, 404}


@pytest.mark.parametrize("rule", sorted(CASES, key="federation:delete".__eq__))
def test_each_rule_lets_in_whom_the_recorded_default_does(world: World, rule: str):
    wrong = {}
    for person, status in statuses(world, rule).items():
        expected = may(rule, person)
        if (status not in refusals(rule, person)) != expected or status >= 500:
            wrong[person] = (status, expected)
    assert wrong == {}


def request_of(rule: str) -> tuple[str, str, Any]:
    """Return a request that a rule is about; rules for all projects go with another rule."""
    if rule == "clustertemplate:publish":
        return "POST", "/clustertemplates", {"coe": "kubernetes", "image_id": "img", "public": True}
    name = rule.removesuffix("_all_projects")
    return CASES[name.removesuffix("_one") if name.endswith("get_one") else name]


@pytest.mark.parametrize("rule", sorted(CASES.keys() | INDIRECT))
def test_a_site_can_take_each_right_away(world: World, rule: str):
    usual = world.api.services.cluster_policy
    world.api.services.cluster_policy = Policy(rules={**defaults(), rule: ("!", None)})
    try:
        method, path, body = request_of(rule)
        body = body(world) if callable(body) else body
        if "{federation}" in path:  # an earlier test has deleted that of the world
            wanted = {"hostcluster_id": world.names["cluster"], "properties": {"dns-zone": "e."}}
            federation = world.ask("POST", "/federations", "member", wanted).json()["uuid"]
            path = path.replace("{federation}", federation)
        reply = world.ask(method, path, "admin", body)
        assert reply.status_code == 403, reply.text
        assert rule in reply.text
    finally:
        world.api.services.cluster_policy = usual


def test_certificates_can_be_left_to_the_owner_of_a_cluster(world: World):
    usual = world.api.services.cluster_policy
    world.api.services.cluster_policy = Policy(rules=defaults(owner_only_certificates=True))
    try:
        for rule in sorted(OWNER_ONLY):
            for person, status in statuses(world, rule).items():
                expected = may(rule, person, owner_only=True)
                assert (status not in refusals(rule, person)) == expected, (rule, person)
    finally:
        world.api.services.cluster_policy = usual


def test_strangers_find_nothing_and_admins_find_everything(world: World):
    def names(path: str, by: str) -> set[str]:
        (listed,) = world.ask("GET", path, by).json().values()
        return {one["name"] for one in listed}

    for path in ("/clusters", "/clusters/detail"):
        assert names(path, "stranger") == set()
        assert "walked" in names(path, "outer admin")
    for path in ("/clustertemplates", "/clustertemplates/detail"):
        assert names(path, "stranger") == set()
        assert {"used", "free"} <= names(path, "outer admin")


def test_hidden_templates_leave_the_lists_and_stay_readable(world: World):
    public = world.api.template("public", public=True)
    hidden = world.api.template("hidden", public=True, hidden=True)
    unpublished = world.api.template("unpublished", hidden=True)
    seen = {
        person: [
            world.ask("GET", f"/clustertemplates/{ident}", person).status_code
            for ident in (public, hidden, "hidden", unpublished, "unpublished")
        ]
        for person in ("member", "stranger", "outer admin", "nobody")
    }
    assert seen == {
        "member": [200, 200, 200, 200, 200],
        "stranger": [200, 200, 200, 404, 404],
        "outer admin": [200, 200, 200, 200, 200],
        "nobody": [200, 200, 200, 403, 403],
    }
    for path in ("/clustertemplates", "/clustertemplates/detail"):
        listed = world.ask("GET", path, "stranger").json()["clustertemplates"]
        assert [one["name"] for one in listed] == ["public"]
    for person, status in (("stranger", 403), ("member", 403), ("admin", 400)):
        body = {"cluster_template_id": hidden, "master_count": 2}
        assert world.ask("POST", "/clusters", person, body).status_code == status
    for ident in (public, hidden):
        changed = world.ask("PATCH", f"/clustertemplates/{ident}", "stranger", NAME)
        assert changed.status_code == 403


def test_a_template_that_is_not_hidden_is_found_before_a_hidden_one_by_its_name(world: World):
    world.api.template("renewed", public=True, hidden=True)
    newer = world.api.template("renewed", "outer admin", "other", public=True)
    for person in ("stranger", "reader"):
        found = world.ask("GET", "/clustertemplates/renewed", person)
        if person == "stranger":
            assert found.json()["uuid"] == newer
        else:  # its own project has the hidden one, too
            assert found.status_code == 409


def test_a_hidden_template_of_another_project_is_unknown_unless_it_is_public(world: World):
    unpublished = world.api.template("kept", hidden=True)
    body = {"cluster_template_id": unpublished}
    assert world.ask("POST", "/clusters", "stranger", body).status_code == 404


def test_publishing_needs_its_own_right(world: World):
    body = {"coe": "kubernetes", "image_id": "img"}
    for more in ({"public": True}, {"hidden": True}):
        assert world.ask("POST", "/clustertemplates", "member", body | more).status_code == 403
        made = world.ask("POST", "/clustertemplates", "admin", body | more)
        assert made.status_code == 201
        change = [{"op": "replace", "path": f"/{next(iter(more))}", "value": False}]
        path = f"/clustertemplates/{made.json()['uuid']}"
        assert world.ask("PATCH", path, "member", change).status_code in FORBIDDEN
        assert world.ask("PATCH", path, "admin", change).status_code == 200


def test_a_token_without_a_project_is_refused(world: World):
    identity = f"{world.api.cloud.url}/identity/v3"
    headers = {"X-Auth-Token": world.api.cloud.token("admin")}
    roles = requests.get(f"{identity}/roles", headers=headers, timeout=10).json()["roles"]
    where = f"domains/default/users/{world.api.users['member']}"
    for role in roles:
        if role["name"] in ("member", "reader"):
            url = f"{identity}/{where}/roles/{role['id']}"
            requests.put(url, headers=headers, timeout=10).raise_for_status()
    password = {"user": {"id": world.api.users["member"], "password": "secret"}}
    auth = {
        "identity": {"methods": ["password"], "password": password},
        "scope": {"domain": {"id": "default"}},
    }
    url = f"{identity}/auth/tokens"
    token = requests.post(url, json={"auth": auth}, timeout=10).headers["X-Subject-Token"]
    world.api.tokens["unscoped"] = token
    for path in ("/clusters", "/clustertemplates", "/stats"):
        refused = world.ask("GET", path, "unscoped")
        assert (refused.status_code, "not scoped to a project" in refused.text) == (403, True)
    assert world.api.call("GET", "/", by="unscoped").status_code == 200

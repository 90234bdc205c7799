"""A project with a user of its own, and what it needs to ask for anything."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import requests

from tests.clients.dev import Dev, wait_for
from tests.hostile.crowd import Asked, asked
from tests.second_steps.clusters import IMAGES, NEWEST, TEMPLATE
from tests.walk.ground import PASSWORD, Identity, Person, log_in

CLUSTERS = "/container-infra/v1"
TIMEOUT_S = 120


@dataclass(frozen=True, eq=False)
class Tenant:
    """A project and the user who asks in it."""

    dev: Dev
    person: Person
    _stacks: dict[str, str] = field(default_factory=dict)

    @property
    def token(self) -> str:
        return self.person.token

    def path(self, below: str) -> str:
        return f"/v1/{self.person.project_id}{below}"

    def asks(self, method: str, below: str, body: Any = None) -> Asked:
        """A request of the Orchestration API, to be sent by others."""
        return asked(method, self.path(below), self.token, body)

    def asks_of_clusters(self, method: str, below: str, body: Any = None) -> Asked:
        """The same of the cluster API."""
        one = asked(method, CLUSTERS + below, self.token, body)
        return one._replace(headers={**one.headers, **NEWEST})

    def call(self, method: str, below: str, body: Any = None) -> Any:
        """The answer to a request, which must be a good one."""
        return self._answer(self.asks(method, below, body))

    def _answer(self, one: Asked) -> Any:
        reply = requests.request(
            one.method, self.dev.url + one.path, headers=one.headers, data=one.body or None,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        if not reply.ok:
            raise AssertionError(f"{one.method} {one.path}: {reply.status_code} {reply.text[:300]}")
        return reply.json() if reply.text else None

    def stack(self, name: str, template: str) -> str:
        """Return the path of a stack, which is created at the first call for its name."""
        if name not in self._stacks:
            self._stacks[name] = self._created(name, template)
        return self._stacks[name]

    def _created(self, name: str, template: str) -> str:
        made = self.call("POST", "/stacks", {"stack_name": name, "template": template})
        place = f"/stacks/{name}/{made['stack']['id']}"
        self.until(place, "CREATE_COMPLETE")
        return place

    def until(self, place: str, state: str) -> None:
        def look() -> bool | None:
            shown = self.call("GET", f"{place}?resolve_outputs=false")["stack"]
            assert "FAILED" not in shown["stack_status"], shown["stack_status_reason"]
            return shown["stack_status"] == state or None

        wait_for(look, f"{place} {state}", TIMEOUT_S)

    def cluster_template(self) -> str:
        """Return the id of a new cluster template."""
        key = {"keypair": {"name": "key"}}
        nova = self._compute()
        requests.post(
            f"{nova}/os-keypairs", json=key, headers={"X-Auth-Token": self.token}, timeout=TIMEOUT_S
        )
        body = {**TEMPLATE, "name": "t", "image_id": IMAGES["older"], "keypair_id": "key"}
        made = self._answer(self.asks_of_clusters("POST", "/clustertemplates", body))
        return str(made["uuid"])

    def _compute(self) -> str:
        reply = requests.get(
            f"{self.dev.auth_url}/auth/catalog", headers={"X-Auth-Token": self.token},
            timeout=TIMEOUT_S,
        )  # fmt: skip
        found = {one["type"]: one["endpoints"][0]["url"] for one in reply.json()["catalog"]}
        return str(found["compute"])

    @cache  # noqa: B019 - a tenant lives as long as the table
    def cluster(self) -> str:
        """Return the id of a cluster of one worker, which is complete."""
        body = {
            "name": "c", "cluster_template_id": self.cluster_template(), "node_count": 1,
            "create_timeout": 5,
        }  # fmt: skip
        made = self._answer(self.asks_of_clusters("POST", "/clusters", body))["uuid"]

        def look() -> bool | None:
            shown = self._answer(self.asks_of_clusters("GET", f"/clusters/{made}"))
            assert shown["status"] != "CREATE_FAILED", shown["status_reason"]
            return shown["status"] == "CREATE_COMPLETE" or None

        wait_for(look, "a cluster", TIMEOUT_S)
        return str(made)


def tenants(dev: Dev, names: list[str]) -> list[Tenant]:
    """Make a project with a member for each of the names."""
    admin = log_in(dev, {"name": "admin", "domain": {"name": "Default"}}, "admin")
    make = Identity(dev, admin.token)
    found = []
    for name in names:
        project = make.create("projects", "project", {"name": name})
        user = {"name": f"user-{name}", "password": PASSWORD, "domain_id": "default"}
        user_id = make.create("users", "user", user)
        make.grant(project, user_id, "member")
        found.append(Tenant(dev, log_in(dev, {"id": user_id}, project, name)))
    return found

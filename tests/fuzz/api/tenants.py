"""A Hearth on a database, and two tenants in it with stacks and clusters full of canaries.

The things in `kept` stay as they are: members only read them, other people try everything.
Members change and delete those in `spare`, which the caretaker of a run makes again.
"""

import contextlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import requests

from tests.clients.dev import Dev, wait_for
from tests.clients.signing import Signer
from tests.conftest import drop_database, fresh_database
from tests.crash.processes import Cloud, Hearth, free_port
from tests.fuzz.api.canaries import Canaries
from tests.fuzz.api.templates import CHILD, FULL, full_files, full_parameters, spare_body
from tests.walk.ground import PASSWORD, Ground, Identity, Person, guest_of, log_in

NAMES = ("one", "two")
ROLES = {"member": ("member",), "reader": ("reader",)}
LATEST = {"OpenStack-API-Version": "container-infra latest"}
CLUSTER_S = 180.0
NOWHERE = "00000000-0000-4000-8000-000000000000"
IMAGE = "fedora-coreos-kube"


@dataclass
class Server:
    """A running `hearth serve`; `log` is what it said."""

    url: str
    auth_url: str
    log: Path
    hearth: Hearth

    @property
    def address(self) -> tuple[str, int]:
        place = urlsplit(self.url)
        assert place.hostname is not None
        assert place.port is not None
        return place.hostname, place.port

    @property
    def dev(self) -> Dev:
        """The same for the walks."""
        return cast(Dev, SimpleNamespace(url=self.url, auth_url=self.auth_url))


@contextlib.contextmanager
def serving(folder: Path, database: str) -> Iterator[Server]:
    """Run Hearth with all its APIs on a database of this kind."""
    with contextlib.ExitStack() as ends:
        url = None
        if database != "sqlite":
            url, name = fresh_database(database)
            ends.callback(drop_database, database, name)
        port = free_port()
        cloud = Cloud(orchestration_url=f"http://127.0.0.1:{port}/v1/$(project_id)s")
        ends.callback(cloud.close)
        hearth = Hearth(folder, cloud, database=url, port=port)
        hearth.configure("DEFAULT", enable_stack_adopt="true", enable_stack_abandon="true")
        public = f"{hearth.url}/container-infra"
        hearth.configure("hearth", clusters="true", cluster_public_url=public)
        hearth.configure("api", port=str(free_port()))
        ends.callback(hearth.kill)
        hearth.start()
        yield Server(hearth.url, cloud.auth_url, hearth.log, hearth)
        hearth.close()


@dataclass
class Tenant:
    """A tenant; `kept` and `spare` are the names in paths, such as `stack_id`, with values.

    `made` counts the things in `spare` that were made.
    """

    name: str
    canaries: Canaries
    kept: dict[str, str] = field(default_factory=dict)
    spare: dict[str, str] = field(default_factory=dict)
    made: int = 0

    @property
    def member(self) -> str:
        return f"{self.name} member"

    @property
    def project(self) -> str:
        return self.kept["tenant_id"]


@dataclass
class World:
    """A server with its people and tenants."""

    server: Server
    ground: Ground
    tenants: list[Tenant]
    signers: dict[str, Signer] = field(default_factory=dict)
    guests: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def canaries(self) -> list[Canaries]:
        return [one.canaries for one in self.tenants]

    def clusters(self, by: str, method: str, path: str, body: Any = None) -> Any:
        """Call the cluster API; return the answer. Raises requests.HTTPError."""
        headers = {**LATEST, "X-Auth-Token": self.ground.people[by].token}
        url = f"{self.server.url}/container-infra/v1{path}"
        reply = requests.request(method, url, json=body, headers=headers, timeout=60)
        reply.raise_for_status()
        return reply.json() if reply.content else None

    def renew(self) -> None:
        """Log in everybody again: tokens live for an hour."""
        for name, old in list(self.ground.people.items()):
            guest = self.guests.get(name)
            user = guest or {"id": old.user_id}
            self.ground.people[name] = log_in(self.server.dev, user, old.project_id, name)


def prepare(server: Server, seed: int, *, whole: bool) -> World:
    """Fill a server. If `whole` is false, nothing waits for the clusters."""
    ground = Ground(server.dev)
    admin = log_in(server.dev, {"name": "admin", "domain": {"name": "Default"}}, "admin", "admin")
    ground.people["admin"] = admin
    make = Identity(server.dev, admin.token)
    luck = random.Random(f"{seed}/canaries")
    world = World(server, ground, [Tenant(name, Canaries(name, luck)) for name in NAMES])
    for tenant in world.tenants:
        project = make.create("projects", "project", {"name": f"fuzz-{tenant.name}"})
        for role, roles in ROLES.items():
            user = {"name": f"{tenant.name}-{role}", "password": PASSWORD, "domain_id": "default"}
            user_id = make.create("users", "user", user)
            for one in roles:
                make.grant(project, user_id, one)
            name = f"{tenant.name} {role}"
            ground.people[name] = log_in(server.dev, {"id": user_id}, project, name)
            world.signers[name] = signer(server, ground.people[name])
        tenant.kept["tenant_id"] = project
        _fill(world, tenant)
        make_spare(world, tenant)
        _cluster(world, tenant)
    for tenant in world.tenants:
        if whole:
            _wait_for_cluster(world, tenant)
    return world


def signer(server: Server, person: Person) -> Signer:
    """Return a key pair of somebody for the CloudFormation-style API."""
    url = f"{server.auth_url}/users/{person.user_id}/credentials/OS-EC2"
    headers, wanted = {"X-Auth-Token": person.token}, {"tenant_id": person.project_id}
    made = requests.post(url, json=wanted, headers=headers, timeout=10)
    made.raise_for_status()
    pair = made.json()["credential"]
    return Signer(f"{server.url}/cfn/v1/", pair["access"], pair["secret"])


def _fill(world: World, tenant: Tenant) -> None:
    """The stack that is kept, with events, a revision, a snapshot, signals and software."""
    ground, words, by = world.ground, tenant.canaries, tenant.member
    body = {
        "template": FULL, "files": {"child.yaml": CHILD, **full_files(words)},
        "parameters": full_parameters(words), "tags": [words.plain()],
        "environment": {"parameter_defaults": {"wide": words.plain()}},
    }  # fmt: skip
    stack = ground.create(f"kept-{tenant.name}", by, **body)
    tenant.kept |= {**stack, "stack_identity": stack["stack_name"], "resource_name": "value"}
    _note_secrets(world, tenant)
    ground.people[f"{tenant.name} guest"] = _guest(world, tenant)
    change = {"existing": True, "parameters": {"size": 2}}
    assert ground.ask("stack_update_patch", by=by, body=change, **stack).status == 202
    ground.until(stack, "UPDATE_COMPLETE", by)
    for _ in range(3):
        signal = {"status": "SUCCESS", "data": words.plain(), "reason": words.plain()}
        ground.ask("resource_signal", by=by, body=signal, resource_name="handle", **stack)
    shot = ground.ask("stack_snapshot", by=by, body={"name": words.plain()}, **stack)
    assert shot.status == 200, shot
    ground.until(stack, "SNAPSHOT_COMPLETE", by)
    found = ground.ask("event_index_resource", by=by, resource_name="value", **stack)
    tenant.kept |= {
        "snapshot_id": shot.answer["id"], "event_id": found.answer["events"][0]["id"],
        "output_key": "told", "number": "1", "other": "2", "type_name": "OS::Heat::Value",
        "template_version": "heat_template_version.2021-04-16", "server_id": "a-server",
    }  # fmt: skip
    tenant.kept |= _software(world, tenant, words.secret())


def _software(world: World, tenant: Tenant, given: str) -> dict[str, str]:
    """Make a configuration and a deployment with the input `given`; return their ids."""
    ask, words, by = world.ground.ask, tenant.canaries, tenant.member
    body: Any = {
        "name": words.plain(), "config": words.plain(), "group": "script",
        "inputs": [{"name": "in", "default": words.plain()}], "outputs": [{"name": "out"}],
    }  # fmt: skip
    config = ask("software_config_create", by=by, body=body).answer["software_config"]["id"]
    body = {"config_id": config, "server_id": "a-server", "input_values": {"in": given}}
    made = ask("software_deployment_create", by=by, body=body).answer["software_deployment"]
    change = {"output_values": {"out": words.plain()}, "status": "COMPLETE"}
    ask("software_deployment_update", by=by, body=change, deployment_id=made["id"])
    return {"config_id": config, "deployment_id": made["id"]}


def _note_secrets(world: World, tenant: Tenant) -> None:
    """What Hearth made, and only members may read."""
    stack = {key: tenant.kept[key] for key in ("stack_name", "stack_id")}

    def attribute(resource: str, name: str) -> str:
        shown = world.ground.ask(
            "resource_show", by=tenant.member, resource_name=resource,
            query=f"with_attr={name}", **stack,
        )  # fmt: skip
        return str(shown.answer["resource"]["attributes"][name])

    tenant.canaries.made |= {
        "the token of the handle": attribute("token", "token"),
        "the private key": attribute("key", "private_key").splitlines()[1],
        "the random text": attribute("random", "value"),
    }
    shown = world.ground.ask("stack_output_show", by=tenant.member, output_key="url", **stack)
    tenant.kept["signal_url"] = str(shown.answer["output"]["output_value"])


def _guest(world: World, tenant: Tenant) -> Person:
    stack = {key: tenant.kept[key] for key in ("stack_name", "stack_id")}
    name = f"{tenant.name} guest"
    person = guest_of(world.ground, tenant.member, stack, name)
    shown = world.ground.ask("stack_output_show", by=tenant.member, output_key="signal", **stack)
    value = shown.answer["output"]["output_value"]
    means = json.loads(value) if isinstance(value, str) else value
    world.guests[name] = {"id": means["user_id"], "password": means["password"]}
    tenant.canaries.made["the password of the guest"] = means["password"]
    return person


def make_spare(world: World, tenant: Tenant) -> None:
    """Make a stack and software that members may destroy; nothing if there is no room for it."""
    ground, by = world.ground, tenant.member
    tenant.made += 1
    name = f"spare{tenant.made}"
    body = {"stack_name": name, **spare_body(tenant.canaries)}
    made = ground.ask("stack_create", by=by, body=body)
    if made.status == 201:
        spare = {**tenant.kept, **tenant.spare, "stack_name": name, "stack_identity": name}
        spare |= {"stack_id": made.answer["stack"]["id"], "resource_name": "handle"}
        tenant.spare = spare | _software(world, tenant, tenant.canaries.plain())


def _cluster(world: World, tenant: Tenant) -> None:
    words, by = tenant.canaries, tenant.member
    wanted = {
        "name": f"kept-{tenant.name}", "coe": "kubernetes", "image_id": IMAGE,
        "external_network_id": "public", "flavor_id": "m1.small", "master_flavor_id": "m1.small",
        "labels": {"said": words.plain()},
    }  # fmt: skip
    template = world.clusters(by, "POST", "/clustertemplates", wanted)["uuid"]
    body = {
        "name": f"kept-{tenant.name}", "cluster_template_id": template, "node_count": 1,
        "labels": {"also": words.plain()}, "merge_labels": True,
    }  # fmt: skip
    cluster = world.clusters(by, "POST", "/clusters", body)["uuid"]
    tenant.kept |= {"template": template, "cluster": cluster, "group": "default-worker"}
    tenant.kept |= {"federation": NOWHERE, "project_id": tenant.project, "resource": "Cluster"}
    spare = world.clusters(by, "POST", "/clustertemplates", {**wanted, "name": "spare"})["uuid"]
    tenant.spare |= {**tenant.kept, **tenant.spare, "cluster": NOWHERE, "template": spare}
    tenant.spare["group"] = "more"


def _wait_for_cluster(world: World, tenant: Tenant) -> None:
    """Wait until it is complete, with node groups and certificates that other people lack."""
    path = f"/clusters/{tenant.kept['cluster']}"

    def look() -> str | None:
        state = str(world.clusters(tenant.member, "GET", path)["status"])
        return None if state.endswith("IN_PROGRESS") else state

    state = wait_for(look, f"the cluster of {tenant.name}", CLUSTER_S)
    assert state == "CREATE_COMPLETE", world.clusters(tenant.member, "GET", path)
    shown = world.clusters(tenant.member, "GET", f"/certificates/{tenant.kept['cluster']}")
    tenant.canaries.made_plain["the certificate"] = shown["pem"].splitlines()[1]

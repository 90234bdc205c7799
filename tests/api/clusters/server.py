"""The cluster API on a port, beside an embedded cloud and without a conductor."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import requests
import sqlalchemy as sa
import uvicorn
from benchmarks.inside import inside
from msgspec import structs

from hearth.api.auth import Tokens
from hearth.api.clusters.app import application
from hearth.cloud.credential import PasswordCredential
from hearth.clusters.config import ClusterConfig
from hearth.clusters.objects import Cluster, ClusterTemplate, NodeGroup
from hearth.service.clusters.certificates import make_all
from hearth.service.services import Services
from hearth.store.clusters import rows
from hearth.store.clusters.tables import cluster, cluster_task, node_group
from hearth.store.database import Tx
from tests.devcloud.running import Served

T = TypeVar("T")
SERVICE = "container-infra"
PASSWORD = "secret"


@dataclass
class Api:
    """A running cluster API and its clients."""

    cloud: Served
    services: Services
    url: str
    loop: asyncio.AbstractEventLoop
    tokens: dict[str, str] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        by: str | None = "member",
        version: str | None = "latest",
        headers: Mapping[str, str] | None = None,
        raw: bytes | str | None = None,
    ) -> requests.Response:
        """Send a request. `version` is a microversion, or a whole header if it has a space."""
        sent = dict(headers or {})
        if by is not None:
            sent["X-Auth-Token"] = self.tokens[by]
        if version is not None:
            header = version if " " in version else f"{SERVICE} {version}"
            sent["OpenStack-API-Version"] = header
        more: dict[str, Any] = {"json": body} if raw is None else {"data": raw}
        return requests.request(
            method, self.url + path, headers=sent, allow_redirects=False, timeout=30, **more
        )

    def run(self, fn: Callable[[Tx], T]) -> T:
        """Carry out a transaction."""
        return asyncio.run_coroutine_threadsafe(self.services.store.run(fn), self.loop).result(30)

    def configure(self, **values: Any) -> None:
        """Change settings of the running service."""

        self.services.clusters = structs.replace(self.services.clusters, **values)

    def person(self, name: str, project: str, *roles: str) -> None:
        """Create a user with roles in a project, and log it in. Projects are created too."""
        admin = Identity(self.cloud)
        if project not in self.projects:
            found = admin.find("projects", project)
            self.projects[project] = found or admin.create("projects", "project", {"name": project})
        user = {"name": f"cluster-{name}", "password": PASSWORD, "domain_id": "default"}
        self.users[name] = admin.create("users", "user", user)
        for role in roles:
            where = f"projects/{self.projects[project]}/users/{self.users[name]}"
            admin.call("PUT", f"/{where}/roles/{admin.find('roles', role)}")
        self.tokens[name] = admin.log_in(self.users[name], self.projects[project])

    def template(self, name: str, by: str = "member", project: str = "demo", **more: Any) -> str:
        """Store a template as an earlier request did; return its UUID."""
        new = ClusterTemplate(
            uuid=self.services.new_id(), name=name, project_id=self.projects[project],
            user_id=self.users[by], coe="kubernetes", image_id="img",
            external_network_id="public", network_driver="flannel", created_at=1.0,
            cluster_distro="fedora-coreos", driver="k8s_simulated_v1", **more,
        )  # fmt: skip
        return self.run(lambda tx: rows.insert(tx, new)).uuid

    def cluster(
        self,
        name: str,
        template: str,
        *,
        by: str = "member",
        project: str = "demo",
        status: str = "CREATE_COMPLETE",
        keys: bool = False,
        groups: tuple[str, str] = ("default-master", "default-worker"),
        **more: Any,
    ) -> str:
        """Store a complete cluster as conductors left it; return its UUID."""
        new = Cluster(
            uuid=self.services.new_id(), name=name, project_id=self.projects[project],
            user_id=self.users[by], cluster_template_id=template, status=status,
            stack_id=self.services.new_id(), api_address="https://172.24.4.3:6443",
            created_at=1.0, **more,
        )  # fmt: skip
        if keys:
            made = make_all(self.services, new)
            new = asyncio.run_coroutine_threadsafe(made, self.loop).result(60)
        master = NodeGroup(
            uuid=self.services.new_id(), name=groups[0], cluster_id=new.uuid,
            project_id=new.project_id, image_id="img", role="master", is_default=True,
            min_node_count=1, status=status, stack_id=new.stack_id, created_at=1.0,
            node_addresses=("10.0.0.2",), version="v1.30.0", status_reason="done",
        )  # fmt: skip
        worker = NodeGroup(
            uuid=self.services.new_id(), name=groups[1], cluster_id=new.uuid,
            project_id=new.project_id, image_id="img", role="worker", is_default=True,
            node_count=3, status=status, stack_id=new.stack_id, created_at=1.0,
            node_addresses=("10.0.0.3", "10.0.0.4"), version="v1.30.0", status_reason="done",
        )  # fmt: skip

        def transaction(tx: Tx) -> None:
            rows.insert(tx, new, version=0)
            for group in (master, worker):
                rows.insert(tx, group)

        self.run(transaction)
        return new.uuid

    def settle(self, status: str = "UPDATE_COMPLETE") -> None:
        """Finish all operations in progress, as conductors would."""

        def transaction(tx: Tx) -> None:
            tx.execute(cluster_task.delete())
            for table in (cluster, node_group):
                busy = table.c.status.like("%IN_PROGRESS")
                tx.execute(table.update().where(busy).values(status=status))

        self.run(transaction)

    def state(self, uuid: str) -> str:
        """Return the status of a cluster."""
        query = sa.select(cluster.c.status).where(cluster.c.uuid == uuid)
        return str(self.run(lambda tx: tx.value(query)))


class Identity:
    """Calls of Keystone by the administrator."""

    def __init__(self, cloud: Served) -> None:
        self._url = f"{cloud.url}/identity/v3"
        self._token = cloud.token("admin")

    def call(self, method: str, path: str, body: Any = None) -> requests.Response:
        headers = {"X-Auth-Token": self._token}
        reply = requests.request(
            method, f"{self._url}{path}", json=body, headers=headers, timeout=10
        )
        reply.raise_for_status()
        return reply

    def find(self, table: str, name: str) -> str | None:
        found = self.call("GET", f"/{table}?name={name}").json()[table]
        return str(found[0]["id"]) if found else None

    def create(self, table: str, root: str, body: Any) -> str:
        return str(self.call("POST", f"/{table}", {root: body}).json()[root]["id"])

    def log_in(self, user_id: str, project_id: str) -> str:
        password = {"user": {"id": user_id, "password": PASSWORD}}
        auth = {
            "identity": {"methods": ["password"], "password": password},
            "scope": {"project": {"id": project_id}},
        }
        reply = requests.post(f"{self._url}/auth/tokens", json={"auth": auth}, timeout=10)
        reply.raise_for_status()
        return reply.headers["X-Subject-Token"]


def image(cloud: Served, name: str, **properties: str) -> None:
    """Create a public image in the cloud."""
    headers = {"X-Auth-Token": cloud.token("admin")}
    body = {
        "name": name, "disk_format": "qcow2", "container_format": "bare", "visibility": "public",
        **properties,
    }  # fmt: skip
    reply = requests.post(f"{cloud.url}/image/v2/images", json=body, headers=headers, timeout=10)
    reply.raise_for_status()


@contextlib.contextmanager
def running(folder: Path, config: ClusterConfig | None = None, port: int = 0) -> Iterator[Api]:
    """Run the API and its cloud; people of every kind have logged in."""
    with Served() as cloud:
        image(cloud, "img", os_distro="fedora-coreos")
        ready: asyncio.Queue[Api] = asyncio.Queue()
        loop, stopped = asyncio.new_event_loop(), asyncio.Event()
        serve = _serve(folder, cloud, config or ClusterConfig(), ready, stopped, port)
        thread = threading.Thread(target=loop.run_until_complete, args=(serve,))
        thread.start()
        try:
            api = asyncio.run_coroutine_threadsafe(ready.get(), loop).result(30)
            api.loop = loop
            api.person("member", "demo", "member", "reader")
            api.person("colleague", "demo", "member", "reader")
            api.person("reader", "demo", "reader")
            api.person("nobody", "demo", "heat_stack_owner")
            api.person("guest", "demo", "heat_stack_user")
            api.person("admin", "demo", "admin", "member", "reader")
            api.person("stranger", "other", "member", "reader")
            api.person("outer admin", "other", "admin", "member", "reader")
            yield api
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join(20)
            loop.close()


async def _serve(
    folder: Path,
    cloud: Served,
    config: ClusterConfig,
    ready: asyncio.Queue[Api],
    stopped: asyncio.Event,
    port: int,
) -> None:
    auth_url = f"{cloud.url}/identity/v3"
    async with inside(folder / "hearth.db") as parts:
        services = parts.services
        services.clusters = config
        user = PasswordCredential(
            auth_url, "hearth", PASSWORD, user_domain_id="default", project_name="service",
            project_domain_id="default",
        )  # fmt: skip
        tokens = Tokens(services.clouds.pool.cloud(user), auth_url)
        app = application(services, tokens, auth_url)
        server = uvicorn.Server(
            uvicorn.Config(app, port=port, log_level="warning", lifespan="off", ws="none")
        )
        server.install_signal_handlers = lambda: None  # type: ignore[method-assign]
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        there = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{there}"
        await ready.put(Api(cloud, services, url, asyncio.get_running_loop()))
        await stopped.wait()
        server.should_exit = True
        await task

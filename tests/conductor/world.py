"""A conductor, an engine and an embedded cloud in one process; small stacks stand for clusters."""

import asyncio
import contextlib
import functools
import ipaddress
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml
from msgspec.structs import replace

from hearth.api.auth import caller_from
from hearth.cloud.config import CloudConfig
from hearth.cloud.credential import PasswordCredential
from hearth.clusters.bundle import ROOT, Bundle, bundle
from hearth.clusters.config import ClusterConfig
from hearth.clusters.environments import choices, environment_files
from hearth.clusters.objects import Cluster, ClusterTemplate
from hearth.clusters.requests import ClusterRequest
from hearth.conductor.conductor import Conductor
from hearth.config.settings import Settings
from hearth.process.wiring import RunningProcess as Process
from hearth.process.wiring import wired
from hearth.service.caller import Caller
from hearth.service.clusters.create import create_cluster
from hearth.service.clusters.template_files import TEMPLATES
from hearth.service.services import Services
from hearth.store.clusters import clusters, rows
from hearth.store.clusters.clusters import FullCluster
from hearth.store.clusters.tables import cluster_task
from hearth.store.tables import stack
from hearth_devcloud.server import Running, serve

WAIT_S = 120.0
MEMBERS = """
heat_template_version: 2021-04-16
parameters:
  index: {type: string}
  generations: {type: json}
  image: {type: string}
  kube_version: {type: string}
resources:
  kube-minion:  # is replaced with its image, as a server
    type: OS::Heat::RandomString
    properties: {salt: {get_attr: [boots, value, image]}}
outputs:
  OS::stack_id: {value: {get_resource: kube-minion}}
"""
NETWORK = """
heat_template_version: 2021-04-16
resources:
  group: {type: OS::Heat::RandomString}
outputs:
  fixed_network: {value: a-network}
  fixed_subnet: {value: a-subnet}
"""


def small_files(
    resources: Mapping[str, Any] | None = None,
    workers_after: Sequence[str] = (),
    without: Collection[str] = (),
) -> Bundle:
    """Return templates with the parameters of the real ones, and hardly any resources.

    The workers depend on the resources `workers_after`. The parameters `without` do not exist.
    """

    def group(count: str, removed: bool) -> dict[str, Any]:
        properties: dict[str, Any] = {
            "count": {"get_param": count},
            "resource_def": {
                "type": "member.yaml",
                "properties": {
                    "index": "%index%",
                    "generations": {"get_param": "worker_generations"} if removed else {},
                    "image": {"get_param": "minion_image" if removed else "master_image"},
                    "kube_version": {"get_param": "kube_version"},
                },
            },
        }
        if removed:
            lists = [{"resource_list": {"get_param": "minions_to_remove"}}]
            properties["removal_policies"] = lists
        found = {"type": "OS::Heat::ResourceGroup", "properties": properties}
        return {**found, "depends_on": list(workers_after)} if removed else found

    small = {
        "heat_template_version": "2021-04-16",
        "parameters": {n: one for n, one in _parameters().items() if n not in without},
        "conditions": {"main": {"equals": [{"get_param": "is_cluster_stack"}, True]}},
        "resources": {
            "network": {"type": "network.yaml"},
            "secgroup_kube_minion": {"type": "OS::Heat::RandomString"},
            "api": {
                "type": "OS::Neutron::Port",
                "condition": "main",
                "properties": {"network": "private"},
            },
            "note": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"get_param": "ca_rotation_id"}},
            },
            "kube_masters": group("number_of_masters", removed=False),
            "kube_minions": group("number_of_minions", removed=True),
            **(resources or {}),
        },
        "outputs": {
            "api_address": {
                "condition": "main",
                "value": {"get_attr": ["api", "fixed_ips", 0, "ip_address"]},
            },
            "kube_masters": {"value": ["10.0.0.3"]},
            "kube_minions": {"value": ["10.0.0.4"]},
        },
    }
    names = {name for choice in choices() for name in environment_files(choice)}
    member = yaml.safe_load(MEMBERS)
    minion = yaml.safe_load((TEMPLATES / "kubeminion.yaml").read_text())
    member["resources"]["boots"] = minion["resources"]["boots"]
    member["conditions"] = {"older": minion["conditions"]["older"]}
    texts = {
        ROOT: yaml.safe_dump(small),
        "member.yaml": yaml.safe_dump(member, sort_keys=False),
        "network.yaml": NETWORK,
    }
    return bundle({**dict.fromkeys(names, "resource_registry: {}\n"), **texts})


@functools.cache
def _parameters() -> dict[str, Any]:
    """Return the parameters of the real templates; reading them takes longer than a cluster."""
    real: dict[str, Any] = yaml.safe_load((TEMPLATES / ROOT).read_text())["parameters"]
    return real


@dataclass
class World:
    """A running process with a conductor that tests may replace."""

    cloud: Running
    process: Process
    caller: Caller
    files: Bundle = field(default_factory=small_files)
    conductor: Conductor | None = None
    _task: asyncio.Task[None] | None = None

    @property
    def services(self) -> Services:
        return self.process.services

    def start(self) -> Conductor:
        """Start a conductor."""
        self.conductor = Conductor(self.services, self.files, "here")
        self.services.bus.listen(self.conductor.wake)
        self._task = asyncio.create_task(self.conductor.run())
        return self.conductor

    async def kill(self) -> None:
        """End the conductor as SIGKILL would: it stores nothing more."""
        assert self.conductor is not None
        assert self._task is not None
        for one in (self._task, *self.conductor.running()):
            one.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.services.store.run(
            lambda tx: tx.execute(cluster_task.update().values(leased_until=0.0)) and None
        )

    async def template(self, **more: Any) -> ClusterTemplate:
        """Store a cluster template."""
        about: dict[str, Any] = {
            "uuid": self.services.new_id(), "name": "k8s", "coe": "kubernetes",
            "project_id": self.caller.project_id, "user_id": self.caller.user_id,
            "image_id": "ubuntu-kube", "external_network_id": "public", "flavor_id": "m1.small",
            "master_flavor_id": "m1.small", "cluster_distro": "ubuntu", "driver": "k8s_ubuntu_v1",
            "network_driver": "flannel",
        }  # fmt: skip
        new = ClusterTemplate(**{**about, **more})
        return await self.services.store.run(lambda tx: rows.insert(tx, new))

    async def create(self, template: ClusterTemplate, **wanted: Any) -> Cluster:
        """Ask for a cluster."""
        fields: dict[str, Any] = {"name": "first", "cluster_template_id": template.uuid, **wanted}
        return await create_cluster(self.services, self.caller, ClusterRequest(**fields))

    async def whole(self, uuid: str) -> FullCluster | None:
        return await self.services.store.read(lambda tx: clusters.load(tx, uuid))

    async def settled(self, uuid: str, limit_s: float = WAIT_S) -> Cluster | None:
        """Wait until no operation of the cluster is in progress; None if it is gone."""
        deadline = time.monotonic() + limit_s
        while True:
            found = await self.whole(uuid)
            if found is None:
                return None
            busy = await self.count(cluster_task, cluster_task.c.cluster_id == uuid)
            if not busy and not (found.cluster.status or "").endswith("_IN_PROGRESS"):
                return found.cluster
            assert time.monotonic() < deadline, (found.cluster, busy)
            await asyncio.sleep(0.02)

    async def count(self, table: sa.Table, *where: Any) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(*where)
        return await self.services.store.read(lambda tx: int(tx.execute(query).scalar_one()))

    async def stacks(self) -> list[Any]:
        """Return the root stacks that are not deleted."""
        query = sa.select(stack).where(stack.c.parent_id.is_(None), stack.c.deleted_at.is_(None))
        return await self.services.store.read(lambda tx: tx.rows(query))

    def in_keystone(self, uuid: str) -> list[str]:
        """Return what Keystone has for a cluster: application credentials, trusts and users."""
        found: list[str] = []
        for table in ("application_credentials", "trusts", "users"):
            objects = self.cloud.cloud.store.all(f"identity.{table}")
            found += [f"{table} {one.id}" for one in objects if uuid in str(one.body)]
        return found

    async def statuses(self, uuid: str) -> Mapping[str, Any]:
        found = await self.whole(uuid)
        assert found is not None
        return {group.name: group.status for group in found.groups}


@contextlib.asynccontextmanager
async def world(folder: Path, config: ClusterConfig | None = None) -> AsyncIterator[World]:
    """Yield a world on a fresh SQLite file; its conductor is not started yet."""
    cloud = await serve()
    try:
        url = cloud.auth_url

        def user(name: str, domain: str, **scope: str) -> PasswordCredential:
            return PasswordCredential(url, name, "secret", user_domain_name=domain, **scope)

        settings = Settings(
            database=f"sqlite:///{folder / 'hearth.db'}",
            secret="s" * 40,
            auth_url=url,
            service_user=user(
                "hearth", "Default", project_name="service", project_domain_name="Default"
            ),
            cloud=CloudConfig(
                region="RegionOne",
                domain_admin=user("heat_domain_admin", "heat", domain_name="heat"),
            ),
            stack_user_domain_name="heat",
            heat_url="http://127.0.0.1:1/v1/{project}",
            heat_metadata_server_url="http://127.0.0.1:1/cfn/v1",
            clusters=replace(
                config or ClusterConfig(),
                url="http://127.0.0.1:1/container-infra/v1",
                sync_every_s=0.02,
                networks=(ipaddress.ip_network("127.0.0.0/8"),),
            ),
        )
        async with wired(settings) as process:
            engine = asyncio.create_task(process.engine.run())
            made = World(cloud, process, await caller_of(process, url))
            try:
                yield made
            finally:
                if made.conductor is not None:
                    await made.conductor.stop()
                await process.engine.stop()
                await asyncio.gather(engine, return_exceptions=True)
    finally:
        await cloud.close()


async def caller_of(process: Process, url: str, name: str = "demo") -> Caller:
    """Log in as this user of the project demo."""
    who = PasswordCredential(
        url, name, "secret", user_domain_name="Default", project_name="demo",
        project_domain_name="Default",
    )  # fmt: skip
    token = await process.pool.cloud(who).token()
    service = process.pool.cloud(process.settings.service_user)
    answer = await service.request(
        "identity", "GET", "/v3/auth/tokens", headers={"X-Subject-Token": token}
    )
    return caller_from(answer.part("token"), token, url)


def story(told: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test that runs a coroutine function in a loop of its own."""

    @functools.wraps(told)
    def test(*args: Any, **kwargs: Any) -> None:
        asyncio.run(told(*args, **kwargs))

    return test

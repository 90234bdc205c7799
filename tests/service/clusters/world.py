"""Services of clusters over an embedded cloud, without an engine and without HTTP of our own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from hearth.api.auth import caller_from
from hearth.cloud import CloudConfig, PasswordCredential
from hearth.cloud.pool import CloudPool
from hearth.clusters.config import ClusterConfig
from hearth.clusters.objects import Cluster
from hearth.clusters.states import CREATE_COMPLETE
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.service.stack_clouds import StackClouds
from hearth.store.clusters import key_table  # noqa: F401 - its tables are created
from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from hearth_devcloud.server import Running, serve

NOW = 1_800_000_000.0


class StoppedClock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    def tells(self, now: float, asked_at: float) -> None:
        """A stopped clock learns nothing."""


@dataclass
class World:
    """The services, the embedded cloud, and users of it."""

    services: Services
    cloud: Running
    pool: CloudPool

    def user(self, name: str, project: str | None = None) -> PasswordCredential:
        return PasswordCredential(
            self.cloud.auth_url, name, "secret", user_domain_id="default",
            project_name=project or name, project_domain_id="default",
        )  # fmt: skip

    async def caller(self, name: str = "demo", project: str | None = None) -> Caller:
        return await self.caller_with(self.user(name, project))

    async def caller_with(self, credential: Any) -> Caller:
        """Return the caller with a token of a credential, as the API finds it."""
        token = await self.pool.cloud(credential).token()
        admin = self.pool.cloud(self.user("admin"))
        headers = {"X-Subject-Token": token, "OpenStack-Identity-Access-Rules": "1.0"}
        answer = await admin.request("identity", "GET", "/v3/auth/tokens", headers=headers)
        return caller_from(answer.part("token"), token, self.cloud.auth_url)

    def fault(self, match: dict[str, Any], **effect: Any) -> None:
        """Add a fault rule."""
        self.cloud.cloud.knobs.add([{"match": match, "effect": effect}])

    def all(self, table: str) -> list[Any]:
        """Return all objects of a table of the embedded cloud."""
        return list(self.cloud.cloud.store.all(table))


def cluster_of(caller: Caller, **more: Any) -> Cluster:
    """Return a cluster of a caller."""
    about: dict[str, Any] = {
        "uuid": str(uuid4()), "name": "prod", "cluster_template_id": str(uuid4()),
        "project_id": caller.project_id, "user_id": caller.user_id, "status": CREATE_COMPLETE,
        "api_address": "https://10.0.0.5:6443",
    }  # fmt: skip
    return Cluster(**{**about, **more})


@asynccontextmanager
async def world(config: ClusterConfig | None = None, **more: Any) -> AsyncIterator[World]:
    """Yield services with an empty database in memory; `more` are settings of the cloud's pool."""
    running = await serve()
    store = Store("sqlite://", sealer_from_secret("s" * 40), inline=True)
    store.create_tables()
    domain_id = next(
        one.id for one in running.cloud.store.all("identity.domains") if one.body["name"] == "heat"
    )
    url = running.auth_url
    service = PasswordCredential(
        url, "hearth", "secret", user_domain_id="default", project_name="service",
        project_domain_id="default",
    )  # fmt: skip
    keeper = PasswordCredential(
        url, "heat_domain_admin", "secret", user_domain_id=domain_id, domain_id=domain_id
    )
    about = CloudConfig(service_user=service, domain_admin=keeper, stack_user_domain_id=domain_id)
    pool = CloudPool(replace(about, **more))
    services: Any = Services(
        store=store, programs=None, clouds=StackClouds(pool), bus=None, clock=StoppedClock(),
        new_id=lambda: str(uuid4()), endpoints=None, clusters=config or ClusterConfig(),
    )  # fmt: skip
    try:
        yield World(services, running, pool)
    finally:
        await pool.aclose()
        await running.close()
        store.close()

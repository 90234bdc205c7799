"""Service, engine and store in this process, without HTTP and without a cloud."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hearth.bus.local import Bus
from hearth.cloud.pool import CloudPool
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.engine import Engine
from hearth.engine.worker.ports import Tools
from hearth.model import collector
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.service.caller import Caller
from hearth.service.limits import RequestLimits
from hearth.service.policy import Policy
from hearth.service.services import Services
from hearth.service.stack_clouds import StackClouds
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.types_used import refused_types
from hearth.service.stacks.update import delete_stack, update_stack
from hearth.store import claim
from hearth.store.clock import DatabaseClock
from hearth.store.config import StoreConfig
from hearth.store.database import Store, Tx
from hearth.store.migrate import upgrade
from hearth.store.rows import StackRow
from hearth.store.seal import sealer_from_secret
from hearth.telemetry.ids import new_id
from hearth.template import Limits

UNBOUND = Limits(max_resources_per_stack=-1, max_template_size=100_000_000)
MEMBER = frozenset({"member", "reader"})
CALLER = Caller("user", "user", "project", MEMBER, token="token", auth_url="http://nowhere")


@dataclass(frozen=True)
class Spent:
    """What an operation took: seconds and statements, those of the request and all."""

    request_s: float
    whole_s: float
    request_statements: int
    statements: int

    @property
    def engine_s(self) -> float:
        return self.whole_s - self.request_s


@dataclass
class Inside:
    """Services with a running engine."""

    services: Services

    async def create(
        self, name: str, template: str, files: Mapping[str, str] | None = None
    ) -> tuple[StackRow, Spent]:
        wanted = StackRequest(template=template, files=files or {})
        return await self._measured(lambda: create_stack(self.services, CALLER, name, wanted))

    async def update(
        self, row: StackRow, template: str, files: Mapping[str, str] | None = None
    ) -> tuple[StackRow, Spent]:
        wanted = StackRequest(template=template, files=files or {})
        return await self._measured(lambda: update_stack(self.services, CALLER, row, wanted))

    async def delete(self, row: StackRow) -> tuple[StackRow, Spent]:
        async def act() -> StackRow:
            await delete_stack(self.services, CALLER, row)
            return row

        return await self._measured(act)

    async def _measured(self, act: Callable[[], Awaitable[StackRow]]) -> tuple[StackRow, Spent]:
        store = self.services.store
        looks = 0
        begun, before = time.perf_counter(), store.statements
        row = await act()
        accepted, at_accept = time.perf_counter(), store.statements
        while row.status == "IN_PROGRESS" or (row.owner and not row.deleted_at) or not looks:
            await asyncio.sleep(0.005)
            row = await store.read(partial(_row, stack_id=row.id))
            looks += 1
        ended = time.perf_counter()
        assert row.status == "COMPLETE", row.reason
        spent = store.statements - before - looks
        return row, Spent(accepted - begun, ended - begun, at_accept - before, spent)


def _row(tx: Tx, stack_id: str) -> StackRow:
    found = claim.row(tx, stack_id)
    assert found is not None
    return found


@contextlib.asynccontextmanager
async def inside(
    database: Path | str,
    limits: RequestLimits | None = None,
    templates: Limits = UNBOUND,
    config: StoreConfig | None = None,
    policy: Policy | None = None,
) -> AsyncIterator[Inside]:
    """Services on a fresh SQLite file, or on an empty database by its URL."""
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    store = Store(url, sealer_from_secret("benchmark"), config=config)
    upgrade(store)
    pool = CloudPool()
    clouds = StackClouds(pool)
    programs = Programs(default_catalog(), template_type=TemplateResource, limits=templates)

    endpoints = Endpoints()
    clock = DatabaseClock()
    collector.server()
    policy = policy or Policy()
    engine = Engine(
        Tools(
            store, clouds, programs, clock, new_id, random.random, endpoints,
            refused_types=partial(refused_types, policy),
        )
    )  # fmt: skip
    bus = Bus()
    bus.listen(engine.wake)
    services = Services(
        store, programs, clouds, bus, clock, new_id, endpoints,
        limits or RequestLimits(), policy=policy,
    )  # fmt: skip
    running = asyncio.create_task(engine.run())
    try:
        yield Inside(services)
    finally:
        await engine.stop()
        await running
        await pool.aclose()

        store.close()

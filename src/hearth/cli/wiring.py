"""The one place that puts everything together."""

import asyncio
import contextlib
import gc
import logging
import random
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TextIO

from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from hearth.bus.local import Bus
from hearth.bus.notification import Notifications
from hearth.cli.chance import new_id
from hearth.cli.early import WrongSetting, lock
from hearth.cli.global_environment import global_environment
from hearth.cli.installed import use_installed
from hearth.cli.settings import Settings
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.fault import CloudFault
from hearth.cloud.pool import CloudConfig, CloudPool
from hearth.engine.worker.engine import Engine, Tools
from hearth.engine.worker.lifecycle import installed
from hearth.engine.worker.live import Endpoints
from hearth.engine.worker.programs import Programs
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.service.event_poster import EventPoster
from hearth.service.house import House
from hearth.service.sender import Sender
from hearth.service.stack_clouds import StackClouds
from hearth.store import claim
from hearth.store.database import Store
from hearth.store.migrate import upgrade
from hearth.store.seal import sealer_from_secret
from hearth.template import Limits as TemplateLimits

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 75  # well over the 5 s at which clients look again while they wait

SENDING = "sending"
POSTS_AT_ONCE = 16
COLLECT_AFTER = 200_000  # objects more than went; some 20 MB


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Running:
    """A wired process: the house for requests, the engine for work."""

    house: House
    engine: Engine
    pool: CloudPool
    notifications: Notifications | None = None


def open_store(settings: Settings) -> Store:
    """The database, at the schema of this release. Raises WrongSetting."""
    try:
        sealer = sealer_from_secret(settings.secret)
        store = Store(
            settings.database,
            sealer,
            retention=settings.retention,
            notifies=settings.notifications is not None,
        )
        upgrade(store)
    except ArgumentError as problem:
        raise WrongSetting(f"[database] connection: {problem}") from None
    except (SQLAlchemyError, ModuleNotFoundError) as problem:
        words = str(problem).partition("\n")[0]
        raise WrongSetting(f"the database cannot be used: {words}") from None
    return store


@contextlib.asynccontextmanager
async def wired(settings: Settings, held: TextIO | None = None) -> AsyncIterator[Running]:
    """Everything of a process that serves or works, closed in the end; so is the lock `held`."""
    if held is None and settings.lock is not None:
        held = lock(settings.lock)
    use_installed()
    store = open_store(settings)
    pool = CloudPool(await _cloud_config(settings))
    executor = ThreadPoolExecutor(1, "compile")
    clock = SystemClock()
    clouds = StackClouds(pool)
    programs = Programs(
        default_catalog(),
        template_type=TemplateResource,
        base=global_environment(settings.environment_dir),
        limits=TemplateLimits(
            template_size_max=settings.limits.template_characters,
            resources_max=settings.limits.resources_per_stack,
            stack_depth_max=settings.limits.nested_depth,
            yaql_iterators_max=settings.limits.yaql_iterators,
            yaql_memory_bytes=settings.limits.yaql_memory_bytes,
        ),
        executor=executor,
    )
    endpoints = Endpoints(
        heat=settings.heat_url,
        cfn=settings.cfn_url,
        identity=settings.auth_url,
        region=settings.region,
        waitcondition=settings.waitcondition_url,
    )
    bus = Bus()
    tools = Tools(
        store=store, clouds=clouds, programs=programs, clock=clock, new_id=new_id,
        luck=random.random, endpoints=endpoints, plugins=installed(),
    )  # fmt: skip
    engine = Engine(tools)
    bus.listen(engine.wake)
    house = House(
        store=store, programs=programs, clouds=clouds, bus=bus, clock=clock, new_id=new_id,
        endpoints=endpoints, limits=settings.limits,
    )  # fmt: skip
    if held is not None:  # nobody else can be alive: what was theirs is ours at once
        await store.run(claim.expire_all)
    try:
        yield Running(house, engine, pool, settings.notifications)
    finally:
        await pool.aclose()
        await asyncio.get_running_loop().run_in_executor(executor, store.close)
        executor.shutdown(wait=False)
        if held is not None:
            held.close()


async def _cloud_config(settings: Settings) -> CloudConfig:
    config = CloudConfig(
        region=settings.region,
        service_user=settings.service_user,
        domain_admin=settings.domain_admin,
        stack_domain_id=settings.stack_domain_id,
        trust_from_start=settings.trust_from_start,
        trust_roles=settings.trust_roles,
    )
    if settings.stack_domain_name is None or settings.stack_domain_id is not None:
        return config
    domain_id = await _domain_id(config, settings.service_user, settings.stack_domain_name)
    admin = settings.domain_admin
    if admin is not None:
        admin = replace(admin, domain_id=domain_id)
    return replace(config, stack_domain_id=domain_id, domain_admin=admin)


async def _domain_id(config: CloudConfig, user: PasswordCredential, name: str) -> str:
    pool = CloudPool(config)
    try:
        cloud = pool.cloud(user)
        answer = await cloud.request("identity", "GET", "/v3/domains", params={"name": name})
        found = (answer.body or {}).get("domains", [])
    except CloudFault as fault:
        raise WrongSetting(f"Keystone at {user.auth_url} cannot be used: {fault}") from None
    finally:
        await pool.aclose()
    if not found:
        raise WrongSetting(f"stack_user_domain_name: Keystone has no domain {name}")
    return str(found[0]["id"])


def calm_collector() -> None:
    """What is there now stays: collections need not look at it again, nor come at every turn of a
    stack of ten thousand resources (a third of its time went there)."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 50, 10)


async def until_stopped(
    running: Running,
    sockets: list[socket.socket],
    *,
    api: bool,
    work: bool,
    ready: Callable[[], None],
    auth_url: str,
) -> None:
    """Serve and work until SIGTERM or SIGINT, then hand everything over."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tasks: list[asyncio.Task[Any]] = []
    server = None
    if work:
        running.pool.may_write = running.engine.may_write
        tasks.append(loop.create_task(running.engine.run()))
        tasks.append(loop.create_task(_post_events(running), name=SENDING))
        if running.notifications is not None:
            tasks.append(loop.create_task(_send(running, running.notifications), name=SENDING))
    if api:
        server = _server(running, auth_url)
        tasks.append(loop.create_task(server.serve(sockets=sockets)))
        while not server.started and not tasks[-1].done():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.005)
    calm_collector()
    ready()
    stopped = loop.create_task(stop.wait())
    await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
    if work:
        await running.engine.stop()
    for task in tasks:
        if task.get_name() == SENDING:
            task.cancel()
    if server is not None:
        server.should_exit = True
    await asyncio.gather(*tasks, return_exceptions=True)
    stopped.cancel()


async def _send(running: Running, to: Notifications) -> None:
    """Send notifications for as long as the process works."""
    from hearth.bus.rabbit import NotSent, Publisher

    house = running.house
    async with Publisher(to) as publisher:
        sender = Sender(
            house.store, house.programs, running.engine.id, to, publisher.publish, NotSent
        )
        house.bus.listen(sender.wake)
        await sender.run()


async def _post_events(running: Running) -> None:
    """Post events to sinks for as long as the process works, over connections of their own."""
    house = running.house
    pool = CloudPool(replace(running.pool.config, in_flight=POSTS_AT_ONCE, auth_threads=2))
    pool.may_write = running.engine.may_write
    poster = EventPoster(house.store, StackClouds(pool), running.engine.id, house.clock)
    house.bus.listen(poster.wake)
    try:
        await poster.run()
    finally:
        await pool.aclose()


def _server(running: Running, auth_url: str) -> Any:
    import uvicorn

    from hearth.api.app import application
    from hearth.api.auth import Tokens

    service = running.pool.config.service_user
    assert service is not None
    cloud = running.pool.cloud(service)
    app = application(running.house, Tokens(cloud, auth_url), cloud, auth_url)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=3,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws="none", proxy_headers=True,
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    return server

"""Creates all objects of a process and connects them."""

import contextlib
import importlib.metadata
import logging
import random
import socket
from collections.abc import AsyncIterator, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from msgspec import structs
from msgspec.structs import replace
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from hearth.api.front.front import Front
from hearth.bus.local import Bus
from hearth.bus.relay import Relay
from hearth.cloud.config import CloudConfig
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.cloud.pool import CloudPool
from hearth.cloud.reach import Reach
from hearth.conductor.conductor import Conductor
from hearth.config.global_environment import global_environment
from hearth.config.policies import Policies, policies
from hearth.config.settings import Settings, with_version
from hearth.config.wrong import WrongSetting
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.compute.compute import Compute
from hearth.engine.programs.compute.pool import COMMAND, Pool
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.engine import Engine
from hearth.engine.worker.operation.plugins import BadPlugin, installed
from hearth.engine.worker.ports import Plugin, Tools
from hearth.process.installed import use_installed
from hearth.process.own_files import lock
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog, share
from hearth.service.clusters.template_files import template_files
from hearth.service.key_threads import KeyThreads
from hearth.service.services import Services
from hearth.service.stack_clouds import StackClouds
from hearth.service.stacks.types_used import refused_types
from hearth.store import claim
from hearth.store.clock import DatabaseClock
from hearth.store.database import Store
from hearth.store.keyring import WrongKey, unlock
from hearth.store.migrate import TooNew, upgrade
from hearth.store.seal import keys_in, sealer_of
from hearth.telemetry.ids import new_id
from hearth.telemetry.observer import UNOBSERVED, Observer
from hearth.telemetry.span import SpanSink

log = logging.getLogger(__name__)


@dataclass
class RunningProcess:
    """All parts of a running process: services for requests, the engine, the conductor,
    connections.

    `pool` connects to the cloud, and `token_pool` to the Keystone that checks tokens; they may be
    the same. `relay` wakes other processes; it is None if there is no way to do so.
    """

    services: Services
    engine: Engine
    conductor: Conductor
    pool: CloudPool
    token_pool: CloudPool
    settings: Settings
    front: Front
    clock: DatabaseClock
    relay: Relay | None
    observer: Observer = UNOBSERVED


def open_store(settings: Settings) -> Store:
    """Open the database and migrate it to the schema of this release. Raises WrongSetting."""
    try:
        keys = keys_in(settings.secret)
        store = Store(
            settings.database,
            sealer_of(keys),
            config=settings.store,
            notifies=settings.notifications is not None,
        )
        upgrade(store)
        unlock(store, keys)
    except (WrongKey, TooNew) as problem:
        raise WrongSetting(str(problem)) from None
    except ArgumentError as problem:
        raise WrongSetting(f"[database] connection: {problem}") from None
    except (SQLAlchemyError, ModuleNotFoundError, TimeoutError) as problem:
        message = str(problem).partition("\n")[0]
        raise WrongSetting(f"the database cannot be used: {message}") from None
    return store


@contextlib.asynccontextmanager
async def wired(
    settings: Settings, lock_file: TextIO | None = None
) -> AsyncIterator[RunningProcess]:
    """Create all parts of a process, and close them at the end of the block.

    `lock_file` is the open lock file, if the caller has one. Raises WrongSetting.
    """
    if lock_file is None and settings.lock is not None:
        lock_file = lock(settings.lock)
    use_installed()
    plugins = _plugins()
    store = open_store(settings)
    observer = _observer(settings)
    pool = CloudPool(await _cloud_config(settings), observer)
    token_pool = _token_pool(pool, settings, observer)
    catalog = share(settings.types.catalog())
    compute = Compute(Pool((*COMMAND, settings.types.as_text())))
    clock = DatabaseClock()
    await clock.ask(store)
    clouds = StackClouds(pool)
    programs = _programs(catalog, settings, compute)
    endpoints = await _endpoints(pool, settings)
    bus = Bus()
    rules = _policies(settings)
    tools = Tools(
        store=store,
        clouds=clouds,
        programs=programs,
        clock=clock,
        new_id=new_id,
        jitter=random.random,
        endpoints=endpoints,
        plugins=plugins,
        retries=settings.action_retry_limit,
        fetch=lambda url: services.fetch_template(url),
        refused_types=partial(refused_types, rules.stacks),
        tell_others=bus.tell_others,
        observer=observer,
    )
    engine = Engine(tools)
    bus.listen(engine.wake)
    services = _services(settings, tools, clouds, bus, rules, KeyThreads(compute.usage))
    conductor = Conductor(services, template_files(), socket.gethostname())
    bus.listen(conductor.wake)
    if lock_file is not None:  # no other engine can be alive: take over all stacks at once
        await store.run(claim.expire_all)
    try:
        front = Front(settings.front, observer)
        relay = None if lock_file is not None else _relay(settings, store, engine.id, bus)
        yield RunningProcess(
            services, engine, conductor, pool, token_pool, settings, front, clock, relay, observer
        )
    finally:
        await _close(compute, {pool, token_pool}, store, observer)
        if lock_file is not None:
            lock_file.close()


async def _close(
    compute: Compute, cloud_pools: Set[CloudPool], store: Store, observer: Observer
) -> None:
    """Stop the computations of a process and close its connections."""
    compute.close()
    for cloud_pool in cloud_pools:
        await cloud_pool.aclose()
    store.close()
    if observer.spans is not None:
        observer.spans.close()


def _services(
    settings: Settings,
    tools: Tools,
    clouds: StackClouds,
    bus: Bus,
    rules: Policies,
    keys: KeyThreads,
) -> Services:
    """Return the services for requests, which share the tools of the engine."""
    return Services(
        store=tools.store,
        programs=tools.programs,
        clouds=clouds,
        bus=bus,
        clock=tools.clock,
        new_id=tools.new_id,
        endpoints=tools.endpoints,
        limits=settings.limits,
        clusters=settings.clusters,
        fetching=settings.fetching,
        policy=rules.stacks,
        cluster_policy=rules.clusters,
        observer=tools.observer,
        keys=keys,
    )


def _programs(catalog: Catalog, settings: Settings, compute: Compute) -> Programs:
    return Programs(
        catalog,
        template_type=TemplateResource,
        base=global_environment(Path(settings.environment_dir)),
        limits=settings.templates,
        compute=compute,
    )


def _policies(settings: Settings) -> Policies:
    owner_only = settings.clusters.owner_only_certificates
    return policies(settings.policy, owner_only_certificates=owner_only)


def _observer(settings: Settings) -> Observer:
    """Return the observer that counts the work of the process and sends its spans.

    If neither is configured, return UNOBSERVED. Raises WrongSetting.
    """
    if not settings.monitored and not settings.trace_endpoint:
        return UNOBSERVED
    observer = Observer()
    if settings.monitored:
        from hearth.telemetry.prometheus import Metrics

        observer = Metrics()
    if settings.trace_endpoint:
        observer.share = settings.trace_share
        observer.spans = _collector(settings.trace_endpoint)
    return observer


def _plugins() -> tuple[Plugin, ...]:
    """Return the installed plug-ins. Raises WrongSetting if one cannot be loaded."""
    try:
        return installed()
    except BadPlugin as problem:
        raise WrongSetting(str(problem)) from problem


def _collector(endpoint: str) -> SpanSink:
    """Return the object that sends spans to `endpoint`. Raises WrongSetting."""
    if not endpoint.startswith(("http://", "https://")):
        raise WrongSetting(f"[hearth] trace_endpoint: expected a URL with http, got {endpoint}")
    try:
        from hearth.telemetry.opentelemetry import Collector
    except ModuleNotFoundError as problem:
        message = f"[hearth] trace_endpoint: the module {problem.name} is missing"
        raise WrongSetting(f"{message}; pip install hearth[traces]") from None
    version = importlib.metadata.version("hearth")
    return Collector(
        endpoint,
        {"service.name": "hearth", "service.version": version, "host.name": socket.gethostname()},
    )


def _relay(settings: Settings, store: Store, name: str, bus: Bus) -> Relay | None:
    """Return the relay for wake-ups between processes, or None.

    It uses the database if that is PostgreSQL, else the message broker if one is configured.
    """
    relay: Relay
    if store.dialect == "postgresql":
        from hearth.bus.postgresql import PostgresRelay

        relay = PostgresRelay(store.sync_engine.url, name, bus.wake)
    elif settings.broker:
        from hearth.bus.rabbit_relay import RabbitRelay

        relay = RabbitRelay(settings.broker, name, bus.wake)
    else:
        return None
    bus.relay(relay.tell)
    return relay


async def _endpoints(pool: CloudPool, settings: Settings) -> Endpoints:
    """Return the URLs that servers and users get."""
    cfn_url = with_version(settings.heat_metadata_server_url or "")
    cfn_url = cfn_url or await _cfn_url(pool, settings)
    return Endpoints(
        heat=settings.heat_url,
        cfn=cfn_url,
        identity=await _identity_url(settings),
        region=settings.cloud.region,
        waitcondition=settings.heat_waitcondition_server_url or "",
        metadata=f"{cfn_url}/" if cfn_url else "",
        stack_scheduler_hints=settings.stack_scheduler_hints,
    )


async def _identity_url(settings: Settings) -> str:
    """Return the Keystone URL that servers get: from the catalogue if configured, else from a
    setting.
    """
    usual = settings.identity_url or settings.auth_url
    if not settings.server_keystone_endpoint_type:
        return usual
    interface = settings.server_keystone_endpoint_type
    config = replace(await _cloud_config(settings), interface=interface)
    pool = CloudPool(replace(config, services={}))
    try:
        return await pool.cloud(settings.service_user).endpoint("identity")
    except CloudFault as fault:
        log.warning("servers use Keystone at %s, not the catalogue's URL: %s", usual, fault)
        return usual
    finally:
        await pool.aclose()


async def _cfn_url(pool: CloudPool, settings: Settings) -> str:
    """Return the URL of the CloudFormation-style API that servers get.

    It comes from the catalogue; if that has none, it is the URL of this process, which may be
    empty.
    """
    try:
        url = await pool.cloud(settings.service_user).endpoint("cloudformation")
    except CloudFault as fault:
        log.warning(
            "servers use %s for the CloudFormation-style API, not the catalogue's URL: %s",
            settings.cfn_here or "no address",
            fault,
        )
        return settings.cfn_here
    return with_version(url)


async def _cloud_config(settings: Settings) -> CloudConfig:
    """Return the settings for access to the cloud, with the id of the stack domain. Raises
    WrongSetting.
    """
    config = replace(settings.cloud, service_user=settings.service_user)
    admin, name = config.domain_admin, settings.stack_user_domain_name
    if admin is None or name is None or config.stack_user_domain_id is not None:
        return config
    domain_id = await _domain_id(config, settings.service_user, name)
    admin = replace(admin, domain_id=domain_id)
    return replace(config, stack_user_domain_id=domain_id, domain_admin=admin)


def _token_pool(pool: CloudPool, settings: Settings, observer: Observer) -> CloudPool:
    """Return the cloud pool whose Keystone checks tokens.

    It is `pool`, unless the connection for token checks is configured separately.
    """
    reach = settings.token_checks.reach
    if reach == Reach():
        return pool
    services = dict(settings.cloud.services)
    services["identity"] = replace(
        services.get("identity", Reach()),
        **{name: value for name, value in structs.asdict(reach).items() if value is not None},
    )
    return CloudPool(replace(pool.config, services=services), observer)


async def _domain_id(config: CloudConfig, user: PasswordCredential, name: str) -> str:
    """Return the id of the domain with this name. Raises WrongSetting if there is none."""
    pool = CloudPool(config)
    try:
        cloud = pool.cloud(user)
        domains = await cloud.listing("identity", f"/v3/domains?name={segment(name)}")
    except CloudFault as fault:
        raise WrongSetting(f"Keystone at {user.auth_url} cannot be used: {fault}") from None
    finally:
        await pool.aclose()
    if not domains:
        raise WrongSetting(f"stack_user_domain_name: Keystone has no domain {name}")
    return str(domains[0]["id"])

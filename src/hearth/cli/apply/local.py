"""The Orchestration API and an engine in this process, on a state file.

The commands get a service without tokens or trusts: all calls to the cloud are made with the user's
own credential. Only `--serve` opens a socket, for the users of the stack.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from msgspec import field
from sqlalchemy.exc import SQLAlchemyError

from hearth.bus.local import Bus
from hearth.cli.apply.api import UserError, error_of
from hearth.cli.apply.in_process import InProcess
from hearth.cli.apply.local_cloud import LocalCloud
from hearth.cli.apply.named_cloud import pool_of
from hearth.cli.apply.state import StateFile
from hearth.cli.apply.state_store import StateStore
from hearth.cloud.contract import Cloud, Clouds
from hearth.cloud.credential import NamedCredential
from hearth.cloud.fallback import NoClouds, UnauthorizedCloud
from hearth.cloud.fault import CloudFault
from hearth.config.wrong import WrongSetting
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.process.installed import use_installed
from hearth.process.sockets import listening
from hearth.resources.base import Users
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.service.caller import Caller
from hearth.service.limits import RequestLimits
from hearth.service.local_users import LocalUsers
from hearth.service.policy import Owner, Policy
from hearth.service.services import Audience, Services
from hearth.service.stack_clouds import StackClouds
from hearth.service.stacks.types_used import refused_types
from hearth.store.clock import DatabaseClock
from hearth.store.credentials import StackCredential
from hearth.store.database import Store
from hearth.store.rows import StackRow
from hearth.store.tables import stack
from hearth.telemetry.ids import new_id
from hearth.template import Limits as TemplateLimits

if TYPE_CHECKING:
    from hearth.engine.worker.engine import Engine

NO_CLOUD = "no cloud was chosen: use --cloud NAME, or set OS_CLOUD"
HOST = "127.0.0.1"
NOWHERE = "local"  # the project of a stack without a cloud
ROLES = frozenset({"reader", "member", "admin"})  # of the user without a cloud
TEXT_MAX = 100_000_000  # characters of a template
LIMITS = RequestLimits(max_stacks_per_tenant=-1, max_json_body_size=TEXT_MAX)
TEMPLATE_LIMITS = TemplateLimits(
    max_resources_per_stack=-1, max_template_size=TEXT_MAX, max_nested_stack_depth=20
)


class _OwnClouds(StackClouds):
    """The cloud of every stack is that of the user, and its own users are in the state file."""

    def __init__(self, pool: Clouds, cloud: Cloud, store: Store, *, reachable: bool) -> None:
        super().__init__(pool)
        self._cloud = cloud
        self._store = store
        self._reachable = reachable

    def of(self, row: StackRow, credential: StackCredential | None) -> Cloud:
        return self._cloud

    def users(self, row: StackRow, on_project: Callable[[str], None]) -> Users:
        return LocalUsers(self._store, row, on_project, reachable=self._reachable)


class _OwnServices(Services):
    user_cloud: Cloud = field(default_factory=lambda: UnauthorizedCloud(NO_CLOUD))

    def cloud(self, caller: Caller) -> Cloud:
        return self.user_cloud


class _OpenPolicy(Policy):
    """The cloud alone decides what the user may do. Users of the stack may do what they always may;
    nobody else has access to a state file.
    """

    def allows(self, rule: str, caller: Caller, owner: Owner | None = None) -> bool:
        return not caller.guest or super().allows(rule, caller, owner)

    def allows_type(self, name: str, caller: Caller) -> bool:
        return True


class LocalApi:
    """Answers requests in this process; `url` is the address at which others send requests."""

    def __init__(self, api: InProcess, location: str, store: StateStore, url: str | None) -> None:
        self.location = location
        self.url = url
        self._api = api
        self._store = store

    async def call(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        """Make a request; see `Api`."""
        answer = await self._api.ask(method, path, body, query)
        if answer.status == 302:  # the lookup of a stack by its name
            location = answer.headers["location"]
            return await self.call(method, location.partition(self._api.project_path)[2])
        if answer.status >= 300:
            raise error_of(answer.status, answer.body, answer.raw.decode())
        return answer.body

    def demand_working(self) -> None:
        """Raise UserError if the state file cannot be written, for example if the disk is full.

        The engine would try again for ever.
        """
        if (trouble := self._store.trouble()) is not None:
            hint = "no more calls are sent; run the same command again when the file can be written"
            raise UserError([f"{self.location} cannot be written: {trouble}", hint])


@asynccontextmanager
async def local_api(
    state: StateFile,
    cloud: str | None,
    *,
    sign_in: bool = False,
    work: bool = False,
    create: bool = False,
    plan: bool = False,
    serve: int | None = None,
) -> AsyncIterator[LocalApi]:
    """Open a state file, and answer requests until the end of the block.

    `cloud` is a name in clouds.yaml; without one, no call to a cloud is possible. `sign_in` is
    whether its user and project are checked first. If `work` is true, an engine carries out the
    requests, and the file is locked for other commands. `create` is whether a missing state file is
    created; with `plan`, it is treated as empty. `serve` is the port at which users of the stack
    can send requests (0: a free one); without `work`, it is not opened. Raises UserError.
    """
    if work:
        state.lock()
    store = state.open_for_plan() if plan else state.open(create=create)
    pool = NoClouds(NO_CLOUD) if cloud is None else pool_of(cloud)
    own_cloud = LocalCloud(pool.cloud(NamedCredential(cloud or "")))
    try:
        caller = await _caller(store, state, own_cloud if cloud is not None and sign_in else None)
        bound = _bound(serve) if work and serve is not None else None
        port = serve if bound is None else bound.getsockname()[1]
        url = None if port is None else f"http://{HOST}:{port}"
        services = await _services(store, pool, own_cloud, url)
        own_cloud.api = InProcess(services, caller)
        async with _endpoint(services, bound), _working(services) if work else nullcontext():
            yield LocalApi(own_cloud.api, str(state.path), store, url)
    except SQLAlchemyError as problem:  # also those of requests
        message = str(getattr(problem, "orig", None) or problem)
        raise UserError([f"{state.path} cannot be used: {message}"]) from None
    finally:
        await pool.aclose()
        store.close()
        state.release()


def _bound(port: int) -> socket.socket:
    try:
        return listening(HOST, port, "--serve-port")
    except WrongSetting as problem:
        raise UserError([str(problem)]) from None


def _endpoint(services: Services, bound: socket.socket | None) -> AbstractAsyncContextManager[None]:
    """Serve requests of others at a listening socket, if there is one."""
    if bound is None:
        return nullcontext()
    from hearth.cli.apply.endpoint import serving  # its imports take long

    return serving(services, bound)


@asynccontextmanager
async def _working(services: _OwnServices) -> AsyncIterator[None]:
    """Run an engine until the end of the block."""
    engine = _engine(services)
    running = asyncio.create_task(_worked(engine, services.store))
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):  # of a state file that cannot be written any more
            await engine.stop()
        running.cancel()
        with suppress(asyncio.CancelledError, SQLAlchemyError):
            await running


def _engine(services: _OwnServices) -> "Engine":
    from hearth.engine.worker.engine import Engine  # a plan does not need it
    from hearth.engine.worker.ports import Tools

    engine = Engine(
        Tools(
            services.store,
            services.clouds,
            services.programs,
            services.clock,
            new_id,
            random.random,
            services.endpoints,
            refused_types=partial(refused_types, services.policy),
        )
    )
    services.bus.listen(engine.wake)
    return engine


async def _worked(engine: "Engine", store: Store) -> None:
    from hearth.store import claim

    await store.run(claim.expire_all)  # an earlier command has ended: the lock is free
    await engine.run()


async def _caller(store: Store, state: StateFile, cloud: Cloud | None) -> Caller:
    """Return the user of the cloud; without a cloud, a user in the project of the stack."""
    query = sa.select(stack.c.project_id, stack.c.name).where(
        stack.c.deleted_at.is_(None), stack.c.parent_id.is_(None)
    )
    row = await store.read(lambda tx: tx.execute(query).first())
    project_id = None if row is None else row.project_id
    if row is not None and row.name != state.name:
        raise UserError([f"{state.path} is the state of the stack {row.name}, not of {state.name}"])
    if cloud is None:
        return Caller("local", "local", project_id or NOWHERE, roles=ROLES)
    try:
        identity = await cloud.whoami()
    except CloudFault as fault:
        message = "the cloud does not accept the credential"
        if fault.status not in (401, 403):
            message = "Keystone cannot be reached"
        raise UserError([f"{message}: {fault.message}"]) from None
    if identity.project_id is None:
        raise UserError(
            ["the credential is not scoped to a project; set project_name in clouds.yaml"]
        )
    if project_id not in (None, identity.project_id):
        message = f"{state.path} has a stack of project {project_id}"
        raise UserError([message, f"the credential is scoped to project {identity.project_id}"])
    name = identity.username or identity.user_id
    return Caller(identity.user_id, name, identity.project_id, roles=frozenset(identity.roles))


def _endpoints(url: str | None) -> Endpoints:
    """Return the addresses of the APIs at `url`, if it is given."""
    if url is None:
        return Endpoints()
    cfn = f"{url}/cfn/v1"
    return Endpoints(
        heat=f"{url}/v1/{{project}}",
        cfn=cfn,
        waitcondition=f"{cfn}/waitcondition",
        metadata=f"{cfn}/",
    )


async def _services(store: Store, pool: Clouds, cloud: Cloud, url: str | None) -> _OwnServices:
    """Return the services; `url` is the address of the endpoint, if any."""
    use_installed()
    clock = DatabaseClock()
    await clock.ask(store)
    return _OwnServices(
        store=store,
        clock=clock,
        bus=Bus(),
        policy=_OpenPolicy(),
        new_id=new_id,
        limits=LIMITS,
        user_cloud=cloud,
        programs=Programs(
            default_catalog(), template_type=TemplateResource, limits=TEMPLATE_LIMITS
        ),
        clouds=_OwnClouds(pool, cloud, store, reachable=url is not None),
        endpoints=_endpoints(url),
        audience=Audience.NOBODY if url is None else Audience.STACK_USERS,
    )

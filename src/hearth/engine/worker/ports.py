"""The services that an engine uses, and the interface between the worker of a stack and its
parts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol

from msgspec import Struct

from hearth.cloud.contract import Cloud
from hearth.cloud.fetch import fetch_nothing
from hearth.engine.clock import Clock
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.resources.base import Users
from hearth.store.claim import HEARTBEAT_S
from hearth.store.credentials import StackCredential
from hearth.store.database import Store
from hearth.store.rows import StackRow
from hearth.store.snapshots import Snapshot
from hearth.telemetry.observer import UNOBSERVED, Observer

LOOK_S = 1.0
ORPHAN_WATCH_S = 30.0  # how long after a lost response the object may appear

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""A function that runs a coroutine as a task."""


def tell_nobody() -> None:
    """Do nothing: the default of `tell_others` if no other process shares the database."""


class CloudSource(Protocol):
    """Returns the cloud of a stack and manages its trusts; implemented in
    service/stack_clouds.py.
    """

    def of(self, row: StackRow, credential: StackCredential | None) -> Cloud:
        """Return the cloud with the stack's credential."""

    def users(self, row: StackRow, on_project: Callable[[str], None]) -> Users | None:
        """Return the users in the stack's domain project, or None if neither a stack domain nor a
        service user is configured.

        `on_project` is called with the id of the domain project when Hearth creates it.
        """

    async def trusted(self, credential: StackCredential) -> bool:
        """Return whether no trust must be created, because the credential has a valid one of its
        requester or because trusts are not used.
        """

    async def entrust(self, row: StackRow, credential: StackCredential) -> tuple[str, str | None]:
        """Create a trust of the last requester, or an application credential instead.

        Return the id of the trust or application credential, and the secret of an application
        credential (None for a trust).
        """

    async def drop_former(self, row: StackRow, credential: StackCredential) -> None:
        """Delete the trusts and application credentials that newer ones have replaced."""

    async def teardown(self, row: StackRow, credential: StackCredential | None) -> None:
        """Delete what Hearth created in Keystone for a root stack: its domain project, and its
        trusts or application credentials.
        """


class Occasion(Struct, frozen=True):
    """The argument of lifecycle plug-ins: an operation that begins or has ended.

    `action` is the action of the stack, such as CREATE.
    """

    action: str
    stack_id: str
    stack_name: str
    project_id: str
    root_id: str


ORDINAL = 100  # of a plug-in without an ordinal


class Plugin(Protocol):
    """A lifecycle plug-in. Plug-ins are called in the order of `ordinal`.

    The calls run on the event loop, so they must not block.
    """

    async def pre(self, occasion: Occasion) -> None:
        """Run before the operation does anything; an exception fails the operation."""

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        """Run after the end of the operation if `pre` succeeded; an exception is only logged."""


def allow_all_types(credential: StackCredential, names: Collection[str]) -> None:
    """Allow every resource type: the default of `refused_types` if there is no policy."""


class Tools(Struct, frozen=True):
    """The services and settings that an engine uses.

    `clouds` returns a cloud for a credential; `new_id` and `jitter` are random sources. An engine
    searches for work every `look_s` seconds, or earlier if it is woken; it renews its lease every
    `heartbeat_s` seconds. A failed create or delete is retried `retries` times. `refused_types`
    returns why the requester of a credential may not use some resource types, or None.
    `tell_others` wakes other processes after a commit that may have created work for them.
    `observer` gets a report of each piece of work.
    """

    store: Store
    clouds: CloudSource
    programs: Programs
    clock: Clock
    new_id: Callable[[], str]
    jitter: Callable[[], float]
    endpoints: Endpoints
    look_s: float = LOOK_S
    orphan_watch_s: float = ORPHAN_WATCH_S
    heartbeat_s: float = HEARTBEAT_S
    plugins: tuple[Plugin, ...] = ()
    retries: int = CREATE_RETRIES_MAX
    fetch: Callable[[str], Awaitable[str]] = fetch_nothing
    refused_types: Callable[[StackCredential, Collection[str]], str | None] = allow_all_types
    tell_others: Callable[[], None] = tell_nobody
    observer: Observer = UNOBSERVED


class Host(Protocol):
    """The part of a stack's worker that its nodes and its operation may use."""

    @property
    def handing_over(self) -> bool:
        """Return whether this engine gives up the stack: then no new step and no new node may
        start.
        """

    def wake(self) -> None:
        """Make the loop of the worker check for changes."""

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in parallel to the nodes; the stack is not released before the coroutine
        ends.
        """

    def break_off(self, problem: BaseException) -> None:
        """Make the loop of the worker end with this exception.

        Its reason is that the database is unavailable, or an internal error of the engine.
        """

    def replan(self) -> None:
        """Plan the operation again after the commit that is running."""

    def may_write(self) -> bool:
        """Return whether the last heartbeat is recent enough to send a write call."""

    async def is_alive(self, stack_id: str) -> bool:
        """Return whether the stack exists and is not deleted."""

    async def snapshots_of(self, stack_id: str) -> Sequence[Snapshot]:
        """Return the snapshots of a stack."""

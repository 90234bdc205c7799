"""What an engine works with, and what its rooms may ask of the loop around them."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hearth.cloud.contract import Cloud
from hearth.cloud.fetch import fetch_nothing
from hearth.engine.clock import Clock
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.resources.base import Users
from hearth.store.database import Store
from hearth.store.rows import StackRow
from hearth.store.snapshots import Snapshot

LOOK_S = 1.0
HEARTBEAT_S = 2.0
ORPHAN_WATCH_S = 30.0  # how long after an attempt without an answer its result may turn up


class Clouds(Protocol):
    """Clouds by stack; see service/stack_clouds.py for the real ones."""

    def of(self, row: StackRow, credential: tuple[str, Any] | None) -> Cloud:
        """Return the cloud under the stack's credential."""

    def users(self, row: StackRow, noted: Callable[[str], None]) -> Users | None:
        """Return the users of the stack's own project. `noted` is called with the id of the
        project when it is made."""

    async def trusted(self, credential: tuple[str, Any]) -> bool:
        """Whether the credential has a trust of its requester that works."""

    async def entrust(self, row: StackRow, credential: tuple[str, Any]) -> tuple[str, str | None]:
        """Make a trust of the last requester, or an application credential; return its id, and the
        secret of an application credential."""

    async def drop_former(self, row: StackRow, credential: tuple[str, Any]) -> None:
        """Delete the trusts that a newer one has replaced."""

    async def teardown(self, row: StackRow, credential: tuple[str, Any] | None) -> None:
        """Delete what was made for a root stack: its trust and its project."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """The operation that begins or has ended; `action` as in CREATE."""

    action: str
    stack_id: str
    stack_name: str
    project_id: str
    root_id: str


ORDINAL = 100  # of a plug-in that names none


class Plugin(Protocol):
    """Called on the event loop, so without blocking, in the order of their `ordinal`."""

    async def pre(self, occasion: Occasion) -> None:
        """Called before anything is done; an exception fails the stack."""

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        """Called after the end, if its own `pre` succeeded; an exception is only logged."""


def allow_all_types(credential: tuple[str, Any], names: Collection[str]) -> None:
    """No policy: every type is allowed."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What an engine works with. `clouds` gives a cloud for a credential; `new_id` and `jitter` are
    chance, given from outside. Every `look_s` seconds an engine looks for work, unless it is woken
    before; every `beat_s` it renews its lease. Making or removing a resource is tried `retries`
    times more. `refused_types` returns why the requester of a credential may not have resources of
    some types, or None."""

    store: Store
    clouds: Clouds
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
    refused_types: Callable[[tuple[str, Any], Collection[str]], str | None] = allow_all_types


class Host(Protocol):
    """What the worker of a stack lends to the nodes and to the operation."""

    @property
    def handing_over(self) -> bool:
        """Whether nothing may start any more: another engine goes on with the stack."""

    def wake(self) -> None:
        """Have the loop look at what has changed."""

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something beside the nodes; the stack is not released before it ends."""

    def break_off(self, problem: BaseException) -> None:
        """Stop working on the stack: the database is away, or the engine is at fault."""

    def replan(self) -> None:
        """Plan anew once the commit under way is through."""

    def may_write(self) -> bool:
        """Whether the lease is fresh enough to send a write call."""

    async def is_alive(self, stack_id: str) -> bool:
        """Whether there is such a stack."""

    async def snapshots_of(self, stack_id: str) -> Sequence[Snapshot]:
        """Return the snapshots of a stack."""

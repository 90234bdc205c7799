"""The simulated world: engines, an in-memory store, a simulated cloud, and the requests of
users.
"""

import asyncio
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.fault import CloudFault
from hearth.engine.core.plan import Plan
from hearth.engine.core.record import Record
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.engine import Engine
from hearth.engine.worker.ports import LOOK_S, Plugin, Tools
from hearth.model.state import Action, Status
from hearth.resources.base import Scaling
from hearth.resources.heat.adjustment import Adjustment, AdjustmentType
from hearth.service.caller import Caller
from hearth.service.stacks.prediction import DesiredStack, predict_stack
from hearth.service.stacks.scale import scale
from hearth.service.stacks.signal import signal
from hearth.store import accept, health, hooks, reads, snapshots
from hearth.store.claim import HEARTBEAT_S
from hearth.store.clock import DatabaseClock
from hearth.store.credentials import StackCredential
from hearth.store.database import Store, Tx, Unanswered
from hearth.store.messages import Signalled
from hearth.store.prepared import Prepared
from hearth.store.rows import DATA, Event, Revision, StackRow, record_of, stack_row
from hearth.store.tables import event, inbox, node, orphan, resource, resource_data, revision, stack
from tests.simulator.cloud import Thing, TwinCloud, fail_before
from tests.simulator.clouds import Clouds, Mishap, Trusts
from tests.simulator.database import database
from tests.simulator.loop import VirtualClock, VirtualLoop

T = TypeVar("T")

PAUSE_S = 75.0  # far longer than a lease, and than orphans are watched for
JUMP_S = 3600.0
MARKED = "state changed by resource_mark_unhealthy api"
_STACK = Prepared(sa.select(stack).where(stack.c.id == sa.bindparam("id", type_=sa.String())))
_MESSAGE = Prepared(sa.select(inbox.c.id).where(inbox.c.stack_id == sa.bindparam("id")).limit(1))
_NODE = Prepared(sa.select(node.c.resource_id).limit(1))
_KEPT = Prepared(sa.select(resource_data))
_RECORD = Prepared(
    sa.select(resource).where(resource.c.id == sa.bindparam("id", type_=sa.String()))
)
_PROVIDER = resource.alias()
_USERS = Prepared(
    sa.select(resource.c.physical_id)
    .join(_PROVIDER, _PROVIDER.c.stack_id == resource.c.stack_id)
    .where(
        _PROVIDER.c.physical_id == sa.bindparam("thing", type_=sa.String()),
        resource.c.requires.contains(_PROVIDER.c.id),
        resource.c.physical_id.is_not(None),
    )
)
_ADDRESSEE = stack.alias()
_BUSY = Prepared(
    sa.select(
        sa.or_(
            sa.exists().where(
                sa.or_(stack.c.status == Status.IN_PROGRESS.value, stack.c.owner.is_not(None))
            ),
            sa.exists(
                sa.select(inbox.c.id)
                .join(_ADDRESSEE, _ADDRESSEE.c.id == inbox.c.stack_id)
                .where(_ADDRESSEE.c.deleted_at.is_(None))
            ),
            sa.exists(sa.select(orphan.c.id)),
        ).label("busy")
    )
)


class Faults(Protocol):
    """The faults that were chosen for a run."""

    def at(self, what: str, method: str) -> str | None:
        """Return the fault at the next point, or None.

        `what` is the kind of point: "commit" for a COMMIT of an engine, "request" for the COMMIT of
        a user's request, "write" or "read" for a call to the cloud. `method` is the HTTP method of
        the call.
        """


class _Handle:
    """The state of one simulated engine's machine: its clocks, and whether it is frozen or dead."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.engine: Engine | None = None
        self.frozen_until = 0.0
        self.standing: list[tuple[float, float]] = []  # when the clocks stand with the machine
        self.skew_s = 0.0  # by how much its wall clock is wrong

    def clock(self) -> DatabaseClock:
        """Return a new DatabaseClock based on the clocks of the engine's machine.

        The wall clock is wrong by `skew_s`, and both clocks stop while the machine stands still.
        """
        world = self.world
        return DatabaseClock(
            lambda: world.clock.now() + self.skew_s - self._stood_s(),
            lambda: world.loop.time() - self._stood_s(),
        )

    def _stood_s(self) -> float:
        now = self.world.loop.time()
        return sum(min(now, until) - since for since, until in self.standing if since < now)

    def freeze(self, seconds: float, *, standing: bool = False) -> None:
        """Freeze the engine's machine for some seconds; if `standing` is true, its clocks stop
        too.
        """
        now = self.world.loop.time()
        self.frozen_until = now + seconds
        if standing:
            self.standing.append((now, now + seconds))

    async def thaw(self) -> None:
        """Wait until the engine's machine is no longer frozen. Raises CancelledError if the engine
        is dead.
        """
        rest = self.frozen_until - self.world.loop.time()
        if rest > 0:
            await asyncio.sleep(rest)
        self.check()

    def die(self) -> None:
        """Kill the engine, and raise CancelledError to end its current task."""
        assert self.engine is not None
        self.world.kill(self.engine)
        raise asyncio.CancelledError

    def may_write(self) -> bool:
        """Return whether the engine's lease allows it to send write calls, by the clock of its
        machine.
        """
        return self.engine is None or self.engine.may_write()

    async def confirmed(self) -> bool:
        """Return whether the engine may send write calls according to its lease in the database."""
        return self.engine is None or await self.engine.confirmed()

    def check(self) -> None:
        """Raise CancelledError if the engine is dead or if the history kills it now."""
        engine = self.engine
        if engine is None:
            return
        if engine not in self.world.engines or self.world.dies_here(engine):
            raise asyncio.CancelledError


class SeveredStore(Store):
    """The store as one engine sees it: calls can be slow, fail, or be cut off when the engine
    dies.
    """

    def __init__(self, store: Store, handle: _Handle) -> None:
        self._store = store
        self._handle = handle
        self.sealer = store.sealer

    async def run(self, fn: Callable[[Tx], T]) -> T:
        world = self._handle.world
        await self._handle.thaw()
        await world.database_takes()
        world.reach_database()

        def mine(tx: Tx) -> T:
            world.committing = self._handle
            return fn(tx)

        result = await self._store.run(mine)
        world.wrote.set()
        await world.database_takes()
        await self._handle.thaw()
        world.reach_database()  # else it is committed, and the answer lost
        return result

    async def read(self, fn: Callable[[Tx], T]) -> T:
        await self._handle.thaw()
        self._handle.world.reach_database()
        return await self._store.read(fn)


class SeveredCloud:
    """The simulated cloud as one engine sees it: calls can fail, or be cut off when the engine
    dies.
    """

    def __init__(self, twin: TwinCloud, handle: _Handle) -> None:
        self._twin = twin
        self._handle = handle

    async def request(self, *where: Any, **more: Any) -> Any:
        handle, write = self._handle, where[1] != "GET"
        mishap = handle.world.befalls(handle, "write" if write else "read", where[1])
        await handle.thaw()
        if write and not await handle.confirmed():
            raise CloudFault("test", 0, "LeaseLost", "The lease of this engine has ended.")
        handle.world.read_from_cloud(where[1])
        answer = await self._twin.request(*where, mishap=mishap, **more)
        if mishap == "crash after":
            handle.die()
        await handle.thaw()
        return answer

    async def endpoint(self, service: str) -> str:
        return await self._twin.endpoint(service)

    async def listing(self, *where: Any, **more: Any) -> Any:
        handle = self._handle
        mishap = handle.world.befalls(handle, "read", "GET")
        await handle.thaw()
        handle.world.read_from_cloud("GET")
        return await self._twin.listing(*where, mishap=mishap, **more)


class World:
    """A database, a simulated cloud and the engines that are alive, with methods for users'
    requests.

    `programs` are the compiled programs of the engines. `twin` creates the simulated cloud, and
    `seed` determines ids and random numbers. `look_s` and `heartbeat_s` are the intervals of the
    engines. `hook` is asked whether an engine dies at its current call. The other functions return
    random faults; by default there are none.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        programs: Any,
        twin: Callable[[VirtualLoop], TwinCloud],
        seed: int = 0,
        hook: Callable[[Engine], bool] | None = None,
        look_s: float = LOOK_S,
        heartbeat_s: float = HEARTBEAT_S,
        deaf: Callable[[], bool] = lambda: False,
        slow: Callable[[], float] = lambda: 0.0,
        away: Callable[[], bool] = lambda: False,
        blind: Callable[[], str | None] = lambda: None,
        mishap: Mishap = lambda call: None,
        trust_ends_s: Callable[[], float] = lambda: 0.0,
        plugins: tuple[Plugin, ...] = (),
    ) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.rng = random.Random(seed)
        self.twin = twin(loop)
        self.twin.users_of = self._users_of
        self._database = database(self.clock.now)
        self.store = self._database.store
        self.programs = programs
        self.retained: set[str] = set()  # names of things that may stay behind
        self.agent: Any = None  # of the server, see jobs.py
        self.wrote = asyncio.Event()  # an engine has written something
        self.engines: list[Engine] = []
        self._stopping: set[asyncio.Task[None]] = set()
        self._mains: dict[str, asyncio.Task[None]] = {}
        self._hook = hook
        self._look_s, self._beat_s = look_s, heartbeat_s
        self._slow = slow  # seconds that a transaction waits before it begins or is answered
        self._deaf = deaf  # whether a message to an engine is lost
        self._away = away  # whether the database can not be reached
        self._blind = blind  # how a call that only reads fails
        self._mishap = mishap  # what goes wrong at a call of identity
        self._trust_ends_s = trust_ends_s  # how long a call takes that ends a trust
        self._plugins = plugins
        self.trusts = Trusts()
        self.api_ahead_s = 0.0  # by how much the clock of the machine with the API is wrong
        self.faults: Faults | None = None  # what goes wrong where, if that is chosen beforehand
        self.committing: _Handle | None = None  # whose transaction ends now; None: a request's
        self._handles: dict[str, _Handle] = {}

    # -- faults that are placed, see explore.py ---------------------------------------------

    def place(self, faults: "Faults") -> None:
        """Use `faults` to choose the fault at each COMMIT and at each call of an engine."""
        self.faults = faults
        self._database.store.commit = self._commit

    def befalls(self, handle: "_Handle", what: str, method: str) -> str | None:
        """Return the fault of the next call, or None.

        If the fault stops or kills the engine's machine, that happens here.
        """
        if self.faults is None:
            return None
        mishap = self.faults.at(what, method)
        self._stops(handle, mishap)
        if mishap == "crash before":
            handle.die()
        return mishap

    def _commit(self, carry_out: Callable[[], None], take_back: Callable[[], None]) -> None:
        assert self.faults is not None
        handle, self.committing = self.committing, None
        mishap = self.faults.at("request" if handle is None else "commit", "")
        if mishap in ("crash before", "lost before"):
            take_back()
        else:
            carry_out()
        if handle is not None:
            self._stops(handle, mishap)
            if mishap in ("crash before", "crash after"):
                handle.die()
        if mishap in ("lost before", "lost after"):
            raise Unanswered(ConnectionError("the connection was lost"))

    def _stops(self, handle: "_Handle", mishap: str | None) -> None:
        if mishap in ("pause", "stand"):
            handle.freeze(PAUSE_S, standing=mishap == "stand")
        elif mishap in ("ahead", "behind"):
            handle.skew_s += JUMP_S if mishap == "ahead" else -JUMP_S

    # -- engines ---------------------------------------------------------------------------

    def start_engines(
        self, count: int = 2, programs: Programs | None = None, *, skew_s: float = 0.0
    ) -> None:
        """Start `count` engines.

        `programs` are the compiled programs that they share; by default those of the world.
        `skew_s` is the error of their wall clocks, in seconds.
        """
        for _ in range(count):
            handle = _Handle(self)
            handle.skew_s = skew_s
            engine = Engine(
                Tools(
                    store=SeveredStore(self.store, handle),
                    clouds=Clouds(
                        SeveredCloud(self.twin, handle),
                        self.trusts,
                        self._mishap,
                        self._trust_ends_s,
                        handle.may_write,
                    ),
                    programs=programs or self.programs,
                    clock=handle.clock(),
                    new_id=self.new_id,
                    jitter=self.rng.random,
                    endpoints=Endpoints(),
                    look_s=self._look_s,
                    heartbeat_s=self._beat_s,
                    plugins=self._plugins,
                )
            )
            handle.engine = engine
            self._handles[engine.id] = handle
            self.engines.append(engine)
            self._mains[engine.id] = self.loop.create_task(engine.run())

    def close(self) -> None:
        """Release the world's database, emptied, for another world."""
        self._database.give_back()

    def kill_engines(self) -> None:
        """Kill all engines at once, without a clean shutdown."""
        for engine in list(self.engines):
            self.kill(engine)

    def dies_here(self, engine: Engine) -> bool:
        """Ask the history whether an engine dies now; if so, kill it and return true."""
        if self._hook is None or engine not in self.engines or not self._hook(engine):
            return False
        self.kill(engine)
        return True

    def kill(self, engine: Engine) -> None:
        """Kill an engine without a clean shutdown."""
        self.engines.remove(engine)
        engine.kill()
        self._mains.pop(engine.id).cancel()

    async def database_takes(self) -> None:
        """Wait for the duration of a slow transaction; other tasks continue."""
        if (seconds := self._slow()) > 0:
            await asyncio.sleep(seconds)

    def reach_database(self) -> None:
        """Raise OperationalError if the database is unavailable now."""
        if self._away():
            raise OperationalError("the database is unavailable", None, ConnectionError())

    def read_from_cloud(self, method: str) -> None:
        """Raise CloudFault if a GET request gets no answer now."""
        if method == "GET":
            fail_before(self._blind())

    def freeze(self, engine: Engine, seconds: float, *, standing: bool = False) -> None:
        """Freeze an engine for some seconds; afterwards it continues where it was.

        If `standing` is true, its machine's clocks stop too.
        """
        self._handles[engine.id].freeze(seconds, standing=standing)

    async def thawed(self) -> None:
        """Wait until every frozen engine has run again for at least one heartbeat."""
        until = max((one.frozen_until for one in self._handles.values()), default=0.0)
        await asyncio.sleep(max(0.0, until - self.loop.time()) + self._beat_s)

    def new_id(self) -> str:
        """Return a new id, which the seed determines."""
        digits = f"{self.rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"

    # -- requests --------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        revision: Revision,
        *,
        rollback: bool = False,
        timeout_mins: int | None = None,
        action: Action = Action.CREATE,
    ) -> str:
        """Accept a create, or an adopt, of a stack, and return its id.

        If `rollback` is true, a failed create is rolled back.
        """
        new = accept.NewStack(
            action=action,
            id=self.new_id(),
            project_id="p",
            name=name,
            revision=revision,
            timeout_mins=timeout_mins,
            disable_rollback=not rollback,
            credential=(self.new_id(), StackCredential()),
        )
        now = self.clock.now() + self.api_ahead_s
        await self.store.run_once(lambda tx: accept.create(tx, new, now, self.new_id))
        self._wake()
        return new.id

    async def operate(self, stack_id: str, wanted: accept.OperationRequest) -> StackRow:
        """Accept an operation of a stack, and return the row of the stack."""
        row = await self.store.run_once(
            lambda tx: accept.operate(tx, stack_id, wanted, self.clock.now(), self.new_id)
        )
        self._wake()
        return row

    async def cancel(self, stack_id: str, *, rollback: bool) -> None:
        """Cancel the update of a stack; if `rollback` is true, roll it back."""
        await self.store.run_once(
            lambda tx: accept.cancel(tx, stack_id, rollback, self.clock.now())
        )
        self._wake()

    async def mark(self, stack_id: str, name: str, *, healthy: bool) -> None:
        """Mark a resource as healthy or unhealthy."""
        record, now, event_id = self.record(stack_id, name), self.clock.now(), self.new_id()
        await self.store.run_once(
            lambda tx: health.mark(
                tx, stack_id, record.id, healthy=healthy, reason=MARKED, now=now, event_id=event_id
            )
        )
        self._wake()

    async def clear_hook(self, stack_id: str, name: str, hook: str) -> None:
        """Clear the hook `hook` of the resource `name`."""
        record, now, event_id = self.record(stack_id, name), self.clock.now(), self.new_id()
        await self.store.run_once(lambda tx: hooks.clear(tx, stack_id, record, hook, event_id, now))
        self._wake()

    async def say(self, stack_id: str, name: str, word: str) -> None:
        """Send a signal with the text `word` to a mailbox.

        If the mailbox fetches its signals from the cloud, put the text there.
        """
        record, now = self.record(stack_id, name), self.clock.now()
        if record.held.properties.get("how") == "fetched":
            self.twin.letters.setdefault(record.id, []).append(word)
            return

        def transaction(tx: Tx) -> None:
            version, data, metadata = reads.data_of(tx, record.id)
            reads.set_data(tx, stack_id, record.id, version, data, {**metadata, "word": word})
            accept.send(tx, stack_id, Signalled(record.id), now)

        await self.store.run_once(transaction)
        self._wake()

    async def tell(self, stack_id: str, name: str, word: Any) -> None:
        """Send a signal with the content `word` to a resource in the same way as the API does.

        Raises Rejected if the resource does not accept it, and Unanswered if the answer is lost.
        """
        services: Any = SimpleNamespace(
            store=self.store, programs=self.programs, clouds=Clouds(self.twin, self.trusts),
            clock=self.clock, new_id=self.new_id, endpoints=Endpoints(),
            bus=SimpleNamespace(tell=self._wake),
        )  # fmt: skip
        guest = Caller("user", "", "p", frozenset({STACK_USER_ROLE}))
        await signal(services, guest, self.stack(stack_id), self.record(stack_id, name), word)

    async def snapshot(self, stack_id: str) -> str:
        """Accept a snapshot of a stack, and return its id."""
        snapshot_id, now = self.new_id(), self.clock.now()
        await self.store.run_once(
            lambda tx: snapshots.take(tx, stack_id, snapshot_id, "", -1, now, self.new_id)
        )
        self._wake()
        return snapshot_id

    async def drop_snapshot(self, stack_id: str, snapshot_id: str) -> None:
        """Accept the delete of a snapshot."""
        now = self.clock.now()
        await self.store.run_once(lambda tx: snapshots.drop(tx, stack_id, snapshot_id, now))
        self._wake()

    def snapshot_of(self, stack_id: str, snapshot_id: str) -> snapshots.Snapshot:
        return self.store.transact(lambda tx: snapshots.get(tx, stack_id, snapshot_id), write=False)

    def original(self, stack_id: str, number: int) -> int:
        """Return the number of the revision that a user requested and that this one is a copy of.

        A rollback copies a revision; for a revision that is not a copy, its own number is returned.
        """
        mine = sa.and_(revision.c.stack_id == stack_id, revision.c.number == number)
        query = sa.select(revision.c.copy_of).where(mine)
        copied = self.store.transact(lambda tx: tx.first(query), write=False).copy_of
        return number if copied is None else self.original(stack_id, copied)

    def waiting(self) -> list[tuple[str, str]]:
        """Return the hooks at which resources wait, as a list of (record id, hook)."""

        def look(tx: Tx) -> list[tuple[str, str]]:
            rows = tx.rows(_KEPT)
            return [
                (row.resource_id, name)
                for row in rows
                for name, mark in tx.unseal(row.data, DATA, row.resource_id).items()
                if str(mark).startswith(f"{hooks.SET}:")
            ]

        return self.store.transact(look, write=False)

    async def let_go_on(self, record_id: str, hook: str) -> None:
        """Clear a hook of the record `record_id`, in whichever stack it is."""
        now, event_id = self.clock.now(), self.new_id()

        def clear(tx: Tx) -> None:
            row = tx.first(_RECORD, {"id": record_id})
            if row is not None:
                hooks.clear(tx, row.stack_id, record_of(tx, row), hook, event_id, now)

        await self.store.run_once(clear)
        self._wake()

    def _wake(self) -> None:
        for engine in self.engines:
            if not self._deaf():
                engine.wake()

    def stop(self, engine: Engine) -> None:
        """Start a clean shutdown of an engine, which releases its stacks and then stops."""
        self._stopping.add(task := self.loop.create_task(engine.stop()))
        task.add_done_callback(lambda _: self._gone(engine))

    def _gone(self, engine: Engine) -> None:
        self._stopping = {task for task in self._stopping if not task.done()}
        if engine in self.engines:
            self.kill(engine)

    # -- looking ---------------------------------------------------------------------------

    def stack(self, stack_id: str) -> StackRow:
        """Return the row of a stack."""
        return self.store.transact(
            lambda tx: stack_row(tx, tx.first(_STACK, {"id": stack_id})), write=False
        )

    def has_mail(self, stack_id: str) -> bool:
        """Return whether a message for the stack waits to be read by an engine."""
        return (
            self.store.transact(lambda tx: tx.first(_MESSAGE, {"id": stack_id}), write=False)
            is not None
        )

    def under_way(self) -> bool:
        """Return whether any action on a resource is in progress."""
        return self.store.transact(lambda tx: tx.first(_NODE), write=False) is not None

    def records(self, stack_id: str) -> list[Record]:
        """Return all records of a stack."""
        return self.store.transact(lambda tx: reads.records(tx, stack_id), write=False)

    def record(self, stack_id: str, name: str) -> Record:
        """Return the record that is in charge of a resource name. Raises KeyError if there is
        none.
        """
        return reads.in_charge(self.records(stack_id))[name]

    def _users_of(self, thing_id: str) -> list[str]:
        """Return the ids of the things whose records depend on the record of this thing."""

        def look(tx: Tx) -> list[str]:
            return [row.physical_id for row in tx.rows(_USERS, {"thing": thing_id})]

        return self.store.transact(look, write=False)

    def mine(self) -> list[Thing]:
        """Return all things in the cloud that engines have created."""
        return [thing for thing in self.twin.things.values() if thing.key]

    async def scale(self, stack_id: str, name: str, change: int) -> bool:
        """Resize a group as a scaling policy does, and return whether its size changes.

        Raises Rejected if the group cannot be scaled now.
        """
        row, now = self.stack(stack_id), self.clock.now()
        wanted = Scaling(name, Adjustment(change, AdjustmentType.CHANGE), 5.0, "ChangeInCapacity")
        told = Event(
            self.new_id(), stack_id, row.root_id, now, name, "Test::Policy", None,
            "SIGNAL", "COMPLETE", "scaled",
        )  # fmt: skip
        services: Any = SimpleNamespace(
            store=self.store, programs=self.programs,
            compute=self.programs.compute, clouds=Clouds(self.twin, self.trusts),
            clock=self.clock, new_id=self.new_id, endpoints=Endpoints(),
        )  # fmt: skip
        nobody: Any = None
        while not await scale(services, nobody, row, wanted, told):
            pass
        self._wake()
        seen = self.store.transact(
            lambda tx: tx.value(sa.select(event.c.id).where(event.c.id == told.id)), write=False
        )
        return seen is not None

    async def foresee(self, stack_id: str, revision: Revision, *, observe: bool) -> Plan:
        """Return the plan of an update to `revision`, as a preview does.

        If `observe` is true, the plan compares with the real state in the cloud.
        """
        row, clouds = self.stack(stack_id), Clouds(self.twin, self.trusts)
        services: Any = SimpleNamespace(
            store=self.store, programs=self.programs,
            compute=self.programs.compute, clouds=clouds, clock=self.clock,
            new_id=self.new_id, endpoints=Endpoints(),
        )  # fmt: skip
        program = await self.programs.of(row, revision)
        desired = DesiredStack(row, revision, program, self.records(stack_id), observe=observe)
        return (await predict_stack(services, clouds.of(row, None), desired)).plan

    async def written(self) -> None:
        """Wait until an engine commits a transaction."""
        self.wrote.clear()
        await self.wrote.wait()

    def quiet(self) -> bool:
        """Return whether all work has ended.

        That is so if no stack has an owner or an operation in progress, no message waits, no orphan
        is left, and no call to the cloud is running.
        """
        if self.store.transact(lambda tx: tx.value(_BUSY), write=False):
            return False
        self.twin.settle()
        now = self.twin.at()
        running = (c for c in self.twin.calls if c.outcome == "open" and c.end is not None)
        return all(call.end <= now for call in running if call.end is not None)

    async def rest(self, limit_s: float = 86_400.0) -> None:
        """Wait until all work has ended. Raises TimeoutError after `limit_s` seconds of virtual
        time.
        """
        until = self.loop.time() + limit_s
        await asyncio.sleep(0.1)
        while not self.quiet():
            if self.loop.time() > until:
                raise TimeoutError("the simulation still has work after the time limit")
            await asyncio.sleep(self._look_s)

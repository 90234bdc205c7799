"""One history: engines over one store in memory, a twin cloud, and the requests of users."""

import asyncio
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from hearth.engine.worker.engine import Engine, Tools
from hearth.engine.worker.live import Endpoints
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceType
from hearth.sim.cloud import TwinCloud
from hearth.sim.loop import VirtualClock, VirtualLoop
from hearth.store import accept
from hearth.store.database import Store
from hearth.store.rows import Revision, StackRow, stack_row
from hearth.store.seal import sealer_from_secret
from hearth.store.tables import engine as engine_table
from hearth.store.tables import mail, node, stack

REST_LOOK_S = 1.0
_SEALER = sealer_from_secret("simulation")


class Clouds:
    """Every credential leads to the twin."""

    def __init__(self, twin: TwinCloud) -> None:
        self._twin = twin

    def of(self, row: StackRow, credential: Any) -> TwinCloud:
        return self._twin

    def users(self, row: StackRow, noted: Any) -> None:
        return None

    async def entrust(self, row: StackRow, credential: Any) -> None:
        return None

    async def farewell(self, row: StackRow, credential: Any) -> None:
        return None

    async def resolve(
        self, kind: ResourceType, properties: Mapping[str, Any], cloud: Any
    ) -> Mapping[str, Any]:
        return properties


class World:
    """A database, a cloud, and as many engines as are alive."""

    def __init__(
        self,
        loop: VirtualLoop,
        programs: Any,
        twin: Callable[[VirtualLoop], TwinCloud],
        seed: int = 0,
    ) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.luck = random.Random(seed)  # noqa: S311
        self.twin = twin(loop)
        self.store = Store("sqlite://", _SEALER, clock=self.clock.now, inline=True)
        self.store.create_tables()
        self.programs = programs
        self.engines: list[Engine] = []

    # -- engines ---------------------------------------------------------------------------

    def start_engines(self, count: int = 2) -> None:
        for _ in range(count):
            engine = Engine(
                Tools(
                    store=self.store,
                    clouds=Clouds(self.twin),
                    programs=self.programs,
                    clock=self.clock,
                    new_id=self.new_id,
                    luck=self.luck.random,
                    endpoints=Endpoints(),
                )
            )
            self.engines.append(engine)
            task = self.loop.create_task(engine.run())
            engine.main = task

    def kill_engines(self) -> None:
        """All at once, without a chance to clean up."""
        for engine in self.engines:
            self.kill(engine)
        self.engines.clear()

    def kill(self, engine: Engine) -> None:
        engine.kill()
        engine.main.cancel()

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.luck.getrandbits(128), version=4))

    # -- requests --------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        revision: Revision,
        *,
        rollback: bool = False,
        timeout_mins: int | None = None,
    ) -> str:
        new = accept.NewStack(
            id=self.new_id(),
            project_id="p",
            name=name,
            revision=revision,
            timeout_mins=timeout_mins,
            disable_rollback=not rollback,
        )
        await self.store.run(lambda tx: accept.create(tx, new, self.clock.now(), self.new_id))
        self._wake()
        return new.id

    async def operate(self, stack_id: str, wanted: accept.Operation) -> None:
        await self.store.run(
            lambda tx: accept.operate(tx, stack_id, wanted, self.clock.now(), self.new_id)
        )
        self._wake()

    async def cancel(self, stack_id: str, *, rollback: bool) -> None:
        await self.store.run(lambda tx: accept.cancel(tx, stack_id, rollback, self.clock.now()))
        self._wake()

    def _wake(self) -> None:
        for engine in self.engines:
            engine.wake()

    # -- looking ---------------------------------------------------------------------------

    def stack(self, stack_id: str) -> StackRow:
        def look(tx: Any) -> StackRow:
            return stack_row(tx.first(sa.select(stack).where(stack.c.id == stack_id)))

        return self.store.transact(look, write=False)

    def quiet(self) -> bool:
        """Nothing is in progress, owned, due, in the post or in flight."""

        def look(tx: Any) -> bool:
            busy = sa.select(stack.c.id).where(
                sa.or_(stack.c.status == Status.IN_PROGRESS.value, stack.c.owner.is_not(None))
            )
            return not (
                tx.first(busy.limit(1))
                or tx.first(sa.select(mail.c.id).limit(1))
                or tx.first(sa.select(node.c.resource_id).limit(1))
            )

        if not self.store.transact(look, write=False):
            return False
        self.twin.settle()
        now = self.twin.at()
        running = (c for c in self.twin.calls if c.outcome == "open" and c.end is not None)
        return all(call.end <= now for call in running if call.end is not None)

    async def rest(self, limit_s: float = 86_400.0) -> None:
        """Until nothing is left that would start by itself. Raises TimeoutError."""
        until = self.loop.time() + limit_s
        await asyncio.sleep(0.1)
        while not self.quiet():
            if self.loop.time() > until:
                raise TimeoutError("the world does not come to rest")
            await asyncio.sleep(REST_LOOK_S)

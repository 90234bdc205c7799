"""The main loop of a conductor: heartbeats, claiming of tasks, and the synchronisation with
stacks.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable
from contextvars import ContextVar

from sqlalchemy.exc import SQLAlchemyError

from hearth.cloud.fault import CloudFault
from hearth.clusters.bundle import Bundle
from hearth.conductor.health import HealthCheck
from hearth.conductor.steps import STEPS
from hearth.conductor.sync import Sync
from hearth.conductor.work import Work
from hearth.model.problem import Rejected, TooManyOperations
from hearth.service.clusters.tasks import caller_of
from hearth.service.services import Services
from hearth.store.clusters import clusters, tasks
from hearth.store.clusters.tasks import LEASE_S, Lost, Task
from hearth.store.database import Tx

log = logging.getLogger(__name__)

AT_ONCE_MAX = 40  # tasks of one conductor
HEARTBEAT_S = LEASE_S / 3
ATTEMPTS_MAX = 8
DELAY_MAX_S = 30.0
SETTLED_EVERY_S = 10.0  # between two looks at clusters that are not in progress

_current: ContextVar[Task | None] = ContextVar("task", default=None)
"""The task that the current asyncio task carries out."""


class Conductor:
    """A worker that carries out tasks of clusters.

    `files` are the templates of cluster stacks. `host` is its name in the list of services.
    """

    def __init__(self, services: Services, files: Bundle, host: str) -> None:
        self.id = services.new_id()
        self.sync = Sync(services)
        self._services = services
        self._files = files
        self._host = host
        self._woken = asyncio.Event()
        self._health = HealthCheck(services)
        self._examining: asyncio.Task[None] | None = None
        self._running: dict[tuple[int, int], asyncio.Task[None]] = {}  # by id and epoch
        self._beginning = asyncio.Lock()
        self._settled_at = float("-inf")
        self._stopped = False

    def wake(self) -> None:
        """End the current wait of the main loop, so that it looks for new work now."""
        self._woken.set()

    def running(self) -> list[asyncio.Task[None]]:
        """Return the asyncio tasks that are running: tasks of clusters and the health check."""
        return [*self._running.values(), *([self._examining] if self._examining else [])]

    async def confirmed(self) -> bool:
        """Return whether a write call may be sent now, because this conductor still owns the task.

        The database decides, because the clocks of a suspended machine stop. The same query extends
        the lease, so that it is valid during the call. If the database is unavailable, return
        false. Calls that belong to no task are always allowed.
        """
        task = _current.get()
        if task is None:
            return True
        try:
            return await self._services.store.run(lambda tx: tasks.renew(tx, task))
        except SQLAlchemyError as problem:
            log.warning("the database is unavailable: %s", str(problem).partition("\n")[0])
            return False

    async def run(self) -> None:
        """Run the main loop until it is cancelled or `stop` is called."""
        heartbeats = asyncio.create_task(self._keep_leases())
        try:
            while not self._stopped:
                self._woken.clear()
                try:
                    await self._round()
                except SQLAlchemyError as problem:
                    log.warning("the database is unavailable: %s", str(problem).partition("\n")[0])
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._services.clusters.sync_every_s):
                        await self._woken.wait()
        finally:
            heartbeats.cancel()
            await asyncio.gather(heartbeats, return_exceptions=True)

    async def stop(self) -> None:
        """Cancel all running tasks and release them, so that another conductor continues at once.

        Raises SQLAlchemyError if the database is unavailable.
        """
        self._stopped = True
        self.wake()
        async with self._beginning:
            running = self.running()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._services.store.run(lambda tx: tasks.release(tx, self.id))

    async def _keep_leases(self) -> None:
        """Extend the leases regularly until cancelled.

        This is independent of the main loop, in which one round may take long.
        """
        store = self._services.store

        def heartbeat(tx: Tx) -> None:
            tasks.beat(tx, self._host, self._services.clock.now())
            tasks.extend(tx, self.id)

        while True:
            try:
                await store.run(heartbeat)
            except SQLAlchemyError as problem:
                log.warning("the database is unavailable: %s", str(problem).partition("\n")[0])
            await asyncio.sleep(HEARTBEAT_S)

    async def _round(self) -> None:
        """Claim tasks, start the health check if it is not running, and update clusters from their
        stacks.
        """
        now = time.monotonic()
        async with self._beginning:
            if self._stopped:
                return
            await self._claim()
            if self._examining is None or self._examining.done():  # it may take long
                self._examining = asyncio.create_task(self._examine())
        await self.sync.busy()
        if now - self._settled_at >= SETTLED_EVERY_S:
            self._settled_at = now
            await self.sync.settled()

    async def _examine(self) -> None:
        try:
            await self._health.round()
        except SQLAlchemyError as problem:
            log.warning("the database is unavailable: %s", str(problem).partition("\n")[0])
        except Exception:  # the health of clusters must not stop the conductor
            log.exception("the health check of the clusters failed")

    async def _claim(self) -> None:
        room = AT_ONCE_MAX - len(self._running)
        if room <= 0:
            return
        store = self._services.store
        claimable = await store.read(lambda tx: tasks.claimable(tx, room))
        if not claimable:
            return
        claimed = await store.run(lambda tx: tasks.claim(tx, self.id, claimable))
        for task in claimed:
            for (ident, _), former in self._running.items():
                if ident == task.id:  # its lease expired while it ran
                    former.cancel()
            key = task.id, task.epoch
            running = asyncio.create_task(self._guarded(task))
            self._running[key] = running
            running.add_done_callback(lambda done, key=key: self._done(key))  # type: ignore[misc]

    def _done(self, key: tuple[int, int]) -> None:
        del self._running[key]
        self.wake()

    async def _guarded(self, task: Task) -> None:
        """Carry out a task. Temporary errors lead to a retry, all others to a failed operation."""
        work = None
        _current.set(task)
        try:
            work = await self._work(task)
            if work is not None:
                await self._steps(work)
        except Lost:
            log.info("task %s of cluster %s was removed or taken over", task.kind, task.cluster_id)
        except CloudFault as fault:
            await self._failed(work, str(fault), again=fault.passing or not fault.status)
        except Rejected as rejected:
            busy = any(isinstance(reason, TooManyOperations) for reason in rejected.problems)
            await self._failed(work, "\n".join(p.message for p in rejected.problems), again=busy)
        except SQLAlchemyError as problem:
            log.warning("cluster %s: %s", task.cluster_id, str(problem).partition("\n")[0])
            await self._safely(self._retry(task))
        except Exception:  # a fault of ours must not leave a cluster in progress for ever
            log.exception("task %s of cluster %s failed", task.kind, task.cluster_id)
            message = "Internal error; the log of the service has more."
            await self._failed(work, message, again=True)
            if work is None:
                await self._safely(self._retry(task))

    async def _work(self, task: Task) -> Work | None:
        """Return the work of a task with its cluster; if the cluster no longer exists, end the
        task.
        """

        def look(tx: Tx) -> clusters.FullCluster | None:
            full = clusters.load(tx, task.cluster_id)
            if full is None:
                tasks.finish(tx, task)
            return full

        full = await self._services.store.run(look)
        if full is None:
            return None
        return Work(self._services, caller_of(task.requester), task, full, self._files)

    async def _steps(self, work: Work) -> None:
        """Carry out the steps of a task until it ends or must wait."""
        steps = STEPS.get(type(work.task.content))
        if steps is None:
            raise LookupError(f"this version has no steps for tasks of kind {work.task.kind}")
        while True:
            task = work.task
            name = task.step or next(iter(steps))
            await steps[name](work)
            if work.task is task or work.task.step == task.step:
                return  # finished, or given up until it is due again

    async def _failed(self, work: Work | None, reason: str, *, again: bool) -> None:
        """Retry the task if `again` is true and attempts are left, otherwise store that it has
        failed.
        """
        if work is None:
            return
        if again and work.task.attempts < ATTEMPTS_MAX:
            log.info("cluster %s: %s; the task is tried again", work.cluster.uuid, reason)
            await self._safely(self._retry(work.task))
            return
        await self._safely(work.fail(reason))

    async def _retry(self, task: Task) -> None:
        """Release a task; it becomes due again after a delay that doubles with each attempt."""
        delay_s = min(2.0**task.attempts, DELAY_MAX_S)
        await self._services.store.run(lambda tx: tasks.retry(tx, task, delay_s))

    async def _safely(self, storing: Awaitable[None]) -> None:
        """Await `storing`, which stores the end of an attempt to carry out a task.

        If that fails, the task is repeated after its lease has expired.
        """
        try:
            await storing
        except Lost:
            log.info("a task was removed or taken over")
        except SQLAlchemyError as problem:
            log.warning("the database is unavailable: %s", str(problem).partition("\n")[0])

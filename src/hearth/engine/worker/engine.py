"""One engine process: its lease, its claims, and a worker for each stack that it owns."""

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from hearth.engine.worker.committer import Committer
from hearth.engine.worker.failure import is_temporary, notice_exhaustion
from hearth.engine.worker.loader import Loader
from hearth.engine.worker.ports import Tools
from hearth.engine.worker.stack_worker import StackWorker
from hearth.store import claim, snapshots
from hearth.store.database import drop_receipts, is_outage
from hearth.store.owned_stacks import owned_stacks

log = logging.getLogger(__name__)

OUTAGE_PAUSE_S = 1.0  # between two attempts to reach the database again
SILENT_MAX_S = 10.0  # no write call is sent if the last heartbeat is older
CLAIMS_MAX = 200
STACKS_MAX = 1000  # at work at a time
HELD_MAX = 10_000  # of which most only wait
SHARE_S = 0.05  # between two claims while more stacks wait
PATIENCE_S = 2.5  # for engines with fewer stacks; more than between two heartbeats
MESSAGES_MAX = 500  # per query
HAND_OVER_S = 10.0
RECONCILE_LOOKS = 15  # searches after which rows and memory are always compared
RECEIPTS_HEARTBEATS = 300  # heartbeats after which old receipts are removed


class Engine:
    """An engine that works on stacks until `stop` is called. Several engines may share a
    database.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.id = tools.new_id()
        self.committer = Committer(
            tools.store, tools.new_id, self._spawn, tools.tell_others, tools.observer
        )
        self.loader = Loader(tools.store, self._spawn, claim.load_all)
        self.alive = Loader(tools.store, self._spawn, claim.alive)
        self.snapshots = Loader(tools.store, self._spawn, snapshots.of_stacks)
        self.workers: dict[str, StackWorker] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}  # in order
        self.silences = Loader(tools.store, self._spawn, claim.silences)
        self._woken = asyncio.Event()
        # when the last heartbeat was sent: _clocks()
        self._last_heartbeat = float("-inf"), float("-inf")
        self._heartbeat_under_way = asyncio.Lock()
        self._lease_task: asyncio.Task[None] | None = None
        self._stopping = False
        self._draining = False
        self._broken: BaseException | None = None  # with which a part of the engine has ended
        self._yields_since = float("inf")  # to engines with fewer stacks; inf: it does not
        self._not_claiming = asyncio.Event()
        self._not_claiming.set()
        # differences between rows and memory that were seen once
        self._odd: dict[str, int | None] = {}

    async def run(self) -> None:
        """Claim stacks and work on them until the engine is stopped.

        Raises the exception of a part of the engine that has ended, for example because no memory
        was left even to try again. Nobody would do its work, so the process must end; other engines
        then take over the stacks.
        """
        await self._arrive()
        self._lease_task = self._spawn(self._keep_lease())
        try:
            looks = 0
            while not self._stopping:
                self._woken.clear()
                looks += 1
                try:
                    await self._look(compare=looks % RECONCILE_LOOKS == 0)
                except Exception as problem:
                    notice_exhaustion(problem)
                    log.exception(
                        "the engine cannot read its work from the database; it tries again"
                    )
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.tools.look_s):
                        await self._woken.wait()
                if self._broken is not None:
                    raise self._broken
        finally:
            if not self._stopping:
                self._lease_task.cancel()

    def wake(self) -> None:
        """Look for work at once, because a request was accepted or a message was sent."""
        self._woken.set()

    def may_write(self) -> bool:
        """Return whether the lease is fresh enough to send a write call."""
        return self.silent_s() < SILENT_MAX_S

    def _clocks(self) -> tuple[float, float]:
        return self.tools.clock.monotonic(), self.tools.clock.wall()

    def silent_s(self) -> float:
        """Return the seconds since the last heartbeat, by the clock that shows the longer time."""
        return max(
            now - then for now, then in zip(self._clocks(), self._last_heartbeat, strict=True)
        )

    async def confirmed(self) -> bool:
        """Read the lease from the database, and return whether a write call may be sent now.

        All clocks of a machine stop while it is suspended, so only the database shows whether the
        lease has expired. If it has, or if the database does not answer, no call is sent until the
        engine knows which stacks it still owns.
        """
        while True:
            # a running heartbeat may have renewed the lease but not yet checked the owned stacks
            async with self._heartbeat_under_way:
                pass
            try:
                silent_s = await self.silences.load(self.id)
            except Exception as problem:
                if not is_temporary(problem):
                    raise
                silent_s = None
            if not self._heartbeat_under_way.locked():
                break
        if silent_s is None or silent_s >= SILENT_MAX_S:
            self._last_heartbeat = float("-inf"), float("-inf")
        return self.may_write()

    async def stop(self) -> None:
        """Shut down: start no new steps, release all stacks, and end the lease."""
        self._stopping = True
        self._woken.set()
        ends = self.tools.clock.monotonic() + HAND_OVER_S
        with suppress(TimeoutError):
            # stacks that are being claimed must be released, too
            async with asyncio.timeout(HAND_OVER_S):
                await self._not_claiming.wait()
        owned = len(self.workers)
        for worker in list(self.workers.values()):
            worker.hand_over()
        while self.workers and self.tools.clock.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        remaining = len(self.workers)
        for worker in self.workers.values():
            worker.kill()  # its call has not ended; the next owner searches for the result
        log.info(
            "engine stops: released %d stacks, stopped %d during a call",
            owned - remaining,
            remaining,
        )
        if self._lease_task is not None:
            self._lease_task.cancel()
        await self.tools.store.run(lambda tx: claim.resign(tx, self.id))

    def kill(self) -> None:
        """Drop everything at once, to simulate a crash."""
        self._stopping = True
        self.committer.abandon()
        for worker in self.workers.values():
            worker.kill()
        for task in self._tasks:
            task.cancel()

    async def _arrive(self) -> None:
        """Store the engine's lease, retrying until the database is available."""
        while True:
            try:
                await self._announce()
                return await self._renew()
            except Exception as problem:
                if not is_temporary(problem):
                    raise
                log.warning("%s", _cause(problem))
            await asyncio.sleep(OUTAGE_PAUSE_S)

    async def _announce(self) -> None:
        pid, host = os.getpid(), socket.gethostname()
        await self.tools.store.run(lambda tx: claim.announce(tx, self.id, host, pid))

    async def _keep_lease(self) -> None:
        heartbeats = 0
        while True:
            try:
                await asyncio.sleep(self.tools.heartbeat_s)
                heartbeats += 1
                await self._renew()
                if heartbeats % RECEIPTS_HEARTBEATS == 0:
                    await self.tools.store.run(drop_receipts)
            except Exception:
                log.exception("the lease could not be renewed")

    async def _renew(self) -> None:
        """Send one heartbeat to renew the lease.

        If the last heartbeat is too old, by the clocks of this machine or of the database, other
        engines may have taken over some stacks. This engine then stops working on those stacks
        before it sends any write call.
        """
        async with self._heartbeat_under_way:
            sent_at = self._clocks()
            silent = self.silent_s() >= SILENT_MAX_S
            heartbeat = await self.tools.store.run(lambda tx: claim.heartbeat(tx, self.id))
            if heartbeat is None:
                await self._announce()
            else:
                self.tools.clock.tells(heartbeat.now, sent_at[0])
                self._drain(draining=heartbeat.draining)
            if silent or heartbeat is None or heartbeat.silent_s >= SILENT_MAX_S:
                await self._forget_lost()
            self._last_heartbeat = sent_at

    def _drain(self, *, draining: bool) -> None:
        """Release all stacks to other engines if an operator drains this engine; take no new ones
        until `draining` is false again.
        """
        if draining != self._draining:
            change = "releasing all stacks" if draining else "taking stacks again"
            log.info("%s, as an operator demands", change)
        self._draining = draining
        if draining:
            for worker in self.workers.values():
                worker.hand_over()

    async def _forget_lost(self) -> None:
        epochs = await self.tools.store.read(lambda tx: owned_stacks(tx, self.id))
        for worker in list(self.workers.values()):
            if epochs.get(worker.stack_id) != worker.epoch:
                log.warning("stack %s was taken over by another engine", worker.stack_id)
                self.tools.observer.ownership_lost()
                worker.kill()

    async def _look(self, *, compare: bool = False) -> None:
        """Claim the stacks that need an owner, and fetch messages. If there are neither such stacks
        nor messages, do not write.

        The stacks that this engine owns according to the database must be the stacks that it works
        on. If the two differ, or if `compare` is true, the engine compares them one by one.
        """
        overview = await self.tools.store.read(lambda tx: claim.look(tx, self.id))
        working = len(self.workers), sum(worker.epoch for worker in self.workers.values())
        if compare or self._odd or overview.owned != working:
            await self._reconcile()
        if overview.claimable and self.may_write() and not (self._stopping or self._draining):
            await self._claim()
        if overview.inbox and self.workers:
            await self._fetch_messages()

    async def _claim(self) -> None:
        """Take this engine's share of the stacks that need an owner."""
        room = min(CLAIMS_MAX, self._room())
        if room <= 0:
            return
        now = self.tools.clock.monotonic()
        patient = now - self._yields_since < PATIENCE_S
        self._not_claiming.clear()
        try:
            claims = await self.tools.store.run(
                lambda tx: claim.claim(tx, self.id, room, patient=patient)
            )
            for stack_claim in claims.stacks:
                if (before := self.workers.get(stack_claim.stack_id)) is not None:
                    before.kill()  # another engine had taken it over
                self._take(stack_claim.stack_id, stack_claim.epoch)
        finally:
            self._not_claiming.set()
        if claims.stacks or not claims.has_more:
            self._yields_since = float("inf")
        elif self._yields_since == float("inf"):
            self._yields_since = now
        if claims.has_more:  # engines with fewer stacks come first
            asyncio.get_running_loop().call_later(SHARE_S, self.wake)

    def _room(self) -> int:
        """Return how many more stacks this engine can work on. Stacks that only wait count only
        against the limit of memory.
        """
        owned = len(self.workers)
        if owned < STACKS_MAX:
            return STACKS_MAX - owned
        busy = sum(not worker.waits for worker in self.workers.values())
        return min(STACKS_MAX - busy, HELD_MAX - owned)

    async def _reconcile(self) -> None:
        """Start and stop workers so that they match the stacks that this engine owns in the
        database.

        A difference is corrected only if two consecutive comparisons show it, because a commit that
        runs at the same time can cause a difference for a moment.
        """
        before = dict(self.workers)
        epochs = await self.tools.store.read(lambda tx: owned_stacks(tx, self.id))
        odd: dict[str, int | None] = {i: e for i, e in epochs.items() if i not in self.workers}
        for stack_id, worker in before.items():
            if self.workers.get(stack_id) is worker and epochs.get(stack_id) != worker.epoch:
                odd[stack_id] = None
        for stack_id, epoch in odd.items():
            if self._odd.get(stack_id, 0) != epoch:
                continue
            if epoch is None:
                log.warning("stack %s belongs to another engine; its worker here stops", stack_id)
                self.workers[stack_id].kill()
            else:
                log.warning(
                    "stack %s is owned by this engine but has no worker; one is started", stack_id
                )
                self._take(stack_id, epoch)
        self._odd = odd

    async def _fetch_messages(self) -> None:
        """Read the messages that this engine has not read yet, and deliver them to the workers of
        their stacks.
        """
        inbox = await self.tools.store.read(lambda tx: claim.inbox_of(tx, self.id))
        candidates = ((self.workers.get(stack_id), message_id) for message_id, stack_id in inbox)
        new = [i for worker, i in candidates if worker is not None and worker.wants(i)]
        if not new:
            return
        if len(new) > MESSAGES_MAX:
            self.wake()
        messages = await self.tools.store.read(lambda tx: claim.messages(tx, new[:MESSAGES_MAX]))
        now = self.tools.clock.now()
        for stack_id, message in messages:
            if (worker := self.workers.get(stack_id)) is not None:
                self.tools.observer.message_delivered(now - message.at)
                worker.deliver(message)

    def _take(self, stack_id: str, epoch: int) -> None:
        worker = self.workers[stack_id] = StackWorker(self, stack_id, epoch)
        if self._stopping or self._draining:
            worker.hand_over()
        self._spawn(self._work(worker))

    async def _work(self, worker: StackWorker) -> None:
        try:
            await worker.run()
        except asyncio.CancelledError:
            self._forget(worker)
            raise
        except Exception as problem:
            if is_temporary(problem):
                log.warning("stack %s: %s", worker.stack_id, _cause(problem))
                self._spawn(self._begin_again(worker))
                return
            log.exception("the worker of stack %s ended with an internal error", worker.stack_id)
        self._forget(worker)

    async def _begin_again(self, before: StackWorker) -> None:
        """Wait until the engine can work again, then restart the worker if this engine still
        owns the stack.
        """
        epochs: dict[str, int] | None = None
        while epochs is None and not self._stopping:
            await asyncio.sleep(OUTAGE_PAUSE_S)
            try:
                epochs = await self.tools.store.read(lambda tx: owned_stacks(tx, self.id))
            except Exception as problem:
                log.warning("stack %s: %s", before.stack_id, _cause(problem))
        if (epochs or {}).get(before.stack_id) != before.epoch or self._stopping:
            self._forget(before)
        elif self.workers.get(before.stack_id) is before:
            worker = self.workers[before.stack_id] = StackWorker(
                self, before.stack_id, before.epoch
            )
            await self._work(worker)

    def _forget(self, worker: StackWorker) -> None:
        if self.workers.get(worker.stack_id) is worker:
            del self.workers[worker.stack_id]
        self._woken.set()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._broken = problem
            self._woken.set()


def _cause(problem: Exception) -> str:
    """Return why the engine cannot work now, for the log."""
    if is_outage(problem):
        return f"the database is unavailable: {problem}"
    return f"the engine has no memory or threads left: {type(problem).__name__}: {problem}"

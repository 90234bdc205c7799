"""One engine process: a lease, claims, and a worker for each stack that is ours."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from hearth.cloud.contract import Cloud
from hearth.cloud.fetch import fetch_nothing
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.engine.worker.committer import Committer
from hearth.engine.worker.lifecycle import Plugin
from hearth.engine.worker.live import Endpoints
from hearth.engine.worker.loader import Loader
from hearth.engine.worker.programs import Programs
from hearth.engine.worker.work import StackWork
from hearth.resources.base import Users
from hearth.store import claim, snapshots
from hearth.store.database import Store, drop_receipts, is_outage
from hearth.store.held import held
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

BEAT_S = 2.0
OUTAGE_PAUSE_S = 1.0  # between two looks whether the database is there again
SILENT_MAX_S = 10.0  # no write call once the last beat is older than this
LOOK_S = 1.0
CLAIMS_MAX = 200
STACKS_MAX = 1000
LETTERS_MAX = 500  # in one reading
HAND_OVER_S = 10.0
RECONCILE_LOOKS = 15  # looks after which rows and memory are compared without a reason
RECEIPTS_BEATS = 300  # beats after which old receipts are removed
STRAY_WATCH_S = 30.0  # how long after an attempt without an answer its result may turn up


class Clock(Protocol):
    """Time as an engine sees it."""

    def now(self) -> float:
        """Seconds since 1970, UTC, by the database's clock."""

    def monotonic(self) -> float:
        """Seconds that never jump."""

    def wall(self) -> float:
        """Seconds since 1970 by this machine, which may be wrong and jump."""

    def tells(self, now: float, asked_at: float) -> None:
        """The database's answer to a question that was sent at `asked_at`, monotonic."""


class Clouds(Protocol):
    """Clouds by stack; see service/stack_clouds.py for the real ones."""

    def of(self, row: StackRow, credential: tuple[str, Any] | None) -> Cloud:
        """The cloud under the stack's credential."""

    def users(self, row: StackRow, noted: Callable[[str], None]) -> Users | None:
        """Users of the stack's own project; `noted` hears of the project when it is made."""

    async def trusted(self, credential: tuple[str, Any]) -> bool:
        """Whether nothing is to be made: the trust is the requester's and works."""

    async def entrust(self, row: StackRow, credential: tuple[str, Any]) -> tuple[str, str | None]:
        """The id of a trust from whoever asked last, or of an application credential and its
        secret."""

    async def drop_former(self, row: StackRow, credential: tuple[str, Any]) -> None:
        """The trusts that others took the place of go."""

    async def farewell(self, row: StackRow, credential: tuple[str, Any] | None) -> None:
        """What was made for a root stack goes."""


def allow_all_types(credential: tuple[str, Any], names: Collection[str]) -> None:
    """No policy: every type is allowed."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What an engine works with. `clouds` gives a cloud for a credential, `types` finds resource
    types, `new_id` and `luck` are chance, given from outside. Every `look_s` seconds an engine
    looks for work, unless it is woken before; every `beat_s` it renews its lease. Making
    or removing a resource is tried `retries` times more. `refused_types` tells why the requester
    that a credential comes from may not have resources of some types; None: it may."""

    store: Store
    clouds: Clouds
    programs: Programs
    clock: Clock
    new_id: Callable[[], str]
    luck: Callable[[], float]
    endpoints: Endpoints
    look_s: float = LOOK_S
    stray_watch_s: float = STRAY_WATCH_S
    beat_s: float = BEAT_S
    plugins: tuple[Plugin, ...] = ()
    retries: int = CREATE_RETRIES_MAX
    fetch: Callable[[str], Awaitable[str]] = fetch_nothing
    refused_types: Callable[[tuple[str, Any], Collection[str]], str | None] = allow_all_types


class Engine:
    """Runs until `stop`. Several engines may share a database."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.id = tools.new_id()
        self.committer = Committer(tools.store, tools.new_id)
        self.loader = Loader(tools.store, self._spawn, claim.load_all)
        self.alive = Loader(tools.store, self._spawn, claim.live)
        self.snapshots = Loader(tools.store, self._spawn, snapshots.of_stacks)
        self.works: dict[str, StackWork] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}  # in order
        self.silences = Loader(tools.store, self._spawn, claim.silences)
        self._woken = asyncio.Event()
        self._beaten = float("-inf"), float("-inf")  # when the last beat was sent: _clocks()
        self._beat_under_way = asyncio.Lock()
        self._beating: asyncio.Task[None] | None = None
        self._stopping = False
        self._not_claiming = asyncio.Event()
        self._not_claiming.set()
        self._odd: dict[str, int | None] = {}  # differences of rows and memory, seen once

    async def run(self) -> None:
        """Claim and work until stopped."""
        await self._arrive()
        self._beating = self._spawn(self._beat())
        try:
            looks = 0
            while not self._stopping:
                self._woken.clear()
                looks += 1
                try:
                    await self._look(compare=looks % RECONCILE_LOOKS == 0)
                except Exception:
                    log.exception("looking for work failed; trying again")
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.tools.look_s):
                        await self._woken.wait()
        finally:
            if not self._stopping:
                self._beating.cancel()

    def wake(self) -> None:
        """Look now: something was accepted or mail was sent."""
        self._woken.set()

    def may_write(self) -> bool:
        """Whether the lease is fresh enough to send a write call."""
        return self._silent_s() < SILENT_MAX_S

    def _clocks(self) -> tuple[float, float]:
        return self.tools.clock.monotonic(), self.tools.clock.wall()

    def _silent_s(self) -> float:
        """Seconds since the last beat, by whichever clock shows more: one may have stood."""
        return max(now - then for now, then in zip(self._clocks(), self._beaten, strict=True))

    async def confirmed(self) -> bool:
        """Whether a write call may go out now, by what the database says of the lease.

        All clocks of a machine may have stood while it was stopped. Where the lease has run out, or
        the database does not answer, nothing goes out until the engine knows which stacks are still
        its own.
        """
        try:
            silent_s = await self.silences.load(self.id)
        except Exception as problem:
            if not is_outage(problem):
                raise
            silent_s = None
        if silent_s is None or silent_s >= SILENT_MAX_S:
            self._beaten = float("-inf"), float("-inf")
        async with self._beat_under_way:  # a beat may have renewed it, and not yet looked around
            pass
        return self.may_write()

    async def stop(self) -> None:
        """Hand everything over: no new step starts, stacks are released, the lease ends."""
        self._stopping = True
        self._woken.set()
        ends = self.tools.clock.monotonic() + HAND_OVER_S
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_OVER_S):  # a claim under way is ours as well
                await self._not_claiming.wait()
        held = len(self.works)
        for work in list(self.works.values()):
            work.hand_over()
        while self.works and self.tools.clock.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        left = len(self.works)
        for work in self.works.values():
            work.kill()  # a call of theirs does not end; the next owner looks for it
        log.info("released %d stacks, left %d with a call that has not ended", held - left, left)
        if self._beating is not None:
            self._beating.cancel()
        await self.tools.store.run(lambda tx: claim.resign(tx, self.id))

    def kill(self) -> None:
        """Drop everything as a crash would (simulation)."""
        self._stopping = True
        self.committer.abandon()
        for work in self.works.values():
            work.kill()
        for task in self._tasks:
            task.cancel()

    async def _arrive(self) -> None:
        """Announce the engine, as soon as the database can be reached."""
        while True:
            try:
                await self._announce()
                return await self._renew()
            except Exception as problem:
                if not is_outage(problem):
                    raise
                log.warning("the database is away: %s", problem)
            await asyncio.sleep(OUTAGE_PAUSE_S)

    async def _announce(self) -> None:
        pid, host = os.getpid(), socket.gethostname()
        await self.tools.store.run(lambda tx: claim.announce(tx, self.id, host, pid))

    async def _beat(self) -> None:
        beats = 0
        while True:
            await asyncio.sleep(self.tools.beat_s)
            beats += 1
            try:
                await self._renew()
                if beats % RECEIPTS_BEATS == 0:
                    await self.tools.store.run(drop_receipts)
            except Exception:
                log.exception("the lease could not be renewed")

    async def _renew(self) -> None:
        """One beat. After a silence, by our clocks or the database's, others may have taken stacks
        over: those are forgotten before any write call."""
        async with self._beat_under_way:
            sent = self._clocks()
            silent = self._silent_s() >= SILENT_MAX_S
            beat = await self.tools.store.run(lambda tx: claim.beat(tx, self.id))
            if beat is None:
                await self._announce()
            else:
                self.tools.clock.tells(beat.now, sent[0])
            if silent or beat is None or beat.silent_s >= SILENT_MAX_S:
                await self._forget_lost()
            self._beaten = sent

    async def _forget_lost(self) -> None:
        mine = await self.tools.store.read(lambda tx: held(tx, self.id))
        for work in list(self.works.values()):
            if mine.get(work.stack_id) != work.epoch:
                log.warning("stack %s was taken over by another engine", work.stack_id)
                work.kill()

    async def _look(self, *, compare: bool = False) -> None:
        """Claim what wants an owner, and see to mail. A look that finds nothing only reads.

        What the rows say is ours and what is worked on here must be the same. Whenever their
        numbers differ, and with `compare` in any case, they are compared one by one.
        """
        sight = await self.tools.store.read(lambda tx: claim.look(tx, self.id))
        known = len(self.works), sum(work.epoch for work in self.works.values())
        if compare or self._odd or sight.owned != known:
            await self._reconcile()
        room = min(CLAIMS_MAX, STACKS_MAX - len(self.works))
        if sight.claimable and room > 0 and self.may_write() and not self._stopping:
            self._not_claiming.clear()
            try:
                claims = await self.tools.store.run(lambda tx: claim.claim(tx, self.id, room))
                for one in claims:
                    if (before := self.works.get(one.stack_id)) is not None:
                        before.kill()  # it was taken from us, and now comes back
                    self._take(one.stack_id, one.epoch)
            finally:
                self._not_claiming.set()
        if sight.mail and self.works:
            await self._fetch_mail()

    async def _reconcile(self) -> None:
        """Work on every stack that the rows say is ours, and on no other.

        A difference counts when two looks in a row show it: commits are under way all the time.
        """
        before = dict(self.works)
        mine = await self.tools.store.read(lambda tx: held(tx, self.id))
        odd: dict[str, int | None] = {i: e for i, e in mine.items() if i not in self.works}
        for stack_id, work in before.items():
            if self.works.get(stack_id) is work and mine.get(stack_id) != work.epoch:
                odd[stack_id] = None
        for stack_id, epoch in odd.items():
            if self._odd.get(stack_id, 0) != epoch:
                continue
            if epoch is None:
                log.warning("stack %s is no longer ours and is let go", stack_id)
                self.works[stack_id].kill()
            else:
                log.warning("stack %s is ours and nobody works on it: taken up", stack_id)
                self._take(stack_id, epoch)
        self._odd = odd

    async def _fetch_mail(self) -> None:
        """Have the mail that nobody here has seen delivered."""
        there = await self.tools.store.read(lambda tx: claim.mail_for(tx, self.id))
        works = ((self.works.get(stack_id), letter_id) for letter_id, stack_id in there)
        new = [i for work, i in works if work is not None and work.wants(i)]
        if not new:
            return
        if len(new) > LETTERS_MAX:
            self.wake()
        found = await self.tools.store.read(lambda tx: claim.letters(tx, new[:LETTERS_MAX]))
        for stack_id, letter in found:
            if (work := self.works.get(stack_id)) is not None:
                work.deliver(letter)

    def _take(self, stack_id: str, epoch: int) -> None:
        work = self.works[stack_id] = StackWork(self, stack_id, epoch)
        if self._stopping:
            work.hand_over()
        self._spawn(self._work(work))

    async def _work(self, work: StackWork) -> None:
        try:
            await work.run()
        except asyncio.CancelledError:
            self._forget(work)
            raise
        except Exception as problem:
            if is_outage(problem):
                log.warning("stack %s: the database is away: %s", work.stack_id, problem)
                self._spawn(self._begin_again(work))
                return
            log.exception("the worker of stack %s ended with an engine fault", work.stack_id)
        self._forget(work)

    async def _begin_again(self, before: StackWork) -> None:
        """Once the database is there again, go on from the rows with what is still ours."""
        mine: dict[str, int] | None = None
        while mine is None and not self._stopping:
            await asyncio.sleep(OUTAGE_PAUSE_S)
            try:
                mine = await self.tools.store.read(lambda tx: held(tx, self.id))
            except Exception as problem:
                if not is_outage(problem):
                    raise
        if (mine or {}).get(before.stack_id) != before.epoch or self._stopping:
            self._forget(before)
        elif self.works.get(before.stack_id) is before:
            work = self.works[before.stack_id] = StackWork(self, before.stack_id, before.epoch)
            await self._work(work)

    def _forget(self, work: StackWork) -> None:
        if self.works.get(work.stack_id) is work:
            del self.works[work.stack_id]
        self._woken.set()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

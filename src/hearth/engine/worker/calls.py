"""Calls of one resource: made, looked for when no answer came, polled, and what they gave recorded.

A call without an answer is looked for before it is made again, and leaves a stray behind.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.record import Record
from hearth.engine.worker import strays
from hearth.engine.worker.live import facts_of
from hearth.engine.worker.trouble import Stopped, trouble_from
from hearth.model.state import Action, Status
from hearth.resources.base import Failed, Later, Live, Made, Ready, ResourceType, Step
from hearth.store.claim import Stray

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

PASSING_PAUSE_S = 2.0
BUSY_PAUSE_S = 2.0
PASSING_MAX = 8  # repetitions of a call that certainly had no effect
BROKEN_MAX = 3  # repetitions of a call that the service broke off, if only that tells what it did
LOOK_AGAIN_S = 1.0
LEASE_PAUSE_S = 0.5
UNREADABLE = (LookupError, TypeError, AttributeError, ValueError)  # taking an answer apart
UNKNOWN = (
    "A create call has no answer ({why}). Under a name of the user's what it may have made is not"
    " known again, and may stay beside the resource."
)


class Calls:
    """What a flight can do: call, find, poll, pause, sweep."""

    work: "StackWork"
    record_id: str

    def __init__(self) -> None:
        self.rests_until: float | None = None  # None: it is at something
        self._stopped: str | None = None
        self._look = asyncio.Event()

    def rest(self, until: float) -> None:
        """Nothing is under way before `until`, unless news comes."""
        self.rests_until = until
        if self.work.handing_over:
            self.work.wake()

    @property
    def record(self) -> Record:
        return self.work.records[self.record_id]

    async def until_committed(self) -> None:
        """Wait until all that was put so far is in the database."""
        raise NotImplementedError

    def not_stopped(self) -> None:
        if self._stopped is not None:
            raise Stopped(self._stopped)

    async def call(
        self, kind: ResourceType, step: Step, live: Live, *, lost: bool = False
    ) -> Made | None:
        """The write call. Without an answer it is looked for before it is made again.

        `lost`: an earlier attempt may have made something, and only to do it again can tell what;
        no stop forbids that.
        """
        passing, broken = 0, 0
        while True:
            while not self.work.engine.may_write():
                await self.pause(LEASE_PAUSE_S)
            if not lost:
                self.not_stopped()
            live.stack = facts_of(self.work)  # the step before may have made the stack's project
            try:
                return await self._sent(kind, step, live)
            except NoAnswer as fault:
                self.strayed(kind, live, fault.message)
                await self.until_committed()
                found = await self.looked_for(kind, step, live)
                if found is not None:
                    return found
                untold = step.find is None and live.action is Action.CREATE
                broken += not fault.again
                if not fault.again and (not untold or broken > BROKEN_MAX):
                    raise
                lost = lost or untold
                last: CloudFault = fault
            except CloudFault as fault:
                if await kind.busy(live, fault):
                    await self.pause(fault.retry_after or BUSY_PAUSE_S)
                    continue
                if not fault.passing:
                    raise
                last = fault
            passing += 1
            if passing > PASSING_MAX:
                raise last
            pause_s = last.retry_after or PASSING_PAUSE_S
            await (asyncio.sleep(pause_s) if lost else self.pause(pause_s))

    async def _sent(self, kind: ResourceType, step: Step, live: Live) -> Made | None:
        """What the call gave. An answer that lacks what it must have is none."""
        try:
            return await step.do(live)
        except UNREADABLE as problem:
            log.exception("%s: the answer of %s cannot be read", live.name, step.name)
            words = "The service accepted the call, but its answer cannot be read."
            raise NoAnswer(kind.service or "cloud", words, again=False) from problem

    async def looked_for(self, kind: ResourceType, step: Step, live: Live) -> Made | None:
        """What an attempt made. Where there is no way to look, the step itself looks when it is
        made again, once the attempt has landed; a second delete does no harm."""
        if step.find is not None:
            return await self.find(kind, step, live)
        if kind.service is not None and live.action in (Action.CREATE, Action.UPDATE):
            await asyncio.sleep(kind.visibility_delay_s)
        return None

    async def find(self, kind: ResourceType, step: Step, live: Live) -> Made | None:
        """Look for what an attempt made, for as long as it may be there and not be seen. Only a
        look that was answered tells that there is nothing; what may be there is watched for."""
        assert step.find is not None
        until = self.work.tools.clock.monotonic() + kind.visibility_delay_s
        unanswered = 0
        while True:
            try:
                found = await step.find(live)
            except CloudFault as fault:
                unanswered += 1
                passing = fault.passing or isinstance(fault, NoAnswer)
                if not passing or unanswered > PASSING_MAX:
                    self.strayed(kind, live, f"it could not be looked for: {fault.message}")
                    raise
            else:
                if found is not None or self.work.tools.clock.monotonic() >= until:
                    return found
            await asyncio.sleep(LOOK_AGAIN_S)

    def absorb(self, made: Made | None, live: Live) -> None:
        """What a call gave, in memory and for the next commit."""
        if made is None:
            return
        work, record = self.work, self.record
        if made.physical_id is not None and made.physical_id != record.physical_id:
            live.physical_id = made.physical_id
            work.put(record.having(physical_id=made.physical_id))
        if made.data:
            merged = {**work.data.get(record.id, live.data), **made.data}  # others may have noted
            live.data = {k: v for k, v in merged.items() if v is not None}
            work.data[record.id] = dict(live.data)
            work.sure.data[record.id] = {**work.sure.data.get(record.id, {}), **made.data}
        if made.metadata is not None:
            live.metadata = made.metadata
            work.metadata[record.id] = made.metadata
            work.sure.metadata[record.id] = made.metadata
        if made.body is not None:
            live.body = made.body

    async def poll(self, step: Step, live: Live) -> None:
        """Wait until the step is done."""
        if step.poll is None:
            return
        ticket = self.work.committed()
        while True:
            self.not_stopped()
            live.now = self.work.tools.clock.now()
            self._look.clear()
            try:
                progress = await step.poll(live)
            except CloudFault as fault:
                if not fault.passing and not isinstance(fault, NoAnswer):
                    raise
                progress = Later(fault.retry_after or PASSING_PAUSE_S)
            match progress:
                case Ready(body):
                    live.body = live.body if body is None else body
                    return
                case Failed():
                    raise trouble_from(progress)
                case Later(after_s, body):
                    live.body = live.body if body is None else body
            await ticket
            await self.pause(after_s, wakes=True)

    async def pause(self, seconds: float, *, wakes: bool = False) -> None:
        """Rest; a stop, or with `wakes` any news, ends it."""
        self.rest(self.work.tools.clock.now() + seconds)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._look.wait()
        finally:
            self.rests_until = None
        if not wakes:
            self._look.clear()
        self.not_stopped()

    async def stop_or(self, future: "asyncio.Future[Any]") -> str | None:
        """Wait for a future or a stop; gives why it was stopped."""
        stop = asyncio.get_running_loop().create_task(self._look.wait())
        try:
            await asyncio.wait({stop, future}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        self._look.clear()
        return self._stopped

    # -- strays ----------------------------------------------------------------------------

    def strayed(self, kind: ResourceType, live: Live, why: str) -> None:
        """An attempt to create ended without an answer: what it made may turn up later."""
        if live.action is not Action.CREATE:
            return
        if not kind.has_key(live.properties):  # nothing could be looked for
            if live.physical_id is None:
                self.work.event(self.record, Status.IN_PROGRESS, UNKNOWN.format(why=why))
            return
        self.watch_for(kind.name, live.properties, why)

    def watch_for(self, kind_name: str, properties: Mapping[str, Any], why: str) -> None:
        """Something of this type may turn up under the record's key."""
        work, record = self.work, self.record
        facts = {"name": record.name, "properties": dict(properties), "why": why}
        clock = work.tools.clock
        row = Stray(
            work.tools.new_id(), record.id, kind_name, clock.now(), facts, clock.monotonic()
        )
        work.strays.append(row)
        work.sure.strays.append(row)

    async def find_unrecorded(self, kind: ResourceType, live: Live) -> None:
        """A record without physical id, of which an attempt may have made something after all."""
        if not strays.of(self.work, self.record_id):
            return
        for unanswered in range(PASSING_MAX + 1):
            try:
                turned_up = await kind.strays(live)
                break
            except CloudFault as fault:
                if not fault.passing or unanswered == PASSING_MAX:
                    raise
                await self.pause(fault.retry_after or PASSING_PAUSE_S)
        for found in turned_up:
            live.physical_id = found
            self.work.put(self.record.having(physical_id=found))
            return

    async def sweep(self, kind: ResourceType, live: Live, *, for_good: bool = False) -> None:
        """Delete what turned up under the record's key beside the recorded thing.

        What could not be looked for or deleted now is watched for later. With `for_good`, when the
        record is about to go, all of it is gone in the end: after as long as anything may turn up.
        """
        wait_s = self.work.tools.stray_watch_s if for_good else kind.visibility_delay_s
        for stray in strays.of(self.work, self.record_id):
            rest = strays.rest_s(self.work, stray, wait_s)
            if rest > 0:
                await (self.pause(rest) if for_good else asyncio.sleep(rest))
            passing = 0
            while True:
                try:
                    turned_up = await strays.sweep(kind, live)
                except CloudFault as fault:
                    passing += 1
                    if for_good and (not fault.passing or passing > PASSING_MAX):
                        raise
                    log.info("%s: strays cannot be looked after now: %s", live.name, fault)
                    turned_up = True
                if not for_good or not turned_up:
                    break
                await self.pause(strays.AGAIN_S)
            if for_good:
                strays.forget(self.work, stray)

"""The calls for one resource: send them, search after a lost response, poll, and record the
results.

If a response is lost, the engine records a possible orphan and searches for the result of the call
before it repeats the call.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.worker.failure import Stopped, failure_from
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node import orphans
from hearth.engine.worker.node.intent import Intent
from hearth.engine.worker.node.watched import WatchedCloud, WriteWatch
from hearth.model.state import Action, Status
from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.resources.capabilities import MakesObject, UsesUsers, visibility_delay_s
from hearth.store.claim import Orphan

log = logging.getLogger(__name__)

PASSING_PAUSE_S = 2.0
BUSY_PAUSE_S = 2.0
PASSING_MAX = 8  # retries of a call that certainly had no effect
BROKEN_MAX = 3  # retries of a call that the service aborted, if only a retry shows its effect
LOOK_AGAIN_S = 1.0
LEASE_PAUSE_S = 0.5
FOREVER = float("inf")  # until a message comes
# errors while a response is parsed
UNREADABLE = (LookupError, TypeError, AttributeError, ValueError)
UNKNOWN = (
    "A create call has no answer ({why}). The object has a user-supplied name, so Hearth cannot"
    " find it; it may exist in addition to the resource."
)


class CloudCalls:
    """Sends the calls of one node.

    `intent` has the node's record.
    """

    def __init__(self, owned: OwnedStack, intent: Intent) -> None:
        self._owned = owned
        self._intent = intent
        self.rests_until: float | None = None  # None: it is working
        self.last_seen = ""  # the status or the refusal that it waits with, for a timeout's reason
        self._stopped: str | None = None
        self._look = asyncio.Event()

    def rest(self, until: float) -> None:
        """Record that the node has nothing to do until this time, unless a message arrives earlier.

        FOREVER: only a message ends its rest.
        """
        self.rests_until = until
        if self._owned.host.handing_over:
            self._owned.host.wake()

    def stop(self, cause: str) -> None:
        """Stop at the next pause; a running call is not interrupted."""
        self._stopped = cause
        self._look.set()

    def look(self) -> None:
        """End a pause early, because the state that the node waits for may have changed."""
        self._look.set()

    @property
    def stopped(self) -> bool:
        """Whether the node was stopped; a call may still be running."""
        return self._stopped is not None

    def not_stopped(self) -> None:
        """Raise Stopped if the node was stopped."""
        if self._stopped is not None:
            raise Stopped(self._stopped)

    async def call(
        self, rtype: ResourceType, step: Step, ctx: ResourceContext, *, lost: bool = False
    ) -> Made | None:
        """Send the write call of a step; if the response is lost, search for the result before a
        retry.

        Return the result, or None if the step has none. `lost` is true if an earlier call may have
        created an object that only a repeated call can find. Then the call is sent even if the node
        was stopped. Raises Stopped, and CloudFault if the call fails permanently or too often.
        """
        passing, broken = 0, 0
        while True:
            while not self._owned.host.may_write():
                await self.pause(LEASE_PAUSE_S)
            if not lost:
                self.not_stopped()
            ctx.stack = (
                self._owned.access.facts()
            )  # the previous step may have created the domain project
            try:
                effect = await self._sent(rtype, step, ctx)
                self.last_seen = ""
                return effect
            except NoAnswer as fault:
                self.last_seen = refusal(fault)
                self.orphaned(rtype, ctx, fault.message)
                await self._intent.until_committed()
                existing = await self.looked_for(rtype, step, ctx)
                if existing is not None:
                    self.last_seen = ""
                    return existing
                untold = step.find is None and ctx.action is Action.CREATE
                broken += not fault.again
                if not fault.again and (not untold or broken > BROKEN_MAX):
                    raise
                lost = lost or untold
                last: CloudFault = fault
            except CloudFault as fault:
                self.last_seen = refusal(fault)
                if isinstance(rtype, MakesObject) and await rtype.busy(ctx, fault):
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

    async def _sent(self, rtype: ResourceType, step: Step, ctx: ResourceContext) -> Made | None:
        """Send the call and return its result; a response without a required part counts as a lost
        one.

        Raises an exception of Python as it is if it comes before anything was sent: it is an error
        of the resource type.
        """
        cloud, writes = ctx.cloud, WriteWatch()
        ctx.cloud = WatchedCloud(cloud, writes)
        try:
            return await step.do(ctx)
        except UNREADABLE as problem:
            if not (writes.has_calls or isinstance(rtype, UsesUsers)):
                raise
            log.exception("resource %s: the response to %s cannot be read", ctx.name, step.name)
            message = "The service accepted the call, but its answer cannot be read."
            raise NoAnswer(rtype.service or "cloud", message, again=False) from problem
        finally:
            ctx.cloud = cloud

    async def looked_for(
        self, rtype: ResourceType, step: Step, ctx: ResourceContext
    ) -> Made | None:
        """Search for the result of a call whose response was lost; None if it created nothing.

        For a step without `find` this method only waits until an object would be visible. Then the
        call can be repeated: a repeated create finds the object itself, and a second delete does no
        harm.
        """
        if step.find is not None:
            return await self.find(rtype, step, ctx)
        if rtype.service is not None and ctx.action is not Action.DELETE:
            await asyncio.sleep(visibility_delay_s(rtype))
        return None

    async def find(self, rtype: ResourceType, step: Step, ctx: ResourceContext) -> Made | None:
        """Search for the result of a call until it would be visible; None if it created nothing.

        Only a successful search proves that nothing exists. If the search fails, record a possible
        orphan and raise the CloudFault.
        """
        assert step.find is not None
        until = self._owned.tools.clock.monotonic() + visibility_delay_s(rtype)
        unanswered = 0
        while True:
            try:
                effect = await step.find(ctx)
            except CloudFault as fault:
                self.last_seen = refusal(fault)
                unanswered += 1
                if not fault.passing or unanswered > PASSING_MAX:
                    self.orphaned(rtype, ctx, f"the search for its result failed: {fault.message}")
                    raise
            else:
                if effect is not None or self._owned.tools.clock.monotonic() >= until:
                    return effect
            await asyncio.sleep(LOOK_AGAIN_S)

    def absorb(self, effect: Made | None, ctx: ResourceContext) -> None:
        """Store the result of a call in memory and in the context, for the next commit."""
        if effect is None:
            return
        memory, record = self._owned.memory, self._intent.record
        if effect.physical_id is not None and effect.physical_id != record.physical_id:
            ctx.physical_id = effect.physical_id
            memory.put(record.having(physical_id=effect.physical_id))
        if effect.data:
            ctx.data = memory.note_data(record.id, effect.data)
        if effect.metadata is not None:
            ctx.metadata = effect.metadata
            memory.note_metadata(record.id, effect.metadata)
        if effect.body is not None:
            ctx.body = effect.body

    async def poll(self, step: Step, ctx: ResourceContext) -> None:
        """Poll until the step is complete. Raises Stopped, CloudFault, or ResourceFailure if the
        step failed.
        """
        if step.poll is None:
            return
        ticket = self._owned.commits.written()
        while True:
            self.not_stopped()
            ctx.now = self._owned.tools.clock.now()
            self._look.clear()
            try:
                progress = await step.poll(ctx)
            except CloudFault as fault:
                if not fault.passing and not isinstance(fault, NoAnswer):
                    raise
                progress = Later(fault.retry_after or PASSING_PAUSE_S)
                self.last_seen = refusal(fault)
            else:
                self.last_seen = status_seen(progress)
            match progress:
                case Ready(body):
                    ctx.body = ctx.body if body is None else body
                    return
                case Failed():
                    raise failure_from(progress)
                case Later(after_s, body):
                    ctx.body = ctx.body if body is None else body
            await ticket
            await self.pause(after_s, wakes=True)

    async def pause(self, seconds: float, *, wakes: bool = False) -> None:
        """Wait for some seconds. Raises Stopped as soon as the node is stopped.

        If `wakes` is true, a message to the stack also ends the wait.
        """
        self.rest(self._owned.tools.clock.now() + seconds)
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
        """Wait for a future, or until the node is stopped; return the reason of the stop, or
        None.
        """
        stop = asyncio.get_running_loop().create_task(self._look.wait())
        try:
            await asyncio.wait({stop, future}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        self._look.clear()
        return self._stopped

    # -- orphans----------------------------------------------------------------------------

    def orphaned(self, rtype: ResourceType, ctx: ResourceContext, cause: str) -> None:
        """Record a possible orphan if the action is a create, or an update that may create parts;
        `cause` says why its response is missing.

        If its object cannot be searched for, only an event reports that the object may exist.
        """
        has_parts = isinstance(rtype, MakesObject) and rtype.orphan_prefixes
        if ctx.action is Action.UPDATE and has_parts:
            self.watch_for(rtype.recorded_as, ctx.properties, cause)
        if ctx.action is not Action.CREATE:
            return
        keyless = isinstance(rtype, MakesObject) and not rtype.has_key(ctx.properties)
        if keyless:  # a search is not possible
            if ctx.physical_id is None:
                self._owned.memory.event(
                    self._intent.record, Status.IN_PROGRESS, UNKNOWN.format(why=cause)
                )
            return
        self.watch_for(rtype.recorded_as, ctx.properties, cause)

    def watch_for(self, kind_name: str, properties: Mapping[str, Any], cause: str) -> None:
        """Record that an object of this type may appear that has the key of the record.

        `cause` says why the response to its create call is missing.
        """
        owned, record = self._owned, self._intent.record
        facts = {"name": record.name, "properties": dict(properties), "why": cause}
        clock = owned.tools.clock
        owned.memory.note_orphan(
            Orphan(
                owned.tools.new_id(), record.id, kind_name, clock.now(), facts, clock.monotonic()
            )
        )

    async def find_unrecorded(self, rtype: ResourceType, ctx: ResourceContext) -> None:
        """Search for the object of a lost create call, and record its physical id. What the call
        left of its parts is found by `sweep`.

        Do nothing if no response was lost. This is for a record without a physical id.
        """
        lost = orphans.of(self._owned, self._intent.record.id)
        if not lost or not isinstance(rtype, MakesObject):
            return
        for unanswered in range(PASSING_MAX + 1):
            try:
                physical_ids = await orphans.search(self._owned, rtype, ctx)
                break
            except CloudFault as fault:
                if not fault.passing or unanswered == PASSING_MAX:
                    raise
                await self.pause(fault.retry_after or PASSING_PAUSE_S)
        for physical_id in physical_ids:
            if physical_id.startswith(rtype.orphan_prefixes):
                continue
            ctx.physical_id = physical_id
            self._owned.memory.put(self._intent.record.having(physical_id=physical_id))
            return

    async def sweep(
        self, rtype: ResourceType, ctx: ResourceContext, *, for_good: bool = False
    ) -> None:
        """Delete objects that have the record's key, except the recorded object.

        Do nothing if no response was lost. A failed search or delete is left to a later sweep. If
        `for_good` is true, the record is about to be deleted: wait until no further object can
        appear, and delete all of them. Then CloudFault is raised if that fails permanently.
        """
        wait_s = self._owned.tools.orphan_watch_s if for_good else visibility_delay_s(rtype)
        for orphan in orphans.of(self._owned, self._intent.record.id):
            remaining_s = orphans.rest_s(self._owned, orphan, wait_s)
            if remaining_s > 0:
                await (self.pause(remaining_s) if for_good else asyncio.sleep(remaining_s))
            passing = 0
            while True:
                try:
                    has_orphans = await orphans.sweep(self._owned, rtype, ctx)
                except CloudFault as fault:
                    passing += 1
                    if for_good and (not fault.passing or passing > PASSING_MAX):
                        raise
                    log.info("resource %s: the search for orphans failed: %s", ctx.name, fault)
                    has_orphans = True
                if not for_good or not has_orphans:
                    break
                await self.pause(orphans.AGAIN_S)
            if for_good:
                self._owned.memory.forget_orphan(orphan)


def refusal(problem: Exception) -> str:
    """Return the addition to the reason of a timeout that reports a refused call."""
    return f"last refusal: {problem}"


def status_seen(progress: Progress) -> str:
    """Return the addition to the reason of a timeout that reports the last status; empty if there
    is none.
    """
    return f"last seen: {progress.seen}" if isinstance(progress, Later) and progress.seen else ""

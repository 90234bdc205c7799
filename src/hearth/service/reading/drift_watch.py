"""Background drift checks: each root stack is compared with the cloud about once per interval.

All engine processes share the schedule in the database. The checks use their own connections to the
cloud, which send no write calls, and change nothing but their own rows and the events about drift.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from sqlalchemy.exc import SQLAlchemyError

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.service.reading.drift import Drift, DriftState, compare, together
from hearth.service.reading.real_objects import failing
from hearth.service.services import Services
from hearth.store import drift_checks, events, reads
from hearth.store.drift_checks import LEASE_S, DriftCheck, Result
from hearth.store.rows import Event

log = logging.getLogger(__name__)

AT_ONCE = 4  # checks of one process
CHECK_S = 90.0  # for one check
assert CHECK_S < LEASE_S
LOOK_S = 5.0  # at most, between two searches for due checks
SCHEDULE_S = 60.0  # at most, between two searches for new stacks
SCHEDULED_MAX = 2000  # stacks of one search; if it finds so many, the next one follows at once
ATTEMPTS_MAX = 3  # after which a check stores what it could read
PAUSE_MAX_S = 300.0  # after failures of the cloud
RETRY_S = 30.0
RESOURCES_MAX = 100  # differing resources that are stored of one stack
VALUE_MAX = 1000  # characters of a stored value
NAMED_MAX = 10  # resources that an event names
SKIPPED = "no credential"
SKIPPED_REASON = "the stack has no trust or application credential, only a token"
TELLS: Mapping[str, bool] = {DriftState.DRIFTED: True, DriftState.IN_SYNC: False}
"""Whether an event says that the stack has drifted, by its state. Other states have no event."""
PAUSED = frozenset({Action.INIT, Action.DELETE, Action.SUSPEND})


class WatchSettings(Struct, frozen=True):
    """The settings of the checks.

    `busy` returns whether the engine of this process works on stacks now. Then only checks start
    that are late by a tenth of the interval.
    """

    every_s: float
    engine_id: str
    busy: Callable[[], bool]
    luck: Callable[[], float] = random.random


class DriftWatch:
    """The part of an engine process that checks stacks for drift.

    `services` should have clouds of their own, so that the checks do not delay the calls of
    operations.
    """

    def __init__(self, services: Services, watched: WatchSettings) -> None:
        self._services = services
        self._watched = watched
        self._running: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._scheduled_at = float("-inf")
        self._failures = 0  # checks in a row that the cloud did not answer
        self._resumes_at = float("-inf")

    async def run(self) -> None:
        """Check stacks until cancelled."""
        look_s = min(LOOK_S, self._watched.every_s / 10)
        try:
            while True:
                self._ended.clear()
                full = False
                try:
                    full = await self.look()
                except SQLAlchemyError as problem:
                    message = str(problem).partition("\n")[0]
                    log.warning("drift checks wait for the database: %s", message)
                await self._wait(None if full else look_s)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _wait(self, limit_s: float | None) -> None:
        """Wait `limit_s` seconds; if it is None, until a check ends."""
        if limit_s is not None:
            await asyncio.sleep(limit_s)
        elif self._running:
            await self._ended.wait()

    async def look(self) -> bool:
        """Start checks that are due; return whether there may be more than can run at once."""
        now = time.monotonic()
        if now < self._resumes_at:
            return False
        store, every_s = self._services.store, self._watched.every_s
        soon = now - self._scheduled_at < min(SCHEDULE_S, every_s / 10)
        if not soon and await self._schedule() < SCHEDULED_MAX:
            self._scheduled_at = now
        room = (1 if self._failures else AT_ONCE) - len(self._running)
        if room <= 0:
            return True
        late_s = every_s / 10 if self._watched.busy() else 0.0
        stack_ids = await store.read(lambda tx: drift_checks.due(tx, room, late_s))
        for stack_id in stack_ids:
            task = asyncio.create_task(self._guarded(stack_id))
            self._running.add(task)
            task.add_done_callback(self._done)
        return len(stack_ids) == room

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._ended.set()

    async def _schedule(self) -> int:
        """Schedule the first checks of new stacks, spread over one interval.

        Return the number of stacks.
        """
        store, watched = self._services.store, self._watched
        stack_ids = await store.read(
            lambda tx: drift_checks.unscheduled(tx, watched.engine_id, SCHEDULED_MAX)
        )
        delays = {stack_id: watched.luck() * watched.every_s for stack_id in stack_ids}
        if delays:
            await store.run(lambda tx: drift_checks.schedule(tx, delays))
        return len(delays)

    async def _guarded(self, stack_id: str) -> None:
        """Check a stack. After an error, the check is repeated when its lease has expired."""
        try:
            await self.check(stack_id)
        except SQLAlchemyError as problem:
            log.warning("stack %s: drift: %s", stack_id, str(problem).partition("\n")[0])
        except Rejected:
            log.info("stack %s: drift: it was deleted during the check", stack_id)
        except Exception:  # one stack must not stop the others
            log.exception("stack %s: drift: the check failed", stack_id)

    async def check(self, stack_id: str) -> None:
        """Check a stack and store the result, unless another process is faster."""
        store, every_s = self._services.store, self._watched.every_s
        claim_id = self._services.new_id()
        check = await store.run(lambda tx: drift_checks.claim(tx, stack_id, claim_id))
        if check is None:
            return
        row = check.row
        if any(status == Status.IN_PROGRESS for _, status in check.tree.values()):
            await self._postpone(check, every_s / 10)
        elif row.status is not Status.COMPLETE or row.action in PAUSED:
            await self._postpone(check, every_s)
        else:
            credential = check.credential
            cloud = None if credential is None else self._services.clouds.lasting(credential)
            if cloud is None:
                await self._finish(check, Result(SKIPPED, reason=SKIPPED_REASON), [])
            else:
                await self._compare(check, cloud)

    async def _compare(self, check: DriftCheck, cloud: Cloud) -> None:
        strict = check.attempts < ATTEMPTS_MAX - 1
        try:
            if (refusal := await _refusal(cloud)) is not None:
                await self._finish(
                    check, Result(DriftState.NOT_CHECKABLE.value, reason=refusal), []
                )
                return
            drifts = await compare(
                self._services,
                cloud,
                check.row,
                depth=reads.ALL_LEVELS,
                limit_s=CHECK_S,
                strict=strict,
            )
        except (CloudFault, TimeoutError) as problem:
            await self._failed(check, str(problem))
            return
        if all(drift.answered for drift in drifts):
            self._failures = 0
        else:
            self._back_off()
        await self._finish(check, result_of(drifts), drifts)

    async def _failed(self, check: DriftCheck, reason: str) -> None:
        """Repeat a check later, and pause, because the cloud does not answer or fails."""
        pause_s = self._back_off()
        after_s = min(self._watched.every_s, RETRY_S * 2.0**check.attempts)
        message = "stack %s (%s): drift: the cloud failed, checks pause for %.0f s: %s"
        log.warning(message, check.row.name, check.row.id, pause_s, reason)
        self._services.observer.drift_checked("failed")
        await self._postpone(check, after_s, check.attempts + 1)

    def _back_off(self) -> float:
        """Start no checks for some time, longer after each failure; return the seconds."""
        self._failures += 1
        pause_s = min(2.0**self._failures, PAUSE_MAX_S, self._watched.every_s)
        self._resumes_at = time.monotonic() + pause_s
        return pause_s

    async def _postpone(self, check: DriftCheck, after_s: float, attempts: int = 0) -> None:
        store = self._services.store
        await store.run(lambda tx: drift_checks.postpone(tx, check, after_s, attempts))

    async def _finish(self, check: DriftCheck, result: Result, drifts: Sequence[Drift]) -> None:
        """Store a result, with an event if the stack has drifted or is in sync again."""
        services, every_s = self._services, self._watched.every_s
        announced = TELLS.get(result.state, check.announced)
        event = None
        if announced != check.announced:
            reason = message_of(drifts) if announced else "Drift: the resources are in sync again"
            event = event_of(check, services.new_id(), services.clock.now(), result.state, reason)
        after_s = every_s * (0.9 + 0.2 * self._watched.luck())  # spreads stacks that were delayed
        is_stored = await services.store.run(
            lambda tx: drift_checks.finish(
                tx, check, result, after_s, announced=announced, event=event
            )
        )
        if not is_stored:
            await self._postpone(check, every_s / 10)
            return
        services.observer.drift_checked(result.state)
        if event is not None:
            log.warning("stack %s (%s): %s", check.row.name, check.row.id, event.reason)


async def _refusal(cloud: Cloud) -> str | None:
    """Return why Keystone refuses the credential of a stack, or None if it does not.

    One call shows it, instead of one for each resource. Raises CloudFault if Keystone fails.
    """
    try:
        await cloud.token()
    except CloudFault as fault:
        if failing(fault):
            raise
        return f"the credential of the stack cannot be used: {fault}"
    return None


def event_of(check: DriftCheck, event_id: str, now: float, state: str, reason: str) -> Event:
    """Return the event of a stack about its drift.

    Its status is DRIFTED or IN_SYNC, so a client that waits for COMPLETE or FAILED ignores it.
    """
    status = state.upper().replace(" ", "_")
    return events.of_stack(check.row, event_id, now, Action.CHECK.value, status, reason)


def result_of(drifts: Sequence[Drift]) -> Result:
    """Return the result of a check; only a part of many or long differences is kept.

    If a service did not answer, a stack without differences is not checkable.
    """
    counts = {state.value: sum(drift.state is state for drift in drifts) for state in DriftState}
    state = together({drift.state for drift in drifts})
    reason = next((drift.reason for drift in drifts if not drift.answered), None)
    if reason is not None and state is DriftState.IN_SYNC:
        state = DriftState.NOT_CHECKABLE
    if reason is None and state is DriftState.NOT_CHECKABLE:
        reason = next((drift.reason for drift in drifts), "the stack has no resources")
    differing = [drift.as_json() for drift in _differing(drifts)[:RESOURCES_MAX]]
    for entry in differing:
        for difference in entry["differences"]:
            difference.update({key: _short(difference[key]) for key in ("want", "have")})
    return Result(state.value, counts, differing, reason)


def _differing(drifts: Sequence[Drift]) -> list[Drift]:
    return [drift for drift in drifts if drift.state in (DriftState.DRIFTED, DriftState.MISSING)]


def _short(value: object) -> object:
    size = len(json.dumps(value, default=str))
    return value if size <= VALUE_MAX else f"(a value of {size} characters)"


def message_of(drifts: Sequence[Drift]) -> str:
    """Return the reason of an event: how many resources have drifted, and which."""
    names = [_name(drift) for drift in _differing(drifts)]
    verb = "resource has" if len(names) == 1 else "resources have"
    suffix = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"Drift: {len(names)} {verb} drifted: {', '.join(names[:NAMED_MAX])}{suffix}"


def _name(drift: Drift) -> str:
    name = (
        drift.record.name
        if drift.parent_resource is None
        else (f"{drift.parent_resource}.{drift.record.name}")
    )
    return f"{name} (missing)" if drift.state is DriftState.MISSING else name

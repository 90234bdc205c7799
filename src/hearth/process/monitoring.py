"""The port for operators: metrics, and whether this process is alive and ready.

Every role can have one. It needs no token, so it listens on this machine only, unless configured.
"""

import asyncio
import importlib.metadata
import logging
import time
from collections.abc import Callable, Mapping

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hearth.engine.worker.engine import SILENT_MAX_S
from hearth.model.state import Status
from hearth.process.wiring import RunningProcess
from hearth.store import drift_checks
from hearth.store.database import prove_writable
from hearth.store.states import StateCount, states
from hearth.telemetry import catalog
from hearth.telemetry.observer import Values
from hearth.telemetry.prometheus import Metrics

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
STATES_S = 30.0  # how old the counts of stacks may be
DATABASE_S = 3.0  # after this time the database counts as unavailable


def monitoring(
    running: RunningProcess, role: str, *, work: bool, stopping: Callable[[], bool]
) -> Starlette:
    """Return the application of the port for operators.

    `role` is the name of the process's role in its metrics. If `work` is true, the process has an
    engine, and it is ready only while the engine's lease is valid. `stopping` returns whether the
    process is about to end.
    """
    metrics = running.observer
    assert isinstance(metrics, Metrics)
    counts = _Counts(running)
    _measured(running, metrics, counts, role, work=work)

    async def exposition(_: Request) -> Response:
        await counts.refresh()
        return Response(metrics.exposition(), media_type=TEXT)

    async def ready(_: Request) -> Response:
        results = await _checks(running, work=work, stopping=stopping())
        text = "".join(f"{name}: {result}\n" for name, result in results.items())
        fine = all(result == "OK" for result in results.values())
        return PlainTextResponse(text, status_code=200 if fine else 503)

    async def alive(_: Request) -> Response:
        return PlainTextResponse("OK\n")

    return Starlette(
        routes=[
            Route("/metrics", exposition),
            Route("/healthcheck", ready),
            Route("/healthcheck/ready", ready),
            Route("/healthcheck/live", alive),
        ]
    )


async def _checks(running: RunningProcess, *, work: bool, stopping: bool) -> Mapping[str, str]:
    """Return {name of the check: result}; the result is "OK" or a description of the error."""
    results = {"process": "is stopping" if stopping else "OK"}
    try:
        async with asyncio.timeout(DATABASE_S):
            await running.services.store.run(prove_writable)
        results["database"] = "OK"
    except TimeoutError:
        results["database"] = f"no answer within {DATABASE_S:.0f} s"
    except SQLAlchemyError as problem:
        log.warning("the database cannot be used: %s", str(problem).partition("\n")[0])
        results["database"] = "cannot be used; the log says why"
    if work:
        fresh = running.engine.may_write()
        results["engine"] = "OK" if fresh else f"no heartbeat for {SILENT_MAX_S:.0f} s"
    return results


class _Counts:
    """The counts of stacks by state, read at most every `STATES_S` seconds."""

    def __init__(self, running: RunningProcess) -> None:
        self._running = running
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self.states: list[StateCount] = []
        self.drift: dict[str, int] = {}

    async def refresh(self) -> None:
        """Read the counts again if they are too old. If the database is unavailable, the counts are
        empty.
        """
        async with self._reading:
            if time.monotonic() - self._read_at < STATES_S:
                return
            services = self._running.services
            try:
                async with asyncio.timeout(DATABASE_S):
                    now = services.clock.now()
                    self.states = await services.store.read(lambda tx: states(tx, now))
                    if self._running.settings.drift_check_interval_s:
                        self.drift = await services.store.read(drift_checks.states)
                self._read_at = time.monotonic()
            except (TimeoutError, SQLAlchemyError):
                self.states, self.drift = [], {}

    def drifts(self) -> Values:
        """Return the number of root stacks by the state of their last drift check."""
        return [((state,), count) for state, count in self.drift.items()]

    def stacks(self) -> Values:
        """Return the number of stacks in each state; nothing if there are no counts."""
        return [((state.action, state.status), state.stacks) for state in self.states]

    def oldest(self) -> Values:
        """Return the age of the oldest operation in progress in seconds; 0 if no operation is in
        progress.

        If there are no counts, return nothing.
        """
        began = [state.oldest for state in self.states if state.status == Status.IN_PROGRESS]
        now = self._running.services.clock.now()
        return [((), max(0.0, now - min(began, default=now)))] if self.states else []

    def overdue(self) -> Values:
        """Return the number of operations past their deadline; nothing if there are no counts."""
        return [((), sum(state.overdue for state in self.states))] if self.states else []


def _measured(
    running: RunningProcess, metrics: Metrics, counts: _Counts, role: str, *, work: bool
) -> None:
    """Register the metrics that are measured when a Prometheus server asks."""
    engine, store = running.engine, running.services.store
    version = importlib.metadata.version("hearth")
    metrics.measure(catalog.BUILD.name, lambda: [((version, role), 1)])
    metrics.measure(catalog.STATEMENTS.name, lambda: [((), store.statements)])
    metrics.measure(catalog.CALLS_IN_FLIGHT.name, lambda: [((), running.pool.in_flight)])
    if work:
        metrics.measure(catalog.OWNED.name, lambda: [((), len(engine.workers))])
        metrics.measure(catalog.LEASE_S.name, lambda: [((), engine.silent_s())])
        metrics.measure(catalog.DRIFT_STACKS.name, counts.drifts)
        metrics.measure(catalog.STACKS.name, counts.stacks)
        metrics.measure(catalog.OLDEST_S.name, counts.oldest)
        metrics.measure(catalog.OVERDUE.name, counts.overdue)

"""A node in flight: one resource action with calls, from its intent to its end.

Intent, call, answer, end: a write call goes out only after its intent is committed, and what it
gave is committed before the next call. Whoever takes over knows the step from the row and first
looks for the key.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import Wanted
from hearth.engine.core.graph import Key, Kind
from hearth.engine.core.record import Held, Record
from hearth.engine.worker import pure, visit
from hearth.engine.worker.bring_up import bring_up, go_on
from hearth.engine.worker.calls import Calls
from hearth.engine.worker.clean_up import clean_up
from hearth.engine.worker.live import attributes_of
from hearth.engine.worker.live import live as seen
from hearth.engine.worker.nest import Nest
from hearth.engine.worker.trouble import Stopped, Superseded, Trouble, trouble_of
from hearth.model.state import Action, Status
from hearth.resources.base import Live, ResourceType, Step
from hearth.store.claim import InFlight
from hearth.store.commit import Fate, NodeRow
from hearth.store.database import is_outage

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)


class Flight(Calls):
    """One resource being worked on."""

    def __init__(
        self, work: "StackWork", record: Record, kind: Kind, key: Key | None, traversal: str
    ) -> None:
        super().__init__()
        self.work = work
        self.record_id = record.id
        self.kind = kind
        self.key = key
        self.traversal = traversal
        self.asked_by = traversal  # what a nested stack was asked under; never changes
        self.holds: list[Key] = []
        self.row: InFlight | None = None  # what an earlier owner had committed
        self.began_at = work.tools.clock.now()
        self.nest: Nest | None = None
        self.there: str | None = None  # the nested stack that was found
        self.early: list[tuple[int, Any]] = []  # letters that came before it waited for one
        self.letter: int | None = None  # to be marked as read with the end
        self.doing = Action.DELETE if kind is Kind.CLEANUP else Action.UPDATE
        self._task: asyncio.Task[None] | None = None
        self.begun = False  # its row was put
        self.committed = False  # and written
        self.attempted: Wanted | None = None  # by an update

    @classmethod
    def resumed(cls, work: "StackWork", record: Record, row: InFlight) -> "Flight":
        """A flight that goes on where an earlier owner was."""
        flight = cls(work, record, Kind(row.kind), None, row.traversal)
        flight.row = row
        flight.began_at = row.started_at
        flight.begun = flight.committed = True
        return flight

    # -- what others call ------------------------------------------------------------------

    def launch(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self, why: str) -> None:
        """Break off at the next pause; a call under way is not cut."""
        self._stopped = why
        self._look.set()

    def look(self) -> None:
        """Something changed that this one may be waiting for."""
        self._look.set()

    def kill(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def child_ended(self, letter: int, body: Any) -> bool:
        """The nested stack's operation ended; False if it is not the one waited for."""
        if self.nest is None:  # it may be about to wait
            self.early.append((letter, body))
            return True
        return self.nest.heard(letter, body)

    def cancel_child(self) -> None:
        """Tell a nested stack that is being worked on to stop; one that goes may go."""
        if self.nest is not None and self.kind is not Kind.CLEANUP:
            self.nest.cancel()

    # -- the whole -------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            if self.kind is Kind.VISIT:
                await visit.carry_out(self)
            elif self.kind is Kind.CLEANUP:
                await clean_up(self)
            elif self.row is not None:
                await go_on(self, self.row)
            else:
                await bring_up(self)
        except asyncio.CancelledError:
            return
        except Superseded:
            pass
        except Stopped as why:
            self._abort(self.doing, str(why))
        except Exception as problem:
            if is_outage(problem):  # the stack is taken up from its rows again
                self.work.break_off(problem)
                return
            if not isinstance(problem, CloudFault | Trouble):
                log.exception("resource %s: engine fault", self.record_id)
            self._fail(trouble_of(problem))
        if self.work.flights.get(self.record_id) is self:
            del self.work.flights[self.record_id]
        self.work.operation.flight_ended(self)

    # -- steps -----------------------------------------------------------------------------

    async def begin(
        self,
        action: Action,
        kind: ResourceType,
        wanted: Wanted,
        attempt: int,
        live: Live,
        *,
        show: bool = True,
    ) -> None:
        """Commit the intent, and with it that the resource is being worked on."""
        work = self.work
        first = not self.committed
        self.begun = True
        if self.kind is Kind.CLEANUP or action is not Action.DELETE:
            self.doing = action
        record = self.record
        before = record.action, record.status
        record = record.having(
            action=action, status=Status.IN_PROGRESS, reason="state changed",
            traversal=self.traversal,
        )  # fmt: skip
        makes = action in (Action.CREATE, Action.ADOPT)
        if makes:
            record = record.having(
                requires=wanted.requires,
                held=Held(
                    kind=wanted.kind, parts=wanted.parts, written=wanted.written,
                    properties=wanted.properties, secret=wanted.secret,
                    deletion_policy=wanted.deletion_policy,
                ),
            )  # fmt: skip
        if action is Action.UPDATE:
            self.attempted = wanted
        moves = action is Action.UPDATE and not wanted.requires <= record.requires
        if moves:  # until it has ended it may be built upon the old ones and the new
            record = record.having(requires=record.requires | wanted.requires)
        work.put(record, full=makes or moves, advance=first)
        if show and before != (action, Status.IN_PROGRESS):
            aim = wanted if action is Action.UPDATE else None
            work.event(record, Status.IN_PROGRESS, advance=first, wanted=aim)
        steps = () if kind.nested else self.steps_of(kind, live, action)
        row = self.node_row(action, "intent", steps[0].name if steps else "", attempt, wanted)
        (work.advance.nodes if first else work.sure.moved).append(row)
        if first and makes and wanted.metadata and record.id not in work.advance.metadata:
            work.advance.metadata[record.id] = wanted.metadata
            work.metadata[record.id] = wanted.metadata
            live.metadata = wanted.metadata
        if kind.nested:  # what is asked of the child is committed with it
            return
        await self.until_committed()

    async def until_committed(self) -> None:
        starts = self.begun and not self.committed
        fate = await self.work.committed(start=starts)
        if fate is Fate.DONE:
            self.committed = self.begun
        elif starts:
            raise Superseded

    def node_row(
        self, action: Action, phase: str, step: str, attempt: int, wanted: Wanted
    ) -> NodeRow:
        return NodeRow(
            self.record_id, self.traversal, self.kind.value, action.value, phase, step, attempt,
            self.began_at, wanted,
        )  # fmt: skip

    async def run_steps(
        self,
        kind: ResourceType,
        live: Live,
        action: Action,
        wanted: Wanted,
        attempt: int,
        *,
        first: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """All steps of an action, from the first or from where an earlier owner was. `first` is
        done before the call of the first one; a stop may end it, so what an earlier call made has
        been looked for by then."""
        steps = self.steps_of(kind, live, action)
        row, self.row = self.row, None
        at, phase = 0, ""
        if row is not None:
            names = [step.name for step in steps]
            at = names.index(row.step) if row.step in names else 0
            phase = row.phase
        for i in range(at, len(steps)):
            step = steps[i]
            if phase == "accepted" and i == at:
                await self.poll(step, live)
                continue
            if i > at:
                self.work.sure.moved.append(
                    self.node_row(action, "intent", step.name, attempt, wanted)
                )
                await self.until_committed()
            found = None
            if phase == "intent" and i == at:
                found = await self.looked_for(kind, step, live)
                # what an earlier engine sent may still be on its way, or have come twice
                self.strayed(kind, live, "the engine that sent it died")
                if found is None:
                    await self.until_committed()  # whoever comes next knows of two calls
            if found is None:
                lost = phase == "intent" and i == at and action is Action.CREATE
                lost = lost and step.find is None
                if first is not None and i == 0 and not lost:
                    await first()
                found = await self.call(kind, step, live, lost=lost)
            self.absorb(found, live)
            self.work.sure.moved.append(
                self.node_row(action, "accepted", step.name, attempt, wanted)
            )
            await self.poll(step, live)

    def steps_of(self, kind: ResourceType, live: Live, action: Action) -> tuple[Step, ...]:
        """The type's steps; where a snapshot is wanted first, those that make one and delete."""
        record = self.record
        snapshot = self.kind is Kind.CLEANUP and record.held.deletion_policy == "Snapshot"
        if snapshot and record.held.reference is not None and kind.snapshot_policy_allowed:
            return kind.snapshot_delete_steps(live)
        return kind.steps(action, live)

    # -- ends ------------------------------------------------------------------------------

    async def succeed(self, kind: ResourceType, live: Live, wanted: Wanted, action: Action) -> None:
        """The action and with it the node ended well."""
        ended = await self.conclude(kind, live, wanted, action)
        key = None if self.is_over() else self.key
        if not self.work.operation.hooks.after(key, ended, action, sure=True):
            self.done()

    async def conclude(
        self, kind: ResourceType, live: Live, wanted: Wanted, action: Action
    ) -> Record:
        """Record that the action ended well."""
        work = self.work
        await self.sweep(kind, live)
        known = self.record.held.attributes if self.nest and self.nest.known else None
        attributes = await attributes_of(work, self.record, kind, live, known)
        ended = self.record.having(
            action=action,
            status=Status.COMPLETE,
            reason="state changed",
            traversal=self.traversal,
            replaced_by=self.record.replaced_by if self.is_over() else None,
            requires=wanted.requires,
            held=pure.held(wanted, kind, live, attributes),
            updated_at=work.tools.clock.now(),
        )
        work.put(ended, full=True)
        work.event(ended, Status.COMPLETE)
        self.end_row()
        return ended

    def end_row(self) -> None:
        nodes = self.work.advance.nodes
        if not self.committed:  # it ends before it could begin
            nodes[:] = [row for row in nodes if row.resource_id != self.record_id]
        self.work.sure.ended.append(self.record_id)
        if self.letter is not None:
            self.work.sure.read.append(self.letter)
        self.work.sure.read += [letter for letter, _ in self.early]

    def start_over(self) -> None:
        """One action has ended, and another may begin with an intent of its own."""
        self.row, self.begun, self.committed = None, False, False

    def refuse(self, trouble: Trouble) -> None:
        """The node fails before anything was done."""
        assert self.key is not None
        operation = self.work.operation
        pure.fail(operation, operation.graph[self.key], self.record, trouble)

    def done(self) -> None:
        if self.key is not None and self.traversal == self.work.stack.traversal:
            self.work.operation.done(self.key)
        self.work.wake()

    def _fail(self, trouble: Trouble) -> None:
        """The action failed: record it, and with it the stack."""
        record = self.work.records.get(self.record_id)
        if record is None:
            return
        if self.kind is Kind.CLEANUP:
            record = record.having(action=Action.DELETE)
        reason = trouble.reason(record.name)
        self.end_badly(record, reason)
        if self.traversal == self.work.stack.traversal:
            self.work.operation.failed(self.key, f"Resource {record.action} failed: {reason}")
        self.work.wake()

    def _abort(self, action: Action, why: str) -> None:
        self.end_badly(self.record, f"{action} aborted ({why})")
        self.work.wake()

    def end_badly(self, record: Record, reason: str) -> None:
        """Record that the action failed."""
        work = self.work
        failed = record.having(
            status=Status.FAILED, reason=reason, updated_at=work.tools.clock.now()
        )
        if (tried := self.attempted) is not None:
            secret = tuple(sorted({*failed.held.secret, *tried.secret}))
            held = failed.held.having(attempted=tried.properties, secret=secret)
            failed = failed.having(held=held)
        work.put(failed, full=self.attempted is not None)
        if record.status is Status.IN_PROGRESS:  # not in the pause between two attempts
            work.event(failed, Status.FAILED, reason)
        self.end_row()

    def not_stale(self) -> None:
        if self.traversal != self.work.stack.traversal or self.work.operation.over:
            raise Superseded

    def is_over(self) -> bool:
        return self.traversal != self.work.stack.traversal

    # -- seen by the type ------------------------------------------------------------------

    def live(self, kind: ResourceType, action: Action, properties: Any, **more: Any) -> Live:
        return seen(
            self.work, self.record, kind, action,
            properties=properties, started_at=self.began_at, **more,
        )  # fmt: skip

    def live_of(self, record: Record, kind: ResourceType) -> Live:
        return seen(
            self.work, record, kind, Action.DELETE,
            properties=record.held.properties, started_at=self.began_at,
        )  # fmt: skip

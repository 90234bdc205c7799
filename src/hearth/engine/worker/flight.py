"""A node in flight: one resource action with calls, from its intent to its end.

Intent, call, answer, end: a write call goes out only after its intent is committed, and what it
gave is committed before the next call. Whoever takes over knows the step from the row and first
looks for the key.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.decide import Decision, Verdict, Wanted, decide
from hearth.engine.core.graph import Key, Kind
from hearth.engine.core.record import Held, Record
from hearth.engine.core.retry import CREATE_RETRIES_MAX, retry_delay_s
from hearth.engine.worker import pure
from hearth.engine.worker.live import facts_of
from hearth.engine.worker.live import live as live_of
from hearth.engine.worker.nest import Nest
from hearth.engine.worker.trouble import Stopped, Superseded, Trouble, trouble_from, trouble_of
from hearth.engine.worker.wanted import wanted_of
from hearth.model.state import Action, Status
from hearth.resources.base import Change, Failed, Later, Live, Made, Ready, ResourceType, Step
from hearth.store.claim import InFlight, Stray
from hearth.store.commit import Fate, NodeRow

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

PASSING_PAUSE_S = 2.0
PASSING_MAX = 8  # repetitions of a call that certainly had no effect
LOOK_AGAIN_S = 1.0
LEASE_PAUSE_S = 0.5

_wanted = msgspec.json.Decoder(Wanted).decode


class Flight:
    """One resource being worked on."""

    def __init__(
        self, work: "StackWork", record: Record, kind: Kind, key: Key | None, traversal: str
    ) -> None:
        self.work = work
        self.record_id = record.id
        self.kind = kind
        self.key = key
        self.traversal = traversal
        self.holds: list[Key] = []
        self.rests_until: float | None = None  # None: it is at something
        self.row: InFlight | None = None  # what an earlier owner had committed
        self.began_at = work.tools.clock.now()
        self.nest: Nest | None = None
        self.letter: int | None = None  # to be marked as read with the end
        self.doing = Action.DELETE if kind is Kind.CLEANUP else Action.UPDATE
        self._stopped: str | None = None
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._committed = False

    @classmethod
    def resumed(cls, work: "StackWork", record: Record, row: InFlight) -> "Flight":
        """A flight that goes on where an earlier owner was."""
        flight = cls(work, record, Kind(row.kind), None, row.traversal)
        flight.row = row
        flight.began_at = row.started_at
        flight._committed = True
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
        return self.nest is not None and self.nest.heard(letter, body)

    def cancel_child(self) -> None:
        """Tell a nested stack that is being worked on to stop."""
        if self.nest is not None:
            self.nest.cancel()

    def rest(self, until: float) -> None:
        """Nothing is under way before `until`, unless news comes."""
        self.rests_until = until
        if self.work.handing_over:
            self.work.wake()

    @property
    def record(self) -> Record:
        return self.work.records[self.record_id]

    # -- the whole -------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            if self.kind is Kind.CLEANUP:
                await self._clean_up()
            elif self.row is not None:
                await self._go_on(self.row)
            else:
                await self._bring_up()
        except asyncio.CancelledError:
            return
        except Superseded:
            pass
        except Stopped as why:
            self._abort(self.doing, str(why))
        except Exception as problem:
            if not isinstance(problem, CloudFault | Trouble):
                log.exception("resource %s: engine fault", self.record_id)
            self._fail(trouble_of(problem))
        if self.work.flights.get(self.record_id) is self:
            del self.work.flights[self.record_id]
        self.work.operation.flight_ended(self)

    async def _bring_up(self) -> None:
        """The update node: decide with real values, then create, update or replace."""
        work, record = self.work, self.record
        operation = work.operation
        definition = operation.program.resources[record.name]
        kind = work.tools.programs.kind_of(definition)
        try:
            evaluated = definition.evaluate(operation.world)
            resolved = await work.resolve(kind, evaluated.properties)
            wanted = wanted_of(operation, definition, evaluated, kind.name, resolved)
            replace_failed = record.failed and await kind.replace_failed(
                self._live(kind, Action.UPDATE, record.held.properties)
            )
        except Exception as problem:
            self._not_stale()
            trouble = trouble_of(problem)
            pure.fail(operation, operation.graph[self.key], record, trouble)  # type: ignore[index]
            return
        self._not_stale()
        if record.replaced_by is not None:  # a rollback returns to it
            live = self._live(kind, Action.RESTORE, record.held.properties)
            await self._aside(kind, live, kind.taken_back_steps(live))
            self._not_stale()
            record = self.record
        decision = decide(
            record,
            wanted,
            kind.properties,
            replace_failed=replace_failed,
            must_replace=lambda before, after, changed: kind.must_replace(
                Change(before, after, changed)
            ),
            nested=kind.nested,
            always=kind.replaced_at_every_update and work.stack.action is Action.UPDATE,
        )
        match decision.verdict:
            case Verdict.KEEP:
                live = self._live(kind, record.action, wanted.properties)
                attributes = await self._attributes(kind, live, dict(record.held.attributes))
                self._not_stale()
                pure.keep(operation, record, wanted, attributes)
                self._done()
            case Verdict.FAIL:
                trouble = Trouble("NotSupported", decision.reason)
                pure.fail(operation, operation.graph[self.key], record, trouble)  # type: ignore[index]
            case Verdict.UPDATE:
                await self._update(kind, wanted, decision)
            case Verdict.REPLACE:
                await self._replace(kind, wanted, decision)
            case Verdict.CREATE:
                await self._create(kind, wanted, 0)

    async def _replace(self, kind: ResourceType, wanted: Wanted, decision: Decision) -> None:
        work, old = self.work, self.record
        new = pure.replacement(work.operation, old, wanted, late=decision.late)
        del work.flights[old.id]
        self.record_id = new.id
        work.flights[new.id] = self
        before = work.tools.programs.type_of(old)
        live = None if before is None else self._live_of(old, before)
        released = () if before is None or live is None else before.replaced_steps(live)
        await self._create(kind, wanted, 0, before=(live, released) if released else None)

    async def _create(
        self,
        kind: ResourceType,
        wanted: Wanted,
        attempt: int,
        *,
        before: tuple[Live | None, Sequence[Step]] | None = None,
    ) -> None:
        """Create, and create again after removing what was made, as often as is allowed."""
        while True:
            live = self._live(kind, Action.CREATE, wanted.properties)
            try:
                await self._begin(Action.CREATE, kind, wanted, attempt, live)
                if before is not None and before[0] is not None:
                    await self._aside(kind, before[0], before[1])
                if kind.nested:
                    await Nest(self).carry_out(kind, live, Action.CREATE)
                else:
                    await self._steps(kind, live, Action.CREATE, wanted, attempt)
            except (CloudFault, Trouble) as problem:
                trouble = trouble_of(problem)
                if not trouble.retry or attempt >= CREATE_RETRIES_MAX or self._is_over():
                    raise
            else:
                await self._succeed(kind, live, wanted, Action.CREATE)
                return
            attempt += 1
            await self._again(kind, wanted, attempt, trouble)

    async def _aside(self, kind: ResourceType, live: Live, steps: Sequence[Step]) -> None:
        """Steps on a record beside the action: they may be run again, so no intent is kept."""
        for step in steps:
            self._absorb_aside(await self._call(kind, step, live), live)
            await self._poll(step, live)

    def _absorb_aside(self, made: Made | None, live: Live) -> None:
        if made is not None and made.data:
            self.work.sure.data[live.record_id] = {
                **self.work.sure.data.get(live.record_id, {}),
                **made.data,
            }
            merged = {**live.data, **made.data}
            live.data = {key: value for key, value in merged.items() if value is not None}

    async def _again(
        self, kind: ResourceType, wanted: Wanted, attempt: int, trouble: Trouble
    ) -> None:
        """Between two attempts: show the failure, remove what was made, pause."""
        work = self.work
        reason = trouble.reason(self.record.name)
        failed = self.record.having(status=Status.FAILED, reason=reason)
        work.put(failed)
        work.event(failed, Status.FAILED, reason)
        live = self._live(kind, Action.DELETE, wanted.properties)
        if failed.physical_id is not None or kind.steps(Action.DELETE, live):
            leaving = failed.having(action=Action.DELETE, status=Status.IN_PROGRESS)
            work.put(leaving)
            work.event(leaving, Status.IN_PROGRESS)
            await self._begin(Action.DELETE, kind, wanted, attempt, live, show=False)
            await self._steps(kind, live, Action.DELETE, wanted, attempt)
            gone = self.record.having(status=Status.COMPLETE, reason="state changed")
            work.event(gone, Status.COMPLETE)
            work.put(gone.having(physical_id=None))
        await self._pause(retry_delay_s(attempt, work.tools.luck()))

    async def _update(self, kind: ResourceType, wanted: Wanted, decision: Decision) -> None:
        live = self._live(
            kind,
            Action.UPDATE,
            wanted.properties,
            before=self.record.held.properties,
            changed=decision.changed,
        )
        await self._begin(Action.UPDATE, kind, wanted, 0, live)
        if kind.nested:
            await Nest(self).carry_out(kind, live, Action.UPDATE)
        else:
            await self._steps(kind, live, Action.UPDATE, wanted, 0)
        await self._succeed(kind, live, wanted, Action.UPDATE)

    async def _go_on(self, row: InFlight) -> None:
        """Resume what an earlier owner had begun."""
        wanted = _wanted(msgspec.json.encode(row.wanted))
        kind = self.work.tools.programs.kind_named(wanted.kind)
        if kind is None:
            raise Trouble("EntityNotFound", f"the type {wanted.kind} is not known any more")
        action = Action(row.action)
        self.doing = Action.CREATE if action is Action.DELETE else action
        if action is Action.UPDATE:
            changed = frozenset(
                name
                for name in {*self.record.held.properties, *wanted.properties}
                if self.record.held.properties.get(name) != wanted.properties.get(name)
            )
            live = self._live(
                kind, action, wanted.properties,
                before=self.record.held.properties, changed=changed,
            )  # fmt: skip
        else:
            live = self._live(kind, action, wanted.properties)
        try:
            if kind.nested:
                await Nest(self, resumed=True).carry_out(kind, live, action)
            else:
                await self._steps(kind, live, action, wanted, row.attempt)
        except (CloudFault, Trouble) as problem:
            trouble = trouble_of(problem)
            if action is Action.UPDATE or not trouble.retry or row.attempt >= CREATE_RETRIES_MAX:
                raise
            self.row = None
            await self._again(kind, wanted, row.attempt + 1, trouble)
            await self._create(kind, wanted, row.attempt + 1)
            return
        self.row = None
        if action is Action.DELETE:  # the pause between two attempts of a create
            self.work.put(self.record.having(physical_id=None))
            await self._create(kind, wanted, row.attempt)
            return
        await self._succeed(kind, live, wanted, action)

    async def _clean_up(self) -> None:
        """The clean-up node: remove the physical thing, then the record."""
        work, record = self.work, self.record
        kind = work.tools.programs.type_of(record)
        if kind is None:
            raise Trouble("EntityNotFound", f"the type {record.type} is not known any more")
        live = self._live_of(record, kind)
        wanted = Wanted(
            "", record.held.kind, {}, {}, record.held.properties, (), {}, "", record.requires
        )
        attempt = self.row.attempt if self.row else 0
        if self.row is None:
            await self._begin(Action.DELETE, kind, wanted, attempt, live)
        while True:
            try:
                if kind.nested:
                    await Nest(self, resumed=self.row is not None).carry_out(
                        kind, live, Action.DELETE
                    )
                else:
                    if live.physical_id is None:
                        await self._find_unrecorded(kind, live)
                    await self._steps(kind, live, Action.DELETE, wanted, attempt)
                break
            except CloudFault as fault:
                if not fault.conflict or attempt >= CREATE_RETRIES_MAX:
                    raise
            self.row = None
            attempt += 1
            await self._pause(retry_delay_s(attempt, work.tools.luck()))
        await self._sweep(kind, live)
        work.event(self.record, Status.COMPLETE)
        self._end_row()
        work.drop(self.record)
        self._done()

    # -- steps -----------------------------------------------------------------------------

    async def _begin(
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
        first = not self._committed
        if self.kind is Kind.CLEANUP or action is not Action.DELETE:
            self.doing = action
        record = self.record
        before = record.action, record.status
        record = record.having(
            action=action, status=Status.IN_PROGRESS, reason="state changed",
            traversal=self.traversal,
        )  # fmt: skip
        if action is Action.CREATE:
            record = record.having(
                requires=wanted.requires,
                held=Held(
                    kind=wanted.kind, parts=wanted.parts, written=wanted.written,
                    properties=wanted.properties, secret=wanted.secret,
                    deletion_policy=wanted.deletion_policy,
                ),
            )  # fmt: skip
        work.put(record, full=action is Action.CREATE, advance=first)
        if show and before != (action, Status.IN_PROGRESS):
            work.event(record, Status.IN_PROGRESS, advance=first)
        steps = () if kind.nested else self._steps_of(kind, live, action)
        row = self._row(action, "intent", steps[0].name if steps else "", attempt, wanted)
        (work.advance.nodes if first else work.sure.moved).append(row)
        if first and action is Action.CREATE and wanted.metadata:
            work.advance.metadata[record.id] = wanted.metadata
            work.metadata[record.id] = wanted.metadata
            live.metadata = wanted.metadata
        if kind.nested and action is not Action.DELETE:
            return
        await self.until_committed()

    async def until_committed(self) -> None:
        fate = await self.work.committed(start=not self._committed)
        if fate is Fate.DONE:
            self._committed = True
        elif not self._committed:
            raise Superseded

    def _row(self, action: Action, phase: str, step: str, attempt: int, wanted: Wanted) -> NodeRow:
        return NodeRow(
            self.record_id, self.traversal, self.kind.value, action.value, phase, step, attempt,
            self.began_at, msgspec.to_builtins(wanted),
        )  # fmt: skip

    async def _steps(
        self, kind: ResourceType, live: Live, action: Action, wanted: Wanted, attempt: int
    ) -> None:
        """All steps of an action, from the first or from where an earlier owner was."""
        steps = self._steps_of(kind, live, action)
        row, self.row = self.row, None
        at, phase = 0, ""
        if row is not None:
            names = [step.name for step in steps]
            at = names.index(row.step) if row.step in names else 0
            phase = row.phase
        for i in range(at, len(steps)):
            step = steps[i]
            if i > at or phase == "accepted":
                pass
            if phase == "accepted" and i == at:
                await self._poll(step, live)
                continue
            if i > at:
                self.work.sure.moved.append(self._row(action, "intent", step.name, attempt, wanted))
                await self.until_committed()
            found = None
            if phase == "intent" and i == at and step.find is not None:
                found = await self._find(kind, step, live)
            if found is None:
                lost = phase == "intent" and i == at and action is Action.CREATE
                lost = lost and step.find is None
                found = await self._call(kind, step, live, lost=lost)
            self._absorb(found, live)
            self.work.sure.moved.append(self._row(action, "accepted", step.name, attempt, wanted))
            await self._poll(step, live)

    def _steps_of(self, kind: ResourceType, live: Live, action: Action) -> tuple[Step, ...]:
        """The type's steps; where a snapshot is wanted first, those that make one and delete."""
        record = self.record
        snapshot = self.kind is Kind.CLEANUP and record.held.deletion_policy == "Snapshot"
        if snapshot and record.held.reference is not None and kind.snapshot_policy_allowed:
            return kind.snapshot_delete_steps(live)
        return kind.steps(action, live)

    async def _call(
        self, kind: ResourceType, step: Step, live: Live, *, lost: bool = False
    ) -> Made | None:
        """The write call. Without an answer it is looked for before it is made again.

        `lost`: an earlier attempt may have made something, and only to do it again can tell what;
        no stop forbids that.
        """
        passing = 0
        while True:
            while not self.work.engine.may_write():
                await self._pause(LEASE_PAUSE_S)
            if not lost:
                self._not_stopped()
            live.stack = facts_of(self.work)  # the step before may have made the stack's project
            try:
                return await step.do(live)
            except NoAnswer as fault:
                self._strayed(kind, live, fault)
                await self.until_committed()
                if step.find is not None:
                    found = await self._find(kind, step, live)
                    if found is not None:
                        return found
                else:
                    lost = live.action is Action.CREATE
                last: CloudFault = fault
            except CloudFault as fault:
                if not fault.passing:
                    raise
                last = fault
            passing += 1
            if passing > PASSING_MAX:
                raise last
            pause_s = last.retry_after or PASSING_PAUSE_S
            await (asyncio.sleep(pause_s) if lost else self._pause(pause_s))

    async def _find(self, kind: ResourceType, step: Step, live: Live) -> Made | None:
        """Look for what an attempt made, for as long as it may be there and not be seen."""
        assert step.find is not None
        until = self.work.tools.clock.now() + kind.visibility_delay_s
        while True:
            try:
                found = await step.find(live)
            except CloudFault as fault:
                if not fault.passing and not isinstance(fault, NoAnswer):
                    raise
                found = None
                until += LOOK_AGAIN_S
            if found is not None:
                return found
            if self.work.tools.clock.now() >= until:
                return None
            await asyncio.sleep(LOOK_AGAIN_S)

    def _absorb(self, made: Made | None, live: Live) -> None:
        """What a call gave, in memory and for the next commit."""
        if made is None:
            return
        work, record = self.work, self.record
        if made.physical_id is not None and made.physical_id != record.physical_id:
            live.physical_id = made.physical_id
            work.put(record.having(physical_id=made.physical_id))
        if made.data:
            merged = {**live.data, **made.data}
            live.data = {k: v for k, v in merged.items() if v is not None}
            work.data[record.id] = dict(live.data)
            work.sure.data[record.id] = {**work.sure.data.get(record.id, {}), **made.data}
        if made.metadata is not None:
            live.metadata = made.metadata
            work.metadata[record.id] = made.metadata
            work.sure.metadata[record.id] = made.metadata
        if made.body is not None:
            live.body = made.body

    async def _poll(self, step: Step, live: Live) -> None:
        """Wait until the step is done."""
        if step.poll is None:
            return
        ticket = self.work.committed()
        while True:
            self._not_stopped()
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
            await self._pause(after_s, wakes=True)

    async def _pause(self, seconds: float, *, wakes: bool = False) -> None:
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
        self._not_stopped()

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

    def _strayed(self, kind: ResourceType, live: Live, fault: NoAnswer) -> None:
        """An attempt ended without an answer: what it made may turn up later."""
        work = self.work
        row = Stray(
            work.tools.new_id(), self.record_id, kind.type_name, work.tools.clock.now(),
            {"properties": dict(live.properties), "why": fault.message},
        )  # fmt: skip
        work.operation.strays.append(row)
        work.sure.strays.append(
            {
                "id": row.id,
                "resource_id": row.resource_id,
                "resource_type": row.resource_type,
                "since": row.since,
                "facts": row.facts,
            }
        )

    async def _find_unrecorded(self, kind: ResourceType, live: Live) -> None:
        """A record without physical id, of which an attempt may have made something after all."""
        if not any(s.resource_id == self.record_id for s in self.work.operation.strays):
            return
        for found in await kind.strays(live):
            live.physical_id = found
            self.work.put(self.record.having(physical_id=found))
            return

    async def _sweep(self, kind: ResourceType, live: Live) -> None:
        """Delete what turned up under the record's key beside the recorded thing."""
        operation = self.work.operation
        mine = [s for s in operation.strays if s.resource_id == self.record_id]
        for stray in mine:
            rest = stray.since + kind.visibility_delay_s - self.work.tools.clock.now()
            if rest > 0:
                await asyncio.sleep(rest)
            for found in await kind.strays(live):
                await kind.drop_stray(live, found)
            operation.strays.remove(stray)
            self.work.sure.strays_gone.append(stray.id)

    # -- ends ------------------------------------------------------------------------------

    async def _succeed(
        self, kind: ResourceType, live: Live, wanted: Wanted, action: Action
    ) -> None:
        work = self.work
        await self._sweep(kind, live)
        attributes = await self._attributes(kind, live, {})
        ended = self.record.having(
            action=action,
            status=Status.COMPLETE,
            reason="state changed",
            traversal=self.traversal,
            replaced_by=None,
            requires=wanted.requires,
            held=pure.held(wanted, kind, live, attributes),
            updated_at=work.tools.clock.now(),
        )
        work.put(ended, full=True)
        work.event(ended, Status.COMPLETE)
        self._end_row()
        self._done()

    def _end_row(self) -> None:
        self.work.sure.ended.append(self.record_id)
        if self.letter is not None:
            self.work.sure.read.append(self.letter)

    async def _attributes(
        self, kind: ResourceType, live: Live, known: dict[str, Any]
    ) -> dict[str, Any]:
        """What the last body gives, and what the template reads beyond that."""
        attributes = {**known, **kind.recordable(live)}
        for name in self.work.operation.reads(self.record.name, kind):
            if name not in attributes:
                try:
                    attributes[name] = await kind.attribute(live, name)
                except (CloudFault, Trouble, LookupError, TypeError) as problem:
                    log.info("attribute %s of %s: %s", name, self.record.name, problem)
                    attributes[name] = None
        return attributes

    def _done(self) -> None:
        if self.key is not None and self.traversal == self.work.stack.traversal:
            self.work.operation.done(self.key)
        self.work.wake()

    def _fail(self, trouble: Trouble) -> None:
        """The action failed: record it, and with it the stack."""
        record = self.work.records.get(self.record_id)
        if record is None:
            return
        reason = trouble.reason(record.name)
        self._ended_badly(record, reason)
        if self.traversal == self.work.stack.traversal:
            self.work.operation.failed(self.key, f"Resource {record.action} failed: {reason}")
        self.work.wake()

    def _abort(self, action: Action, why: str) -> None:
        self._ended_badly(self.record, f"{action} aborted ({why})")
        self.work.wake()

    def _ended_badly(self, record: Record, reason: str) -> None:
        work = self.work
        failed = record.having(
            status=Status.FAILED, reason=reason, updated_at=work.tools.clock.now()
        )
        work.put(failed)
        work.event(failed, Status.FAILED, reason)
        self._end_row()

    def _not_stale(self) -> None:
        if self.traversal != self.work.stack.traversal or self.work.operation.over:
            raise Superseded

    def _not_stopped(self) -> None:
        if self._stopped is not None:
            raise Stopped(self._stopped)

    def _is_over(self) -> bool:
        return self.traversal != self.work.stack.traversal

    # -- seen by the type ------------------------------------------------------------------

    def _live(self, kind: ResourceType, action: Action, properties: Any, **more: Any) -> Live:
        return live_of(
            self.work, self.record, kind, action,
            properties=properties, started_at=self.began_at, **more,
        )  # fmt: skip

    def _live_of(self, record: Record, kind: ResourceType) -> Live:
        return live_of(
            self.work, record, kind, Action.DELETE,
            properties=record.held.properties, started_at=self.began_at,
        )  # fmt: skip

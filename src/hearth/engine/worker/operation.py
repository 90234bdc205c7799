"""The operation a stack is in: its program, its graph, and how it ends.

Begun from rows at any time: after a take-over or a newer request the same code plans again,
knowing what is in flight. A flight of any older traversal is a requirement of the new node of the
same record.
"""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core import graph as graphs
from hearth.engine.core.graph import Graph, Key, Kind, Node, State
from hearth.engine.core.plan import Plan, Target, plan
from hearth.engine.core.record import Record
from hearth.engine.worker import pure
from hearth.engine.worker.flight import Flight
from hearth.engine.worker.world import RecordedWorld
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.model.unknown import nulled
from hearth.resources.base import ResourceType
from hearth.store.claim import InFlight, Stray, member
from hearth.store.commit import Letter
from hearth.store.rows import Revision

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

NODES_A_SLICE = 2000  # pure nodes handled before others get their turn


class Operation:
    """What is being done to the stack now."""

    def __init__(self, work: "StackWork", revision: Revision) -> None:
        self.work = work
        self.revision = revision
        self.program: Any = None
        self.plan: Plan | None = None
        self.graph: Graph = {}
        self.open = 0  # nodes not done
        self.queue: deque[Key] = deque()
        self.current: Mapping[str, str] = {}
        self._current: dict[str, str] = {}
        self.world = RecordedWorld(work, self)
        self.traversal_known = work.stack.traversal
        self.strays: list[Stray] = []
        self.late = False  # the deadline has passed and was told to all
        self.over = work.stack.status is not Status.IN_PROGRESS

    @property
    def ready(self) -> bool:
        return bool(self.queue) and not self.over

    @property
    def traversal(self) -> str:
        return self.work.stack.traversal

    # -- beginning ---------------------------------------------------------------------------

    async def begin(self) -> None:
        """Plan from the rows and what is in flight."""
        stack = self.work.stack
        empty = stack.action is Action.DELETE or (
            stack.action is Action.ROLLBACK and stack.previous_revision == 0
        )
        if stack.action is Action.DELETE:
            self._stop_for_delete()
        await self._entrust()
        try:
            self.program = await self.work.tools.programs.of(stack, self.revision)
        except Rejected as problem:
            if not empty:
                self.fail("; ".join(p.message for p in problem.problems))
                return
        back_to = stack.previous_revision if stack.action is Action.ROLLBACK else None
        self.plan = plan(
            list(self.work.records.values()),
            None if empty else self.program,
            Target(stack.revision, stack.previous_revision, back_to),
            new_id=self.work.tools.new_id,
            now=self.work.tools.clock.now(),
            examine=self._examine,
        )
        for record in self.plan.new:
            self.work.add(record)
        for record in self.plan.touched:
            self.work.put(record, advance=True)
        self.current = self._current = dict(self.plan.wanted)
        self.graph = self.plan.graph()
        self._join_flights()
        self.open = sum(node.state is not State.DONE for node in self.graph.values())
        self.queue.extend(node.key for node in graphs.ready(self.graph))
        if not self.open:
            self._last()

    async def _entrust(self) -> None:
        if self.work.stack.action is Action.DELETE:
            return
        try:
            await self.work.entrust()
        except CloudFault as fault:
            log.warning("no trust for stack %s: %s", self.work.stack_id, fault)

    def _examine(self, record: Record, definition: Any, wanted: Mapping[str, str]) -> bool:
        """Whether a record of the same definition may hold other values than it shall."""
        self.current = wanted
        kind = self.work.tools.programs.kind_of(definition)
        recorded = record.held.attributes
        if kind.replaced_at_every_update and self.work.stack.action is Action.UPDATE:
            return True
        if kind.nested or any(n not in recorded for n in self.reads(record.name, kind)):
            return True
        required = self.program.requires[record.name]
        if record.requires != frozenset(wanted[name] for name in required):
            return True
        if not required:
            return False
        evaluated = definition.evaluate(self.world)
        return bool(evaluated.unknown) or evaluated.properties != record.held.written

    def reads(self, name: str, kind: ResourceType) -> set[str]:
        """The attributes of a resource that somebody reads: others, outputs, a parent stack."""
        wanted = {n for n in self.revision.exports if n in kind.attributes}
        if self.program is not None:
            wanted.update(read[0] for read in self.program.reads.get(name, ()))
        return wanted

    def _join_flights(self) -> None:
        """What is in flight stands for its node, or holds it up until it has ended."""
        for record_id, flight in self.work.flights.items():
            flight.holds.clear()
            key: Key = (Kind.CLEANUP, record_id)
            node = self.graph.get(key)
            if flight.kind is Kind.CLEANUP and node is not None and not node.waiting:
                node.state = State.RUNNING
                flight.key, flight.traversal = key, self.traversal
                continue
            flight.key = None
            flight.cancel_child()
            for kind in Kind:
                if (held := self.graph.get((kind, record_id))) is not None:
                    held.waiting += 1
                    flight.holds.append(held.key)

    def _stop_for_delete(self) -> None:
        for flight in self.work.flights.values():
            if flight.kind is not Kind.CLEANUP:
                flight.stop("user triggered cancel")

    def resume(self, row: InFlight) -> None:
        """A node whose intent an earlier owner committed."""
        record = self.work.records.get(row.resource_id)
        if record is None:
            self.work.sure.ended.append(row.resource_id)
            return
        flight = Flight.resumed(self.work, record, row)
        self.work.flights[record.id] = flight
        flight.launch()

    # -- going on ----------------------------------------------------------------------------

    def advance(self) -> None:
        """Start what is ready; pure types are done at once, in slices."""
        left = NODES_A_SLICE
        while self.queue and left and not self.over and not self.work.handing_over:
            left -= 1
            key = self.queue.popleft()
            node = self.graph[key]
            if node.state is not State.PLANNED or node.waiting:
                continue
            if not left % 100 and self.out_of_time():
                self.fail("Timed out")
                return
            self._start(node)
        if self.queue and not self.over:
            self.work.wake()

    def _start(self, node: Node) -> None:
        node.state = State.RUNNING
        record = self.work.records.get(node.record_id)
        if record is None:
            self.done(node.key)
            return
        if node.kind is Kind.CLEANUP and not self._must_go(record):
            self.done(node.key)
            return
        if pure.handles(self, node, record):
            pure.carry_out(self, node, record)
            return
        flight = Flight(self.work, record, node.kind, node.key, self.traversal)
        self.work.flights[record.id] = flight
        flight.launch()

    def _must_go(self, record: Record) -> bool:
        return self.current.get(record.name) != record.id

    def done(self, key: Key) -> None:
        """A node ended well: free what waited for it, and the stack when it was the last."""
        if key not in self.graph:
            return
        freed = graphs.end(self.graph, key)
        self.open -= 1
        self.queue.extend(node.key for node in freed)
        if not self.open and not self.over:
            self._last()

    def _last(self) -> None:
        """Nothing is left to do but what Hearth itself made for a root stack."""
        stack = self.work.stack
        if stack.action is Action.DELETE and stack.parent_id is None:
            self.work.spawn(self._farewell())
        else:
            self.complete()

    async def _farewell(self) -> None:
        work = self.work
        traversal = self.traversal
        try:
            await work.tools.clouds.farewell(work.stack, work.credential)
        except CloudFault as fault:
            log.warning("stack %s: %s", work.stack_id, fault)
            if not fault.not_found and fault.status != 401:
                if traversal == self.traversal:
                    self.fail(f"Error deleting project: {fault.message}")
                    work.wake()
                return
        if traversal == self.traversal and not self.over:
            self.complete()
            work.wake()

    def flight_ended(self, flight: Flight) -> None:
        """Whatever waited for a flight of an older traversal may go on."""
        for key in flight.holds:
            node = self.graph.get(key)
            if node is None:
                continue
            node.waiting -= 1
            if not node.waiting and node.state is State.PLANNED:
                self.queue.append(key)
        flight.holds.clear()
        self.work.wake()

    def replaced(self, name: str, new: Record) -> None:
        """A new record is in charge of the name."""
        self._current[name] = new.id

    def child_ended(self, letter: int, body: Mapping[str, Any]) -> bool:
        """A nested stack's operation ended; False if nobody waits for that."""
        flight = self.work.flights.get(body["record"])
        return flight is not None and flight.child_ended(letter, body)

    # -- ending ------------------------------------------------------------------------------

    def complete(self) -> None:
        """The stack's operation ended well."""
        stack = self.work.stack
        self.over = True
        reason = f"Stack {stack.action} completed successfully"
        row = replace(stack, status=Status.COMPLETE, reason=reason, takeovers=0)
        if stack.action is Action.DELETE:
            now = self.work.tools.clock.now()
            row = replace(row, deleted_at=now, live_name=None, credential_id=None)
            if stack.parent_id is None:
                self.work.advance.drop_credential = stack.credential_id
        self._set(row)
        self.work.stack_event(row)
        self._tell_parent(row)

    def failed(self, key: Key | None, reason: str) -> None:
        """A node ended badly."""
        if key in self.graph:
            self.graph[key].state = State.FAILED
        self.fail(reason)

    def fail(self, reason: str) -> None:
        """The first failure decides; what is under way goes on to its end."""
        if self.over:
            return
        self.over = True
        stack = self.work.stack
        first = stack.first_failure or reason
        row = replace(stack, status=Status.FAILED, reason=reason, first_failure=first)
        self.work.stack_event(row)
        if self._rolls_back():
            self._roll_back(row)
            return
        self._set(row)
        self._tell_parent(row)

    def _rolls_back(self) -> bool:
        stack = self.work.stack
        return not stack.disable_rollback and stack.action in (
            Action.CREATE,
            Action.UPDATE,
            Action.RESTORE,
        )

    def _roll_back(self, failed: Any) -> None:
        """X_FAILED and the start of the rollback are one transaction."""
        work, stack = self.work, self.work.stack
        now = work.tools.clock.now()
        back = 0 if stack.action is Action.CREATE else stack.previous_revision
        number = stack.revision
        if back:
            number = stack.revision + 1
            work.advance.copy_revision = (back, number)
        row = replace(
            failed,
            action=Action.ROLLBACK,
            status=Status.IN_PROGRESS,
            reason="Stack ROLLBACK started",
            revision=number,
            previous_revision=back,
            traversal=work.tools.new_id(),
            started_at=now,
            updated_at=now,
            deadline=now + (stack.timeout_mins or 60) * 60.0,
            takeovers=0,
        )
        self._set(row)
        work.stack_event(row)
        work.replan()

    def cancel(self, *, rollback: bool, traversal: str) -> None:
        """Stop what runs: nothing more starts; what is under way ends by itself."""
        if self.over or traversal != self.traversal:
            return
        stack = self.work.stack
        row = replace(stack, status=Status.FAILED, reason=f"Stack {stack.action} cancelled")
        self.over = True
        self.work.stack_event(row)
        if rollback:
            self._roll_back(row)
            return
        for flight in self.work.flights.values():
            flight.cancel_child()
        self._set(replace(row, traversal=self.work.tools.new_id()))
        self._tell_parent(row)

    def out_of_time(self) -> bool:
        """At the deadline everything in flight is told to stop; whether the stack fails by it."""
        deadline = self.work.stack.deadline
        if deadline is None or self.work.tools.clock.now() < deadline:
            return False
        self.late = True
        for flight in self.work.flights.values():
            flight.stop("Timed out")
        return not self.over

    def give_up(self, reason: str) -> None:
        self.fail(reason)

    def _set(self, row: Any) -> None:
        self.work.advance.stack = row
        self.work.stack = row

    def _tell_parent(self, row: Any) -> None:
        if row.parent_id is None:
            return
        body = {
            "record": row.parent_record,
            "child": row.id,
            "asked_by": row.parent_traversal,
            "action": row.action.value,
            "status": row.status.value,
            "reason": row.reason,
            "failure": row.first_failure,
            "outputs": self._outputs() if row.status is Status.COMPLETE else {},
            "members": self._members(),
        }
        self.work.advance.letters.append(Letter(row.parent_id, "child", body))

    def _outputs(self) -> dict[str, Any]:
        """The outputs, by name; those that cannot be told are left out."""
        if self.program is None or self.work.stack.action is Action.DELETE:
            return {}
        found: dict[str, Any] = {}
        for name, output in self.program.outputs.items():
            value, error = output.evaluate(self.world)
            if error is None:
                found[name] = nulled(value)
        return found

    def _members(self) -> dict[str, Any]:
        """The resources, for a parent that reads into this stack."""
        if not self.revision.exports:
            return {}
        members = {}
        for name, record_id in self.current.items():
            record = self.work.records.get(record_id)
            if record is not None and not record.new:
                members[name] = member(record)
        return members

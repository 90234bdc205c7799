"""The operation a stack is in: its program, its graph, and how it ends.

Begun from rows at any time: after a take-over or a newer request the same code plans again,
knowing what is in flight. A flight of any older traversal is a requirement of the new node of the
same record.
"""

import asyncio
import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core import graph as graphs
from hearth.engine.core import visit as visits
from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.graph import Graph, Key, Kind, Node, State
from hearth.engine.core.plan import Plan, Target, must_look, plan
from hearth.engine.core.record import Record
from hearth.engine.worker import pure, strays, visit
from hearth.engine.worker.compute.compute import Compute
from hearth.engine.worker.flight import Flight
from hearth.engine.worker.hooks import Hooks
from hearth.engine.worker.lifecycle import Calls, Occasion, PreFailed
from hearth.engine.worker.nest import DOCUMENT
from hearth.engine.worker.programs import read_of
from hearth.engine.worker.snapshots import drop, taken
from hearth.engine.worker.world import RecordedWorld
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.model.unknown import nulled
from hearth.resources import zones
from hearth.resources.base import ResourceType
from hearth.store.accept import ABANDON, CONVERGE, FURTHER, child_letter, says
from hearth.store.claim import InFlight, member
from hearth.store.commit import Changes, Letter
from hearth.store.reads import resources_beside
from hearth.store.rows import Revision
from hearth.store.snapshots import Snapshot
from hearth.template.budget import spending
from hearth.template.deferred import Deferred
from hearth.template.hidden import masked
from hearth.template.limits import too_many_resources

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

FAREWELLS_MAX = 5
FAREWELL_PAUSE_S = 1.0
_NOTHING_TAKEN_BACK = ResourceType.taken_back_steps

T = TypeVar("T")
log = logging.getLogger(__name__)

NODES_A_SLICE = 1000  # pure nodes handled before others get their turn


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
        self._by_name: defaultdict[str, list[str]] | None = None  # ids; made when it is needed
        self.world = RecordedWorld(work, self)
        self.traversal_known = work.stack.traversal
        self.late = False  # the deadline has passed and was told to all
        self.hooks = Hooks(self)
        self.over = work.stack.status is not Status.IN_PROGRESS
        stack = work.stack
        self.calls = Calls(
            work.tools.plugins,
            Occasion(stack.action.value, stack.id, stack.name, stack.project_id, stack.root_id),
        )

    @property
    def ready(self) -> bool:
        """Whether something may start now."""
        return bool(self.queue) and not self.over and not self.work.handing_over

    @property
    def traversal(self) -> str:
        return self.work.stack.traversal

    # -- beginning ---------------------------------------------------------------------------

    async def begin(self) -> None:
        """Plan from the rows and what is in flight."""
        stack = self.work.stack
        adoption = stack.action is Action.ADOPT and not self.work.records
        if not adoption and not await self._allowed():
            return
        if stack.action in visits.VISITS:
            await self._begin_visit()
            return
        empty = stack.action is Action.DELETE or (
            stack.action is Action.ROLLBACK and stack.previous_revision == 0
        )
        if stack.action is Action.DELETE:
            self._stop_for_delete()
        await self._entrust()
        try:
            self.program = await self.work.tools.programs.of(stack, self.revision)
        except Rejected as problem:
            if adoption:
                self._note_document()
            if not empty:
                self.fail("; ".join(p.message for p in problem.problems))
                return
        if not empty and not await self._possible():
            return
        if not await self._planned(None if empty else self.program):
            return
        assert self.plan is not None
        first = not self.work.records
        for record in self.plan.new:
            self.work.add(self._adopting(record) if first else record)
        if adoption and not await self._allowed():  # only now is it known what is to be adopted
            return
        for record in self.plan.touched:
            moved = self.work.records[record.id].having(until=record.until)
            self.work.put(moved, advance=True)
        self.current = self._current = dict(self.plan.wanted)
        self.graph = self.plan.graph()
        self._join_flights()
        self.open = sum(node.state is not State.DONE for node in self.graph.values())
        self.queue.extend(node.key for node in graphs.ready(self.graph))
        if stack.action is Action.DELETE:
            await self._drop_snapshots()
        if not self.open and not self.over:  # what went on from an earlier owner may have been all
            self._last()

    async def _planned(self, program: Any) -> bool:
        """Whether there is a plan; else the operation has failed, for it takes too much."""
        work, stack = self.work, self.work.stack
        back_to = stack.previous_revision if stack.action is Action.ROLLBACK else None
        try:
            self.plan = await self.evaluated(
                lambda: plan(
                    [self._as_meant(record) for record in work.records.values()],
                    program,
                    Target(stack.revision, stack.previous_revision, back_to),
                    new_id=work.tools.new_id,
                    now=work.tools.clock.now(),
                    examine=self._examine,
                )
            )
        except Rejected as problem:
            self.fail("; ".join(p.message for p in problem.problems))
            return False
        return True

    async def _allowed(self) -> bool:
        """Whether no plug-in objects; else the operation has failed."""
        try:
            await self.calls.before()
        except PreFailed as problem:
            self.fail(str(problem))
            return False
        return True

    def _note_document(self) -> None:
        """Records for all that a document names, though nothing is known of the template."""
        tools, stack = self.work.tools, self.work.stack
        for name, entry in self.revision.given.get("resources", {}).items():
            record = Record(tools.new_id(), name, entry["type"], stack.revision, tools.clock.now())
            self.work.add(self._adopting(record))

    async def _zones(self) -> bool:
        """Learn of the availability zones where the template asks for them; else the operation has
        failed."""
        if zones.asked_for(self.revision.template):
            try:
                self.world.zones = await zones.zone_names(self.work.cloud())
            except CloudFault as fault:
                self.fail(f"{fault.type}: the availability zones: {fault.message}")
                return False
        return True

    async def _fits(self) -> bool:
        """Whether the tree of stacks may have so many resources; else the operation has failed."""
        if count := await self._too_many():
            most = self.work.tools.programs.limits.resources_max
            self.fail(f"RequestLimitExceeded: {too_many_resources(count, most)}")
        return not count

    async def _too_many(self) -> int:
        """The resources of the whole tree where a nested stack grows it beyond the limit, else 0.

        What was known before was counted when the request was accepted; this is for values that
        came to be known since.
        """
        stack, most = self.work.stack, self.work.tools.programs.limits.resources_max
        there = {record.name for record in self.work.records.values() if record.until is None}
        wanted = len(self.program.resources)
        if most < 0 or stack.parent_id is None or wanted <= len(there):
            return 0
        beside = await self.work.tools.store.read(lambda tx: resources_beside(tx, stack, most))
        return beside + wanted if beside + wanted > most else 0

    async def _possible(self) -> bool:
        """Whether the program may be carried out; else the operation has failed."""
        if (why := self._refused_types()) is not None:
            self.fail(why)
            return False
        if not await self._zones():
            return False
        if count := await self._too_many():
            most = self.work.tools.programs.limits.resources_max
            self.fail(f"RequestLimitExceeded: {too_many_resources(count, most)}")
            return False
        return True

    def _refused_types(self) -> str | None:
        """Why a nested stack may not have the types that it names, or None.

        What was known before was checked when the request was accepted. Types of which it has
        resources already may stay, so that a rollback is always possible.
        """
        work = self.work
        if work.stack.parent_id is None or work.credential is None:
            return None
        kinds = work.tools.programs.types_of(work.records)
        there = {kind.name for kind in kinds.values()} | {one.type for one in work.records.values()}
        wanted = {one.type_info.name for one in self.program.resources.values()} - there
        return work.tools.refused_types(work.credential, wanted) if wanted else None

    def _as_meant(self, record: Record) -> Record:
        """A create that is tried again removes what failed: the record itself is not leaving."""
        flight = self.work.flights.get(record.id)
        trying = flight is not None and flight.kind is Kind.UPDATE
        return record.having(action=Action.CREATE) if trying and record.leaving else record

    async def _begin_visit(self) -> None:
        """Go through the resources as they are; those done in this traversal stay done."""
        work, action = self.work, self.work.stack.action
        await self._entrust()
        try:
            self.program = await work.tools.programs.of(work.stack, self.revision)
        except Rejected as problem:
            self.fail("; ".join(p.message for p in problem.problems))
            return
        chosen = visits.in_charge(work.records.values())
        self.current = self._current = {name: record.id for name, record in chosen.items()}
        self.graph = visits.build(chosen, self.program.requires, action)
        self.open = len(self.graph)
        for record in chosen.values():
            key: Key = (Kind.VISIT, record.id)
            match visits.ended(record, action, self.traversal):
                case State.DONE:
                    graphs.end(self.graph, key)
                    self.open -= 1
                case State.FAILED if action is Action.CHECK:
                    self.open -= visits.skip(self.graph, key)
        self._join_flights()
        self.queue.extend(node.key for node in graphs.ready(self.graph))
        if not self.open:
            self._last()

    async def _drop_snapshots(self) -> None:
        """The stack's snapshots go beside its resources."""
        for snapshot in await self.work.engine.snapshots.load(self.work.stack_id) or ():
            if snapshot.action is Action.CREATE and snapshot.status is Status.IN_PROGRESS:
                body = {"resources": await self._taken()}
                self.work.sure.snapshot = (Status.FAILED, "Stack SNAPSHOT cancelled", body)
                snapshot = replace(snapshot, body=body)
            self.open += 1
            self.work.spawn(self._drop_snapshot(snapshot))

    async def _taken(self) -> dict[str, Any]:
        """What a snapshot that is broken off has left in the cloud; what is under way gives up by
        itself what it took."""
        work = self.work
        found: dict[str, Any] = {}
        for record in work.records.values():
            if record.action is not Action.SNAPSHOT or record.status is not Status.COMPLETE:
                continue
            found[record.name] = await taken(work, record, work.data.get(record.id, {}))
        return found

    async def _drop_snapshot(self, snapshot: Snapshot) -> None:
        traversal = self.traversal
        failure = await drop(self.work, snapshot)
        if traversal != self.traversal or self.over:
            return
        if failure is not None:
            self.fail(f"Resource DELETE failed: {failure}")
            return
        self.open -= 1
        if not self.open:
            self._last()

    async def _entrust(self) -> None:
        try:
            await self.work.entrust()
        except CloudFault as fault:
            log.warning("no trust for stack %s: %s", self.work.stack_id, fault)

    def _examine(self, record: Record, definition: Any, wanted: Mapping[str, str]) -> bool:
        """Whether a record of the same definition may hold other values than it shall."""
        self.current = wanted
        if self.observes() or self.hooks.keeps_open(record) or record.name in self.restored:
            return True
        programs = self.work.tools.programs
        stack = self.work.stack
        traits = programs.traits_of(definition, updating=stack.action is Action.UPDATE)
        if traits.nested and self.brought_up(record):
            return False
        if says(stack.told, FURTHER):  # nested stacks were asked before in the same operation
            traits = replace(traits, nested=False)
        return must_look(
            record,
            definition,
            traits,
            required=[wanted[name] for name in self.program.requires[record.name]],
            reads=self.reads(record.name, programs.kind_of(definition)),
            world=self.world,
        )

    def brought_up(self, record: Record) -> bool:
        """Whether this very operation, taken up again, has done with a record: to wake it, or to
        adopt it late, is not enough."""
        if record.status is not Status.COMPLETE or record.traversal != self.traversal:
            return False
        adopted = record.action is Action.ADOPT and not self.adopts_late()
        return adopted or record.action in (Action.CREATE, Action.UPDATE)

    def observes(self) -> bool:
        """Whether the real world counts, not what is recorded of it."""
        stack = self.work.stack
        return says(stack.told, CONVERGE) and stack.action is Action.UPDATE

    @property
    def restored(self) -> Mapping[str, Any]:
        """What a snapshot holds of each resource, where the revision brings one back."""
        given = self.revision.given
        found: Mapping[str, Any] = given["resources"] if given.get("for") == "RESTORE" else {}
        return found

    @property
    def hidden(self) -> list[str]:
        """The texts that nothing of this stack may tell: those of hidden parameters, of its own and
        of the stacks above that gave it some. Longer ones come first."""
        own = () if self.program is None else self.program.scope.hidden
        given = self.revision.facade.get("hidden", ())
        return sorted({*own, *given}, key=lambda text: (-len(text), text))

    def masked(self, reason: str) -> str:
        """A reason as it is stored and told: services repeat what they were sent."""
        return masked(reason, self.hidden)

    def adopts_late(self) -> bool:
        """Whether an adoption comes in the course of a later operation, of this stack or of the one
        that it is a part of: things may differ from what is wanted by now."""
        given = self.revision.given
        return self.work.stack.action is not Action.ADOPT or bool(given.get("late"))

    def _adopting(self, record: Record) -> Record:
        """A new record around the thing that a document names for it; a nested stack's document is
        kept with it until the stack is made."""
        given, work = self.revision.given, self.work
        entry = given["resources"].get(record.name) if given.get("for") == "ADOPT" else None
        definition = self.program.resources.get(record.name) if self.program else None
        outside = definition is not None and definition.external_id is not None
        if entry is None or outside or EXTERNAL in entry:  # it never was the stack's own
            return record
        programs = work.tools.programs
        kind = programs.type_of(record) if definition is None else programs.kind_of(definition)
        data = (kind or ResourceType()).brought(entry.get("resource_data") or {})
        data.pop(DOCUMENT, None)
        if "resources" in entry:
            data[DOCUMENT] = json.dumps(entry)
        elif kind is not None and kind.nested:
            pass  # a stack that is there already belongs to another resource, or to nobody
        elif entry.get("resource_id"):
            record = record.having(physical_id=str(entry["resource_id"]))
        if data:
            work.advance.data[record.id] = work.data[record.id] = data
        if metadata := entry.get("metadata"):
            work.advance.metadata[record.id] = work.metadata[record.id] = metadata
        return record

    async def compiled(self) -> Any:
        """The program; also of a stack that nothing is done to. Raises Rejected."""
        if self.program is None:
            self.program = await self.work.tools.programs.of(self.work.stack, self.revision)
            chosen = visits.in_charge(self.work.records.values())
            self.current = self._current = {name: one.id for name, one in chosen.items()}
        return self.program

    def always_replaces(self, kind: ResourceType, record: Record) -> bool:
        """Whether this update replaces the record whatever it holds; not one that it made itself,
        before an engine died."""
        stack = self.work.stack
        update = stack.action is Action.UPDATE
        return kind.replaced_at_every_update and update and record.since < stack.revision

    def reads(self, name: str, kind: ResourceType) -> set[str]:
        """The attributes of a resource that somebody reads: others, outputs, a parent stack."""
        return read_of(self.program, self.revision, name, kind)

    def adopts(self, record: Record) -> bool:
        """Whether a record is to be made of something that exists."""
        if DOCUMENT in self.work.data.get(record.id, {}):  # whatever somebody has said of it
            return True
        known = record.physical_id is not None
        return record.new and (known or self.work.stack.action is Action.ADOPT)

    def _join_flights(self) -> None:
        """What is in flight stands for its node, or holds it up until it has ended."""
        for record_id, flight in self.work.flights.items():
            flight.holds.clear()
            key: Key = (flight.kind, record_id)
            node = self.graph.get(key)
            same = flight.traversal == self.traversal  # it began when its node was ready
            fits = flight.kind is Kind.CLEANUP and node is not None and not node.waiting
            if node is not None and flight.kind is not Kind.UPDATE and (same or fits):
                node.state = State.RUNNING
                flight.key, flight.traversal = key, self.traversal
                continue
            flight.key = None
            if not same:
                flight.cancel_child()
            keys: list[Key] = [(kind, record_id) for kind in Kind]
            if (replaced := self._taken_back_after(flight)) is not None:
                keys.append((Kind.UPDATE, replaced))
            for held in filter(None, map(self.graph.get, keys)):
                held.waiting += 1
                flight.holds.append(held.key)

    def _taken_back_after(self, flight: Flight) -> str | None:
        """The record that gets back what the flight's own was given, once that has ended."""
        work = self.work
        found = work.records.get(work.records[flight.record_id].replaces or "")
        kind = None if found is None else work.tools.programs.type_of(found)
        takes = kind is not None and type(kind).taken_back_steps is not _NOTHING_TAKEN_BACK
        return found.id if found is not None and takes else None

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
        while left and self.ready:
            left -= 1
            key = self.queue.popleft()
            node = self.graph[key]
            if node.state is not State.PLANNED or node.waiting:
                continue
            if not left % 100 and self.out_of_time():
                self.fail("Timed out")
                return
            self._start(node)
        if self.hooks and self.out_of_time():
            self.fail("Timed out")
        if self.ready:
            self.work.wake()

    def _start(self, node: Node) -> None:
        node.state = State.RUNNING
        record = self.work.records.get(node.record_id)
        if record is None:
            self.done(node.key)
            return
        if node.kind is Kind.VISIT:
            if not visit.settle(self, node, record):
                self._launch(node, record)
            return
        if node.kind is Kind.CLEANUP and not self._must_go(record):
            self.done(node.key)
            return
        if not self.hooks.before(node, record):
            self._work_on(node, record)

    def _work_on(self, node: Node, record: Record) -> None:
        if node.kind is Kind.CLEANUP and record.state == "DELETE_COMPLETE":
            self._forget(node, record)
            return
        if not pure.handles(self, node, record):
            self._launch(node, record)
            return
        try:
            self.compute.attempt(lambda: pure.carry_out(self, node, record))
        except Deferred as deferred:
            self.work.spawn(self._work_on_later(deferred, node))

    @property
    def compute(self) -> Compute:
        """Where what users wrote is computed."""
        return self.work.tools.programs.compute

    async def evaluated(self, work: Callable[[], T]) -> T:
        """What evaluations give, each made where it keeps nobody waiting. Raises Rejected."""
        return await self.compute.evaluated(work, self.work.stack.project_id)

    async def _work_on_later(self, deferred: Deferred, node: Node) -> None:
        traversal = self.traversal
        await self.compute.settle(deferred, self.work.stack.project_id)
        record = self.work.records.get(node.record_id)
        if traversal != self.traversal or self.over or self.graph.get(node.key) is not node:
            return
        if record is None:
            self.done(node.key)
        else:
            self._work_on(node, record)

    def _launch(self, node: Node, record: Record) -> None:
        flight = Flight(self.work, record, node.kind, node.key, self.traversal)
        self.work.flights[record.id] = flight
        flight.launch()

    def _forget(self, node: Node, record: Record) -> None:
        """What is gone in the cloud goes here too."""
        self.work.drop(record, advance=True)
        self.done(node.key)

    def go_on(self, key: Key, *, after: bool) -> None:
        """A node waits no longer at a hook: it does its work, or that was done before."""
        node = self.graph.get(key)
        if node is None or self.over:
            return
        record = self.work.records.get(node.record_id)
        if record is None or (after and node.kind is not Kind.CLEANUP):
            self.done(key)
        elif after:
            self._forget(node, record)
        else:
            self._work_on(node, record)

    def retains(self, record: Record) -> bool:
        """Whether the physical thing stays when its record goes."""
        stack = self.work.stack
        if says(stack.told, ABANDON) or record.held.deletion_policy == "Retain":
            return True
        undone = stack.action is Action.ROLLBACK and stack.previous_revision == 0
        return undone and (record.action is Action.ADOPT or record.new)

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
        if stack.parent_id is not None and (deferred := self._outputs_deferred()) is not None:
            self.work.spawn(self._last_later(deferred))
            return
        if stack.action is Action.CHECK:
            failure, first, more = visit.outcome(self)
            if failure is not None:
                self.fail(failure, first=first)
            else:
                self.complete(more)
            return
        if stack.action is Action.DELETE and self.work.strays:
            self.work.spawn(self._outwait())
            return
        if stack.action is Action.DELETE and stack.parent_id is None:
            self.work.spawn(self._farewell())
        else:
            self.complete()

    def _outputs_deferred(self) -> Deferred | None:
        """The output, if there is one, that has to be evaluated elsewhere."""
        try:
            self.compute.attempt(self._outputs)
        except Deferred as deferred:
            return deferred
        return None

    async def _last_later(self, deferred: Deferred) -> None:
        traversal = self.traversal
        await self.compute.settle(deferred, self.work.stack.project_id)
        if traversal == self.traversal and not self.over:
            self._last()
            self.work.wake()

    async def _outwait(self) -> None:
        """What a call without an answer may have made is waited for: later nobody would look."""
        traversal = self.traversal
        await strays.outwait(self.work)
        if traversal == self.traversal and not self.over:
            self._last()
            self.work.wake()

    async def _farewell(self) -> None:
        work = self.work
        traversal = self.traversal
        stack = work.stack
        if says(stack.told, ABANDON):  # its users go on being used
            stack = stack.having(user_project_id=None)
        await work.committed()  # whoever has to repeat a delete needs the trust that goes now
        for attempt in range(1, FAREWELLS_MAX + 1):
            while not work.engine.may_write():  # noqa: ASYNC110 - a beat lets it
                await asyncio.sleep(FAREWELL_PAUSE_S)
            try:
                await work.tools.clouds.farewell(stack, work.credential)
                break
            except CloudFault as fault:
                log.warning("stack %s: %s", work.stack_id, fault)
                if fault.not_found or fault.status == 401:
                    break
                again = fault.passing or isinstance(fault, NoAnswer)
                if not again or attempt == FAREWELLS_MAX or traversal != self.traversal:
                    if traversal == self.traversal:
                        self.fail(f"Error deleting project: {fault.message}")
                        work.wake()
                    return
                await asyncio.sleep(fault.retry_after or FAREWELL_PAUSE_S * attempt)
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
        if self._by_name is not None:
            self._by_name[name].append(new.id)

    def namesakes(self, record: Record) -> list[Record]:
        """The other records of its name: replaced ones, and attempts that came to nothing."""
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for one in self.work.records.values():
                self._by_name[one.name].append(one.id)
        found = (self.work.records.get(i) for i in self._by_name[record.name] if i != record.id)
        return [one for one in found if one is not None]

    def child_ended(self, letter: int, body: Mapping[str, Any]) -> bool:
        """A nested stack's operation ended; False if nobody waits for that."""
        flight = self.work.flights.get(body["record"])
        return flight is not None and flight.child_ended(letter, body)

    # -- ending ------------------------------------------------------------------------------

    def complete(self, more: str = "") -> None:
        """The stack's operation ended well; `more` is added to the reason."""
        stack = self.work.stack
        self.over = True
        self.ended(failed=False)
        reason = f"Stack {stack.action} completed successfully{more}"
        if stack.action is Action.SNAPSHOT:
            self.work.advance.snapshot = (Status.COMPLETE, reason, None)
        row = stack.having(status=Status.COMPLETE, reason=reason, takeovers=0)
        if stack.action is Action.DELETE:
            now = self.work.tools.clock.now()
            row = row.having(deleted_at=now, live_name=None)
            if stack.parent_id is None:
                self.work.advance.drop_credential = stack.credential_id
        self._set(row.having(reason=reason + self._why_undone()))
        self.work.stack_event(row)
        self._tell_parent(row)

    def _why_undone(self) -> str:
        """What a stack that was rolled back adds to its reason; its events told it before."""
        stack = self.work.stack
        if stack.action is not Action.ROLLBACK or stack.first_failure is None:
            return ""
        return f". It was rolled back because of: {stack.first_failure}"

    def failed(self, key: Key | None, reason: str) -> None:
        """A node ended badly. A check goes on with what does not wait for it."""
        if self.work.stack.action is Action.CHECK and key in self.graph:
            assert key is not None
            self.open -= visits.skip(self.graph, key)
            if not self.open and not self.over:
                self._last()
            return
        if key in self.graph:
            self.graph[key].state = State.FAILED
        self.fail(reason)

    def fail(self, reason: str, *, first: str | None = None) -> None:
        """The first failure decides; what is under way goes on to its end. `first` is what the
        stack above is told of a reason that tells of several."""
        if self.over:
            return
        self.over = True
        reason, first = self.masked(reason), None if first is None else self.masked(first)
        self.ended(failed=True)
        self.hooks.give_up()
        stack = self.work.stack
        if stack.action is Action.SNAPSHOT:
            self.work.advance.snapshot = (Status.FAILED, reason, None)
        failure = stack.first_failure or first or reason
        row = stack.having(status=Status.FAILED, reason=reason, first_failure=failure)
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
            Action.ADOPT,
        )

    def _roll_back(self, failed: Any) -> None:
        """X_FAILED and the start of the rollback are one transaction."""
        work, stack = self.work, self.work.stack
        now = work.tools.clock.now()
        first = stack.action in (Action.CREATE, Action.ADOPT)
        back = 0 if first else stack.previous_revision
        number = stack.revision
        if back:
            number = stack.revision + 1
            work.advance.copy_revision = (back, number)
        row = failed.having(
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
        row = stack.having(status=Status.FAILED, reason=f"Stack {stack.action} cancelled")
        self.over = True
        self.ended(failed=True)
        self.hooks.give_up()
        self.work.stack_event(row)
        if rollback:
            self._roll_back(row)
            return
        for flight in self.work.flights.values():
            flight.cancel_child()
        self._set(row.having(traversal=self.work.tools.new_id()))
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

    def ended(self, *, failed: bool) -> None:
        """Have the plug-ins told, once the end is committed; also of one that was overtaken."""
        if self.calls.open:
            self.work.spawn(self._tell_plugins(failed=failed))

    async def _tell_plugins(self, *, failed: bool) -> None:
        await self.work.committed()
        await self.calls.after(failed=failed)

    def _set(self, row: Any) -> None:
        self.work.advance.stack = row
        self.work.stack = row

    def tell_on(self) -> None:
        """What this stack is made of has changed without an operation of its own: its parent may
        read that."""
        if self.over and self.work.stack.status is Status.COMPLETE:
            row = self.work.stack.having(parent_traversal=None)
            self._tell_parent(row, self.work.sure)

    def _tell_parent(self, row: Any, pile: Changes | None = None) -> None:
        if row.parent_id is None:
            return
        pile = self.work.advance if pile is None else pile
        outputs: dict[str, Any] = {}
        if row.status is Status.COMPLETE:
            try:
                outputs = self.compute.attempt(self._outputs)
            except Deferred as deferred:  # not at the end of an operation: `_last` has seen to it
                self.work.spawn(self._tell_parent_later(deferred, row))
                return
        body = child_letter(row, outputs=outputs, members=self._members())
        pile.letters.append(Letter(row.parent_id, "child", body))

    async def _tell_parent_later(self, deferred: Deferred, row: Any) -> None:
        await self.compute.settle(deferred, self.work.stack.project_id)
        self._tell_parent(row, self.work.sure)
        self.work.wake()

    def _outputs(self) -> dict[str, Any]:
        """The outputs, by name; those that cannot be told are left out."""
        if self.program is None or self.work.stack.action is Action.DELETE:
            return {}
        found: dict[str, Any] = {}
        with spending():
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

"""The beginning of an operation: create its plan and its graph from the rows and the running tasks.

The beginning is a list of steps. Each step may fail the operation. After a takeover all steps run
again.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.engine.core import walk as walks
from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.graph import NodeKind
from hearth.engine.core.plan import Plan, Target, must_look, plan
from hearth.engine.core.record import Record
from hearth.engine.worker.known.aim import DOCUMENT
from hearth.engine.worker.known.document import held_of_document
from hearth.engine.worker.node import snapshots
from hearth.engine.worker.operation.operation import Operation
from hearth.engine.worker.operation.plugins import PreFailed
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources import zones
from hearth.resources.capabilities import NestedType, brought
from hearth.store.accept import SCALING
from hearth.store.reads import resources_beside
from hearth.store.snapshots import Snapshot
from hearth.template import ResourceDefinition
from hearth.template.limits import too_many_resources

log = logging.getLogger(__name__)

Failure = str | None
"""The reason if a step fails the operation, otherwise None."""

Step = Callable[[], Awaitable[Failure]]


async def begin(operation: Operation) -> None:
    """Run the steps of the beginning; if one fails, the operation fails.

    Otherwise the operation has its graph afterwards.
    """
    action = operation.owned.memory.stack.action
    beginning = _Walk(operation) if action in walks.WALKS else _PlannedBeginning(operation)
    for step in beginning.steps():
        if (failure := await step()) is not None:
            operation.ending.fail(failure)
            return
    operation.traversal.finish_if_empty()


class _Beginning:
    """The steps with which every operation begins.

    A step is a method that returns None, or the reason if it fails the operation.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.owned = operation.owned
        self.memory = operation.owned.memory
        self.aim = operation.aim
        self.stack = operation.owned.memory.stack

    def steps(self) -> Sequence[Step]:
        """Return the steps in the order in which they run."""
        raise NotImplementedError

    async def allowed(self) -> Failure:
        """Call the lifecycle plug-ins; each of them can fail the operation."""
        try:
            await self.operation.plugins.before()
        except PreFailed as problem:
            return str(problem)
        return None

    async def entrusted(self) -> Failure:
        """Create a trust that remains valid after the token expires; if that fails, the operation
        uses the token.
        """
        try:
            await self.owned.access.entrust()
        except CloudFault as fault:
            log.warning("stack %s: cannot create a trust: %s", self.stack.id, fault)
        return None

    async def compiled(self) -> Failure:
        """Compile the revision of the operation."""
        try:
            program = await self.owned.tools.programs.of(self.stack, self.aim.revision)
            self.aim.known_program = program
        except Rejected as problem:
            return "; ".join(p.message for p in problem.problems)
        return None


class _Walk(_Beginning):
    """The beginning of a check, suspend, resume or snapshot: these need no plan."""

    def steps(self) -> Sequence[Step]:
        return self.allowed, self.entrusted, self.compiled, self.joined

    async def joined(self) -> Failure:
        """Create the graph.

        If a task of the stack still works on a record, the task continues as that of the record's
        node, or the node waits until the task ends.
        """
        chosen = walks.in_charge(self.memory.records.values())
        self.aim.choose({name: record.id for name, record in chosen.items()})
        graph = walks.build(chosen, self.aim.program.requires, self.stack.action)
        self.operation.traversal.plan_walk(graph, list(chosen.values()))
        return None


class _PlannedBeginning(_Beginning):
    """The beginning of a create, update, rollback, restore, adopt or delete: these need a plan."""

    plan: Plan

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        stack = self.stack
        self.first = not self.memory.records
        self.adoption = stack.action is Action.ADOPT and self.first
        undone = stack.action is Action.ROLLBACK and stack.previous_revision == 0
        self.empty = stack.action is Action.DELETE or undone  # the operation deletes everything

    def steps(self) -> Sequence[Step]:
        possible = () if self.empty else (self.types_allowed, self.zones, self.limits)
        if self.adoption:  # only the plan shows the objects to adopt
            return (
                self.entrusted,
                self.compiled,
                *possible,
                self.planned,
                self.allowed,
                self.joined,
            )
        return (
            self.allowed,
            self.stopped,
            self.entrusted,
            self.compiled,
            *possible,
            self.planned,
            self.joined,
            self.without_snapshots,
        )

    async def stopped(self) -> Failure:
        """Stop the running tasks if the operation is a delete of the stack."""
        if self.stack.action is Action.DELETE:
            self.operation.stop_for_delete()
        return None

    async def compiled(self) -> Failure:
        """Compile the revision of the operation.

        Errors are ignored if the operation deletes all resources.
        """
        failure = await super().compiled()
        if failure is not None and self.adoption:
            self._record_document()
        return None if self.empty else failure

    async def types_allowed(self) -> Failure:
        """Fail if the policy forbids the requester a type in a nested stack.

        The API has already checked the types that were known at the request. The types of existing
        resources are always allowed, so that a rollback is possible; but a signal, which the API
        cannot check, may only keep or delete such resources.
        """
        credential, tools = self.owned.access.credential, self.owned.tools
        if self.stack.parent_id is None or credential is None:
            return None
        records = self.memory.records
        resources = self.aim.program.resources
        if self.stack.parent_traversal == SCALING:
            existing = {record.name for record in records.values()}
            names = {
                definition.type_info.name
                for name, definition in resources.items()
                if name not in existing
            }
        else:
            existing_types = {rtype.name for rtype in tools.programs.types_of(records).values()}
            existing_types |= {record.type for record in records.values()}
            names = {
                definition.type_info.name for definition in resources.values()
            } - existing_types
        return tools.refused_types(credential, names) if names else None

    async def zones(self) -> Failure:
        """Read the names of the availability zones if the template uses them; fail if that
        fails.
        """
        if zones.asked_for(self.aim.revision.template):
            try:
                self.aim.world.zones = await zones.zone_names(self.owned.access.cloud())
            except CloudFault as fault:
                return f"{fault.type}: the availability zones: {fault.message}"
        return None

    async def limits(self) -> Failure:
        """Fail if the stack tree would exceed the limit of resources.

        Only a nested stack whose new template has more resources than the stack has now is checked.
        The API has already checked the request, but not the resources that depend on values which
        became known only during the operation.
        """
        stack, limit = self.stack, self.owned.tools.programs.limits.max_resources_per_stack
        current = {record.name for record in self.memory.records.values() if record.until is None}
        grown = len(self.aim.program.resources)
        if limit < 0 or stack.parent_id is None or grown <= len(current):
            return None
        outside = await self.owned.tools.store.read(lambda tx: resources_beside(tx, stack, limit))
        if outside + grown <= limit:
            return None
        return f"RequestLimitExceeded: {too_many_resources(outside + grown, limit)}"

    async def planned(self) -> Failure:
        """Make the plan, and store its new records in memory."""
        owned, stack = self.owned, self.stack
        back_to = stack.previous_revision if stack.action is Action.ROLLBACK else None
        program = None if self.empty else self.aim.program
        try:
            self.plan = await self.aim.evaluated(
                lambda: plan(
                    [self._as_meant(record) for record in self.memory.records.values()],
                    program,
                    Target(stack.revision, stack.previous_revision, back_to),
                    new_id=owned.tools.new_id,
                    now=owned.tools.clock.now(),
                    examine=self._examine,
                )
            )
        except Rejected as problem:
            return "; ".join(p.message for p in problem.problems)
        new = self.plan.new
        if self.first:
            new = await self.aim.evaluated(lambda: tuple(map(self._adopting, self.plan.new)))
        for record in new:
            self.memory.add(record)
        return None

    async def joined(self) -> Failure:
        """Put the planned records in charge, and create the graph.

        If a task of the stack still works on a record, the task continues as that of the record's
        node, or the node waits until the task ends.
        """
        for record in self.plan.touched:
            moved = self.memory.records[record.id].having(until=record.until)
            self.memory.put(moved, if_current=True)
        self.aim.choose(self.plan.in_charge)
        self.operation.traversal.plan(self.plan.graph())
        return None

    async def without_snapshots(self) -> Failure:
        """Delete the snapshots of a stack that is deleted, in parallel to its resources."""
        if self.stack.action is not Action.DELETE:
            return None
        for snapshot in await self.owned.host.snapshots_of(self.stack.id):
            if snapshot.action is Action.CREATE and snapshot.status is Status.IN_PROGRESS:
                body = {"resources": await self._taken()}
                failed = (Status.FAILED, "Stack SNAPSHOT cancelled", body)
                self.memory.always.snapshot = failed
                snapshot = replace(snapshot, body=body)
            self._drop(snapshot)
        return None

    def _drop(self, snapshot: Snapshot) -> None:
        self.operation.traversal.beside(lambda: snapshots.drop(self.owned, snapshot))

    async def _taken(self) -> dict[str, Any]:
        """Describe the objects that an interrupted snapshot has created, by resource name.

        Resources whose task still runs are left out: their tasks delete their own objects.
        """
        objects: dict[str, Any] = {}
        for record in self.memory.records.values():
            if record.action is not Action.SNAPSHOT or record.status is not Status.COMPLETE:
                continue
            data = self.memory.data.get(record.id, {})
            objects[record.name] = await snapshots.taken(self.owned, record, data)
        return objects

    # -- the plan --------------------------------------------------------------------------

    def _as_meant(self, record: Record) -> Record:
        """Return the record with the action CREATE if the object of its failed create is being
        deleted for another attempt; otherwise return it unchanged.
        """
        task = self.operation.tasks.get(record.id)
        trying = task is not None and task.kind is NodeKind.UPDATE
        return record.having(action=Action.CREATE) if trying and record.leaving else record

    def _examine(
        self, record: Record, definition: ResourceDefinition, in_charge: Mapping[str, str]
    ) -> bool:
        """Return whether a record with an unchanged definition needs a node.

        It does if its values may differ from the desired ones, or if a hook is set.
        """
        aim = self.aim
        aim.world.in_charge = in_charge
        keeps_open = self.operation.hooks.keeps_open(record)
        if aim.observes() or keeps_open or record.name in aim.restored:
            return True
        programs, stack = self.owned.tools.programs, self.stack
        traits = programs.traits_of(definition, updating=stack.action is Action.UPDATE)
        if traits.nested and aim.done_with(record):
            return False
        # an earlier batch of the operation has already updated nested stacks
        if stack.options.further:
            traits = replace(traits, nested=False)
        return must_look(
            record,
            definition,
            traits,
            required=[in_charge[name] for name in aim.program.requires[record.name]],
            reads=aim.reads(record.name, programs.rtype_of(definition)),
            world=aim.world,
        )

    # -- adoption --------------------------------------------------------------------------

    def _record_document(self) -> None:
        """Store a record for each resource of an adopted document whose template cannot be
        compiled.
        """
        tools, document = self.owned.tools, self.aim.revision.document
        for name, entry in (document.resources if document else {}).items():
            now, revision = tools.clock.now(), self.stack.revision
            self.memory.add(
                self._adopting(Record(tools.new_id(), name, entry["type"], revision, now))
            )

    def _adopting(self, record: Record) -> Record:
        """Return a new record with the physical id that the adopted document has for the resource.

        It requires what the template says, so that no object is deleted before those that depend
        on it. For a nested stack, the part of the document about it is stored with the record until
        the nested stack is created.
        """
        entry, program = self.aim.adopted.get(record.name), self.aim.known_program
        definition = program.resources.get(record.name) if program else None
        outside = definition is not None and definition.external_id is not None
        if entry is None or outside or EXTERNAL in entry:  # the stack never owned the object
            return record
        programs = self.owned.tools.programs
        rtype = programs.type_of(record) if definition is None else programs.rtype_of(definition)
        data = brought(rtype, entry.get("resource_data") or {})
        data.pop(DOCUMENT, None)
        if "resources" in entry:
            data[DOCUMENT] = json.dumps(entry)
        elif isinstance(rtype, NestedType):
            pass  # an existing stack belongs to another resource or is a root stack
        elif entry.get("resource_id"):
            record = record.having(physical_id=str(entry["resource_id"]))
            if definition is not None and rtype is not None:
                recorded = held_of_document(definition, rtype.recorded_as, self.aim.adopted)
                record = record.having(held=recorded)
        if definition is not None:
            needs = self.plan.requires[record.name] & self.plan.in_charge.keys()
            required = frozenset(self.plan.in_charge[name] for name in needs)
            record = record.having(requires=required)
        if data:
            self.memory.note_data(record.id, data, if_current=True)
        if metadata := entry.get("metadata"):
            self.memory.note_metadata(record.id, metadata, if_current=True)
        return record

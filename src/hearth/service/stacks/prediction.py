"""Predictions of changes: run the engine's planner without an engine.

The planner needs values that require I/O: the ids of named objects, and the plans of nested stacks.
While it plans, it collects the values that are missing. They are fetched, and the plan is made
again, until nothing is missing.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct, field, structs

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.context import file_text, reading_others, referred_metadata, resource_context
from hearth.engine.core.decide import to_write
from hearth.engine.core.plan import REMOVING, Entry, Plan, Target, plan
from hearth.engine.core.predict import Inner, PlannedAction, PreviewContext, RealState
from hearth.engine.core.record import Record
from hearth.engine.programs.programs import read_of
from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.model.unknown import Unknown, nulled, unknown_in, unknown_reference
from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType
from hearth.resources.lookup import Names
from hearth.resources.translate import translated
from hearth.service.reading.real_objects import real_states
from hearth.service.services import Services
from hearth.service.stacks.delete_plan import plans_of_removed
from hearth.service.stacks.stand_ins import StandIns
from hearth.store import claim, reads
from hearth.store.database import Tx
from hearth.store.rows import Revision, StackRow
from hearth.template import Evaluated, Facade, Program, ResourceDefinition
from hearth.template.budget import spending

UNSETTLED = "its values change with each round of the prediction"
_WITHOUT_NESTED = (
    PlannedAction.KEEP,
    PlannedAction.DELETE,
    PlannedAction.RETAIN,
    PlannedAction.FAIL,
)
ROUNDS_MAX = 20  # values that are still missing then count as unknown
UNBORN = "None"
"""The id that responses show for a stack that does not exist yet."""


class DesiredStack(Struct, frozen=True):
    """A stack with its desired state, for which a plan is made.

    `row` may be a row that is not stored. `records` are all records of the stack. If `masked` is
    true, all values in the plan are masked. If `observe` is true, the operation reads the real
    state from the cloud first.
    """

    row: StackRow
    revision: Revision
    program: Program
    records: list[Record] = field(default_factory=list)
    masked: bool = False
    observe: bool = False


class StackPrediction(Struct, frozen=True):
    """The desired state of a stack and the plan that leads to it. `below` has the predictions of
    nested stacks, by resource name.
    """

    desired: DesiredStack
    plan: Plan
    below: Mapping[str, "StackPrediction"]


async def predict_stack(services: Services, cloud: Cloud, desired: DesiredStack) -> StackPrediction:
    """Return the plan of the create or update that leads to this state. Raises Rejected,
    CloudFault.
    """
    real = None
    if desired.observe:
        real = await real_states(services, cloud, desired.row, depth=reads.ALL_LEVELS)
    return await _predict(services, cloud, desired, real)


async def _predict(
    services: Services, cloud: Cloud, desired: DesiredStack, real: Mapping[str, RealState] | None
) -> StackPrediction:
    """Return the plan that leads to a state; `real` are the real states if the engine reads them.

    Raises Rejected, CloudFault.
    """
    inputs = _PlanInputs(services, cloud, desired, real)
    while True:
        plan = await services.compute.evaluated(inputs.plan, desired.row.project_id)
        if not await inputs.answer():
            planned = {entry.name for entry in plan.entries if entry.inner is not None}
            below = {
                name: prediction for name, prediction in inputs.below.items() if name in planned
            }
            return StackPrediction(desired, await inputs.completed(plan), below)


class _Unexpanded(Exception):
    """The plan of a nested stack cannot be made yet; the text of the exception says why."""


def known_after(until: Iterable[str]) -> str:
    """Return the text for a value that depends on the resources `until`."""
    names = ", ".join(sorted(filter(None, until)))
    return f"its properties are known after {names}" if names else "its properties are not known"


def _removes(entry: Entry, stacks: Mapping[str, str]) -> bool:
    """Return whether an entry may delete one of the nested stacks, {record id: stack id}."""
    return entry.planned in REMOVING and entry.record_id in stacks


class _Nest(Struct, frozen=True):
    """A nested stack whose plan is needed: the definition, the record and the values of its
    resource.
    """

    definition: ResourceDefinition
    record: Record | None
    evaluated: Evaluated


class _PlanInputs(Struct):
    """The values that one plan needs and that require I/O, by resource name.

    `names` and `nests` are those still missing; `resolved` and `nested` are those already fetched.
    `real` are the real states of objects if the engine reads them, otherwise None.
    """

    services: Services
    cloud: Cloud
    desired: DesiredStack
    real: Mapping[str, RealState] | None
    rounds: int = 0
    resolved: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    nested: dict[str, tuple[_Nest, Inner | None]] = field(default_factory=dict)
    names: dict[str, tuple[ResourceDefinition, Mapping[str, Any]]] = field(default_factory=dict)
    nests: dict[str, _Nest] = field(default_factory=dict)
    below: dict[str, StackPrediction] = field(default_factory=dict)
    unexpanded: dict[str, str] = field(default_factory=dict)  # why a nested stack has no plan yet

    def plan(self) -> Plan:
        """Return the plan made with the values fetched so far, and collect the missing ones."""
        self.names.clear()
        self.nests.clear()
        services, desired = self.services, self.desired
        return plan(
            desired.records,
            desired.program,
            Target(desired.row.revision + 1, desired.row.revision),
            new_id=services.new_id,
            now=services.clock.now(),
            preview=self.preview(),
            holds_data=services.programs.holds_data,
        )

    def preview(self) -> PreviewContext:
        programs, desired = self.services.programs, self.desired
        facade = Facade(**desired.revision.facade) if desired.revision.facade else None

        def read(definition: ResourceDefinition) -> set[str]:
            rtype = programs.rtype_of(definition)
            return read_of(desired.program, desired.revision, definition.name, rtype)

        return PreviewContext(
            traits=programs.traits_of,
            reads=read,
            resolve=self._resolve,
            inner=self._inner,
            restricted=desired.program.module.environment.restricted_actions,
            facade=facade,
            real=self.real,
            masked=desired.masked,
        )

    def _resolve(
        self, definition: ResourceDefinition, values: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if not self.services.programs.rtype_of(definition).translation:
            return values
        cached = self.resolved.get(definition.name)
        if cached is None or cached[0] != values:
            self.names[definition.name] = (definition, values)
            return values
        return cached[1]

    def _inner(
        self, definition: ResourceDefinition, record: Record | None, evaluated: Evaluated
    ) -> Inner | None:
        nest = _Nest(definition, record, evaluated)
        cached = self.nested.get(definition.name)
        if cached is None or cached[0] != nest:
            self.nests[definition.name] = nest
            return None
        return cached[1]

    async def answer(self) -> bool:
        """Fetch the missing values; return False if there are none, or after too many rounds."""
        names, self.names = self.names, {}
        nests, self.nests = self.nests, {}
        self.rounds += 1
        if not (names or nests) or self.rounds > ROUNDS_MAX:
            return False
        lookup = Names(self.cloud)
        for name, (definition, values) in names.items():
            rtype = self.services.programs.rtype_of(definition)
            translated_values = await translated(values, rtype.translation, lookup)
            self.resolved[name] = (values, translated_values)
        for name, nest in nests.items():
            try:
                self.nested[name] = (nest, await self._below(nest))
            except _Unexpanded as error:
                self.nested[name], self.unexpanded[name] = (nest, None), str(error)
        return True

    async def completed(self, plan: Plan) -> Plan:
        """Return the plan with the deletes of old nested stacks, and with the reasons why nested
        stacks have no plan.
        """
        stacks = self._nested_stacks()
        delete_plans = await plans_of_removed(
            self.services,
            [stacks[entry.record_id] for entry in plan.entries if _removes(entry, stacks)],
        )
        resources = self.desired.program.resources
        return structs.replace(
            plan,
            entries=tuple(
                self._with_removed(
                    self._with_reason(entry, resources.get(entry.name)), stacks, delete_plans
                )
                for entry in plan.entries
            ),
        )

    def _nested_stacks(self) -> dict[str, str]:
        """Return the ids of the nested stacks that a delete of their resource deletes, by record
        id.
        """
        programs = self.services.programs
        return {
            record.id: record.physical_id
            for record in self.desired.records
            if record.physical_id is not None
            and record.held.deletion_policy != "Retain"
            and isinstance(programs.type_of(record), NestedType)
        }

    def _with_removed(
        self, entry: Entry, stacks: Mapping[str, str], delete_plans: Mapping[str, Plan]
    ) -> Entry:
        plan_of_old = delete_plans.get(stacks[entry.record_id]) if _removes(entry, stacks) else None
        if entry.planned is PlannedAction.DELETE:
            return structs.replace(entry, inner=plan_of_old)
        return structs.replace(entry, removal=plan_of_old)

    def _with_reason(self, entry: Entry, definition: ResourceDefinition | None) -> Entry:
        planned = entry.inner is not None or entry.planned in _WITHOUT_NESTED
        if planned or definition is None or definition.external_id is not None:
            return entry
        if not isinstance(self.services.programs.rtype_of(definition), NestedType):
            return entry
        return structs.replace(entry, unexpanded=self.unexpanded.get(entry.name, UNSETTLED))

    async def _below(self, nest: _Nest) -> Inner:
        """Return the predicted result of a nested stack. Raises _Unexpanded."""
        row, definition, record = self.desired.row, nest.definition, nest.record
        deepest = self.services.programs.limits.max_nested_stack_depth
        if row.depth >= deepest:
            raise _Unexpanded(f"nested stacks may have {deepest} levels, and all are in use")
        rtype = self.services.programs.rtype_of(definition)
        assert isinstance(rtype, NestedType)
        current = await self._read_child(record, regroups=rtype.regroups)
        properties, stand_ins = nest.evaluated.properties, StandIns()
        if definition.child is None:
            properties = stand_ins.put(properties, definition.type_info.properties)
            if (unknown := unknown_in(properties)) is not None:
                raise _Unexpanded(known_after(unknown.until))
        ctx = self._context(nest, properties, current)
        child = await _declared_child(rtype, ctx, stand_ins)
        revision = self.services.programs.child_revision(
            self.desired.program, definition, ctx, child, self.desired.revision.exports
        )
        inside = current.row or _sketch(row, ctx, UNBORN)
        try:
            program = await self.services.programs.of(inside, revision)
        except Rejected as problem:  # the template depends on values that are not known yet
            raise _Unexpanded(problem.problems[0].message) from problem
        secret = nest.evaluated.secret or (record is not None and record.held.secret)
        desired = DesiredStack(
            inside,
            revision,
            program,
            current.records,
            masked=self.desired.masked or bool(secret),
            observe=self.desired.observe,
        )
        prediction = self.below[definition.name] = await _predict(
            self.services, self.cloud, desired, self.real
        )
        inner = prediction.plan
        attributes: dict[str, Any] = {}
        if record is not None and inner.still:
            attributes.update(record.held.attributes)
        if definition.child is not None:
            evaluate = partial(_outputs, program, inner, definition.name)
            ctx.outputs = await self.services.compute.evaluated(evaluate, row.project_id)
            attributes.update(ctx.outputs)
        reference: Any = unknown_reference(definition.name)
        if record is not None and unknown_in(ctx.outputs.get("OS::stack_id")) is None:
            reference = rtype.reference(ctx)
        return Inner(inner, attributes, reference)

    def _context(
        self, nest: _Nest, properties: Mapping[str, Any], current: "_StoredChild"
    ) -> ResourceContext:
        """Return the context with which the type of a resource defines the nested stack."""
        services, row = self.services, self.desired.row
        in_charge = [one for one in self.desired.records if one.until is None]
        definition, record = nest.definition, nest.record
        new_id = ids_of(row.name, definition.name)
        current_record = record or Record(new_id(), definition.name, definition.type, 0, 0.0)
        return resource_context(
            services,
            row,
            current_record.having(type=definition.type),
            services.programs.rtype_of(definition),
            self.cloud,
            Action.CREATE if record is None else Action.UPDATE,
            properties=properties,
            new_id=new_id,
            before=current_record.held.properties,
            changed=frozenset() if record is None else to_write(record.held, properties),
            data=current.data,
            metadata=current.metadata or nulled(nest.evaluated.metadata),
            members=current.members,
            definitions=current.definitions,
            at_once=True,
            fetch=lambda url: file_text(
                self.desired.revision.files,
                services.fetch_template,
                url,
            ),
            read_metadata=lambda reference: services.store.read(
                lambda tx: referred_metadata(tx, in_charge, reference)
            ),
            **reading_others(row, lambda: in_charge, lambda record_id: {}),
        )

    async def _read_child(self, record: Record | None, *, regroups: bool) -> "_StoredChild":
        if record is None or record.physical_id is None:
            return _StoredChild()
        child_id, record_id = record.physical_id, record.id

        def look(tx: Tx) -> _StoredChild:
            row = reads.stack_by_physical_id(tx, child_id)
            if row is None or row.deleted_at is not None:
                return _StoredChild()
            _, data, metadata = reads.data_of(tx, record_id)
            members = claim.members(tx, child_id)
            definitions = claim.definitions(tx, child_id) if regroups else {}
            records = reads.records(tx, child_id)
            return _StoredChild(row, records, data, metadata, members, definitions)

        return await self.services.store.read(look)


class _StoredChild(Struct, frozen=True):
    """The stored data of a nested stack and of its resource; all of it is empty for a new stack."""

    row: StackRow | None = None
    records: list[Record] = field(default_factory=list)
    data: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)


async def _declared_child(rtype: NestedType, ctx: ResourceContext, stand_ins: StandIns) -> Child:
    """Return the nested stack that a resource declares. Raises _Unexpanded."""
    try:
        await rtype.prepare(ctx)
    except CloudFault as fault:  # the update itself will report it
        raise _Unexpanded(fault.message) from fault
    try:
        return stand_ins.declared(rtype.child(ctx))
    except ValueError as problem:  # the same
        raise _Unexpanded(str(problem)) from problem


def ids_of(*path: str) -> Callable[[], str]:
    """Return a function that returns new ids, the same ones for the same path.

    Members of groups are named by such ids. So equal plans have the same names, and the same hash.
    """
    numbers = count()
    return lambda: str(uuid5(NAMESPACE_OID, "/".join((*path, str(next(numbers))))))


def _sketch(parent: StackRow, ctx: ResourceContext, stack_id: str) -> StackRow:
    """Return the row that a new nested stack would have, without storing it."""
    return parent.having(
        id=stack_id,
        name=ctx.physical_name,
        parent_id=parent.id,
        depth=parent.depth + 1,
        revision=0,
        previous_revision=0,
    )


def _outputs(program: Program, inner: Plan, name: str) -> dict[str, Any]:
    """Return the predicted outputs of a nested stack.

    An unknown output is an Unknown that depends on `name`, the resource of the nested stack.
    """
    assert inner.world is not None
    outputs: dict[str, Any] = {}
    with spending():
        for key, output in program.outputs.items():
            value, error = output.evaluate(inner.world)
            if error is None:
                unknown = unknown_in(value) is not None
                outputs[key] = Unknown(frozenset({name})) if unknown else value
    return outputs

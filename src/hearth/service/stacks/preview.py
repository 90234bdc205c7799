"""Previews and plans: what a create or an update would do. Nothing is stored or changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hearth.engine.core.plan import Entry
from hearth.engine.core.predict import MASK, PlannedAction
from hearth.engine.core.record import Record
from hearth.engine.core.rules import RequestKind, refusal
from hearth.engine.turns import Pauses
from hearth.model.problem import Rejected, rejection
from hearth.model.unknown import Unknown, nulled
from hearth.resources.capabilities import Mirrors
from hearth.service.caller import Caller
from hearth.service.problems import PlanChanged
from hearth.service.reading.outputs import OutputValue
from hearth.service.reading.redact import Sight
from hearth.service.reading.resources import recorded_attributes
from hearth.service.services import Services
from hearth.service.stacks.create import sketch
from hearth.service.stacks.prediction import UNBORN, DesiredStack, StackPrediction, predict_stack
from hearth.service.stacks.request import StackRequest, check_name, checked, requested
from hearth.service.stacks.unreachable import demand_reachable
from hearth.service.stacks.update import desired_stack
from hearth.store import accept, reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow
from hearth.template import Evaluated, NullWorld, Program, ResourceDefinition, World
from hearth.template.budget import spending
from hearth.template.walk import walk

GROUPS: Mapping[PlannedAction, str] = {
    PlannedAction.CREATE: "added",
    PlannedAction.DELETE: "deleted",
    PlannedAction.RETAIN: "deleted",
    PlannedAction.REPLACE: "replaced",
    PlannedAction.MAY_REPLACE: "replaced",
    PlannedAction.KEEP: "unchanged",
    PlannedAction.UPDATE: "updated",
    PlannedAction.MAY_UPDATE: "updated",
    PlannedAction.FAIL: "updated",
}
"""The group of each action in an update preview. An uncertain action counts as the largest change
that is possible.
"""

Item = dict[str, Any]
"""A resource in a preview, in Heat's format; `creation_time` and `updated_time` are seconds since
1970, or None.
"""
SHOW = "show"  # the attribute that contains all the others
OF_UPDATES = Sight(secrets=True, hidden=False)  # who may update may also read secrets


class Above(Struct, frozen=True):
    """Where a nested stack belongs: the name of its parent stack, and the name of its resource
    there.
    """

    stack_name: str
    resource: str


def _identity(row: StackRow) -> dict[str, str]:
    """Return the identity of a stack in the format of Heat's internal protocol."""
    return {
        "tenant": row.project_id,
        "stack_name": row.name,
        "stack_id": row.id,
        "path": "",
    }


async def plan_create(
    services: Services, caller: Caller, name: str, request: StackRequest
) -> StackPrediction:
    """Return the plan of a create request.

    Raises CloudFault, and Rejected if the name or the request is invalid. Quotas are not checked.
    """
    check_name(name)
    await services.store.read(lambda tx: accept.demand_free(tx, caller.project_id, name))
    revision = await requested(services, caller, request)
    new = accept.NewStack(
        id=UNBORN,
        project_id=caller.project_id,
        name=name,
        revision=revision,
        timeout_mins=request.timeout_mins,
        disable_rollback=True if request.disable_rollback is None else request.disable_rollback,
        creator=caller.user_name,
        tags=request.tags or (),
    )
    row = sketch(new, services.clock.now())
    program = await checked(services, caller, row, revision)
    return await _predicted(services, caller, DesiredStack(row, revision, program))


async def plan_update(
    services: Services,
    caller: Caller,
    row: StackRow,
    request: StackRequest,
    *,
    recorded: bool = False,
) -> StackPrediction:
    """Return the plan of an update request.

    If `recorded` is true, the plan uses the recorded state, even if the update would read the real
    state first. Raises CloudFault, and Rejected if the request is invalid or the stack's state does
    not allow an update. Quotas are not checked.
    """
    if problem := refusal(RequestKind.UPDATE, row.name, row.action, row.status):
        raise Rejected([problem])
    desired = await desired_stack(services, caller, row, request)
    if recorded:
        desired = replace(desired, observe=False)
    return await _predicted(services, caller, desired)


async def _predicted(services: Services, caller: Caller, desired: DesiredStack) -> StackPrediction:
    prediction = await predict_stack(services, services.cloud(caller), desired)
    demand_reachable(prediction, services.audience)
    return prediction


def demand_plan(prediction: StackPrediction, agreed: str) -> None:
    """Raise Rejected unless the plan has the hash to which the caller agreed."""
    now = prediction.plan.as_json()["hash"]
    if now != agreed:
        message = f"The plan has changed: its hash is {now}, but the request agrees to {agreed}."
        raise rejection(PlanChanged, f"{message} Request the plan again.")


def created_outputs(prediction: StackPrediction) -> list[OutputValue]:
    """Return the outputs of a stack that does not exist yet.

    In them, references are resource names. An attribute is null, unless it repeats a property that
    needs no other resource.
    """
    world = prediction.plan.world
    assert world is not None
    values = []
    with spending():
        born = _BornWorld(prediction.desired, world)
        for output in prediction.desired.program.outputs.values():
            value, error = output.evaluate(born)
            values.append(OutputValue(output.name, output.description, nulled(value), error))
    return values


class _BornWorld(NullWorld):
    """A world in which an attribute of a new resource that repeats a property has its value.

    The properties are evaluated in the world before, so a chain of such resources ends at its first
    link, and needs no more than the plan needed.
    """

    def __init__(self, desired: DesiredStack, world: World) -> None:
        super().__init__(world)
        self._desired = desired
        self._evaluated: dict[str, Evaluated] = {}

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        value = self.world.attribute(name, attribute, path)
        definition = self._desired.program.resources.get(name)
        if definition is not None and isinstance(value, Unknown) and not self._desired.masked:
            value = self._repeated(definition, attribute, path, value)
        return nulled(value)

    def _repeated(
        self, definition: ResourceDefinition, attribute: str, path: tuple[Any, ...], unknown: Any
    ) -> Any:
        repeated = _mirrors(definition).get(attribute)
        if repeated is None:
            return unknown
        name = definition.name
        if name not in self._evaluated:
            self._evaluated[name] = definition.check(self.world)
        evaluated = self._evaluated[name]
        hidden = repeated in evaluated.secret or evaluated.problems
        return unknown if hidden else walk(evaluated.properties.get(repeated), path)


async def created_items(
    prediction: StackPrediction, above: Above | None = None, pauses: Pauses | None = None
) -> list[Item | list[Any]]:
    """Return the resources of a stack that does not exist yet.

    The resources of a nested stack are a list inside the list. If the stack is nested, `above` has
    the names of its parent stack and of its resource there; the name of the stack is composed of
    both. Others run between the resources, at `pauses`.
    """
    pauses = pauses or Pauses()
    desired, world = prediction.desired, prediction.plan.world
    assert world is not None
    stack_name = f"{above.stack_name}-{above.resource}" if above else desired.row.name
    items: list[Item | list[Any]] = []
    users = _Dependents()
    for entry in prediction.plan.entries:
        await pauses.here()
        if entry.name in prediction.below:
            below = prediction.below[entry.name]
            items.append(await created_items(below, Above(stack_name, entry.name), pauses))
            continue
        definition = desired.program.resources[entry.name]
        row = desired.row.having(name=stack_name)
        item = _item(row, entry.name, entry.type, None, above.resource if above else None)
        item["description"] = definition.description
        item["required_by"] = users.of(desired.program, entry.name)
        item.update(_values(desired, definition, world))
        item["attributes"] = _mirrored(definition, item["properties"])
        items.append(item)
    return items


def _values(desired: DesiredStack, definition: ResourceDefinition, world: World) -> Item:
    """Return the properties and the metadata of a resource, as {"properties": ..., "metadata":
    ...}.

    Properties that are not given are null. Values computed from hidden ones are masked.
    """
    evaluated = definition.check(world)
    values = {**dict.fromkeys(definition.type_info.properties), **evaluated.properties}
    properties = {
        name: MASK if desired.masked or name in evaluated.secret else nulled(value)
        for name, value in values.items()
    }
    metadata = nulled(evaluated.metadata)
    if desired.masked or definition.scope.masked(repr(metadata)) != repr(metadata):
        metadata = dict.fromkeys(metadata, MASK)
    return {"properties": properties, "metadata": metadata}


def _mirrors(definition: ResourceDefinition) -> Mapping[str, str]:
    rtype = definition.type_info
    return rtype.mirrors if isinstance(rtype, Mirrors) else {}


def _mirrored(definition: ResourceDefinition, properties: Mapping[str, Any]) -> Item:
    """Return the attributes of a resource that does not exist yet.

    An attribute that repeats a property has its value; all others are null.
    """
    mirrors = _mirrors(definition)
    names = sorted(set(definition.type_info.attributes) - {SHOW})
    return {name: properties[mirrors[name]] if name in mirrors else None for name in names}


async def changes(
    services: Services, prediction: StackPrediction, *, show_nested: bool
) -> dict[str, list[Item]]:
    """Return the resources of an update preview, grouped by action.

    If `show_nested` is true, the resources of nested stacks are in the same lists.
    """
    stacks = await services.store.read(
        lambda tx: _read_nested(tx, prediction.desired.row, records=show_nested)
    )
    groups: dict[str, list[Item]] = {group: [] for group in GROUPS.values()}
    users, pauses = _Dependents(), Pauses()
    for planned in _planned_entries(prediction, None, show_nested=show_nested):
        await pauses.here()
        entry, record, predicted, above = planned
        group = groups[GROUPS[entry.planned]]
        if record is None:
            group.append(_created_item(predicted, entry, above, users))
            continue
        item = _existing_item(
            services, predicted.desired.row, record, stacks, above, masked=predicted.desired.masked
        )
        if (definition := predicted.desired.program.resources.get(entry.name)) is not None:
            item["description"] = definition.description
            item["required_by"] = users.of(predicted.desired.program, entry.name)
        group.append(item)
        if entry.planned is PlannedAction.DELETE and show_nested:
            group += _deleted_items(services, record, stacks, masked=predicted.desired.masked)
    return groups


NestedStacks = Mapping[str, tuple[StackRow, list[Record]]]
"""Nested stacks with their records, by the id of the nested stack."""


def _read_nested(tx: Tx, row: StackRow, *, records: bool) -> NestedStacks:
    below = reads.children(tx, row)
    return {stack.id: (stack, reads.records(tx, stack.id) if records else []) for stack in below}


def _created_item(
    prediction: StackPrediction, entry: Entry, above: str | None, users: "_Dependents"
) -> Item:
    """Return the preview of a resource that the update creates."""
    desired = prediction.desired
    item = _item(desired.row, entry.name, entry.type, None, above)
    if (definition := desired.program.resources.get(entry.name)) is not None:
        assert prediction.plan.world is not None
        properties = _values(desired, definition, prediction.plan.world)["properties"]
        item["attributes"] = _mirrored(definition, properties)
        item["description"] = definition.description
        item["required_by"] = users.of(desired.program, entry.name)
    return item


def _existing_item(
    services: Services,
    row: StackRow,
    record: Record,
    stacks: NestedStacks,
    above: str | None,
    *,
    masked: bool,
) -> Item:
    """Return the preview of an existing resource.

    Its attributes are masked if `masked` is true, or if they may contain a hidden value.
    """
    item = _item(row, record.name, record.type, record, above)
    attributes = recorded_attributes(services, record, OF_UPDATES)
    item["attributes"] = dict.fromkeys(attributes, MASK) if masked else attributes
    if (nested := stacks.get(record.physical_id or "")) is not None:
        item["nested_stack_id"] = _identity(nested[0])
    return item


def _deleted_items(
    services: Services, record: Record, stacks: NestedStacks, *, masked: bool
) -> Iterator[Item]:
    """Yield the previews of the resources of a nested stack that is deleted, at all levels."""
    masked = masked or bool(record.held.secret)
    row, records = stacks.get(record.physical_id or "", (None, []))
    if row is None:
        return
    for member in reads.in_charge(records).values():
        yield _existing_item(services, row, member, stacks, record.name, masked=masked)
        yield from _deleted_items(services, member, stacks, masked=masked)


class _Dependents:
    """The resources that require a resource, by the program of its stack."""

    def __init__(self) -> None:
        self._by_program: dict[Program, dict[str, list[str]]] = {}

    def of(self, program: Program, name: str) -> list[str]:
        """Return the names of the resources that require the resource `name`."""
        if program not in self._by_program:
            users: dict[str, list[str]] = {}
            for user, needs in program.requires.items():
                for provider in needs:
                    users.setdefault(provider, []).append(user)
            self._by_program[program] = users
        return self._by_program[program].get(name, [])


def _planned_entries(
    prediction: StackPrediction, above: str | None, *, show_nested: bool
) -> Iterator[tuple[Entry, Record | None, StackPrediction, str | None]]:
    """Yield (entry, existing record, prediction, parent resource) for each planned action.

    Older records of a name, which only wait for their deletion, are left out. If `show_nested` is
    true, the actions in nested stacks follow that of their resource.
    """
    records = {record.id: record for record in prediction.desired.records}
    standing = {record.id for record in reads.in_charge(prediction.desired.records).values()}
    for entry in prediction.plan.entries:
        going = entry.planned in (PlannedAction.DELETE, PlannedAction.RETAIN)
        if not going or entry.record_id in standing:
            yield entry, records.get(entry.record_id), prediction, above
        if show_nested and entry.name in prediction.below:
            yield from _planned_entries(prediction.below[entry.name], entry.name, show_nested=True)


def _item(row: StackRow, name: str, rtype: str, record: Record | None, above: str | None) -> Item:
    """Return the fields that the preview of every resource has.

    `above` is the name of the parent resource if the stack is nested.
    """
    identity = _identity(row)
    item: Item = {
        "resource_name": name,
        "resource_type": rtype,
        "resource_action": record.action.value if record else "INIT",
        "resource_status": record.status.value if record else "COMPLETE",
        "resource_status_reason": record.reason if record else "",
        "physical_resource_id": (record.physical_id or "") if record else "",
        "description": "",
        "metadata": {},
        "attributes": {},
        "required_by": [],
        "creation_time": record.created_at if record else None,
        "updated_time": (record.updated_at or record.created_at) if record else None,
        "stack_name": row.name,
        "resource_identity": {**identity, "path": f"/resources/{name}"},
        "stack_identity": identity,
    }
    if above is not None:
        item["parent_resource"] = above
    return item

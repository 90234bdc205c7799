"""The plan of an operation: a pure function of the records and the target program.

It contains the record of each name, the records that provably stay unchanged, the deletions, and
the order. A preview and the engine use the same function; a preview adds predicted actions.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hearth.engine.core import graph as graphs
from hearth.engine.core.choose import choose
from hearth.engine.core.decide import EXTERNAL, provably_kept
from hearth.engine.core.predict import (
    Expected,
    Inner,
    PlanOfStack,
    PredictedWorld,
    Prediction,
    PreviewContext,
    Reason,
    Traits,
    limited,
    predict,
)
from hearth.engine.core.predict import PlannedAction as PlannedAction
from hearth.engine.core.record import Record
from hearth.model.unknown import unknown_in
from hearth.template import Evaluated, ResourceDefinition, World

REMOVING = (PlannedAction.DELETE, PlannedAction.REPLACE, PlannedAction.MAY_REPLACE)
"""The actions that delete an object, or may delete it."""


class Plannable(Protocol):
    """The part of a program that the planner reads."""

    @property
    def resources(self) -> Mapping[str, Any]: ...
    @property
    def requires(self) -> Mapping[str, frozenset[str]]: ...
    @property
    def order(self) -> Iterable[str]: ...


class Target(Struct, frozen=True):
    """The revisions that a plan refers to.

    `revision` is the target of the operation, and `before` the revision before it. `back_to` is the
    revision to which a rollback returns; None if the operation is no rollback.
    """

    revision: int
    before: int
    back_to: int | None = None


class Entry(Struct, frozen=True):
    """One line of a plan: the planned action for one record.

    `awaits` names the resources whose unknown values may change the action. `inner` is the plan of
    the nested stack; `unexpanded` says why that plan cannot be made yet. If the resource is
    replaced, `removal` is the plan of the delete of its old nested stack. `later` maps each
    property whose value is not known yet to the resources on which the value depends.
    `deletes_data`: the action destroys an object that has data of users.
    """

    name: str
    record_id: str
    type: str
    planned: PlannedAction
    reasons: tuple[Reason, ...] = ()
    awaits: frozenset[str] = frozenset()
    inner: PlanOfStack | None = None
    later: Mapping[str, frozenset[str]] = {}
    deletes_data: bool = False
    unexpanded: str = ""
    removal: PlanOfStack | None = None

    @property
    def keeps(self) -> bool:
        """Return whether nothing changes: the engine also visits nested stacks that stay as they
        are.
        """
        if self.planned is PlannedAction.UPDATE and not self.reasons and self.inner is not None:
            return self.inner.keeps
        return self.planned is PlannedAction.KEEP

    def as_json(self) -> dict[str, Any]:
        """Return the entry in the API's format; keys that do not apply are left out."""
        action = PlannedAction.KEEP if self.keeps else self.planned
        body: dict[str, Any] = {
            "resource": self.name,
            "type": self.type,
            "action": action.value,
            "certain": action.certain,
            "reasons": [reason.as_json() for reason in self.reasons],
        }
        if self.awaits:
            body["awaits"] = sorted(self.awaits)
        if self.deletes_data:
            body["deletes_data"] = True
        if self.later:
            body["later"] = {name: sorted(until) for name, until in self.later.items()}
        if self.inner is not None:
            body["nested"] = self.inner.as_json()
        if self.unexpanded:
            body["unexpanded"] = self.unexpanded
        if self.removal is not None:
            body["removed"] = self.removal.as_json()
        return body


class Plan(Struct, frozen=True):
    """The planned action for each resource of a stack, and the resulting changes of records.

    `in_charge` maps names to record ids, and `requires` maps names to the names that they need.
    `unchanged` are the ids of records that provably stay unchanged, `new` the records to store, and
    `touched` the records whose range of revisions changed. `existing` are the records from before
    the operation. `world` holds the predicted values if the caller requested a preview.
    """

    target: Target
    entries: tuple[Entry, ...]
    in_charge: Mapping[str, str]
    requires: Mapping[str, frozenset[str]]
    unchanged: frozenset[str]
    new: tuple[Record, ...] = ()
    touched: tuple[Record, ...] = ()
    existing: tuple[Record, ...] = ()
    world: PredictedWorld | None = None

    @property
    def still(self) -> bool:
        """Return whether the operation changes nothing, neither in the stack nor in nested
        stacks.
        """
        return all(
            entry.planned is PlannedAction.KEEP
            or (entry.inner is not None and entry.inner.still and entry.planned not in REMOVING)
            for entry in self.entries
        )

    @property
    def keeps(self) -> bool:
        """Return whether no entry has an effect."""
        return all(entry.keeps for entry in self.entries)

    def graph(self) -> graphs.Graph:
        """Return the graph of the operation."""
        return graphs.build(
            in_charge=self.in_charge,
            requires=self.requires,
            existing=self.existing,
            unchanged=self.unchanged,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON; `hash` is equal for equal plans."""
        lines = [entry.as_json() for entry in self.entries]
        text = json.dumps(lines, sort_keys=True, default=str)
        return {"hash": hashlib.sha256(text.encode()).hexdigest(), "resources": lines}


def plan(
    records: Collection[Record],
    program: Plannable | None,
    target: Target,
    *,
    new_id: Callable[[], str],
    now: float,
    examine: Callable[[Record, ResourceDefinition, Mapping[str, str]], bool] | None = None,
    preview: PreviewContext | None = None,
    holds_data: Callable[[Record], bool] = lambda record: False,
) -> Plan:
    """Return the plan of an operation; `program` is None if everything is deleted.

    `examine(record, definition, chosen)` is called for a record whose definition and requirements
    are unchanged. It returns whether the engine must examine the record, because its values may
    have changed or it is a nested stack; `chosen` are the records chosen so far. With `preview`
    each entry also has the predicted action of its resource, and the reasons. `holds_data(record)`
    returns whether the object of a record has data of users.
    """
    predictor = _Predictor(preview, PredictedWorld(preview.facade)) if preview is not None else None
    planner = _Planner(program, target, examine, predictor)
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record)
    for name in program.order if program else ():
        definition = planner.resources[name]
        chosen = choose(
            by_name.get(name, ()),
            fingerprint=definition.fingerprint,
            back_to=target.back_to,
            before=target.before,
            now=target.revision,
        )
        if chosen is None:
            fresh = Record(new_id(), name, definition.type, target.revision, now)
            planner.create(fresh, definition)
        else:
            planner.go_on(chosen, definition)
    planner.leave(records)
    planned = planner.plan(records)
    doomed = {record.id for record in records if _would_lose_data(record, holds_data)}
    entries = tuple(
        replace(entry, deletes_data=True)
        if entry.record_id in doomed and entry.planned in REMOVING
        else entry
        for entry in planned.entries
    )
    return replace(planned, entries=entries) if doomed else planned


def _would_lose_data(record: Record, holds_data: Callable[[Record], bool]) -> bool:
    """Return whether a delete of the record destroys data: its object is neither kept nor copied.

    `holds_data(record)` returns whether the object has data of users.
    """
    deleted = record.physical_id is not None and record.held.deletion_policy == "Delete"
    return deleted and EXTERNAL not in record.held.parts and holds_data(record)


def must_look(
    record: Record,
    definition: ResourceDefinition,
    traits: Traits,
    *,
    required: Collection[str],
    reads: Collection[str],
    world: World,
) -> bool:
    """Return whether a record with an unchanged definition may have values that differ from the
    desired ones.

    `required` are the ids of the records that this record needs now, `reads` are the attributes of
    this record that other values use. The engine and a preview call this for each record that would
    otherwise stay unchanged.
    """
    if traits.always or traits.nested or traits.always_updated:
        return True
    if any(n not in record.held.attributes for n in reads):
        return True
    if record.requires != frozenset(required):
        return True
    if not required:
        return False
    evaluated = definition.evaluate(world)
    return bool(evaluated.unknown) or evaluated.properties != record.held.written


class _Planner:
    """Builds a plan, one resource name after another in the order of the program."""

    def __init__(
        self,
        program: Plannable | None,
        target: Target,
        examine: Callable[[Record, ResourceDefinition, Mapping[str, str]], bool] | None,
        predictor: "_Predictor | None",
    ) -> None:
        self.resources = program.resources if program else {}
        self._requires = program.requires if program else {}
        self._empty = program is None
        self._target = target
        self._examine = examine
        self._predictor = predictor
        self._in_charge: dict[str, str] = {}
        self._unchanged: dict[str, str] = {}  # names and ids
        self._entries: list[Entry] = []
        self._new: list[Record] = []
        self._touched: list[Record] = []

    def create(self, fresh: Record, definition: ResourceDefinition) -> None:
        """Put a new record in charge of its name."""
        self._new.append(fresh)
        self._in_charge[fresh.name] = fresh.id
        self._entries.append(_created(fresh, definition, self._predictor))

    def go_on(self, record: Record, definition: ResourceDefinition) -> None:
        """Plan a record that stays in charge: it is kept unchanged, or it gets an update node."""
        if record.until is not None:
            self._touched.append(record.having(until=None))
        if self._stays(record, definition):
            self._unchanged[record.name] = record.id
            self._entries.append(_kept(record, definition, self._predictor))
        else:
            self._entries.append(_open(record, definition, self._predictor))
        self._in_charge[record.name] = record.id

    def _stays(self, record: Record, definition: ResourceDefinition) -> bool:
        requires = self._requires[record.name]
        if not requires <= self._unchanged.keys():
            return False
        if not provably_kept(record, definition.fingerprint):
            return False
        if self._examine is not None and self._examine(record, definition, self._in_charge):
            return False
        predictor = self._predictor
        return predictor is None or not predictor.must_look(
            record, definition, requires, self._in_charge
        )

    def leave(self, records: Collection[Record]) -> None:
        """Plan the deletion of all records that were not chosen; they are no longer in charge."""
        chosen = set(self._in_charge.values())
        for record in records:
            if record.id in chosen:
                continue
            self._entries.append(_going(record, self._in_charge))
            # in a delete of the whole stack the record itself is deleted soon
            if record.until is None and not self._empty:
                self._touched.append(record.having(until=self._target.revision))

    def plan(self, existing: Collection[Record]) -> Plan:
        """Return the finished plan; `existing` are the records from before the operation."""
        return Plan(
            self._target,
            tuple(self._entries),
            self._in_charge,
            {name: self._requires[name] for name in self._in_charge},
            frozenset(self._unchanged.values()),
            tuple(self._new),
            tuple(self._touched),
            tuple(existing),
            self._predictor.world if self._predictor is not None else None,
        )


class _Predictor(Struct, frozen=True):
    """Predicts actions for a preview; `world` has the values predicted so far."""

    preview: PreviewContext
    world: PredictedWorld

    def must_look(
        self,
        record: Record,
        definition: ResourceDefinition,
        names: Iterable[str],
        in_charge: Mapping[str, str],
    ) -> bool:
        return self.preview.real is not None or must_look(
            record,
            definition,
            self.preview.traits(definition),
            required=[in_charge[name] for name in names],
            reads=self.preview.reads(definition),
            world=self.world,
        )

    def inner(
        self, definition: ResourceDefinition, record: Record | None, evaluated: Evaluated
    ) -> Inner | None:
        if not self.preview.traits(definition).nested:
            return None
        return self.preview.inner(definition, record, evaluated)


def _created(fresh: Record, definition: ResourceDefinition, predictor: _Predictor | None) -> Entry:
    inner, later = None, {}
    if predictor is not None:
        evaluated = definition.evaluate(predictor.world)
        inner = predictor.inner(definition, None, evaluated)
        predictor.world.add(
            fresh.name, None, PlannedAction.CREATE, inner=inner, secret=bool(evaluated.secret)
        )
        later = _later(evaluated)
    reasons: tuple[Reason, ...] = ()
    if definition.external_id is not None:
        reasons = (Reason(f"it refers to the existing object {definition.external_id}"),)
    return _entry(fresh, Prediction(PlannedAction.CREATE, reasons), inner, later=later)


def _later(evaluated: Evaluated) -> dict[str, frozenset[str]]:
    """Return the properties whose values are not known yet, each with the names of the resources on
    which its value depends.
    """
    values = {name: evaluated.properties.get(name) for name in sorted(evaluated.open_properties)}
    unknowns = {name: unknown_in(value) for name, value in values.items()}
    return {name: unknown.until for name, unknown in unknowns.items() if unknown is not None}


KEPT = Prediction(PlannedAction.KEEP)


def _kept(record: Record, definition: ResourceDefinition, predictor: _Predictor | None) -> Entry:
    if predictor is not None:
        predictor.world.add(record.name, record, PlannedAction.KEEP)
    return _entry(record, KEPT, None)


def _open(record: Record, definition: ResourceDefinition, predictor: _Predictor | None) -> Entry:
    """Return the entry of a record that may change, with a prediction if a preview is requested.

    Without a preview the planned action is EXAMINE: the update node of the record decides what to
    do.
    """
    if predictor is None:
        return _entry(record, Prediction(PlannedAction.EXAMINE), None)
    preview, world = predictor.preview, predictor.world
    evaluated = definition.evaluate(world)
    expected = Expected(
        parts=parts_of(definition, evaluated, world),
        properties=preview.resolve(definition, evaluated.properties),
        secret=evaluated.secret,
    )
    traits = preview.traits(definition)
    if (former := traits.as_made(record, evaluated.properties)) is not None:
        awaited = {k: v for k, v in evaluated.properties.items() if unknown_in(v) is not None}
        as_recorded = {**record.held.properties, **awaited}
        traits, expected = former, replace(expected, properties=as_recorded)
    real = preview.real_of(record)
    prediction = predict(record, expected, traits, real=real, masked=preview.masked)
    prediction = limited(prediction, record.name, preview)
    before = record if prediction.planned is PlannedAction.UPDATE else None
    inner = predictor.inner(definition, before, evaluated)
    world.add(record.name, record, prediction.planned, inner=inner, secret=bool(evaluated.secret))
    later = _later(evaluated)
    return _entry(record, prediction, inner, type_name=definition.type, later=later)


def parts_of(definition: ResourceDefinition, evaluated: Evaluated, world: World) -> dict[str, Any]:
    """Return the parts of a definition, except the properties, that an update compares."""
    outside = {} if definition.external_id is None else {EXTERNAL: definition.external_id}
    return {
        "metadata": evaluated.metadata,
        "depends_on": sorted(definition.depends_on),
        "deletion_policy": str(definition.deletion_policy),
        "update_policy": dict(definition.policy(world)),
        **outside,
    }


def _going(record: Record, in_charge: Collection[str]) -> Entry:
    retained = record.held.deletion_policy == "Retain"
    text = (
        "an older resource of that name"
        if record.name in in_charge
        else "no longer in the template"
    )
    prediction = Prediction(
        PlannedAction.RETAIN if retained else PlannedAction.DELETE, (Reason(text),)
    )
    return _entry(record, prediction, None)


def _entry(
    record: Record,
    prediction: Prediction,
    inner: Inner | None,
    *,
    type_name: str | None = None,
    later: Mapping[str, frozenset[str]] | None = None,
) -> Entry:
    return Entry(
        record.name,
        record.id,
        type_name or record.type,
        prediction.planned,
        prediction.reasons,
        prediction.awaits,
        inner.plan if inner is not None else None,
        later or {},
    )

"""Predictions: what an operation will do to a resource, as far as that is known before it runs.

The rules are those of `decide`. A value that is not known yet may or may not differ, so a
prediction that depends on it contains "may".
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct, field

from hearth.engine.core.decide import (
    EXTERNAL,
    MustReplace,
    Values,
    differing,
    must_examine,
    never_made,
    to_write,
    updatable,
    why_lost,
)
from hearth.engine.core.record import Record
from hearth.engine.core.walk import asleep, unhealthy
from hearth.model.state import Action
from hearth.model.unknown import Unknown, nulled, unknown_in, unknown_reference
from hearth.schema import Add, Prop, Replace, Rule
from hearth.template import Evaluated, Facade, ResourceDefinition, full_attribute, walk

MASK = "******"


class PlannedAction(StrEnum):
    """The action planned for a resource.

    EXAMINE stands for a resource that may change if no prediction was requested: its update node
    decides what to do.
    """

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    KEEP = "keep"
    DELETE = "delete"
    RETAIN = "retain"
    FAIL = "fail"
    MAY_UPDATE = "may update"
    MAY_REPLACE = "may replace"
    EXAMINE = "examine"

    @property
    def certain(self) -> bool:
        """Return whether the engine will certainly carry out this action, unless an earlier node
        fails.
        """
        return self not in (
            PlannedAction.MAY_UPDATE,
            PlannedAction.MAY_REPLACE,
            PlannedAction.EXAMINE,
        )


class Reason(Struct, frozen=True):
    """A reason for a predicted action.

    `of` is the property that causes it, if any. `values` is the pair of its values before and after
    the operation. If the new value is not known yet, `awaits` names the resources on which it
    depends.
    """

    text: str
    of: str | None = None
    values: tuple[Any, Any] | None = None
    awaits: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """Return the reason in the API's format."""
        body: dict[str, Any] = {"reason": self.text}
        if self.of is not None:
            body["property"] = self.of
        if self.values is not None:
            body["before"] = self.values[0]
            if not self.awaits:
                body["after"] = self.values[1]
        return body


class Traits(Struct, frozen=True):
    """The traits of a resource type on which predictions depend.

    `name` is the name of the type, and `schema` are its properties. `must_replace` returns why the
    type requires a replacement for a change, or None. `nested`: the resource has a nested stack.
    `always`: every update replaces the resource. `replace_failed`: whether an update replaces
    a resource whose create failed; None if that depends on its state in the cloud.
    `always_updated`: every update is passed on to the object. `makes_object`:
    the resource stands for an object in the cloud. `rules` are the rules that
    translate the properties, such as names to ids. `only_grow` names the properties that no update
    can lower. `succeeds(name)` returns whether this type can
    take over an object that was created as the type `name`. `as_made(record, written)` returns the
    traits of the form of the type that made the record, if that is another form and the properties
    `written` are unchanged.
    """

    name: str
    schema: Mapping[str, Prop]
    must_replace: MustReplace
    nested: bool = False
    always: bool = False
    always_updated: bool = False
    replace_failed: bool | None = True
    makes_object: bool = True
    rules: Sequence[Rule] = ()
    only_grow: Collection[str] = ()
    succeeds: Callable[[str], bool] = lambda kind: False
    as_made: "Callable[[Record, Values], Traits | None]" = lambda record, written: None


class Expected(Struct, frozen=True):
    """The desired parts and properties of a resource; both may contain unknown values.

    `parts` is the definition without the properties. Names in `properties` are replaced by ids.
    `secret` names the properties with hidden values.
    """

    parts: Mapping[str, Any]
    properties: Mapping[str, Any]
    secret: frozenset[str] = frozenset()


class RealState(Struct, frozen=True):
    """The real state of an object, which an update with `converge` reads before it decides.

    `properties` are those that were read; None if the object no longer exists. If `unread` is not
    empty, it says why the object could not be read, so that nothing is known of it.
    """

    properties: Values | None = field(default_factory=dict)
    unread: str = ""


NOT_READ = RealState(unread="the object was not read")


class Prediction(Struct, frozen=True):
    """The action predicted for a resource, and the reasons."""

    planned: PlannedAction
    reasons: tuple[Reason, ...] = ()

    @property
    def awaits(self) -> frozenset[str]:
        """Return the names of the resources whose unknown values may change the prediction."""
        return frozenset().union(*(reason.awaits for reason in self.reasons))


class PlanOfStack(Protocol):
    """The plan of a nested stack; see `plan.Plan`."""

    @property
    def still(self) -> bool: ...

    @property
    def keeps(self) -> bool: ...

    def as_json(self) -> dict[str, Any]: ...


class Inner(Struct, frozen=True):
    """The predicted result of a nested stack: its plan, and the values of its resource
    afterwards.
    """

    plan: PlanOfStack
    attributes: Mapping[str, Any]
    reference: Any


class PreviewContext(Struct, frozen=True):
    """The input of a prediction that the engine core cannot compute itself.

    `traits` returns the traits of a definition's type. `reads` returns the attributes of a resource
    that other values use. `resolve` returns the properties with names replaced by ids. `inner`
    returns the plan of the nested stack of a definition; None if it has no nested stack, or if the
    plan is not known. `restricted` returns the actions that the environment forbids for a resource
    name. `real` has the real states by record id if the engine will read them first, otherwise it
    is None. If `masked` is true, no property values are shown.
    """

    traits: Callable[[ResourceDefinition], Traits]
    reads: Callable[[ResourceDefinition], Collection[str]]
    resolve: Callable[[ResourceDefinition, Values], Values]
    inner: Callable[[ResourceDefinition, Record | None, Evaluated], Inner | None]
    restricted: Callable[[str], Collection[str]] = lambda name: ()
    facade: Facade | None = None
    real: Mapping[str, RealState] | None = None
    masked: bool = False

    def real_of(self, record: Record) -> RealState | None:
        """Return the real state of a record; None if the engine will not read it."""
        return None if self.real is None else self.real.get(record.id, NOT_READ)


class PredictedWorld(Struct):
    """The values of resources after the operation, as far as they can be predicted.

    A recorded value is known if the plan does not change it. All other values are Unknown.
    """

    facade: Facade | None = None
    _resources: dict[str, tuple[Record | None, PlannedAction, Inner | None]] = field(
        default_factory=dict
    )
    _secret: set[str] = field(default_factory=set)

    def add(
        self,
        name: str,
        record: Record | None,
        planned: PlannedAction,
        *,
        inner: Inner | None = None,
        secret: bool = False,
    ) -> None:
        """Add the predicted action of the resource `name`."""
        self._resources[name] = (record, planned, inner)
        if secret or (record is not None and record.held.secret):
            self._secret.add(name)

    def secret(self, name: str, attribute: str) -> bool:
        """Return whether a resource contains a hidden value, which its attributes may reveal."""
        record = self._resources.get(name, (None,))[0]
        return name in self._secret or (record is not None and record.held.hides(attribute))

    def reference(self, name: str) -> Any:
        """Return the reference id, or Unknown if the operation may change it.

        An update in place does not change a reference id that contains the physical id.
        """
        unknown = unknown_reference(name)
        record, planned, inner = self._resources.get(name, (None, PlannedAction.CREATE, None))
        if record is None or record.held.reference is None:
            return unknown
        reference = record.held.reference
        match planned:
            case PlannedAction.KEEP:
                return reference
            case PlannedAction.UPDATE | PlannedAction.MAY_UPDATE:
                if inner is not None:
                    return inner.reference
                return (
                    reference if record.physical_id and record.physical_id in reference else unknown
                )
            case _:
                return unknown

    def attribute(self, name: str, attribute: str, path: Sequence[Any] = ()) -> Any:
        """Return the attribute, or the part of it at `path`; Unknown if the operation may change
        it.

        For the resource of a nested stack it is the value in the plan of the nested stack.
        """
        unknown = Unknown(frozenset({name}))
        record, planned, inner = self._resources.get(name, (None, PlannedAction.CREATE, None))
        if record is None or record.new:
            return unknown
        if planned is PlannedAction.KEEP:
            attributes: Mapping[str, Any] = record.held.attributes
        elif planned is PlannedAction.UPDATE and inner is not None:
            attributes = inner.attributes
        else:
            return unknown
        attribute, path = full_attribute(attribute, path)
        return walk(attributes.get(attribute, unknown), path)


def predict(
    record: Record,
    expected: Expected,
    traits: Traits,
    *,
    real: RealState | None = None,
    masked: bool = False,
) -> Prediction:
    """Return the action that an update is expected to carry out on a record, with the reasons.

    `real` is the real state of the object if the engine will read it. If `masked` is true, the
    reasons contain no property values.
    """
    if record.new:
        return Prediction(PlannedAction.CREATE)
    if not record.held.kind:
        return Prediction(PlannedAction.MAY_REPLACE, (Reason("it was never created successfully"),))
    if asleep(record) and not unhealthy(record):
        text = "it is suspended and will be resumed first"
        return _because(PlannedAction.MAY_REPLACE, text)
    if (at_once := _by_state(record, expected, traits, real)) is not None:
        return at_once
    if real is None:
        return _by_values(record, expected, traits, masked=masked)
    if real.unread:
        return _uncertain(_by_values(record, expected, traits, masked=masked), real.unread)
    assert real.properties is not None
    recorded = record.held.properties
    usable = updatable(traits.schema, real.properties, recorded, traits.only_grow)
    actual = record.having(held=record.held.having(properties={**recorded, **usable}))
    drifted = differing(actual.held.properties, recorded)
    by_values = _by_values(actual, expected, traits, drifted=drifted, masked=masked)
    lasting = [
        Reason("differs in the cloud and stays so, because no update can change it back", name)
        for name in sorted(real.properties.keys() - usable.keys())
        if real.properties[name] != recorded.get(name) == expected.properties.get(name)
    ]
    return Prediction(by_values.planned, (*by_values.reasons, *lasting))


def _by_values(
    record: Record,
    expected: Expected,
    traits: Traits,
    *,
    drifted: frozenset[str] = frozenset(),
    masked: bool,
) -> Prediction:
    """Return the prediction that follows from the record's values and the desired values.

    `drifted` are the properties whose values in the record are not the recorded but the real ones.
    """
    recorded = record.held
    awaited = {
        name: unknown.until
        for name, value in expected.properties.items()
        if (unknown := unknown_in(value)) is not None
    }
    properties = {name: v for name, v in expected.properties.items() if name not in awaited}
    changes = to_write(recorded, properties) - awaited.keys()
    parts = _parts(recorded.parts, expected.parts)
    reasons = _reasons(record, expected, traits, changes, awaited, drifted=drifted, masked=masked)
    if traits.always_updated:
        parts = (*parts, Reason("every update is passed on to it"))
    moved = traits.nested or bool(changes) or any(not part.awaits for part in parts)
    if not moved and not awaited and not parts:
        return Prediction(PlannedAction.KEEP)
    if any(traits.schema[name].immutable for name in changes & traits.schema.keys()):
        return Prediction(PlannedAction.FAIL, (*reasons, *parts))
    planned, cause = _verdict(record, expected, traits, changes, awaited, moved=moved)
    return Prediction(planned, (*(() if cause is None else (Reason(cause),)), *reasons, *parts))


def limited(prediction: Prediction, name: str, preview: PreviewContext) -> Prediction:
    """Adapt a prediction to the restrictions of the environment: a restricted action becomes
    FAIL.
    """
    if prediction.planned.value not in preview.restricted(name):
        return prediction
    text = f"{prediction.planned} is restricted for resource."
    return Prediction(PlannedAction.FAIL, (Reason(text), *prediction.reasons))


def _uncertain(prediction: Prediction, unread: str) -> Prediction:
    """Return the prediction for an object that could not be read, from that by its recorded
    values: as it may be gone, any action may become a replacement.
    """
    if prediction.planned in (PlannedAction.REPLACE, PlannedAction.MAY_REPLACE):
        return prediction
    text = f"its real state decides, and is not known: {unread}"
    return Prediction(PlannedAction.MAY_REPLACE, (Reason(text), *prediction.reasons))


def _by_state(
    record: Record, expected: Expected, traits: Traits, real: RealState | None
) -> Prediction | None:
    """Return the prediction if it follows from the record's type and state, and from the existence
    of its object, alone; otherwise None.

    Source: docs/spec/engine.md, 6.
    """
    recorded = record.held
    is_gone = real is not None and real.properties is None
    if is_gone and EXTERNAL not in recorded.parts and EXTERNAL not in expected.parts:
        subject = "nested stack no longer exists" if traits.nested else "object no longer exists"
        return _because(PlannedAction.REPLACE, f"its {subject}")
    if recorded.kind != traits.name and not traits.succeeds(recorded.kind):
        return _because(
            PlannedAction.REPLACE, f"the type changed from {recorded.kind} to {traits.name}"
        )
    outside = recorded.parts.get(EXTERNAL)
    if outside != expected.parts.get(EXTERNAL):
        return _because(PlannedAction.FAIL, "its external_id cannot be changed")
    if outside is not None and recorded.reference is None:
        return _because(PlannedAction.CREATE, f"its external object {outside} is not checked yet")
    if outside is not None:
        return Prediction(PlannedAction.KEEP)
    if record.action is Action.DELETE:
        return _because(PlannedAction.REPLACE, "it was being deleted")
    if unhealthy(record):
        planned = PlannedAction.MAY_REPLACE if traits.nested else PlannedAction.REPLACE
        return _because(planned, "its last check failed")
    if (failed := _of_a_failure(record, traits)) is not None:
        return failed
    if traits.always:
        return _because(PlannedAction.REPLACE, "every update replaces resources of this type")
    return None


def _of_a_failure(record: Record, traits: Traits) -> Prediction | None:
    """Return the prediction that follows from the record's failure, or None."""
    if not record.failed or traits.nested:
        return None
    unmade = never_made(record)
    if unmade and traits.replace_failed:
        return _because(PlannedAction.REPLACE, why_lost(record))
    if not (unmade or (must_examine(record) and traits.makes_object)):
        return None
    condition = "it will be replaced if its object is gone or in an error state"
    return _because(PlannedAction.MAY_REPLACE, f"its {record.action} failed: {condition}")


def _because(planned: PlannedAction, text: str) -> Prediction:
    return Prediction(planned, (Reason(text),))


def _verdict(
    record: Record,
    expected: Expected,
    traits: Traits,
    changes: frozenset[str],
    awaited: Mapping[str, Collection[str]],
    *,
    moved: bool,
) -> tuple[PlannedAction, str | None]:
    """Return the planned action for changed or unknown properties, and a reason.

    `changes` are the properties whose values differ. `awaited` maps each property whose value is
    unknown to the resources on which the value depends. If `moved` is true, the update certainly
    changes something. The reason is the one that the resource type gives for a replacement,
    otherwise None.
    """
    before = record.held.properties
    schema = traits.schema
    fixed = any(name in schema and not schema[name].update_allowed for name in changes)
    stuck = any(schema[name].immutable for name in awaited if name in schema)
    as_it_was = {name: before[name] for name in awaited if name in before}
    now = {n: v for n, v in expected.properties.items() if n not in awaited} | as_it_was
    cause = traits.must_replace(before, now, changes) if moved else None
    if cause or fixed:
        return (PlannedAction.MAY_REPLACE if stuck else PlannedAction.REPLACE), cause
    if awaited:
        may = traits.must_replace(before, nulled(expected.properties), changes | awaited.keys())
        if may or any(name in schema and not schema[name].update_allowed for name in awaited):
            return PlannedAction.MAY_REPLACE, None
    return (PlannedAction.UPDATE if moved else PlannedAction.MAY_UPDATE), None


def _parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Reason, ...]:
    """Return a reason for each part of the definition that differs or may differ; properties are
    not compared.
    """
    reasons = []
    for name in sorted(before.keys() | after.keys()):
        unknown = unknown_in(after.get(name))
        if unknown is not None:
            text = f"its {name} is known only after {_listed(unknown.until)}"
            reasons.append(Reason(text, awaits=unknown.until))
        elif before.get(name) != after.get(name):
            reasons.append(Reason(f"its {name} changed"))
    return tuple(reasons)


def _reasons(
    record: Record,
    expected: Expected,
    traits: Traits,
    changes: frozenset[str],
    awaited: Mapping[str, frozenset[str]],
    *,
    drifted: frozenset[str],
    masked: bool,
) -> tuple[Reason, ...]:
    secret = reached(expected.secret | frozenset(record.held.secret), traits.rules)
    before, after = record.held.properties, expected.properties
    reasons = []
    for name in sorted(changes | awaited.keys()):
        values = (before.get(name), after.get(name))
        is_equal = values[0] == values[1]
        if masked or name in secret:
            values = (MASK, MASK)
        prop = traits.schema.get(name)
        suffix = ""
        if prop is not None and prop.immutable:
            suffix = " and cannot be changed"
        elif prop is not None and not prop.update_allowed:
            suffix = " and cannot be changed in place"
        if name in awaited:
            text = f"known only after {_listed(awaited[name])}{suffix}"
            reasons.append(Reason(text, name, values, awaited[name]))
        else:
            changed_by = "may have been changed by an update that failed" if is_equal else "changed"
            if name in drifted:
                changed_by = "changed in the cloud"
            reasons.append(Reason(f"{changed_by}{suffix}", name, values))
    return tuple(reasons)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(name for name in names if name)) or "the operation has begun"


def reached(secret: frozenset[str], rules: Sequence[Rule]) -> frozenset[str]:
    """Return the properties that contain a secret once the type's translation rules are applied."""
    names = set(secret)
    for rule in rules:
        if isinstance(rule, Add | Replace) and rule.value_path and rule.value_path[0] in names:
            names.add(rule.path[0])
    return frozenset(names)

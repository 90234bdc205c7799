"""What an operation will do to a resource, as far as that can be known before it runs.

The rules are those of `decide`. A value that is not known yet may turn out to differ or not, so
what follows from it is told as a "may".
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hearth.engine.core.decide import EXTERNAL, MustReplace, Values, to_write
from hearth.engine.core.record import Record
from hearth.engine.core.visit import asleep
from hearth.model.state import Action
from hearth.model.unknown import Unknown, nulled, unknown_in
from hearth.schema import Add, Prop, Replace, Rule
from hearth.template import Evaluated, Facade, ResourceDefinition, asked, walk

if TYPE_CHECKING:
    from hearth.engine.core.plan import Plan

MASK = "******"


class PlannedAction(StrEnum):
    """What is planned for a resource. EXAMINE stands where nobody asked for more."""

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
        """Whether the engine will do just that, if nothing fails before."""
        return self not in (
            PlannedAction.MAY_UPDATE,
            PlannedAction.MAY_REPLACE,
            PlannedAction.EXAMINE,
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """Why; of a property, its value before and after where both can be told, as (before, after)."""

    text: str
    of: str | None = None
    values: tuple[Any, Any] | None = None
    awaits: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """As the API shows it."""
        body: dict[str, Any] = {"reason": self.text}
        if self.of is not None:
            body["property"] = self.of
        if self.values is not None:
            body["before"] = self.values[0]
            if not self.awaits:
                body["after"] = self.values[1]
        return body


@dataclass(frozen=True, slots=True)
class Traits:
    """What the rules must know of a resource type.

    `always`: any update replaces it. `replace_failed`: whether an update replaces a failed one,
    None where only the cloud can tell. `succeeds` tells of another type by name that this one may
    take over what that one made.
    """

    name: str
    schema: Mapping[str, Prop]
    must_replace: MustReplace
    nested: bool = False
    always: bool = False
    replace_failed: bool | None = True
    rules: Sequence[Rule] = ()
    succeeds: Callable[[str], bool] = lambda kind: False


@dataclass(frozen=True, slots=True)
class Expected:
    """What a resource shall be: parts and resolved properties, either with unknowns in them."""

    parts: Mapping[str, Any]
    properties: Mapping[str, Any]
    secret: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Prediction:
    """The action predicted for a resource, and the reasons."""

    planned: PlannedAction
    reasons: tuple[Reason, ...] = ()

    @property
    def awaits(self) -> frozenset[str]:
        """The resources whose values are not known yet."""
        return frozenset().union(*(reason.awaits for reason in self.reasons))


@dataclass(frozen=True, slots=True)
class Inner:
    """The plan of a nested stack, and what its resource will show after it."""

    plan: "Plan"
    attributes: Mapping[str, Any]
    reference: Any


@dataclass(frozen=True)
class PreviewContext:
    """What a prediction needs from outside the engine core.

    `reads` are the attributes of a resource that somebody reads. `resolve` gives the properties
    with names turned into ids, `inner` the plan of the nested stack that a definition makes, or
    None where there is none or nothing can be told. `restricted` are the verdicts that the
    environment forbids for a name. With `observe` the real state will be looked at first, with
    `masked` no value of a property is shown.
    """

    traits: Callable[[ResourceDefinition], Traits]
    reads: Callable[[ResourceDefinition], Collection[str]]
    resolve: Callable[[ResourceDefinition, Values], Values]
    inner: Callable[[ResourceDefinition, Record | None, Evaluated], Inner | None]
    restricted: Callable[[str], Collection[str]] = lambda name: ()
    facade: Facade | None = None
    observe: bool = False
    masked: bool = False


@dataclass
class PredictedWorld:
    """What is recorded, as far as the plan leaves it as it is. The rest is unknown."""

    facade: Facade | None = None
    _known: dict[str, tuple[Record | None, PlannedAction, Inner | None]] = field(
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
        """What will become of the resource of that name."""
        self._known[name] = (record, planned, inner)
        if secret or (record is not None and record.held.secret):
            self._secret.add(name)

    def secret(self, name: str, attribute: str) -> bool:
        """Something hidden went into the resource: its attributes may tell it."""
        return name in self._secret

    def reference(self, name: str) -> Any:
        """An update in place leaves a reference that holds the physical id."""
        unknown = Unknown(frozenset({name}))
        record, planned, inner = self._known.get(name, (None, PlannedAction.CREATE, None))
        if record is None or record.held.reference is None:
            return unknown
        held = record.held.reference
        match planned:
            case PlannedAction.KEEP:
                return held
            case PlannedAction.UPDATE | PlannedAction.MAY_UPDATE:
                if inner is not None:
                    return inner.reference
                return held if record.physical_id and record.physical_id in held else unknown
            case _:
                return unknown

    def attribute(self, name: str, attribute: str, path: Sequence[Any] = ()) -> Any:
        """Recorded, or told by the plan of a nested stack."""
        unknown = Unknown(frozenset({name}))
        record, planned, inner = self._known.get(name, (None, PlannedAction.CREATE, None))
        if record is None or record.new:
            return unknown
        if planned is PlannedAction.KEEP:
            known: Mapping[str, Any] = record.held.attributes
        elif planned is PlannedAction.UPDATE and inner is not None:
            known = inner.attributes
        else:
            return unknown
        attribute, path = asked(attribute, path)
        return walk(known.get(attribute, unknown), path)


def predict(
    record: Record, expected: Expected, traits: Traits, *, masked: bool = False
) -> Prediction:
    """The outlook for a record that stands for a name of the template."""
    if record.new:
        return Prediction(PlannedAction.CREATE)
    if not record.held.kind:
        return Prediction(PlannedAction.MAY_REPLACE, (Reason("nothing has been done with it yet"),))
    if asleep(record):
        return Prediction(PlannedAction.MAY_REPLACE, (Reason("it sleeps: it is woken first"),))
    if (at_once := _by_state(record, expected, traits)) is not None:
        return at_once
    held = record.held
    awaited = {
        name: unknown.until
        for name, value in expected.properties.items()
        if (unknown := unknown_in(value)) is not None
    }
    known = {name: v for name, v in expected.properties.items() if name not in awaited}
    changed = to_write(held, known) - awaited.keys()
    parts = _parts(held.parts, expected.parts)
    reasons = _reasons(record, expected, traits, changed, awaited, masked=masked)
    moved = traits.nested or bool(changed) or any(not part.awaits for part in parts)
    if not moved and not awaited and not parts:
        return Prediction(PlannedAction.KEEP)
    if any(traits.schema[name].immutable for name in changed & traits.schema.keys()):
        return Prediction(PlannedAction.FAIL, (*reasons, *parts))
    planned, why = _verdict(record, expected, traits, changed, awaited, moved=moved)
    return Prediction(planned, (*(() if why is None else (Reason(why),)), *reasons, *parts))


def limited(prediction: Prediction, name: str, preview: PreviewContext) -> Prediction:
    """The outlook under what the environment forbids and what must be looked at first."""
    if prediction.planned.value in preview.restricted(name):
        why = f"{prediction.planned} is restricted for resource."
        return Prediction(PlannedAction.FAIL, (Reason(why), *prediction.reasons))
    frozen = prediction.planned is PlannedAction.FAIL and any(one.of for one in prediction.reasons)
    if preview.observe and (
        frozen or prediction.planned in (PlannedAction.KEEP, PlannedAction.UPDATE)
    ):
        why = "the real state is looked at first"
        return Prediction(PlannedAction.MAY_REPLACE, (Reason(why), *prediction.reasons))
    return prediction


def _by_state(record: Record, expected: Expected, traits: Traits) -> Prediction | None:
    """What follows from the state of a record whatever its values. Source: spec/engine.md, 6."""
    held = record.held
    if held.kind != traits.name and not traits.succeeds(held.kind):
        return _because(
            PlannedAction.REPLACE, f"the type changed from {held.kind} to {traits.name}"
        )
    outside = held.parts.get(EXTERNAL)
    if outside != expected.parts.get(EXTERNAL):
        return _because(PlannedAction.FAIL, "its external_id must never change")
    if outside is not None and held.reference is None:
        return _because(PlannedAction.CREATE, f"{outside} could not be taken in so far")
    if outside is not None:
        return Prediction(PlannedAction.KEEP)
    if record.action is Action.DELETE:
        return _because(PlannedAction.REPLACE, "it was being deleted")
    if record.failed and record.action is Action.CHECK:
        planned = PlannedAction.MAY_REPLACE if traits.nested else PlannedAction.REPLACE
        return _because(planned, "the last check of it failed")
    if record.failed and traits.replace_failed:
        return _because(PlannedAction.REPLACE, f"its {record.action} failed")
    if record.failed and traits.replace_failed is None:
        why = f"its {record.action} failed: it is replaced if the cloud shows it broken"
        return _because(PlannedAction.MAY_REPLACE, why)
    if traits.always:
        return _because(PlannedAction.REPLACE, "the type is replaced by every update")
    return None


def _because(planned: PlannedAction, why: str) -> Prediction:
    return Prediction(planned, (Reason(why),))


def _verdict(
    record: Record,
    expected: Expected,
    traits: Traits,
    changed: frozenset[str],
    awaited: Mapping[str, Collection[str]],
    *,
    moved: bool,
) -> tuple[PlannedAction, str | None]:
    """What comes of changed and awaited properties, and the type's own reason for it."""
    before = record.held.properties
    schema = traits.schema
    fixed = any(name in schema and not schema[name].update_allowed for name in changed)
    stuck = any(schema[name].immutable for name in awaited if name in schema)
    as_it_was = {name: before[name] for name in awaited if name in before}
    now = {n: v for n, v in expected.properties.items() if n not in awaited} | as_it_was
    why = traits.must_replace(before, now, changed) if moved else None
    if why or fixed:
        return (PlannedAction.MAY_REPLACE if stuck else PlannedAction.REPLACE), why
    if awaited:
        may = traits.must_replace(before, nulled(expected.properties), changed | awaited.keys())
        if may or any(name in schema and not schema[name].update_allowed for name in awaited):
            return PlannedAction.MAY_REPLACE, None
    return (PlannedAction.UPDATE if moved else PlannedAction.MAY_UPDATE), None


def _parts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Reason, ...]:
    """Parts of the definition beside the properties that differ, or may."""
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
    changed: frozenset[str],
    awaited: Mapping[str, frozenset[str]],
    *,
    masked: bool,
) -> tuple[Reason, ...]:
    secret = _reached(expected.secret | frozenset(record.held.secret), traits.rules)
    before, after = record.held.properties, expected.properties
    reasons = []
    for name in sorted(changed | awaited.keys()):
        values = (before.get(name), after.get(name))
        same = values[0] == values[1]
        if masked or name in secret:
            values = (MASK, MASK)
        prop = traits.schema.get(name)
        how = ""
        if prop is not None and prop.immutable:
            how = " and must never change"
        elif prop is not None and not prop.update_allowed:
            how = " and cannot be changed in place"
        if name in awaited:
            text = f"known only after {_listed(awaited[name])}{how}"
            reasons.append(Reason(text, name, values, awaited[name]))
        else:
            changed_by = "may have been changed by an update that failed" if same else "changed"
            reasons.append(Reason(f"{changed_by}{how}", name, values))
    return tuple(reasons)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(name for name in names if name)) or "the operation has begun"


def _reached(secret: frozenset[str], rules: Sequence[Rule]) -> frozenset[str]:
    """The properties that a secret gets to when a type's rules move it."""
    found = set(secret)
    for rule in rules:
        if isinstance(rule, Add | Replace) and rule.value_path and rule.value_path[0] in found:
            found.add(rule.path[0])
    return frozenset(found)

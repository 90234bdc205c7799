"""Values against their declaration: coercion, defaults, constraints; everything wrong at once.

Null counts as "not given". A value that is unknown passes, at any depth, as do the constraints on
anything that holds one. Source: spec/hot.md, section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.model.problem import Problem, StackValidationFailed, hint, nearest
from hearth.model.span import Span
from hearth.model.unknown import Unknown, unknown_in
from hearth.model.value import Kind
from hearth.schema.constraint import Custom
from hearth.schema.convert import BAD, CONVERT, Bad
from hearth.schema.prop import Prop

PREFIX = "Property error"

CustomCheck = Callable[[str, Any], str | None]
"""Asks the cloud: constraint name and value in, what is wrong (or None) out."""


@dataclass(frozen=True)
class Lookup:
    """A question that only the cloud can answer: does this value satisfy the named constraint?"""

    name: str
    value: Any
    at: Span
    description: str | None = None


@dataclass
class Findings:
    """What a check has found so far: problems, and the lookups still to be made.

    Without `constrain` and `require`, constraints and required properties are passed over, for
    values that are only shaped yet. `locate` gives the place of a path; without it places are
    guessed from the parent.
    """

    problems: list[Problem] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    constrain: bool = True
    require: bool = True
    locate: Callable[[Span], Span] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: what was found, without the template to look for more."""
        return {**vars(self), "locate": None}

    def wrong(self, at: Span, text: str) -> None:
        """Note a property error."""
        place = self.locate(at) if self.locate else at
        self.problems.append(StackValidationFailed(place, text, PREFIX))

    def answers(self, check: CustomCheck) -> list[Problem]:
        """What the lookups collected so far find wrong, all made now."""
        answered = Findings(locate=self.locate)
        for lookup in self.lookups:
            text = check(lookup.name, lookup.value)
            if text is not None:
                answered.wrong(lookup.at, lookup.description or text)
        return answered.problems


NOTHING: tuple[Any, ...] = ("", [], {})
"""What counts as not given where a property says that empty is none."""

EMPTY: dict[Kind, Any] = {
    Kind.STRING: "",
    Kind.INTEGER: 0,
    Kind.NUMBER: 0,
    Kind.BOOLEAN: False,
    Kind.LIST: [],
    Kind.MAP: {},
    Kind.ANY: None,
}
"""What a property without value and default reads as."""


def coerce_all(
    schema: Mapping[str, Prop], values: Mapping[str, Any], at: Span, found: Findings
) -> dict[str, Any]:
    """The properties given, coerced, with defaults for those not given.

    Properties without value and default are left out. `at.path` is that of the whole map.
    """
    for name in values:
        if name not in schema:
            near = hint(nearest(str(name), schema))
            place = found.locate(at.under(str(name))) if found.locate else at
            place = Span(place.file, place.line, place.column, at.path)
            found.problems.append(
                StackValidationFailed(place, f'unknown property "{name}"{near}', PREFIX)
            )
    result: dict[str, Any] = {}
    for name, prop in schema.items():
        if name in values:
            value = values[name]
            if prop.empty_is_none and value in NOTHING:
                value = None
            if value is None and prop.has_default:
                value = prop.default
            if value is not None:
                if not prop.implemented:
                    found.wrong(at.under(name), f'property "{name}" is not implemented yet')
                result[name] = _simple(prop, value)
                if result[name] is BAD:
                    result[name] = coerce(prop, value, at.under(name), found)
        elif prop.has_default:
            if prop.default is not None:
                words = prop.kind is Kind.BOOLEAN  # some defaults of the contract are "true"
                result[name] = CONVERT[prop.kind](prop, prop.default) if words else prop.default
        elif prop.required and found.require:
            found.wrong(at, f'required property "{name}" is not given')
    return result


def _simple(prop: Prop, value: Any) -> Any:
    """The coerced value of a property with nothing more to check, else BAD; cheap."""
    if prop.schema is not None or prop.constraints or isinstance(value, Unknown):
        return BAD
    return CONVERT[prop.kind](prop, value)


def coerce(prop: Prop, value: Any, at: Span, found: Findings) -> Any:
    """The value as the declared type; problems and lookups go to `found`."""
    if isinstance(value, Unknown):
        return value
    if value is None:
        value = prop.default if prop.has_default and prop.default is not None else None
        if value is None:
            return None
    coerced = CONVERT[prop.kind](prop, value)
    if isinstance(coerced, Bad):
        found.wrong(at, f"{_shown(value)} is not {_article(prop.kind)}")
        return value
    if prop.schema is not None and isinstance(coerced, (list, dict)):
        coerced = _inner(prop, coerced, at, found)
    if found.constrain and prop.constraints:
        _constrain(prop, coerced, at, found)
    return coerced


def _inner(prop: Prop, value: Any, at: Span, found: Findings) -> Any:
    if prop.kind is Kind.LIST:
        if prop.item is not None:
            return [
                coerce(prop.item, item, at.under(index), found) for index, item in enumerate(value)
            ]
        return value
    if prop.kind is Kind.MAP:
        if prop.entries is not None:
            return coerce_all(prop.entries, value, at, found)
        assert prop.item is not None
        return {key: coerce(prop.item, item, at.under(key), found) for key, item in value.items()}
    return value


def _constrain(prop: Prop, value: Any, at: Span, found: Findings) -> None:
    if unknown_in(value) is not None:
        return
    for constraint in prop.constraints:
        if isinstance(constraint, Custom):
            found.lookups.append(Lookup(constraint.name, value, at, constraint.description))
            continue
        try:
            text = constraint.wrong(value)
        except TypeError:
            text = f"{_shown(value)} does not fit a constraint"
        if text is not None:
            found.wrong(at, text)
            return


def _shown(value: Any) -> str:
    text = str(value)
    return f'"{text[:77]}..."' if len(text) > 80 else f'"{text}"'


def _article(kind: Kind) -> str:
    return f"{'an' if kind in (Kind.INTEGER, Kind.ANY) else 'a'} {kind.value}"

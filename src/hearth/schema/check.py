"""Validation of property values: type conversion, defaults and constraints.

All errors are collected. A null value counts as not given: it is replaced by the default, and
refused if the property is required. Heat accepts it there, and the service then gets no value or a
text such as "None"; only a property that is `nullable` accepts it here, too. An `Unknown` is
accepted anywhere in a value, and the constraints of a value that contains one are not checked.
Source: docs/spec/hot.md, section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hearth.model.problem import Problem, StackValidationFailed, hint, nearest
from hearth.model.span import Span
from hearth.model.unknown import Unknown, unknown_in
from hearth.model.value import ValueKind
from hearth.schema.constraint import Custom
from hearth.schema.convert import BAD, CONVERT, Bad
from hearth.schema.prop import Prop

PREFIX = "Property error"

CustomCheck = Callable[[str, Any], str | None]
"""Checks a custom constraint: takes its name and the value, returns an error text or None."""


class Lookup(Struct, frozen=True):
    """A check that needs the cloud: whether a value satisfies the custom constraint `name`.

    `description` is the author's error text, which replaces the standard one.
    """

    name: str
    value: Any
    at: Span
    description: str | None = None


class Findings(Struct):
    """The results of a check: problems, and lookups that the caller has to make in the cloud.

    If `constrain` is false, constraints are not checked; if `require` is false, required properties
    may be missing or null. `locate` adds the line and column to a path; without it, a problem has
    the line and column of its parent.
    """

    problems: list[Problem] = []
    lookups: list[Lookup] = []
    constrain: bool = True
    require: bool = True
    locate: Callable[[Span], Span] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle this object without `locate`, which refers to the whole template."""
        parts = {**asdict(self), "locate": None}
        return type(self), tuple(parts.values())

    def wrong(self, at: Span, text: str) -> None:
        """Add a property error with this text at a place."""
        span = self.locate(at) if self.locate else at
        self.problems.append(StackValidationFailed(span, text, PREFIX))

    def answers(self, check: CustomCheck) -> list[Problem]:
        """Make all lookups with `check` and return the problems that it reports."""
        answered = Findings(locate=self.locate)
        for lookup in self.lookups:
            text = check(lookup.name, lookup.value)
            if text is not None:
                answered.wrong(lookup.at, lookup.description or text)
        return answered.problems


NOTHING: tuple[Any, ...] = ("", [], {})
"""The values that count as not given for a property with `empty_is_none`."""

EMPTY: dict[ValueKind, Any] = {
    ValueKind.STRING: "",
    ValueKind.INTEGER: 0,
    ValueKind.NUMBER: 0,
    ValueKind.BOOLEAN: False,
    ValueKind.LIST: [],
    ValueKind.MAP: {},
    ValueKind.ANY: None,
}
"""The value of a nullable property that is null, by the type of the property."""


def coerce_all(
    schema: Mapping[str, Prop], values: Mapping[str, Any], at: Span, findings: Findings
) -> dict[str, Any]:
    """Return the values converted to their declared types, with defaults for missing properties.

    Properties that have neither a value nor a default are left out, and so are values whose name is
    not in `schema`. `at` is the place of the whole map. Errors are added to `findings`.
    """
    for name in values:
        if name not in schema:
            near = hint(nearest(str(name), schema))
            span = findings.locate(at.under(str(name))) if findings.locate else at
            span = Span(span.file, span.line, span.column, at.path)
            findings.problems.append(
                StackValidationFailed(span, f'unknown property "{name}"{near}', PREFIX)
            )
    result: dict[str, Any] = {}
    for name, prop in schema.items():
        if name in values:
            value = _given(name, prop, values[name], at, findings)
            if value is not None:
                result[name] = value
        elif prop.has_default:
            if prop.default is not None:
                result[name] = _usual(prop)
        elif prop.required and findings.require:
            findings.wrong(at, f'required property "{name}" is not given')
    return result


def _usual(prop: Prop) -> Any:
    """Return the default, which is not checked: Heat declares one list with the default {}, and
    booleans with the default "true".
    """
    return (
        CONVERT[prop.kind](prop, prop.default) if prop.kind is ValueKind.BOOLEAN else prop.default
    )


def _given(name: str, prop: Prop, value: Any, at: Span, findings: Findings) -> Any:
    """Return the converted value of a property that is given, or None if it counts as not given."""
    if prop.empty_is_none and value in NOTHING:
        value = None
    if value is None and prop.has_default and prop.default is not None:
        return _usual(prop)
    if value is None:
        if prop.required and prop.nullable:
            return EMPTY[prop.kind]
        if prop.required and findings.require:
            findings.wrong(at.under(name), f'required property "{name}" is null')
        return None
    if not prop.implemented:
        findings.wrong(at.under(name), f'property "{name}" is not implemented yet')
    simple = _simple(prop, value)
    return coerce(prop, value, at.under(name), findings) if simple is BAD else simple


def _simple(prop: Prop, value: Any) -> Any:
    """Return the converted value, or BAD if the full check of `coerce` is needed.

    It is needed if the property has an inner schema or constraints, or if the value is Unknown or
    cannot be converted.
    """
    if prop.schema is not None or prop.constraints or isinstance(value, Unknown):
        return BAD
    return CONVERT[prop.kind](prop, value)


def coerce(prop: Prop, value: Any, at: Span, findings: Findings) -> Any:
    """Return the value converted to the declared type; add problems and lookups to `findings`.

    A value that cannot be converted is returned unchanged. For null, return the default, or None.
    """
    if isinstance(value, Unknown):
        return value
    if value is None:
        value = prop.default if prop.has_default and prop.default is not None else None
        if value is None:
            return None
    coerced = CONVERT[prop.kind](prop, value)
    if isinstance(coerced, Bad):
        findings.wrong(at, f"{_shown(value)} is not {_article(prop.kind)}")
        return value
    if prop.schema is not None and isinstance(coerced, (list, dict)):
        coerced = _inner(prop, coerced, at, findings)
    if findings.constrain and prop.constraints:
        _constrain(prop, coerced, at, findings)
    return coerced


def _inner(prop: Prop, value: Any, at: Span, findings: Findings) -> Any:
    if prop.kind is ValueKind.LIST:
        if prop.item is not None:
            filled = prop.item.kind is ValueKind.MAP and prop.item.entries is not None
            return [
                coerce(
                    prop.item, {} if item is None and filled else item, at.under(index), findings
                )
                for index, item in enumerate(value)
            ]  # a null in a list of maps is an empty map, as in Heat
        return value
    if prop.kind is ValueKind.MAP:
        if prop.entries is not None:
            return coerce_all(prop.entries, value, at, findings)
        assert prop.item is not None
        return {
            key: coerce(prop.item, item, at.under(key), findings) for key, item in value.items()
        }
    return value


def _constrain(prop: Prop, value: Any, at: Span, findings: Findings) -> None:
    if unknown_in(value) is not None:
        return
    for constraint in prop.constraints:
        if isinstance(constraint, Custom):
            findings.lookups.append(Lookup(constraint.name, value, at, constraint.description))
            continue
        try:
            text = constraint.wrong(value)
        except TypeError:
            text = f"{_shown(value)} has the wrong type for a constraint"
        if text is not None:
            findings.wrong(at, text)
            return


def _shown(value: Any) -> str:
    text = str(value)
    return f'"{text[:77]}..."' if len(text) > 80 else f'"{text}"'


def _article(kind: ValueKind) -> str:
    return f"{'an' if kind in (ValueKind.INTEGER, ValueKind.ANY) else 'a'} {kind.value}"

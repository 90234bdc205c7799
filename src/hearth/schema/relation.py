"""Declarative rules about several properties of a resource, such as "a and b exclude each other".

A property counts as given if its value is neither null nor empty. Any value, or a part of it, may
be an `Unknown`. A rule then holds, does not hold, or is not known yet; only a rule that certainly
does not hold is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from hearth.model.problem import (
    PropertyUnspecifiedError,
    ResourcePropertyConflict,
    StackValidationFailed,
)
from hearth.model.span import Step, dotted
from hearth.model.unknown import Unknown, unknown_in

Properties = Mapping[str, Any]
Truth = bool | None
"""Whether something is true; None if that is not known yet."""

EMPTY: tuple[Any, ...] = (None, "", [], {})


class Violation(Struct, frozen=True):
    """A violation of a rule: its place, as a path below the properties, and the error text.

    The path is empty if the rule is about several properties of the resource. `error` is the class
    of the problem, and so the type of the error in a response.
    """

    path: tuple[Step, ...]
    message: str
    error: type[StackValidationFailed] = StackValidationFailed

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


class Relation(Protocol):
    """A rule about the properties of a resource; `str()` returns the rule in words."""

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations that are certain, whatever the unknown values will be."""


class Simple:
    """A relation with one answer."""

    __slots__ = ()
    error: ClassVar[type[StackValidationFailed]] = StackValidationFailed

    def holds(self, properties: Properties) -> Truth:
        """Return whether the properties satisfy the rule."""
        raise NotImplementedError

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return a violation, without a path, if the rule certainly does not hold."""
        broken = self.holds(properties) is False
        return [Violation((), str(self), self.error)] if broken else []


class _Named:
    """A value whose last field takes all remaining positional arguments."""

    _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)

    def __init__(self, *arguments: Any) -> None:
        *single, last = self._fields
        for name, value in zip(single, arguments, strict=False):
            setattr(self, name, value)
        setattr(self, last, arguments[len(single) :])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class AtMostOne(_Named, Simple):
    """The rule that at most one of the named properties is given."""

    error = ResourcePropertyConflict
    names: tuple[str, ...]

    def holds(self, properties: Properties) -> Truth:
        return _any(
            _all(_not(given(properties, rival)) for rival in self.names if rival != name)
            for name in self.names
        )

    def __str__(self) -> str:
        return f"{_listed(self.names, 'and')} exclude each other"


class AtLeastOne(_Named, Simple):
    """The rule that at least one of the named properties is given."""

    error = PropertyUnspecifiedError
    names: tuple[str, ...]

    def holds(self, properties: Properties) -> Truth:
        return _any(given(properties, name) for name in self.names)

    def __str__(self) -> str:
        prefix = "" if len(self.names) == 1 else "one of "
        return f"{prefix}{_listed(self.names, 'and')} is needed"


class Needs(_Named, Simple):
    """The rule that all properties in `required` are given if the property `name` is given."""

    name: str
    required: tuple[str, ...]

    def holds(self, properties: Properties) -> Truth:
        all_given = _all(given(properties, name) for name in self.required)
        return _any([_not(given(properties, self.name)), all_given])

    def __str__(self) -> str:
        return f"{self.name} needs {_listed(self.required, 'and')}"


class RequiredFor(_Named, Simple):
    """The rule that `name` is given if the property `selector` has one of `values`."""

    name: str
    selector: str
    values: tuple[Any, ...]

    def holds(self, properties: Properties) -> Truth:
        applies = _among(properties.get(self.selector), self.values)
        return _any([_not(applies), given(properties, self.name)])

    def __str__(self) -> str:
        return f"{self.name} is required if {self.selector} is {_listed(self.values, 'or')}"


class OnlyFor(_Named, Simple):
    """The rule that `name` is given only if the property `selector` has one of `values`."""

    name: str
    selector: str
    values: tuple[Any, ...]

    def holds(self, properties: Properties) -> Truth:
        is_selected = _among(properties.get(self.selector), self.values)
        return _any([_not(given(properties, self.name)), is_selected])

    def __str__(self) -> str:
        return f"{self.name} is allowed only if {self.selector} is {_listed(self.values, 'or')}"


class Without(_Named):
    """The rule that none of the named properties is given; for use inside other relations."""

    names: tuple[str, ...]

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return a violation at each property that is given."""
        names = [name for name in self.names if given(properties, name)]
        error = ResourcePropertyConflict
        return [Violation((name,), f"{name} must not be given", error) for name in names]

    def __str__(self) -> str:
        return f"{_listed(self.names, 'and')} must not be given"


class Alone(Simple, Struct, frozen=True):
    """The rule that no other property is given if the property `name` is given."""

    name: str

    def holds(self, properties: Properties) -> Truth:
        absences = (_not(given(properties, name)) for name in properties if name != self.name)
        return _any([_not(given(properties, self.name)), _all(absences)])

    def __str__(self) -> str:
        return f"{self.name} excludes everything else"


class NotAbove(Simple, Struct, frozen=True):
    """The rule that `low` is at most `high`. Each is the name of a property or a constant."""

    low: str | int
    high: str | int

    def holds(self, properties: Properties) -> Truth:
        low, high = (
            bound if isinstance(bound, int) else properties.get(bound)
            for bound in (self.low, self.high)
        )
        if low is None or high is None:
            return True
        return None if unknown_in((low, high)) is not None else bool(low <= high)

    def __str__(self) -> str:
        if isinstance(self.low, int):
            return f"{self.high} must not be below {self.low}"
        return f"{self.low} must not be above {self.high}"


class Same(Simple, Struct, frozen=True):
    """The rule that two properties are equal if both are given.

    If `among` is not empty, the rule applies only if one of the two properties has one of these
    values.
    """

    first: str
    second: str
    among: tuple[Any, ...] = ()

    def holds(self, properties: Properties) -> Truth:
        both_given = _all([given(properties, self.first), given(properties, self.second)])
        first, second = properties.get(self.first), properties.get(self.second)
        applies = not self.among or _any([_among(first, self.among), _among(second, self.among)])
        return _any([_not(both_given), _not(applies), _among(first, (second,))])

    def __str__(self) -> str:
        condition = (
            f"one of them is {_listed(self.among, 'or')}" if self.among else "both are given"
        )
        return f"{self.first} and {self.second} must be the same where {condition}"


class Distinct(Struct, frozen=True):
    """The rule that the maps in the list property `name` have different values for `key`."""

    name: str
    key: str

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return a violation for each value that an earlier map has, too."""
        values: list[Any] = []
        violations = []
        for index, row in _maps(properties.get(self.name)):
            value = row.get(self.key)
            if value in values:
                message = f"two items must not have the same {self.key}"
                violations.append(Violation((self.name, *index, self.key), message))
            if value is not None and unknown_in(value) is None:
                values.append(value)
        return violations

    def __str__(self) -> str:
        return f"{self.name}: two items must not have the same {self.key}"


class Each(_Named):
    """Rules about the entries of a map, or about each map in a list.

    `name` is the property that contains the map or the list.
    """

    name: str
    relations: tuple[Relation, ...]

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations, each with the place in the map or list."""
        return [
            Violation((self.name, *index, *violation.path), violation.message, violation.error)
            for index, row in _maps(properties.get(self.name))
            for relation in self.relations
            for violation in relation.violations(row)
        ]

    def __str__(self) -> str:
        return f"{self.name}: {_listed(self.relations, 'and')}"


class Where(Struct, frozen=True):
    """A rule that applies only if the property `name` has one of `values`."""

    name: str
    values: tuple[Any, ...]
    relation: Relation

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations; their words include the condition."""
        if not _among(properties.get(self.name), self.values):
            return []
        return [
            Violation(violation.path, f"{self._condition}, {violation.message}", violation.error)
            for violation in self.relation.violations(properties)
        ]

    @property
    def _condition(self) -> str:
        return f"where {self.name} is {_listed(self.values, 'or')}"

    def __str__(self) -> str:
        return f"{self._condition}, {self.relation}"


class Unless(Struct, frozen=True):
    """A rule that applies only if the property `name` has none of `values`."""

    name: str
    values: tuple[Any, ...]
    relation: Relation

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations of the inner rule if it applies."""
        excepted = _among(properties.get(self.name), self.values)
        return self.relation.violations(properties) if excepted is False else []

    def __str__(self) -> str:
        return str(self.relation)


class Plain(Struct, frozen=True):
    """A rule whose violations have the error StackValidationFailed, as in Heat for some types."""

    relation: Relation

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations of the inner rule with that error."""
        return [
            Violation(violation.path, violation.message)
            for violation in self.relation.violations(properties)
        ]

    def __str__(self) -> str:
        return str(self.relation)


class Fits(Simple, Struct, frozen=True):
    """The rule that the value of a property, if it is not null, fulfils `test`.

    `message` says what is expected, such as "expected a number".
    """

    name: str
    test: Callable[[Any], Any]
    message: str

    def holds(self, properties: Properties) -> Truth:
        value = properties.get(self.name)
        if value is None:
            return True
        return None if unknown_in(value) is not None else bool(self.test(value))

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return a violation at the property."""
        return [Violation((self.name,), self.message)] if self.holds(properties) is False else []

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


class Check(_Named):
    """A rule that only a function can express.

    `find` returns the violations. It takes the values of the properties `names`, null for a missing
    one, and is called only if all of them are known. `message` is the rule in words.
    """

    message: str
    find: Callable[..., Iterable[Violation]]
    names: tuple[str, ...]

    def violations(self, properties: Properties) -> Iterable[Violation]:
        """Return the violations that the function finds."""
        values = [properties.get(name) for name in self.names]
        return [] if unknown_in(values) is not None else [*self.find(*values)]

    def __str__(self) -> str:
        return self.message


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _all(truths: Iterable[Truth]) -> Truth:
    answers = [*truths]
    return False if False in answers else None if None in answers else True


def _any(truths: Iterable[Truth]) -> Truth:
    return _not(_all(_not(truth) for truth in truths))


def given(properties: Properties, name: str) -> Truth:
    """Return whether a property is neither null nor empty."""
    value = properties.get(name)
    if isinstance(value, Unknown):
        return value.present or None
    return value not in EMPTY


def _among(value: Any, values: Collection[Any]) -> Truth:
    """Return whether a value is one of `values`."""
    return None if unknown_in([value, *values]) is not None else value in values


def _maps(value: Any) -> list[tuple[tuple[Step, ...], Mapping[str, Any]]]:
    """Return pairs of path and map for the maps in a list; the path to a single map is empty."""
    if isinstance(value, Mapping):
        return [((), value)]
    items = value if isinstance(value, list | tuple) else []
    return [((at,), row) for at, row in enumerate(items) if isinstance(row, Mapping)]


def _listed(names: Collection[Any], word: str) -> str:
    *initial, last = map(str, names)
    return f"{', '.join(initial)} {word} {last}" if initial else last

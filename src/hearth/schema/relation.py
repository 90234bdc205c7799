"""Declarative rules about several properties of a resource, such as "a and b exclude each other".

A property counts as given if its value is neither null nor empty. A property whose value is not
known yet is "open": the rules assume the value that satisfies them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Protocol

from msgspec import Struct

Properties = Mapping[str, Any]
EMPTY: tuple[Any, ...] = (None, "", [], {})


class Violation(Struct, frozen=True):
    """A violation of a rule: `path` is the path of the property, `words` the error text."""

    path: str
    words: str


class Relation(Protocol):
    """A rule about several properties; `str()` returns the rule in words."""

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        """Return whether the properties satisfy the rule.

        `still_open` are the names of properties without a known value.
        """


class _Named:
    """A value whose last field takes all remaining positional arguments."""

    _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)

    def __init__(self, *given: Any) -> None:
        *single, rest = self._fields
        for name, value in zip(single, given, strict=False):
            setattr(self, name, value)
        setattr(self, rest, given[len(single) :])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"


class AtMostOne(_Named):
    """The rule that at most one of the named properties is given."""

    names: tuple[str, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        return len([name for name in self.names if _given(properties, name)]) <= 1

    def __str__(self) -> str:
        return f"{_listed(self.names, 'and')} exclude each other"


class AtLeastOne(_Named):
    """The rule that at least one of the named properties is given."""

    names: tuple[str, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        return any(n in still_open or _given(properties, n) for n in self.names)

    def __str__(self) -> str:
        which = "" if len(self.names) == 1 else "one of "
        return f"{which}{_listed(self.names, 'and')} is needed"


class Needs(_Named):
    """The rule that all properties in `needed` are given if the property `name` is given."""

    name: str
    needed: tuple[str, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if not _given(properties, self.name):
            return True
        return all(n in still_open or _given(properties, n) for n in self.needed)

    def __str__(self) -> str:
        return f"{self.name} needs {_listed(self.needed, 'and')}"


class RequiredFor(_Named):
    """The rule that `name` is given if the property `other` has one of `values`."""

    name: str
    other: str
    values: tuple[Any, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if properties.get(self.other) not in self.values or self.name in still_open:
            return True
        return _given(properties, self.name)

    def __str__(self) -> str:
        return f"{self.name} is required if {self.other} is {_listed(self.values, 'or')}"


class OnlyFor(_Named):
    """The rule that `name` is given only if the property `other` has one of `values`."""

    name: str
    other: str
    values: tuple[Any, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if not _given(properties, self.name) or self.other in still_open:
            return True
        return properties.get(self.other) in self.values

    def __str__(self) -> str:
        return f"{self.name} is allowed only if {self.other} is {_listed(self.values, 'or')}"


class NotAbove(Struct, frozen=True):
    """The rule that the property `low` is at most `high`, which is the name of a property or a
    constant.
    """

    low: str
    high: str | int

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        low = properties.get(self.low)
        high = self.high if isinstance(self.high, int) else properties.get(self.high)
        return low is None or high is None or low <= high

    def __str__(self) -> str:
        return f"{self.low} must not be above {self.high}"


class Same(Struct, frozen=True):
    """The rule that two properties are equal if both are given.

    If `among` is not empty, the rule applies only if one of the two properties has one of these
    values.
    """

    one: str
    other: str
    among: tuple[Any, ...] = ()

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        one, other = properties.get(self.one), properties.get(self.other)
        if not (_given(properties, self.one) and _given(properties, self.other)) or one == other:
            return True
        return bool(self.among) and one not in self.among and other not in self.among

    def __str__(self) -> str:
        where = f"one of them is {_listed(self.among, 'or')}" if self.among else "both are given"
        return f"{self.one} and {self.other} must be the same where {where}"


class Distinct(Struct, frozen=True):
    """The rule that the maps in the list property `name` have different values for `key`."""

    name: str
    key: str

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if self.name in still_open:
            return True
        values = [one.get(self.key) for _, one in _maps(properties.get(self.name))]
        values = [value for value in values if value is not None]
        return all(value not in values[:at] for at, value in enumerate(values))

    def __str__(self) -> str:
        return f"{self.name}: two items must not have the same {self.key}"


class Each(_Named):
    """Rules about the entries of a map, or about each map in a list.

    `name` is the property that contains the map or the list.
    """

    name: str
    relations: tuple[Relation, ...]

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        return self.name in still_open or not self._broken(properties)

    def words(self, properties: Properties) -> str:
        """Return the error texts of all violations; each begins with the property name and, for a
        list, the index.
        """
        return "; ".join(self._broken(properties))

    def _broken(self, properties: Properties) -> list[str]:
        several = isinstance(properties.get(self.name), list)
        return [
            f"{self.name}{[at] if several else ''}: {relation}"
            for at, one in _maps(properties.get(self.name))
            for relation in self.relations
            if not relation.holds(one)
        ]

    def __str__(self) -> str:
        return f"{self.name}: {_listed(self.relations, 'and')}"


class Where(Struct, frozen=True):
    """A rule that applies only if the property `name` has one of `values`."""

    name: str
    values: tuple[Any, ...]
    relation: Relation

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        applies = self.name not in still_open and properties.get(self.name) in self.values
        return not applies or self.relation.holds(properties, still_open)

    def __str__(self) -> str:
        return f"where {self.name} is {_listed(self.values, 'or')}, {self.relation}"


class Unless(Struct, frozen=True):
    """A rule that applies only if the property `name` has none of `values`."""

    name: str
    values: tuple[Any, ...]
    relation: Relation

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        applies = self.name not in still_open and properties.get(self.name) not in self.values
        return not applies or self.relation.holds(properties, still_open)

    def __str__(self) -> str:
        return str(self.relation)


def broken(relation: Relation, properties: Properties) -> str:
    """Return the error text for a relation that the properties violate."""
    return relation.words(properties) if isinstance(relation, Each) else str(relation)


def _given(properties: Properties, name: str) -> bool:
    return properties.get(name) not in EMPTY


def _maps(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return pairs of index and map for the maps in a list; a single map has the index 0."""
    items = value if isinstance(value, list) else [value]
    return [(at, one) for at, one in enumerate(items) if isinstance(one, Mapping)]


def _listed(names: Collection[Any], word: str) -> str:
    *most, last = map(str, names)
    return f"{', '.join(most)} {word} {last}" if most else last

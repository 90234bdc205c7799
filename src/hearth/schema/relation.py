"""What must hold between the properties of a resource, as data.

A property is given when it has a value that is not null. One whose value is not known yet is
*open*: it may turn out to be null, so it proves nothing wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Properties = Mapping[str, Any]


class Relation(Protocol):
    """A rule on properties taken together; `str()` gives it in words."""

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        """Whether nothing is wrong, as far as the values are known."""


@dataclass(frozen=True)
class AtMostOne:
    """Properties that exclude one another."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        return len([name for name in self.names if properties.get(name) is not None]) <= 1

    def __str__(self) -> str:
        return f"{_listed(self.names, 'and')} exclude each other"


@dataclass(frozen=True)
class AtLeastOne:
    """Properties of which one is needed."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        return any(n in still_open or properties.get(n) is not None for n in self.names)

    def __str__(self) -> str:
        return f"one of {_listed(self.names, 'and')} is needed"


@dataclass(frozen=True)
class Needs:
    """One property makes sense only together with others."""

    name: str
    needed: tuple[str, ...]

    def __init__(self, name: str, *needed: str) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "needed", needed)

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if properties.get(self.name) is None:
            return True
        return all(n in still_open or properties.get(n) is not None for n in self.needed)

    def __str__(self) -> str:
        return f"{self.name} needs {_listed(self.needed, 'and')}"


@dataclass(frozen=True)
class RequiredFor:
    """A property that is required where another one has one of some values."""

    name: str
    other: str
    values: tuple[Any, ...]

    def __init__(self, name: str, other: str, *values: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "values", values)

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        if properties.get(self.other) not in self.values or self.name in still_open:
            return True
        return properties.get(self.name) is not None

    def __str__(self) -> str:
        return f"{self.name} is required for {self.other} {_listed(self.values, 'or')}"


@dataclass(frozen=True)
class OnlyFor:
    """A property that is possible only where another one has one of some values."""

    name: str
    other: str
    values: tuple[Any, ...]

    def __init__(self, name: str, other: str, *values: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "values", values)

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        value = properties.get(self.other)
        if properties.get(self.name) in (None, [], {}) or self.other in still_open:
            return True
        return value in self.values

    def __str__(self) -> str:
        return f"{self.name} is only for {self.other} {_listed(self.values, 'or')}"


@dataclass(frozen=True)
class NotAbove:
    """A number that is not greater than another one."""

    low: str
    high: str

    def holds(self, properties: Properties, still_open: Collection[str] = ()) -> bool:
        low, high = properties.get(self.low), properties.get(self.high)
        return low is None or high is None or low <= high

    def __str__(self) -> str:
        return f"{self.low} must not be above {self.high}"


def _listed(names: tuple[Any, ...], word: str) -> str:
    *most, last = map(str, names)
    return f"{', '.join(most)} {word} {last}" if most else last

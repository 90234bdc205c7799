"""What can be wrong with the properties of a type, made from its schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hearth.resources.capabilities import AnyProperty
from hearth.schema import AllowedPattern, AllowedValues, Length, Prop, Range, ValueKind
from tests.types.case import Subject
from tests.types.values import unused

OF_ANOTHER_KIND = {
    ValueKind.STRING: {"a": "map"},
    ValueKind.INTEGER: "many",
    ValueKind.NUMBER: "many",
    ValueKind.BOOLEAN: "perhaps",
    ValueKind.LIST: {"a": "map"},
    ValueKind.MAP: "neither map nor JSON",
}
NO_SUCH_VALUE = "no-such-value"


@dataclass(frozen=True)
class Mistake:
    """Properties with one mistake, and the words that its error must carry."""

    what: str
    properties: dict[str, Any]
    words: tuple[str, ...]


def mistakes(subject: Subject) -> Iterator[Mistake]:
    """One mistake after another."""
    good = subject.minimal()
    kind = subject.kind
    if not isinstance(kind, AnyProperty):
        yield Mistake("unknown property", {**good, "no_such": 1}, ("no_such",))
    for name, prop in kind.properties.items():
        if prop.required:
            less = {key: value for key, value in good.items() if key != name}
            yield Mistake(f"no {name}", less, (name,))
        if unused(prop):
            continue
        if prop.kind in OF_ANOTHER_KIND:
            value = OF_ANOTHER_KIND[prop.kind]
            yield Mistake(f"{name} of another kind", {**good, name: value}, (name,))
        for value in _outside(prop):
            yield Mistake(f"{name} outside: {str(value)[:20]}", {**good, name: value}, (name,))


def _outside(prop: Prop) -> Iterator[Any]:
    """Values of the right kind that a constraint refuses."""
    for constraint in prop.constraints:
        match constraint:
            case AllowedValues() if prop.kind == ValueKind.STRING:
                yield NO_SUCH_VALUE
            case AllowedValues() if prop.kind == ValueKind.INTEGER:
                yield 987654321
            case AllowedPattern():
                yield "\x01 no such pattern \x01"
            case Range(min=low, max=high):
                if low is not None:
                    yield int(low) - 1
                if high is not None:
                    yield int(high) + 1
            case Length(min=low, max=high) if prop.kind == ValueKind.STRING:
                if low:
                    yield "x" * (int(low) - 1)
                if high is not None:
                    yield "x" * (int(high) + 1)

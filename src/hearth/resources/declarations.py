"""Check of the names that a resource type declares, made when its class is created.

A wrong name of a property, attribute, constraint or state then fails the import of the type. Names
in a base class without properties are not checked, because not every subclass has all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from string import Formatter
from typing import Any

from hearth.model.problem import hint, nearest
from hearth.schema import Custom, Distinct, Each, Prop, Resolve
from hearth.schema.named import CHECKS, IN_CLOUD

Path = tuple[str, ...]
OF_PROPERTIES = (
    *("created_as", "ends_with", "generated", "hidden_properties", "keyless_with"),
    *("member_property", "natural_key", "not_sent", "null_for", "only_grow", "open_ended"),
    *("refers_to", "renamed", "replaced_for", "runs_on", "shown_too", "together", "unobserved"),
)
"""The class attributes that name properties; a.b is the entry b of the property a."""
CONSTRAINTS = IN_CLOUD.union(CHECKS)
OF_ATTRIBUTES = ("elsewhere", "mirrors")
OF_STATES = ("ready", "failing", "under_way", "staying")
IN_RELATIONS = ("name", "names", "required", "selector", "low", "high", "first", "second")
IN_PARTS = ("property", "unless")
IN_RULES = ("path", "value_path")


class WrongDeclaration(Exception):
    """A type declares a name that does not exist. The message says where, and which exist."""


def check_names(cls: Any) -> None:
    """Raise WrongDeclaration if a resource type declares a wrong name."""
    own, properties = vars(cls), cls.properties
    named = "type_name" in own or "properties" in own
    open_ended = getattr(cls, "accepts_any_property", False)
    if not named or open_ended or not isinstance(properties, Mapping):
        return
    label = getattr(cls, "type_name", cls.__name__)
    for place, path in _paths(own):
        _check_path(f"{label}: {place}", path, properties)
    for place in OF_ATTRIBUTES:
        for name in own.get(place, ()):
            _check(f"{label}: {place}", "attribute", name, cls.attributes)
    for place, constraint in _constraints(properties, own.get("translation", ())):
        _check(f"{label}: {place}", "constraint", constraint, CONSTRAINTS)
    for place in OF_STATES:
        for state in getattr(own.get("collection"), place, ()):
            if state != state.upper():
                raise WrongDeclaration(
                    f"{label}: collection.{place}: states are compared in capitals: "
                    f'expected "{state.upper()}", got "{state}"'
                )


def _paths(own: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Yield the paths of properties in the declarations of a class, each with its place."""
    for place in OF_PROPERTIES:
        for name in _texts(own.get(place)):
            yield place, tuple(name.split("."))
    for name in dict(own.get("mirrors", {})).values():
        yield "mirrors", (name,)
    for _, field, _, _ in Formatter().parse(getattr(own.get("collection"), "path", "")):
        yield from (("collection.path", (name,)) for name in _texts(field))
    for part in own.get("parts", ()):
        in_part = (getattr(part, attribute) for attribute in IN_PARTS)
        yield from (("parts", (name,)) for name in in_part if name)
    for rule in own.get("translation", ()):
        paths = (getattr(rule, attribute, None) for attribute in IN_RULES)
        yield from (("translation", tuple(path)) for path in paths if path)
    for relation in own.get("relations", ()):
        yield from (("relations", path) for path in _related(relation))
    for before in own.get("comes_after", ()):
        names = (*getattr(before, "paths", ()), *getattr(before, "routers", ()))
        yield from (("comes_after", tuple(name.split("."))) for name in names)


def _related(relation: Any) -> Iterator[Path]:
    """Yield the paths of the properties that a relation names."""
    for field in IN_RELATIONS:
        yield from ((name,) for name in _texts(getattr(relation, field, None)))
    match relation:
        case Each(name=name, relations=relations):
            yield from ((name, *path) for inner in relations for path in _related(inner))
        case Distinct(name=name, key=key):
            yield (name, key)
    if (inner := getattr(relation, "relation", None)) is not None:
        yield from _related(inner)


def _constraints(properties: Mapping[str, Prop], rules: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of the custom constraints of properties and rules, each with its place."""
    for name, prop in properties.items():
        yield from _constraints_of(f"properties.{name}", prop)
    for rule in rules:
        if isinstance(rule, Resolve) and "{" not in rule.finder:
            yield "translation", rule.finder


def _constraints_of(place: str, prop: Prop) -> Iterator[tuple[str, str]]:
    for constraint in prop.constraints:
        if isinstance(constraint, Custom):
            yield place, constraint.name
    if prop.item is not None:
        yield from _constraints_of(f"{place}.*", prop.item)
    for name, entry in (prop.entries or {}).items():
        yield from _constraints_of(f"{place}.{name}", entry)


def _check_path(place: str, path: Path, properties: Mapping[str, Prop]) -> None:
    """Check that a path leads to a property, as far as the schema says what is below it."""
    below: Mapping[str, Prop] | None = properties
    for at, name in enumerate(path):
        if below is None:
            return
        _check(".".join((place, *path[:at])), "property", name, below)
        prop = below[name]
        below = prop.entries or (prop.item.entries if prop.item is not None else None)


def _check(place: str, what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        listing = ", ".join(sorted(known))
        suggestion = hint(nearest(name, known))
        raise WrongDeclaration(f'{place}: there is no {what} "{name}"{suggestion} ({listing})')


def _texts(value: Any) -> Iterable[str]:
    """Return the texts in a declaration: one text, or those of a collection or of a map's keys."""
    if isinstance(value, str):
        return (value,) if value else ()
    return [text for text in value if isinstance(text, str)] if isinstance(value, Iterable) else []

"""What is tried with one type: its example, made minimal, made full, and one change after another.

The example stands beside the type's module; `cases/*.yaml` says what a schema cannot: see README.md
beside them.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hearth.resources.base import ResourceType
from hearth.resources.capabilities import AnyAttribute, MakesObject, ReplacedAlways
from hearth.resources.described import example
from hearth.resources.index import REVIVED
from hearth.resources.registry import builtin_types, revived_types
from tests.types.values import NeedsCase, unused, value

CASES = Path(__file__).with_name("cases")
KEYS = {
    "alone", "caller", "needs", "minimal", "full", "update", "update_with", "variants", "skip",
    "no_update", "replaces", "in_place", "real", "elsewhere", "lost", "signal", "files",
}  # fmt: skip
Template = dict[str, Any]


def has_key(kind: ResourceType, properties: Mapping[str, Any]) -> bool:
    """Return whether a lost object of this type can be found, or none can be lost."""
    return not isinstance(kind, MakesObject) or kind.has_key(properties)


@dataclass(frozen=True)
class Change:
    """An update: the new properties, and whether the resource is to stay the same one."""

    name: str
    properties: Mapping[str, Any]
    in_place: bool


@dataclass(frozen=True)
class Start:
    """A template to begin with, and the changes after it."""

    name: str
    template: Template | str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A type with its example and its case."""

    kind: ResourceType
    example: str
    template: Template
    resource: str
    case: Mapping[str, Any] = field(default_factory=dict)

    @property
    def type_name(self) -> str:
        return self.kind.name

    @property
    def given(self) -> Mapping[str, Any]:
        """The properties that the example sets."""
        return self.template["resources"][self.resource].get("properties") or {}

    def told(self, key: str) -> Mapping[str, Any]:
        """An entry of the case that is a mapping."""
        return self.case.get(key) or {}

    def with_properties(self, properties: Mapping[str, Any]) -> Template:
        """The example with other properties on the resource under test."""
        template = deepcopy(self.template)
        template["resources"].update(deepcopy(self.told("needs")))
        template["resources"][self.resource]["properties"] = dict(properties)
        if isinstance(self.kind, AnyAttribute):
            template.pop("outputs", None)  # the properties decide which attributes there are
        return template

    @property
    def hint(self) -> str:
        """Where to say what the schema does not."""
        revived = self.type_name in REVIVED
        file = "retired" if revived else self.type_name.split("::")[1].lower()
        return f"add to {self.type_name} in tests/types/cases/{file}.yaml, see the README there"

    def starts(self) -> Iterator[Start]:
        """All templates to begin with. Raises NeedsCase, which names the file to edit."""
        try:
            yield from self._starts()
        except NeedsCase as error:
            message = f"{error}: no value follows from the schema; {self.hint}"
            raise NeedsCase(message) from error

    def _starts(self) -> Iterator[Start]:
        yield Start("example", self.example)
        yield Start("minimal", self.with_properties(self.minimal()))
        tried: set[str] = set()
        for name, properties in [("full", self.full()), *self.variants()]:
            changes = tuple(self.changes(properties, tried))
            yield Start(name, self.with_properties(properties), changes)

    def required(self) -> dict[str, Any]:
        """The required properties, as the example has them."""
        return {n: self.given[n] for n, p in self.kind.properties.items() if p.required}

    def minimal(self) -> dict[str, Any]:
        """The least that the type takes."""
        return {**self.required(), **self.told("minimal")}

    def full(self) -> dict[str, Any]:
        """Every property, but those that only a variant has."""
        elsewhere = {name for _, variant in self.variants() for name in variant}
        made, told = {}, self.told("full")
        for name, prop in self.kind.properties.items():
            if name in self.told("skip"):
                continue
            if name in told:
                made[name] = told[name]
            elif unused(prop) or (name in elsewhere and not prop.required):
                continue
            elif name in self.given:
                made[name] = self.given[name]
            else:
                made[name] = value(prop, f"{self.slug}-{name}", 0)
        return made

    def variants(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Further sets of properties, for those that exclude one another."""
        for number, variant in enumerate(self.case.get("variants") or [], 1):
            yield f"variant-{number}", {**self.required(), **variant}

    def changes(self, properties: Mapping[str, Any], tried: set[str]) -> Iterator[Change]:
        """One property after another, each once over all sets; each change stays."""
        now = dict(properties)
        for name, prop in self.kind.properties.items():
            if name not in now or name in tried or name in self.told("no_update"):
                continue
            tried.add(name)
            other = self.told("update").get(name, _NOTHING)
            if other is _NOTHING:
                other = value(prop, f"{self.slug}-{name}", 1)
            if other == now[name]:
                raise NeedsCase(f"{name}: the other value is the same")
            now = {**now, name: other, **(self.told("update_with").get(name) or {})}
            now = {key: value for key, value in now.items() if value is not None}
            in_place = prop.update_allowed
            if name in self.told("replaces") or name in self.told("in_place"):
                in_place = not in_place
            in_place = in_place and not isinstance(self.kind, ReplacedAlways)
            yield Change(name, dict(now), in_place)

    def untried(self) -> list[str]:
        """Properties that no template sets and that no reason excuses."""
        tried = {*self.full(), *self.told("skip"), *(n for _, v in self.variants() for n in v)}
        known = self.kind.properties.items()
        return [name for name, prop in known if name not in tried and not unused(prop)]

    @property
    def slug(self) -> str:
        """The type's name for the names of things."""
        return self.type_name.partition("::")[2].replace("::", "-").lower()


_NOTHING = object()


@cache
def kinds() -> Mapping[str, ResourceType]:
    """Every type that creates something: the built-in ones and, in place of placeholders, those
    that work through their successors."""
    return {**builtin_types(), **revived_types()}


@cache
def cases() -> Mapping[str, Mapping[str, Any]]:
    """What the cases say, by type."""
    told: dict[str, Mapping[str, Any]] = {}
    for path in sorted(CASES.glob("*.yaml")):
        for name, case in (yaml.safe_load(path.read_text()) or {}).items():
            assert name not in told, f"{name} stands in two files"
            unknown = set(case or {}) - KEYS
            assert not unknown, f"{path.name}: {name}: {unknown}"
            told[name] = case or {}
    return told


def subject(type_name: str, *, there: bool = False) -> Subject:
    """A type with its example and its case; `there`: on a cloud that is there, not in a box."""
    kind = kinds()[type_name]
    text = example(kind)
    assert text is not None, f"{type_name} has no example"
    template = yaml.safe_load(text)
    template["heat_template_version"] = str(template["heat_template_version"])
    found = [n for n, body in template["resources"].items() if body["type"] == type_name]
    assert found, f"the example of {type_name} has none of it"
    case = dict(cases().get(type_name) or {})
    real = case.pop("real", None) or {}
    for key, told in (real if there else {}).items():
        case[key] = {**(case.get(key) or {}), **told} if isinstance(told, dict) else told
    return Subject(kind, text, template, found[-1], case)


def without_refs(template: Template, resource: str) -> Template:
    """The template without a resource, without what refers to it, and without outputs."""
    template = deepcopy(template)
    template.pop("outputs", None)
    gone = {resource}
    while more := [
        n for n, body in template["resources"].items() if n in gone or _names(body, gone)
    ]:
        for name in more:
            gone.add(name)
            del template["resources"][name]
    return template


def _names(body: Any, gone: set[str]) -> bool:
    match body:
        case {"get_resource": str(name)}:
            return name in gone
        case {"get_attr": [str(name), *_]}:
            return name in gone
        case dict():
            needs = body.get("depends_on") or []
            needs = [needs] if isinstance(needs, str) else needs
            return bool(gone & {n for n in needs if isinstance(n, str)}) or any(
                _names(value, gone) for value in body.values()
            )
        case list():
            return any(_names(value, gone) for value in body)
    return False

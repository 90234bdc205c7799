"""All resource types that templates may use: those of Hearth, and the other types of Heat.

For a type that Hearth does not implement, there is only a declaration in `data/types.json`, in the
format of recorded facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hearth.resources.registry import Catalog, default_catalog
from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Attr,
    Constraint,
    Custom,
    Length,
    Prop,
    Range,
    Support,
    ValueKind,
    Violation,
)
from hearth.schema.prop import UNSET
from hearth.template.types import TypeInfo

if TYPE_CHECKING:
    from hearth.template.types import Definition as ResourceDefinition
    from hearth.template.types import Definitions as Program

DATA = Path(__file__).parent / "data" / "types.json"


MEMBERS: Mapping[str, str] = {"OS::Heat::AutoScalingGroup": "resource"}
"""For each type of group, the property that contains the definition of its members."""


class DeclaredType(Struct, frozen=True):
    """A resource type of Heat of which Hearth only knows the declaration, so it cannot create
    resources.
    """

    name: str
    properties: Mapping[str, Prop] = field(default_factory=dict)
    attributes: Mapping[str, Attr] = field(default_factory=dict)
    update_policy: Mapping[str, Prop] = field(default_factory=dict)
    support: Support | None = None
    accepts_any_attribute: bool = False
    accepts_any_property: bool = False
    member_property: str | None = None  # that defines the members of a group

    def conflicts(self, properties: Mapping[str, Any]) -> Iterable[Violation]:
        """Return nothing, because relations between properties are not declared."""
        return ()

    def implicit_requires(
        self, name: str, definition: ResourceDefinition, program: Program
    ) -> Iterable[str]:
        """Return nothing, because dependencies are not declared."""
        return ()


class AuthorCatalog:
    """The resource types of Hearth and the other types of Heat."""

    def __init__(self, installed: Catalog) -> None:
        self._here = installed

    def find(self, name: str) -> TypeInfo | None:
        """Return the type with this exact name, or None."""
        return self._here.find(name) or declared(name)

    def names(self) -> Iterable[str]:
        """Return the names of all types, sorted."""
        return sorted({*self._here.names(), *_facts()})


@cache
def author_catalog() -> AuthorCatalog:
    """Return the catalogue of all types, including those of installed packages."""
    return AuthorCatalog(default_catalog())


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return facts


@cache
def declared(name: str) -> DeclaredType | None:
    """Return the declaration of a type of Heat; None if `data/types.json` does not contain it."""
    facts = _facts().get(name)
    if facts is None:
        return None
    placeholder = facts["category"] == "placeholder"
    return DeclaredType(
        name=name,
        properties=_props(facts["properties"]),
        attributes={key: _attr(attribute) for key, attribute in facts["attributes"].items()},
        update_policy=_props(facts.get("update_policy", {})),
        support=_support(facts.get("support")),
        # a type that reads attributes itself may have undeclared ones
        accepts_any_attribute="get_attribute" in facts.get("also_overrides", ()),
        accepts_any_property=placeholder,
        member_property=MEMBERS.get(name),
    )


def _props(facts: Mapping[str, Any]) -> dict[str, Prop]:
    return {name: _prop(prop_facts) for name, prop_facts in facts.items()}


def _prop(facts: Mapping[str, Any]) -> Prop:
    inner = facts.get("schema")
    schema: Mapping[str, Prop] | Prop | None = None
    if inner is not None:
        schema = _prop(inner["*"]) if "*" in inner else _props(inner)
    return Prop(
        ValueKind(facts["type"]),
        required=facts.get("required", False),
        default=facts.get("default", UNSET),
        update_allowed=facts.get("update_allowed", False),
        immutable=facts.get("immutable", False),
        constraints=tuple(_constraint(constraint) for constraint in facts.get("constraints", ())),
        schema=schema,
        support=_support(facts.get("support")),
        implemented=facts.get("implemented", True),
        allow_conversion=facts.get("allow_conversion", False),
    )


def _constraint(facts: Mapping[str, Any]) -> Constraint:
    match facts["kind"]:
        case "allowed_values":
            return AllowedValues(tuple(facts["values"]))
        case "range":
            return Range(min=facts.get("min"), max=facts.get("max"))
        case "length":
            return Length(min=facts.get("min"), max=facts.get("max"))
        case "allowed_pattern":
            return AllowedPattern(facts["pattern"])
        case _:
            return Custom(facts["name"])


def _attr(facts: Mapping[str, Any]) -> Attr:
    kind = facts.get("type")
    return Attr(ValueKind(kind) if kind else None, support=_support(facts.get("support")))


def _support(facts: Mapping[str, Any] | None) -> Support | None:
    if facts is None:
        return None
    before = facts.get("previous", ())
    previous = None
    for entry in reversed(before):
        previous = Support(entry["status"], entry.get("version"), None, previous)
    return Support(facts["status"], facts.get("version"), None, previous)

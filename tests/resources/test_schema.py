"""Every type's declaration against the recorded ones of the original."""

import json
import os
from pathlib import Path

import pytest

from hearth.resources.registry import builtin_types
from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Attr,
    Custom,
    Length,
    Prop,
    Range,
    Resolve,
)

COPY = Path(__file__).parents[1] / "facts" / "resource_types.json"
ORIGINAL = Path(__file__).parents[3] / "shared" / "facts" / "resource_types.json"
FACTS = json.loads(COPY.read_text())
TYPES = builtin_types()


def plain_support(support, since):
    if support is None:
        return {"status": "SUPPORTED", "version": since} if since else None
    chain, one = [], support
    while one is not None:
        chain.append(
            {"status": str(one.status), **({"version": one.version} if one.version else {})}
        )
        one = one.previous
    first, *rest = chain
    return {**first, **({"previous": rest} if rest else {})}


def plain_constraint(constraint):
    match constraint:
        case Custom():
            return {"kind": "custom", "name": constraint.name}
        case AllowedValues():
            return {"kind": "allowed_values", "values": list(constraint.values)}
        case AllowedPattern():
            return {"kind": "allowed_pattern", "pattern": constraint.pattern}
        case Length() | Range():
            bounds = {"min": constraint.min, "max": constraint.max}
            kind = type(constraint).__name__.lower()
            return {"kind": kind, **{k: v for k, v in bounds.items() if v is not None}}


def plain(prop: Prop):
    shown = {
        "type": prop.kind.value,
        "required": prop.required,
        "update_allowed": prop.update_allowed,
    }
    if prop.has_default:
        shown["default"] = prop.default
    if prop.immutable:
        shown["immutable"] = True
    if not prop.implemented:
        shown["implemented"] = False
    if prop.allow_conversion:
        shown["allow_conversion"] = True
    if prop.constraints:
        shown["constraints"] = [plain_constraint(one) for one in prop.constraints]
    if isinstance(prop.schema, Prop):
        shown["schema"] = {"*": plain(prop.schema)}
    elif prop.schema is not None:
        shown["schema"] = {name: plain(inner) for name, inner in prop.schema.items()}
    support = plain_support(prop.support, prop.since)
    if support:
        shown["support"] = support
    return shown


def plain_attribute(attribute: Attr):
    shown = {"type": attribute.kind.value} if attribute.kind else {}
    if not attribute.cached:
        shown["cached"] = False
    support = plain_support(attribute.support, attribute.since)
    return {**shown, **({"support": support} if support else {})}


def without_options(recorded):
    """The recorded schema without the names of configuration options."""
    if isinstance(recorded, dict):
        return {
            k: without_options(v)
            for k, v in recorded.items()
            if k not in {"default_from_option", "own_message"}
        }
    return [without_options(one) for one in recorded] if isinstance(recorded, list) else recorded


@pytest.mark.parametrize("name", sorted(TYPES.keys() & FACTS.keys()))
def test_the_declaration_is_the_recorded_one(name):
    kind, fact = TYPES[name], without_options(FACTS[name])
    assert {n: plain(p) for n, p in kind.properties.items()} == fact["properties"]
    assert {n: plain_attribute(a) for n, a in kind.attributes.items()} == fact["attributes"]
    policy = {n: plain(p) for n, p in kind.update_policy.items()}
    assert policy == (fact.get("update_policy") or {})
    support = plain_support(kind.support, None) or {}
    assert support == (fact.get("support") or {"status": "SUPPORTED"})
    assert kind.physical_name_limit == fact["physical_resource_name_limit"]


@pytest.mark.parametrize("name", sorted(TYPES.keys() & FACTS.keys()))
def test_every_recorded_name_lookup_is_made(name):
    recorded = {
        tuple(rule["path"])
        for rule in FACTS[name].get("translation") or []
        if rule["rule"] == "resolve"
    }
    ours = {tuple(rule.path) for rule in TYPES[name].translation if isinstance(rule, Resolve)}
    assert recorded <= ours


def test_every_property_and_attribute_says_what_it_is():
    def bare(prop, path):
        if not prop.description and not path.endswith("*"):
            yield path
        inner = {"*": prop.schema} if isinstance(prop.schema, Prop) else prop.schema or {}
        for name, one in inner.items():
            yield from bare(one, f"{path}.{name}")

    found = [
        path
        for kind in TYPES.values()
        for name, prop in kind.properties.items()
        for path in bare(prop, f"{kind.name}.{name}")
    ]
    assert found == []
    assert all(a.description for kind in TYPES.values() for a in kind.attributes.values())


def test_the_copied_facts_are_the_shared_ones():
    if not ORIGINAL.exists():
        assert not os.environ.get("CI"), "the shared facts are missing"
        pytest.skip("no shared facts beside the repository")
    assert COPY.read_bytes() == ORIGINAL.read_bytes(), "tests/facts is out of date"

"""Every type's declaration against the recorded ones of the original."""

import os
from pathlib import Path

import pytest

from hearth.model.span import Span
from hearth.resources.registry import builtin_types
from hearth.schema import AllowedValues, Findings, Prop, ValueKind, coerce
from tests.resources.facts import COPY, FACTS, declared_share, differences

ORIGINAL = Path(__file__).parents[3] / "shared" / "facts" / "resource_types.json"
TYPES = builtin_types()


@pytest.mark.parametrize("name", sorted(TYPES.keys() & FACTS.keys()))
def test_the_declaration_is_the_recorded_one(name):
    where = f"src/{type(TYPES[name]).__module__.replace('.', '/')}.py"
    assert list(differences(name)) == [], (
        f"make {where} agree with the recorded declaration in tests/facts/resource_types.json, "
        f"or add the reason to OTHERWISE in tests/resources/facts.py, under the key "
        f'("{name}", "property NAME")'
    )


def test_most_types_are_declarations_and_nothing_else():
    """Those of the cloud's own names: the others say at least what their words stand for."""
    names = [name for name in TYPES.keys() & FACTS.keys() if name.startswith("OS::")]
    assert declared_share(names) >= 55, "python -m tests.resources.facts"


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


def _allowed():
    """Every property with allowed values, inner ones too, as (its place, the property)."""

    def within(prop, path):
        if any(isinstance(one, AllowedValues) for one in prop.constraints):
            yield path, prop
        inner = {"*": prop.schema} if isinstance(prop.schema, Prop) else prop.schema or {}
        for name, one in inner.items():
            yield from within(one, f"{path}.{name}")

    for kind in TYPES.values():
        for name, prop in kind.properties.items():
            yield from within(prop, f"{kind.name}.{name}")


ALLOWED = dict(_allowed())


@pytest.mark.parametrize("path", sorted(ALLOWED))
def test_every_allowed_value_is_accepted_as_it_is_declared_and_as_text(path):
    prop = ALLOWED[path]
    declared = [v for one in prop.constraints if isinstance(one, AllowedValues) for v in one.values]
    given = [*declared, *map(str, declared)]
    given += [int(one) for one in given if isinstance(one, str) and one.isdecimal()]
    for value in given:
        found = Findings()
        coerce(prop, [value] if prop.kind is ValueKind.LIST else value, Span(), found)
        assert found.problems == [], value


@pytest.mark.parametrize("path", sorted(ALLOWED))
def test_another_value_than_the_allowed_ones_is_refused(path):
    prop, found = ALLOWED[path], Findings()
    coerce(prop, ["999"] if prop.kind is ValueKind.LIST else "999", Span(), found)
    assert found.problems

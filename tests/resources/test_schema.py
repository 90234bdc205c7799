"""Every type's declaration against the recorded ones of the original."""

import os
from pathlib import Path

import pytest

from hearth.resources.registry import builtin_types
from hearth.schema import Prop
from tests.resources.facts import COPY, FACTS, declared_share, differences

ORIGINAL = Path(__file__).parents[3] / "shared" / "facts" / "resource_types.json"
TYPES = builtin_types()


@pytest.mark.parametrize("name", sorted(TYPES.keys() & FACTS.keys()))
def test_the_declaration_is_the_recorded_one(name):
    assert list(differences(name)) == []


def test_most_types_are_declarations_and_nothing_else():
    """Those of the cloud's own names: the others say at least what their words stand for."""
    names = [name for name in TYPES.keys() & FACTS.keys() if name.startswith("OS::")]
    assert declared_share(names) >= 60, "python -m tests.resources.facts"


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

"""The table of resource types."""

from pathlib import Path

import pytest

from hearth.resources.base import ResourceType
from hearth.resources.capabilities import IntentKey, MakesObject, UsesUsers
from hearth.resources.described import as_markdown, key_in_full, rows
from hearth.resources.reference import as_markdown as as_section
from hearth.resources.reference import pages
from hearth.resources.registry import builtin_types, revived_types

REFERENCE = Path(__file__).parents[2] / "docs" / "types"
PAGE = Path(__file__).parents[2] / "docs" / "resource-types.md"


def test_the_page_is_what_the_command_prints() -> None:
    wanted = as_markdown(rows(builtin_types().values()))
    assert PAGE.read_text() == wanted, "hearth docs types >docs/resource-types.md"


def test_the_reference_is_what_the_declarations_say() -> None:
    wanted = pages(builtin_types().values(), revived_types().values())
    there = {path.name: path.read_text() for path in REFERENCE.glob("*.md")}
    assert there.keys() == wanted.keys(), "hearth docs reference docs/types"
    stale = [name for name in wanted if there[name] != wanted[name]]
    assert stale == [], "hearth docs reference docs/types"


def test_a_section_has_properties_attributes_and_an_example() -> None:
    text = as_section(builtin_types()["OS::Octavia::Listener"])
    assert (
        "| `protocol_port` | integer | required; replaces the resource | The port. 1 to 65535. |"
        in text
    )
    assert "| `loadbalancers` | list | Its load balancers. |" in text
    assert "heat_template_version: 2021-04-16" in text
    nested = as_section(builtin_types()["OS::Neutron::Subnet"])
    assert "`allocation_pools[].start`" in nested


@pytest.mark.parametrize("kind", builtin_types().values(), ids=lambda kind: kind.name)
def test_every_type_says_what_its_key_is(kind: ResourceType) -> None:
    assert len(key_in_full(kind).split()) >= 4


@pytest.mark.parametrize("kind", builtin_types().values(), ids=lambda kind: kind.name)
def test_what_is_made_in_the_cloud_may_be_there_before_it_is_seen(kind: ResourceType) -> None:
    if isinstance(kind, MakesObject) and (kind.service is not None or isinstance(kind, UsesUsers)):
        assert kind.visibility_delay_s >= 1
        assert kind.identified_by is not IntentKey.NONE


def test_a_type_without_words_has_an_empty_place_in_the_table() -> None:
    class Bare(MakesObject):
        type_name = "My::Bare"

    (row,) = rows([Bare()])
    assert (row.identified_by, row.key) == (IntentKey.NONE, "")

"""Nothing is reported as made, and each change behind Hearth's back is; `make drift`: all types."""

from collections.abc import Iterator, Mapping

import pytest

from hearth.resources.registry import builtin_types
from tests.drift.run import Findings, examined
from tests.selection import part_of
from tests.types.cloud import in_a_box

pytestmark = pytest.mark.slow

NAMES = sorted(set(builtin_types()) - {"<template>"})
ALWAYS = ("OS::Neutron::Port", "OS::Neutron::SecurityGroup", "OS::Nova::Server")
CHOSEN = sorted({*part_of(NAMES, 12), *ALWAYS})


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Findings]]:
    with in_a_box(tmp_path_factory.mktemp("hearth")) as place:
        yield {found.type_name: found for found in examined(place, CHOSEN)}


@pytest.mark.parametrize("name", CHOSEN)
def test_just_what_was_changed_is_reported(findings: Mapping[str, Findings], name: str):
    found = findings[name]
    assert found.wrong == []
    assert (found.reported, found.more) == (found.changed, 0)
    assert found.changed >= len(found.compared) - len(found.untried)

"""An update with `converge` does just what its plan says; `python -m tests.drift.converge`: all."""

from collections.abc import Iterator, Mapping

import pytest

from hearth.resources.registry import builtin_types
from tests.drift.converge import Findings, examined
from tests.selection import part_of
from tests.types.cloud import in_a_box

pytestmark = pytest.mark.slow

NAMES = sorted(set(builtin_types()) - {"<template>"})
ALWAYS = ("OS::Heat::ResourceGroup", "OS::Neutron::Port", "OS::Neutron::SecurityGroup")
CHOSEN = sorted({*part_of(NAMES, 20), *ALWAYS})


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Findings]]:
    with in_a_box(tmp_path_factory.mktemp("hearth")) as place:
        yield {found.type_name: found for found in examined(place, CHOSEN)}


@pytest.mark.parametrize("name", CHOSEN)
def test_just_what_is_planned_is_done(findings: Mapping[str, Findings], name: str):
    found = findings[name]
    assert (found.wrong, found.uncertain) == ([], [])
    assert found.rounds > 0

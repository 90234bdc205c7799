"""Each property of each type without a value: created or refused with words, and deleted."""

from collections.abc import Iterator, Mapping

import pytest

from tests.selection import part_of
from tests.types.case import kinds, subject
from tests.types.cloud import in_a_box
from tests.types.nulls import WORDLESS, Result, all_tried, cases

NAMES = sorted(set(kinds()) - {"<template>"})
ALWAYS = {"OS::Neutron::RouterInterface", "OS::Nova::KeyPair", "OS::Heat::RandomString"}
CHOSEN = sorted(ALWAYS | set(part_of(NAMES, 24)))  # `make nulls`: all


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Result]]:
    with in_a_box(tmp_path_factory.mktemp("hearth")) as place:
        yield {result.type_name: result for result in all_tried(place, CHOSEN)}
        assert place.left_over() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_a_property_without_a_value_is_no_fault_and_the_stack_can_be_deleted(
    results: Mapping[str, Result], name: str
) -> None:
    assert results[name].wrong == []
    assert not results[name].unavailable


@pytest.mark.parametrize("name", NAMES)
def test_each_required_property_is_tried_in_all_ways(name: str) -> None:
    one = subject(name)
    ways = {case.way for case in cases(one)}
    for prop in one.required():
        assert {f"{prop} missing", f"{prop} null", f"{prop} null late"} <= ways


@pytest.mark.parametrize(
    ("message", "wordless"),
    [
        ("Resource CREATE failed: KeyError: resources.it: 'router'", True),
        ("Engine fault: KeyError", True),
        ("Resource CREATE failed: ZeroDivisionError: resources.it: integer modulo by zero", True),
        ('Resource CREATE failed: StackValidationFailed: required property "x" is null', False),
        ("Resource CREATE failed: ResourceInError: resources.it: Went to status ERROR", False),
    ],
)
def test_what_nobody_wrote_for_a_user_is_noticed(message: str, wordless: bool) -> None:
    assert bool(WORDLESS.search(message)) is wordless

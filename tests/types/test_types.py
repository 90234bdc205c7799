"""Every type lives: its example, the least and the most it takes, each property changed."""

from collections.abc import Iterator, Mapping

import pytest

from hearth.resources.described import example
from hearth.resources.registry import builtin_types
from tests.daily import part_of
from tests.types.case import subject
from tests.types.cloud import in_a_box
from tests.types.run import lives
from tests.types.story import Story

NAMES = sorted(set(builtin_types()) - {"<template>"})
TODAY = part_of(NAMES, 4)  # `make types`: all


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Story]]:
    """Those of the day, several at once, and nothing left over."""
    with in_a_box(tmp_path_factory.mktemp("hearth")) as place:
        told = {story.type_name: story for story in lives(place, TODAY)}
        yield told
        assert place.left_over() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TODAY)
def test_it_is_made_changed_replaced_checked_and_deleted(stories: Mapping[str, Story], name: str):
    assert stories[name].wrong == []
    assert not stories[name].unavailable


@pytest.mark.parametrize("name", NAMES)
def test_it_has_an_example_and_each_property_is_tried(name: str):
    assert example(builtin_types()[name]) is not None
    assert subject(name).untried() == []

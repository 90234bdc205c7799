"""Every type lives: its example, the least and the most it takes, each property changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from hearth.resources.collection import Collection
from hearth.resources.described import example
from hearth_devcloud.cloud import SERVICES
from hearth_devcloud.http import Service
from tests.selection import part_of
from tests.types.case import kinds, subject
from tests.types.cloud import in_a_box
from tests.types.run import lives
from tests.types.story import Story
from tests.types.values import NeedsCase

NAMES = sorted(set(kinds()) - {"<template>"})
DEVCLOUD_NAMES = {"block-storage": "volume"}
OURS = {"container-infra", "orchestration"}  # Hearth itself is the service
PREFIXES: tuple[tuple[str, ...], ...] = ((), ("v1",), ("v1.0",), ("v2",), ("v2.1",), ("v3",))
"""What endpoints of the catalogue have before the paths of collections."""
CHOSEN = part_of(NAMES, 16)  # `make types`: all


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Story]]:
    """The chosen ones, several at once, and nothing left over."""
    with in_a_box(tmp_path_factory.mktemp("hearth")) as place:
        told = {story.type_name: story for story in lives(place, CHOSEN)}
        yield told
        assert place.left_over() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_it_is_made_changed_replaced_checked_and_deleted(stories: Mapping[str, Story], name: str):
    assert stories[name].wrong == []
    assert not stories[name].unavailable


@pytest.mark.parametrize("name", NAMES)
def test_it_has_an_example_and_each_property_is_tried(name: str):
    kind = kinds()[name]
    folder = "/".join(["src", *type(kind).__module__.split(".")[:-1], "examples"])
    expected = f"{folder}/{'.'.join(name.split('::')[2:])}.yaml"
    assert example(kind) is not None, f"write an example: {expected}"
    assert list(subject(name).starts())
    assert subject(name).untried() == [], subject(name).hint


def test_a_type_that_needs_a_case_names_the_file_to_edit():
    without_case = replace(subject("OS::Cinder::VolumeAttachment"), case={})
    hint = "add to OS::Cinder::VolumeAttachment in tests/types/cases/cinder.yaml"
    with pytest.raises(NeedsCase, match=f"cinder.volume: no value follows .*; {hint}"):
        list(without_case.starts())


def service_of(collection: Collection) -> Service:
    """The service of the embedded cloud to which the calls of the collection go."""
    return SERVICES[DEVCLOUD_NAMES.get(collection.service, collection.service)]


def in_devcloud(collection: Collection) -> bool:
    """Whether the embedded cloud has a route that creates an object of the collection."""
    path = re.sub(r"{[^}]*}", "x", collection.path).strip("/").split("/")
    router = service_of(collection).router
    found = (router.find([*prefix, *path]) for prefix in PREFIXES)
    return any(one is not None and {"POST", "PUT"} & one[0].keys() for one in found)


@pytest.mark.parametrize("name", NAMES)
def test_the_embedded_cloud_has_its_collection(name: str):
    collection = getattr(kinds()[name], "collection", None)
    if isinstance(collection, Collection) and collection.service not in OURS:
        folder = service_of(collection).refusal.__module__.split(".")[1]
        assert in_devcloud(collection), (
            f"the embedded cloud has no POST {collection.path}: add the collection to "
            f"packages/hearth-devcloud/src/hearth_devcloud/{folder}/ and its ROUTES to the "
            "__init__.py there"
        )

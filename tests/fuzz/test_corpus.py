"""What was once found stays mended."""

import pytest

from tests.fuzz.corpus import CORPUS, keep, kept, read
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("path", kept(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_found_stays_mended(path):
    name, value = read(path)
    TARGETS[name].check(value)


def test_there_is_something_to_try_for_every_target():
    assert {path.parent.name for path in kept()} == set(TARGETS)
    assert all(path.is_relative_to(CORPUS) for path in kept())


def test_odd_characters_and_numbers_survive_in_a_file(tmp_path):
    value = {"a": ["\ud800", "\x00", float("inf"), "é", None, 2**70]}
    path = keep(tmp_path, "load", "odd", value)
    assert read(path) == ("load", value)

"""SECURITY.md names tests and targets that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
TABLE = PAGE.partition("## What Hearth promises")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (.+) \| (.+) \|$", TABLE, re.MULTILINE)[2:]
TARGETS = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_table_is_read():
    assert len(ROWS) >= 20
    assert "fuzz-api" in TARGETS


@pytest.mark.parametrize(("promise", "tests"), ROWS)
def test_each_promise_names_files_with_tests(promise: str, tests: str):
    named = re.findall(r"`([^`]+)`", tests)
    files = [ROOT / one for one in named if not one.startswith("make ")]
    assert files
    assert all(one.suffix == ".py" and one.name.startswith("test_") for one in files)
    assert [one for one in files if "def test_" not in one.read_text()] == []
    assert {one.removeprefix("make ") for one in named if one.startswith("make ")} <= TARGETS


def test_each_path_of_the_page_exists():
    paths = re.findall(r"`((?:tests|docs|src)/[^`]*)`", PAGE)
    assert [one for one in paths if not (ROOT / one).exists()] == []

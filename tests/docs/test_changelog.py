"""CHANGELOG.md is built from changes/."""

import re

from changes.changelog import CHANGELOG, FRAGMENTS, changelog


def test_the_changelog_is_current():
    assert CHANGELOG.read_text() == changelog(), "make changelog"


def test_every_fragment_is_a_list_with_a_number_and_a_title():
    fragments = [path for path in FRAGMENTS.iterdir() if path.suffix == ".md"]
    assert fragments
    assert [p.name for p in fragments if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", p.name)] == []
    assert [p.name for p in fragments if not p.read_text().startswith("- ")] == []

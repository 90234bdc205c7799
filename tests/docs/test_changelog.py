"""CHANGELOG.md is built from changes/."""

import re

from changes.changelog import CHANGELOG, FOLDER, changelog

from hearth import __version__


def test_the_changelog_is_current():
    assert CHANGELOG.read_text() == changelog(), "make changelog"


def test_the_changelog_says_what_this_version_contains():
    assert (FOLDER / "releases" / f"{__version__}.md").is_file()


def test_every_fragment_is_a_list_with_a_title():
    fragments = list((FOLDER / "next").glob("*.md"))
    assert [p.name for p in fragments if not re.fullmatch(r"[a-z0-9-]+\.md", p.name)] == []
    assert [p.name for p in fragments if not p.read_text().startswith("- ")] == []

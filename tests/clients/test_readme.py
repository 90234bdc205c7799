"""The commands that the README, CONTRIBUTING and the pages name are targets of the Makefile."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_knows_every_target_that_a_page_names(page: Path):
    text = page.read_text()
    named = set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE))
    assert named - TARGETS == set()


def test_the_readme_has_the_commands_to_begin_with():
    text = (ROOT / "README.md").read_text()
    assert all(f"make {name}" in text for name in ("demo", "dev", "test", "docs"))

"""The commands that the README, CONTRIBUTING and the pages name are targets of the Makefile."""

import os
import re
import subprocess
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


@pytest.mark.parametrize("unwritten", ["", "1"])
def test_an_installation_compiles_what_the_commands_may_not_write_later(unwritten: str):
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", ".venv/.run-time"], cwd=ROOT, text=True,
        capture_output=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": unwritten},
    ).stdout  # fmt: skip
    (line,) = [line for line in shown.splitlines() if "compileall" in line]
    assert line.startswith(f'test -z "{unwritten}" ||')

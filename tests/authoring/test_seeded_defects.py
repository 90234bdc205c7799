"""Defects planted in working templates are found at their place; the tool is a copy.

`python tests/tools/seed_defects.py` makes and judges as many as you like.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.selection import part_of

HERE = Path(__file__).resolve().parents[1]
SHARED = HERE.parents[1] / "shared"
TOOL = HERE / "tools" / "seed_defects.py"
LINT = [sys.executable, "-m", "hearth.cli.main", "lint", "--format", "json"]
ABSENT_FILES = "install_config_agent_"
"""Templates that name files of another repository, or files without an ending, which the tool does
not copy along: they are not whole where it puts them.
"""

pytestmark = pytest.mark.slow


def tool(*words):
    ran = subprocess.run(
        [sys.executable, TOOL, *map(str, words)], capture_output=True, text=True, check=False
    )
    return ran.stdout + ran.stderr


def test_planted_defects_are_found_at_line_and_column(tmp_path):
    folder = SHARED / "templates"
    if not folder.is_dir():
        lacking("the shared templates beside the repository")
    sources = part_of(sorted(folder.glob("**/*.yaml")), 6)
    whole = [p for p in sources if not p.name.startswith(ABSENT_FILES)]
    tool("make", tmp_path, "--seed", 17, "--count", 31, "--from", *whole)
    judged = tool("judge", tmp_path, "--", *LINT)
    assert re.search(r"^recall .*31 of 31 \(100.0 %\)", judged, re.MULTILINE), judged
    assert judged.rstrip().endswith(" passed, 0 failed"), judged


def test_the_copies_are_those_of_the_shared_folder():
    if not SHARED.is_dir():
        lacking("the shared folder beside the repository")
    assert TOOL.read_bytes() == (SHARED / "tools" / "seed_defects.py").read_bytes()
    ours = HERE / "facts" / "hot_versions.json"
    assert ours.read_bytes() == (SHARED / "facts" / "hot_versions.json").read_bytes()

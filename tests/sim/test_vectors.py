"""The convergence vectors, played by the simulator and judged by the comparator."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.selection import one_first

pytestmark = one_first

HERE = Path(__file__).resolve().parents[1]
SHARED = HERE.parents[1] / "shared"
TOOL = HERE / "tools" / "vectors"
ADAPTER = [sys.executable, "-m", "tests.adapters.convergence"]

VECTORS = sorted((HERE / "vectors" / "convergence").glob("*.yaml"))


def judged(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, "convergence", *words, "--", *ADAPTER],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("vectors", VECTORS, ids=lambda path: path.stem)
def test_every_history_ends_as_recorded(vectors):
    ended = judged(vectors)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_changed_expectation_is_noticed():
    ended = judged(*VECTORS, "--mutate", "3", "25")
    assert "25 of 25 caught, no other failure" in ended.stdout, ended.stdout


def test_the_copies_are_those_of_the_shared_folder():
    theirs = SHARED / "vectors" / "convergence"
    if not theirs.is_dir():
        lacking("the shared folder beside the repository")
    for path in sorted(theirs.glob("*.yaml")):
        ours = HERE / "vectors" / "convergence" / path.name
        assert ours.read_bytes() == path.read_bytes(), path.name

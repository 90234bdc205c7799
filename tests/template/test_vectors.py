"""The recorded answers of the language, judged by the comparator through `tests.adapters.hot`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import lacking

HERE = Path(__file__).resolve().parents[1]
SHARED = HERE.parents[1] / "shared"
VECTORS = sorted((HERE / "vectors" / "hot").glob("*.yaml"))
TOOL = HERE / "tools" / "vectors"


@pytest.mark.parametrize("vectors", VECTORS, ids=lambda path: path.stem)
def test_every_recorded_answer_is_ours(vectors):
    ended = subprocess.run(
        [sys.executable, TOOL, "hot", vectors, "--", sys.executable, "-m", "tests.adapters.hot"],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_changed_expectation_is_noticed():
    command = [sys.executable, "-m", "tests.adapters.hot"]
    ended = subprocess.run(
        [sys.executable, TOOL, "hot", "--mutate", "7", "40", "--", *command],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "40 of 40 caught, no other failure" in ended.stdout


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("vectors/hot", "vectors/hot"), ("tools/vectors", "tools/vectors")],
)
def test_the_copies_are_those_of_the_shared_folder(ours, theirs):
    if not SHARED.is_dir():
        lacking("the shared folder beside the repository")
    for path in sorted((SHARED / theirs).iterdir()):
        if path.suffix in (".yaml", ".py"):
            assert (HERE / ours / path.name).read_bytes() == path.read_bytes(), path.name

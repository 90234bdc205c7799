"""The arithmetic of batches and adjustments is the recorded one."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import lacking

HERE = Path(__file__).resolve().parents[2]
SHARED = HERE.parents[1] / "shared" / "vectors" / "groups"


def compared(*options: str) -> str:
    """What the comparator says of the adapter's answers."""
    command = [sys.executable, HERE / "tools" / "vectors", "groups", *options, "--"]
    ended = subprocess.run(
        [*command, sys.executable, "-m", "tests.adapters.groups"],
        cwd=HERE.parent, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_every_recorded_answer_is_ours():
    assert compared().splitlines()[-1] == "50 passed, 0 failed"


def test_a_changed_expectation_is_noticed():
    assert "20 of 20 caught, no other failure" in compared("--mutate", "7", "20")


def test_the_copies_are_those_of_the_shared_folder():
    if not SHARED.is_dir():
        lacking("the shared folder beside the repository")
    for path in SHARED.glob("*.yaml"):
        copy = HERE / "vectors" / "groups" / path.name
        assert copy.read_bytes() == path.read_bytes(), path.name

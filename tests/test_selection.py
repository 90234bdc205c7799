"""`make test` and `make test-rest` together run each case, and few of them twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.selection import ALL, FIRST, REST, part_of

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    "tests/conductor/test_upgrade.py",  # one of its slow tests first
    "tests/clusters/test_simulated.py",  # some in the rest
    "tests/sim/test_mutations.py",  # cases in parts
    "tests/test_selection.py",  # cases in parts, whatever the run
    "tests/test_cycles.py",  # none of these
)


def collected(suite: str) -> set[str]:
    """Return the ids of the tests of FILES in a run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *FILES],
        cwd=ROOT, env={**os.environ, "HEARTH_SUITE": suite}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return {line for line in done.stdout.splitlines() if "::" in line}


@pytest.mark.slow
def test_each_case_is_in_one_of_the_runs() -> None:
    first, rest, everything = collected(FIRST), collected(REST), collected(ALL)
    assert first | rest == everything
    assert first
    assert rest - first
    twice = {name.partition("::")[0] for name in first & rest}
    assert twice == {"tests/sim/test_mutations.py", "tests/test_selection.py"}


def test_a_run_that_nobody_knows_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tests.selection"],
        cwd=ROOT, env={**os.environ, "HEARTH_SUITE": "today"}, capture_output=True, text=True,
    )  # fmt: skip
    assert "HEARTH_SUITE is first, rest or all, not 'today'" in done.stderr


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_the_parts_are_disjoint_and_complete(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for suite in (FIRST, REST, ALL):
        monkeypatch.setattr("tests.selection.SUITE", suite)
        found.append(part_of(range(10), parts))
    first, rest, everything = found
    assert sorted(first + rest) == everything == [*range(10)]
    assert first[0] == 0

"""The recorded scenarios of software deployments, against a running `hearth dev`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.dev import Dev
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

HERE = Path(__file__).parents[1]
FOLDER = HERE / "vectors" / "deployments"
DIFFERENT = {"rollback-of-failed-update"}
"""Heat makes a new deployment; here nothing is replaced because its update failed."""

SCENARIOS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def judged(dev: Dev, *options: str) -> subprocess.CompletedProcess[str]:
    clouds = dev.environment["OS_CLIENT_CONFIG_FILE"]
    return subprocess.run(
        [sys.executable, HERE / "tools" / "vectors", "deployments", FOLDER,
         "--cloud-file", clouds, "--cloud", "hearth", "--patience", "3", "--jobs", "8", *options],
        capture_output=True, text=True, timeout=500, check=False, env={**os.environ},
    )  # fmt: skip


def test_every_scenario_passes(dev: Dev) -> None:
    done = judged(dev)
    counts = SCENARIOS.search(done.stdout)
    assert counts is not None, done.stdout + done.stderr
    failed = {line.split()[2].rstrip(":") for line in done.stdout.splitlines() if "FAILED" in line}
    assert failed == DIFFERENT, done.stdout
    assert int(counts[1]) >= 109 - len(DIFFERENT)


def test_changed_expectations_are_noticed(dev: Dev) -> None:
    done = judged(dev, "--only", "config-*", "--mutate", "1", "8")
    assert done.returncode == 0, done.stdout + done.stderr

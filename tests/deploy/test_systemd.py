"""The units of systemd: what they start exists, and what they may do is little."""

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from hearth.engine.programs.compute.pool import LONG_PLACES, LONG_SPARE, MEMORY_BYTES
from tests.deploy.known import DEPLOY, parsed, settings, variables

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
ENDS_WITHIN_S = 25  # as docs/operating.md says
EXPOSURE_MAX = 1.2
WORKERS = 20  # each has a port, one after the other
TASKS = 100  # threads and processes of one worker, all pools full


def test_each_role_has_a_unit():
    names = [unit.stem for unit in UNITS]
    assert names == ["hearth-api", "hearth-cluster", "hearth-engine"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_its_role_as_a_user_without_rights(unit: Path):
    told = settings(unit)
    environment = dict(one.split("=") for one in told["Environment"])
    line = told["ExecStart"][0].replace("${HEARTH_WORKERS}", environment["HEARTH_WORKERS"])
    program, *arguments = line.split()
    assert program == "/usr/bin/hearth"
    options = parsed(arguments)
    assert (options["role"], options["workers"]) == (unit.stem.removeprefix("hearth-"), 1)
    assert told["User"] == told["Group"] == ["hearth"]
    assert told["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert int(told["TimeoutStopSec"][0]) > ENDS_WITHIN_S
    assert told["CapabilityBoundingSet"] == [""]
    assert told["ProtectSystem"] == ["strict"]
    assert all(one.startswith("-") for one in told["EnvironmentFile"])  # may be absent


def test_the_variables_are_settings_and_workers_have_ports():
    told = [settings(unit)["Environment"][0].partition("=") for unit in UNITS]
    assert variables(name for name, _, _ in told) == []
    ports = sorted(int(port) for _, _, port in told)
    assert all(later - port >= WORKERS for port, later in pairwise(ports))


def analyze(*arguments: str) -> "subprocess.CompletedProcess[str]":
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze (package systemd)")
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path):
    """With a program that exists, for Hearth need not be installed here."""
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/usr/bin/hearth", "/bin/true"))
    done = analyze("verify", "--man=no", str(copy))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_memory_and_tasks_have_limits(unit: Path):
    told = settings(unit)
    memory = re.fullmatch(r"(\d+)G", told["MemoryMax"][0])
    assert memory is not None
    assert int(memory[1]) << 30 > (LONG_PLACES + LONG_SPARE) * MEMORY_BYTES
    assert int(told["TasksMax"][0]) >= WORKERS * TASKS
    assert told["OOMPolicy"] == ["continue"]  # a killed computation is repeated


def test_all_units_have_the_same_restrictions():
    each = [unit.read_text().partition("\nUMask=")[2] for unit in UNITS]
    assert each[0].count("\n") > 30
    assert len(set(each)) == 1


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_unit_is_hardly_exposed(unit: Path):
    done = analyze("security", "--offline=true", "--no-pager", str(unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    assert float(found[1]) <= EXPOSURE_MAX

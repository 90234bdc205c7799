"""The fuzzers find what is wrong, keep the shortest of it, and survive what takes for ever."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import drive
from tests.fuzz.run import Tried, table

ROOT = Path(__file__).resolve().parents[2]


def picky(value):
    if "b" in value:
        raise KeyError(value)
    assert "c" not in value
    while "d" in value:
        pass


@pytest.fixture
def driver(tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "HANG_S", 0.1)
    before = signal.signal(signal.SIGVTALRM, drive.hang)
    yield drive.Driver(picky, tmp_path / "kept", tmp_path / "status.json")
    signal.signal(signal.SIGVTALRM, before)


def test_of_inputs_with_one_problem_the_shortest_is_kept(driver):
    for value in ("a", "aab", "b", "abb", "cc", "acc"):
        driver.run(value)
    kept = {json.loads(path.read_text()) for path in driver.folder.iterdir()}
    assert kept == {"b", "cc"}
    told = json.loads(driver.status.read_text())
    assert told["executions"] <= driver.executions == 6
    assert sorted(what.partition(" in ")[0] for what in told["findings"].values()) == [
        "AssertionError",
        "KeyError",
    ]


def test_an_input_that_takes_for_ever_is_a_finding(driver):
    driver.run("d")
    driver.run("a")
    (what,) = driver.findings.values()
    assert what[1].startswith("Hang in ")
    assert driver.executions == 2


def test_the_table_names_findings():
    shown = table([Tried("load", 1000, 10.0, 0.5, {"key": "KeyError in x"}), Tried("lint")])
    assert "1,000     100   0.50 s        1\n    key: KeyError in x\nlint" in shown


@pytest.mark.slow
def test_a_run_tries_a_target_and_writes_its_result(tmp_path):
    result = tmp_path / "result.json"
    ended = subprocess.run(
        [
            sys.executable, "-m", "tests.fuzz.run", "load", "--seconds", "1", "--seed", "7",
            "--engine", "hypothesis", "--json", result, "--keep", tmp_path / "kept",
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = json.loads(result.read_text())
    assert told["seed"] == 7
    assert told["targets"]["load"]["executions"] > 10
    assert not (tmp_path / "kept").exists()

"""The recorded answers of the language are those of the library, and those of a running server."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import lacking
from tests.selection import part_of

HERE = Path(__file__).resolve().parents[1]
SHARED = HERE.parents[1] / "shared"
VECTORS = sorted((HERE / "vectors" / "hot").glob("*.yaml"))
OWN = sorted((HERE / "vectors" / "own").glob("*.yaml"))
"""Recorded with the same original, for what the shared vectors do not ask."""

TOOL = HERE / "tools" / "vectors"


LIBRARY = ["tests.adapters.hot"]
SERVER = ["tests.adapters.hot", "--api"]
BESIDE = """
- name: references
  template: |
    heat_template_version: 2021-04-16
    resources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::TestResource}}
  also: [refs]
  expect: {resolved: {outputs: {}, refs: {a: "{{physical:a}}", b: "{{physical:b}}"}}}
- name: references-cfn
  template: |
    HeatTemplateFormatVersion: "2012-12-12"
    Resources: {a: {Type: "OS::Heat::None"}}
    Outputs: {o: {Value: {Ref: a}}}
  also: [refs]
  expect: {resolved: {outputs: {o: "{{physical:a}}"}, refs: {a: "{{physical:a}}"}}}
- name: merged-then-wrong
  template: |
    heat_template_version: 2021-04-16
    parameters: {n: {type: number}}
  files: {a.yaml: "parameters: {n: many}"}
  environment_files: [a.yaml]
  expect: {error: {phase: validate, kind: StackValidationFailed}}
- name: broken-beside-files
  template: "heat_template_version: ["
  files: {a.yaml: "parameters: {}"}
  environment_files: [a.yaml]
  expect: {error: {phase: parse, kind: ValueError}}
"""
"""What no recorded vector asks, though the format has it."""


def answered(adapter: list[str], *options: str | Path, timeout_s: float) -> tuple[int, str]:
    """The exit status of the comparator, and what it says of the adapter's answers."""
    ended = subprocess.run(
        [sys.executable, TOOL, "hot", *options, "--", sys.executable, "-m", *adapter],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def compared(adapter: list[str], *options: str | Path, timeout_s: float = 120.0) -> str:
    """What the comparator says where nothing is wrong."""
    status, told = answered(adapter, *options, timeout_s=timeout_s)
    assert status == 0, told
    return told


@pytest.fixture(scope="module")
def of_the_library() -> list[str]:
    """The lines about all vectors: most of the time of one file is the start of two processes."""
    return answered(LIBRARY, *VECTORS, *OWN, timeout_s=240.0)[1].splitlines()


@pytest.mark.parametrize("vectors", [*VECTORS, *OWN], ids=lambda path: path.stem)
def test_every_recorded_answer_is_ours(vectors, of_the_library):
    wrong = [line for line in of_the_library if line.startswith(f"FAILED {vectors.name} ")]
    assert wrong == []
    (row,) = (line.split() for line in of_the_library if line.startswith(f"{vectors.name} "))
    assert row[1:] == [row[1], "of", row[1]], of_the_library[-1]


def test_a_changed_expectation_is_noticed():
    assert "40 of 40 caught, no other failure" in compared(LIBRARY, "--mutate", "7", "40")


@pytest.mark.slow
def test_every_recorded_answer_is_that_of_a_running_server():
    paths = part_of([*VECTORS, *OWN], 4)
    told = compared(SERVER, *paths, "--jobs", "4", timeout_s=600.0)
    count = sum(len(yaml.safe_load(path.read_text())) for path in paths)
    assert f"{count} passed, 0 failed" in told.splitlines()  # a server may log after it


@pytest.mark.slow
def test_a_changed_expectation_is_noticed_in_what_a_server_says():
    options = ("--only", "env-*", "--jobs", "4", "--mutate", "7", "10")
    assert "10 of 10 caught, no other failure" in compared(SERVER, *options, timeout_s=600.0)


@pytest.mark.parametrize("adapter", [LIBRARY, pytest.param(SERVER, marks=pytest.mark.slow)])
def test_what_no_recorded_vector_asks_is_answered_too(adapter, tmp_path):
    (tmp_path / "beside.yaml").write_text(BESIDE)
    assert compared(adapter, tmp_path).endswith("\n4 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("vectors/hot", "vectors/hot"),
        ("vectors/deployments", "vectors/deployments"),
        ("tools/vectors", "tools/vectors"),
    ],
)
def test_the_copies_are_those_of_the_shared_folder(ours, theirs):
    if not SHARED.is_dir():
        lacking("the shared folder beside the repository")
    for path in sorted((SHARED / theirs).iterdir()):
        if path.suffix in (".yaml", ".py"):
            assert (HERE / ours / path.name).read_bytes() == path.read_bytes(), path.name

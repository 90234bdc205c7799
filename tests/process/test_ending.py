"""Commands end at once, and nothing that they have printed is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RESOURCES = 3000
TEMPLATE = "heat_template_version: 2018-08-31\nresources:\n" + "".join(
    f"  r{i}: {{type: OS::Heat::Value, properties: {{value: {i}}}}}\n" for i in range(RESOURCES)
)


def plan(folder: Path, out: int) -> subprocess.CompletedProcess[bytes]:
    (folder / "t.yaml").write_text(TEMPLATE)
    return subprocess.run(
        [sys.executable, "-m", "hearth.cli.main", "plan", "t.yaml"],
        cwd=folder, stdout=out, stderr=subprocess.PIPE, check=False, timeout=120,
    )  # fmt: skip


def test_a_pipe_gets_every_line(tmp_path: Path) -> None:
    done = plan(tmp_path, subprocess.PIPE)
    assert done.returncode == 2, done.stderr
    assert done.stdout.count(b"OS::Heat::Value") == RESOURCES
    assert done.stdout.endswith(b"\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = plan(tmp_path, full)
    finally:
        os.close(full)
    assert done.returncode == 1


def test_a_closed_pipe_is_an_error(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = plan(tmp_path, theirs)
    finally:
        os.close(theirs)
    assert done.returncode == 1
    assert not done.stderr

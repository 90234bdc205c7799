"""A forked command behaves as one that was started, as far as tests look at it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import Forked

pytestmark = pytest.mark.slow


def test_it_prints_and_ends_as_a_process_of_its_own():
    whole = subprocess.run(
        [sys.executable, "-m", "hearth.cli.main", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    with Forked(["--version"]) as process:
        assert process.stdout.read() == whole.stdout
        assert process.wait(20) == 0
    assert process.poll() == 0


def test_its_status_is_that_of_the_command():
    with Forked(["lint", "/nowhere"]) as process:
        assert process.wait(20) == 2
    with Forked(["dev", "--port", "0", "--data", "/proc/none"]) as process:
        assert process.wait(20) == 1


def test_its_environment_and_folder_are_those_of_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text("heat_template_version: none\n")
    with Forked(["lint", "t.yaml"], env={**os.environ, "NO_COLOR": "1"}) as process:
        assert "t.yaml" in process.stdout.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_it(tmp_path: Path, number: int):
    with Forked(["dev", "--port", "0", "--data", str(tmp_path)]) as process:
        assert process.stdout.readline().startswith("hearth is ready")
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(number)
        assert process.wait(20) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
        process.terminate()  # too late, without harm

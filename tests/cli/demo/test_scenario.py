"""The demo as a newcomer runs it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "hearth.cli.main", "demo"]


def test_the_demo_ends_with_an_empty_cloud(tmp_path: Path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    began = time.monotonic()
    done = subprocess.run(
        [*COMMAND, "--transcript"],
        env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    account = re.search(r"The cloud is empty: (\d+) creates, (\d+) deletes", done.stdout)
    assert account is not None
    assert account[1] == account[2]
    assert int(account[1]) >= 15
    assert "app.server               CREATE_COMPLETE" in done.stdout
    assert "web was changed in place" in done.stdout
    assert "$ openstack stack create -t shop/three_tier.yaml -e shop/env.yaml" in done.stdout
    commands = re.findall(r"(?m)^\$ (.*)$", done.stdout)
    source = next(words.split()[2] for words in commands if words.startswith("cp -r "))
    assert (Path(source) / "three_tier.yaml").exists(), "the templates stay there"
    assert not any(str(tmp_path) in words for words in commands), "what goes with the demo"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
    assert time.monotonic() - began < 30


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as demo:  # fmt: skip
        assert demo.stdout is not None
        for line in demo.stdout:
            if "network" in line:
                break
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does it
        _, said = demo.communicate(timeout=30)
    assert demo.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)

"""The story of `tests.cli.apply.real` on the embedded cloud."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.dev import hearth_dev
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


def test_every_step_of_the_story_is_right(tmp_path: Path):
    result = tmp_path / "result.json"
    with hearth_dev(tmp_path / "dev") as dev:
        dev.mark()
        command = [sys.executable, "-m", "tests.cli.apply.real", "hearth", "--json", str(result)]
        done = subprocess.run(
            command, env={**os.environ, **dev.environment}, text=True, timeout=400, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert dev.left_over() == []
    assert json.loads(result.read_text())["wrong"] == 0

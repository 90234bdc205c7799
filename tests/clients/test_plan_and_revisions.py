"""The commands of docs/plan-and-revisions.md are run as they stand there."""

import json
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.clients.dev import OPENSTACK, Dev
from tests.conftest import lacking

pytestmark = pytest.mark.slow
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan-and-revisions.md"


def commands() -> str:
    """The first block of the page."""
    found = re.search(r"^    cat (?:.*\n|\n)+?(?=\S)", PAGE.read_text(), re.MULTILINE)
    assert found is not None
    return textwrap.dedent(found[0])


def test_the_commands_work_as_they_are_written(dev: Dev, tmp_path: Path):
    if shutil.which("curl") is None:
        lacking("curl")
    dev.mark()
    script = f". '{dev.folder}/openrc'\nexport PATH='{OPENSTACK.parent}':$PATH\n{commands()}"
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=tmp_path,
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    plan, resources, revisions, diff, back, update = answers
    assert [one["action"] for one in plan["plan"]["resources"]] == ["update", "keep"]
    assert plan["plan"]["resources"][0]["reasons"] == [
        {"property": "name", "reason": "changed", "before": "blue", "after": "green"}
    ]
    assert not any("waiting" in one for one in resources["resources"])
    assert [one["number"] for one in revisions["revisions"]] == [2, 1]
    assert diff["diff"]["parameters"] == [
        {"parameter": "label", "before": "blue", "after": "green"}
    ]
    assert back["plan"]["resources"][0]["reasons"][0]["after"] == "blue"
    assert update == {}
    assert dev.left_over() == []

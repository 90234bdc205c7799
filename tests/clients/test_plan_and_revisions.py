"""The commands of docs/plan-and-revisions.md are run as they stand there."""

import json
import re
import shutil
import textwrap
from pathlib import Path

import pytest

from tests.clients.dev import Dev
from tests.clients.pages import printed
from tests.conftest import lacking

pytestmark = pytest.mark.slow
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan-and-revisions.md"


def commands() -> str:
    """The first block of the page."""
    found = re.search(r"^    cat (?:.*\n|\n)+?(?=\S)", PAGE.read_text(), re.MULTILINE)
    assert found is not None
    return textwrap.dedent(found[0])


def test_the_commands_work_as_they_are_written(
    dev: Dev, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if shutil.which("curl") is None:
        lacking("curl")
    dev.mark()
    said = printed(f". '{dev.folder}/openrc'\n{commands()}", dev, tmp_path, monkeypatch)
    answers = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    plan, drift, resources, revisions, diff, back, update = answers
    assert [one["action"] for one in plan["plan"]["resources"]] == ["update", "keep"]
    assert plan["plan"]["resources"][0]["reasons"] == [
        {"property": "name", "reason": "changed", "before": "blue", "after": "green"}
    ]
    assert drift["drift"]["counts"] == {
        "in sync": 2, "drifted": 0, "missing": 0, "not checkable": 0,
    }  # fmt: skip
    assert not any("waiting" in one for one in resources["resources"])
    assert [one["number"] for one in revisions["revisions"]] == [2, 1]
    assert diff["diff"]["parameters"] == [
        {"parameter": "label", "before": "blue", "after": "green"}
    ]
    assert back["plan"]["resources"][0]["reasons"][0]["after"] == "blue"
    assert update == {}
    assert dev.left_over() == []

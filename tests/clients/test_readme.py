"""The first steps of the README are run as they stand there."""

import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.clients.dev import OPENSTACK, Dev

pytestmark = pytest.mark.slow
README = Path(__file__).resolve().parents[2] / "README.md"


def first_steps() -> str:
    """The commands below "In another terminal"."""
    after = README.read_text().partition("In another terminal:\n\n")[2]
    found = re.match(r"(?:    .*\n|\n)+", after)
    assert found is not None
    return textwrap.dedent(found[0])


def test_the_first_steps_work_as_they_are_written(dev: Dev, tmp_path: Path):
    dev.mark()
    script = first_steps().replace(". .hearth/openrc", f". '{dev.folder}/openrc'")
    script = script.replace("$PWD/.venv/bin", str(OPENSTACK.parent))
    assert str(dev.folder) in script
    assert script.count("openstack ") >= 7
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=tmp_path,
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CREATE_COMPLETE" in done.stdout
    assert "UPDATE_COMPLETE" in done.stdout
    assert '"output_value": "10.0.0.' in done.stdout
    assert dev.left_over() == []


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    targets = set(re.findall(r"\bmake ([\w-]+)", README.read_text())) - {"and"}
    makefile = README.with_name("Makefile").read_text()
    assert targets >= {"demo", "test", "dev"}
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []

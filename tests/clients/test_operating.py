"""The operator's pages: their commands are run as they stand there, their settings are read."""

import os
import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from hearth.config.configuration import read
from tests.api.front.conftest import served
from tests.clients.dev import HEARTH

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operating.md"
BLOCK = re.compile(r"^```(sh|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str, page: Path = PAGE) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


@pytest.mark.slow
def test_the_commands_of_the_page_work_as_they_are_written(tmp_path: Path):
    with served(tmp_path) as hearth:
        assert hearth.process is not None
        script = "\n".join(blocks("sh"))
        assert script.count("hearth ") >= 6
        script = script.replace("/etc/heat/heat.conf", str(tmp_path / "heat.conf"))
        script = script.replace("http://127.0.0.1:8004", hearth.url)
        done = subprocess.run(
            ["sh", "-e"], input=f'hearth() {{ {shlex.join(HEARTH)} "$@"; }}\n{script}',
            env={**os.environ, "PID": str(hearth.process.pid), "HOST": socket.gethostname()},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        for word in ("set: auth_encryption_key = ***", "\nOK", ": unchanged", "0 deleted stacks",
                     "hearth-engine", "0 dead engines removed", "all stacks released"):  # fmt: skip
            assert word in done.stdout
        assert "the settings were reloaded" in hearth.told("the settings were reloaded")


SETTINGS = [*blocks("ini"), *blocks("ini", PAGE.with_name("coming-from-heat.md"))]


@pytest.mark.parametrize("text", [one for one in SETTINGS if "[Service]" not in one])
def test_the_settings_of_the_pages_are_settings_that_count(tmp_path: Path, text: str):
    path = tmp_path / "heat.conf"
    path.write_text(text)
    told = read([path])
    assert (told.idle, told.unknown) == ({}, {})


def test_the_page_tells_of_every_job():
    from hearth.cli.manage_commands import manage

    jobs = {name.replace("-", "_") for name in manage.commands} - {"purge_deleted_stacks"}
    told = PAGE.read_text()
    assert [job for job in jobs if f"`{job}" not in told] == []

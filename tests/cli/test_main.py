"""The command itself."""

import subprocess
from importlib.metadata import version

from click.testing import CliRunner

from hearth.cli.main import cli
from tests.clients.dev import HEARTH


def test_the_version_is_that_of_the_package():
    done = subprocess.run([*HEARTH, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"hearth {version('hearth')}\n"


def test_help_names_the_commands():
    said = CliRunner().invoke(cli, ["--help"]).output
    for command in ("dev", "demo", "serve"):
        assert command in said


def test_an_unknown_command_is_refused_with_help():
    done = CliRunner().invoke(cli, ["dve"])
    assert done.exit_code == 2
    assert "No such command 'dve'" in done.output

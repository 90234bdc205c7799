"""The command itself."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hearth.cli.main import SECTIONS, cli
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


def groups(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The paths of all groups of commands."""
    if isinstance(command, click.Group):
        yield path
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from groups(below, *path, name)


def test_every_command_of_a_module_belongs_to_a_command():
    for modules in SECTIONS.values():
        for module, names in modules.items():
            mine = [one for one in vars(module()).values() if isinstance(one, click.Command)]
            below = {id(one) for group in mine for one in getattr(group, "commands", {}).values()}
            assert sorted(str(one.name) for one in mine if id(one) not in below) == sorted(names)


def test_a_command_imports_no_module_of_other_commands():
    code = (
        "import sys\nfrom hearth.cli.main import cli\n"
        "try: cli(['fmt', '--help'])\nexcept SystemExit: pass\n"
        "print([one for one in sys.modules if 'cli' in one and one.endswith('commands')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout.splitlines()[-1] == "['hearth.cli.commands', 'hearth.cli.authoring_commands']"
    )


@pytest.mark.parametrize("path", list(groups(cli)), ids=" ".join)
def test_help_says_of_each_command_what_it_does_uncut(path: tuple[str, ...]):
    said = CliRunner().invoke(cli, [*path, "--help"])
    assert said.exit_code == 0
    listed = said.output.partition("Templates:\n" if path == () else "Commands:\n")[2]
    assert listed
    assert not re.search(r"\.\.\.$", listed, re.MULTILINE), listed


def test_make_passes_a_port_on():
    make = ["make", "--no-print-directory", "-n", "-o", "install", "dev"]
    folder = Path(__file__).resolve().parents[2]
    for more, told in ((["PORT=0"], "--port 0"), ([], "--data .hearth")):
        done = subprocess.run(
            [*make, *more], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip().endswith(told)


def commands() -> Iterator[click.Command]:
    """Return the commands that show and change stacks."""
    for module, names in SECTIONS["Stacks"].items():
        yield from (getattr(module(), name) for name in names)


def test_the_help_has_a_section_for_each_reader():
    said = CliRunner().invoke(cli, ["--help"]).output
    titles = re.findall(r"^(\w+):$", said, re.MULTILINE)
    assert titles == ["Options", *SECTIONS]


def test_the_help_of_stacks_has_the_exit_status_and_one_order_of_options():
    orders = []
    for command in commands():
        assert "Exit status: 0" in " ".join((command.help or "").split()), command.name
        orders.append([one.name for one in command.params if isinstance(one, click.Option)])
    for one in orders:
        for other in orders:
            both = set(one) & set(other)
            assert [n for n in one if n in both] == [n for n in other if n in both]


def test_the_same_option_has_the_same_words_everywhere():
    from hearth.cli.authoring_commands import lint

    seen: dict[str, tuple[str | None, object]] = {}
    for command in (lint, *commands()):
        for one in command.params:
            if isinstance(one, click.Option) and one.name in ("environments", "template"):
                words = (one.help, one.metavar)
                assert seen.setdefault(one.name, words) == words

"""What recipes name exists: commands with their options, and settings."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from hearth.cli.main import cli
from hearth.config.configuration import read
from hearth.config.options import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def parsed(arguments: Sequence[str]) -> dict[str, object]:
    """Return the options that `hearth` reads from arguments, or raise click.UsageError."""
    command: click.Command = cli
    found: dict[str, object] = {}
    rest, name, parent = list(arguments), "hearth", None
    while True:
        context = command.make_context(name, rest, parent=parent)
        found |= context.params
        if not isinstance(command, click.Group):
            return found
        rest = [*context._protected_args, *context.args]
        if not rest:
            assert command.invoke_without_command, f"{name} needs a command"
            return found
        _, chosen, rest = command.resolve_command(context, rest)
        assert chosen is not None
        command, name, parent = chosen, str(chosen.name), context


def variables(names: Iterable[str]) -> list[str]:
    """Return the variables OS_SECTION__NAME that are no setting."""
    known = {f"OS_{one.group}__{one.name}".upper() for one in OPTIONS}
    return sorted(set(names) - known)


def unknown_settings(text: str, folder: Path) -> list[str]:
    """Return the settings of a configuration, also those in comments, that have no effect."""
    path = folder / "recipe.conf"
    path.write_text(re.sub(r"(?m)^# ([a-z_]+ =)", r"\1", text))
    told = read([path])
    return [*told.unknown, *told.idle]


def settings(unit: Path) -> dict[str, list[str]]:
    """The settings of a unit; a name may have several values."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"(?m)^(\w+)=(.*)$", unit.read_text()):
        found.setdefault(name, []).append(value)
    return found

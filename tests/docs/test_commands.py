"""Commands that the pages name exist: those of Hearth, and those of the clients for stacks."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest

from hearth.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"(?ms)^```(?:sh)?$(.*?)^```|^    (.*?)$|`([^`\n]+)`")
HEARTH = re.compile(r"(?<!--os-cloud )(?<![\w/-])hearth (?!is ready)([a-z]+)((?: +[a-z-]+)?)")
CONTEXT = click.Context(cli)
DOCS = cli.get_command(CONTEXT, "docs")
STACK_COMMANDS = {
    entry.name.replace("_", " ") for entry in entry_points(group="openstack.orchestration.v1")
}


def code(page: Path) -> str:
    return "\n".join("".join(found) for found in CODE.findall(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_hearth_exists(page: Path):
    missing = []
    for command, rest in HEARTH.findall(code(page)):
        if command not in cli.list_commands(CONTEXT):
            missing.append(command)
        elif command == "docs" and rest.strip() not in {"", *DOCS.commands}:
            missing.append(f"docs{rest}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_for_stacks_exists(page: Path):
    asked = re.findall(
        r"openstack (?:--os-\S+ \S+ )*((?:stack|software|orchestration) [a-z -]+)", code(page)
    )
    unknown = [
        line
        for line in asked
        if not any(re.match(rf"{command}(?![a-z-])", line) for command in STACK_COMMANDS)
    ]
    assert unknown == []

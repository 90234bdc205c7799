"""`hearth`: its commands. The modules of a command are imported when it runs."""

from collections.abc import Mapping
from types import ModuleType

import click

import hearth
from hearth.cli.commands import Commands, Modules
from hearth.process.ending import Finished, end_at_once


def _apply() -> ModuleType:
    from hearth.cli.apply import commands

    return commands


def _look() -> ModuleType:
    from hearth.cli.apply import look_commands

    return look_commands


def _authoring() -> ModuleType:
    from hearth.cli import authoring_commands

    return authoring_commands


def _serve() -> ModuleType:
    from hearth.cli import serve_commands

    return serve_commands


def _manage() -> ModuleType:
    from hearth.cli import manage_commands

    return manage_commands


def _docs() -> ModuleType:
    from hearth.cli import docs_commands

    return docs_commands


SECTIONS: Mapping[str, Modules] = {
    "Templates": {_authoring: ("agent", "extend", "fmt", "lint", "lsp", "schema")},
    "Stacks": {
        _apply: ("apply", "destroy", "plan", "refresh", "watch"),
        _look: ("diff", "drift", "events", "graph", "output", "revisions", "show"),
    },
    "Services": {_serve: ("demo", "dev", "serve"), _manage: ("manage",)},
    "Reference": {_docs: ("docs",)},
}
"""The commands by the section of the overview in which they stand."""


@click.group(
    cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(hearth.__version__, prog_name="hearth", message="%(prog)s %(version)s")
def cli() -> None:
    """Orchestration for OpenStack."""


def main() -> None:
    """The entry point of the `hearth` command."""
    try:
        cli()
    except Finished as end:
        end_at_once(end)


if __name__ == "__main__":
    main()

"""`hearth`: its commands. The modules of a command are imported when it runs."""

import click

import hearth
from hearth.cli.commands import Commands
from hearth.cli.ending import Finished, end_at_once

MODULES = {
    "hearth.cli.apply.commands": ("apply", "destroy", "plan", "refresh", "watch"),
    "hearth.cli.apply.look_commands": (
        "diff", "drift", "events", "graph", "output", "revisions", "show",
    ),
    "hearth.cli.authoring_commands": ("agent", "extend", "fmt", "lint", "lsp", "schema"),
    "hearth.cli.docs_commands": ("docs",),
    "hearth.cli.manage_commands": ("manage",),
    "hearth.cli.serve_commands": ("demo", "dev", "serve"),
}  # fmt: skip
"""The commands by the modules that have them, as functions of the same names."""

SECTIONS = {
    "Templates": ("hearth.cli.authoring_commands",),
    "Stacks": ("hearth.cli.apply.commands", "hearth.cli.apply.look_commands"),
    "Services": ("hearth.cli.serve_commands", "hearth.cli.manage_commands"),
    "Reference": ("hearth.cli.docs_commands",),
}
"""The sections of the overview of all commands."""


@click.group(
    cls=Commands, modules=MODULES, sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
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

"""Click command groups that import commands when they are used, and show complete sentences."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click


class Commands(click.Group):
    """A command group whose overview shows the complete first sentence of each help text.

    `modules` maps a module to its command names. Each command is a function of that name in the
    module, which is imported when the command is used. The subgroups are of this class too.
    """

    group_class = type  # click: of the same class as their group

    def __init__(
        self, *arguments: Any, modules: Mapping[str, Sequence[str]] | None = None, **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._modules = {
            name: module for module, names in (modules or {}).items() for name in names
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in order."""
        return sorted([*self.commands, *self._modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, for which its module is imported; None if there is none."""
        module = self._modules.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(module), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with the complete first sentence of its help text."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name, command in found
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

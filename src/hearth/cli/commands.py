"""Click command groups that import commands when they are used, and show complete sentences."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import click

Modules = Mapping[Callable[[], ModuleType], Sequence[str]]
"""The names of commands by the function that imports their module."""


class Commands(click.Group):
    """A command group whose overview shows the complete first sentence of each help text.

    `sections` maps the title of a section of the overview to its commands; without it there is one
    section. Each command is a function of that name in the module, which is imported when the
    command is used. The subgroups are of this class too.
    """

    group_class = type  # click: of the same class as their group

    def __init__(
        self,
        *arguments: Any,
        sections: Mapping[str, Modules] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._sections = sections or {}
        self._modules = {
            name: module
            for modules in self._sections.values()
            for module, names in modules.items()
            for name in names
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in order."""
        return sorted([*self.commands, *self._modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, for which its module is imported; None if there is none."""
        module = self._modules.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(module(), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with the complete first sentence of its help text."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = {
            name: (name, command.get_short_help_str(limit=1000))
            for name, command in commands
            if command is not None and not command.hidden
        }
        for title, names in self._titled(list(rows)).items():
            with formatter.section(title):
                formatter.write_dl([rows[name] for name in names])

    def _titled(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of commands by the title of their section."""
        if not self._sections:
            return {"Commands": names}
        return {
            title: [name for name in names if any(name in members for members in modules.values())]
            for title, modules in self._sections.items()
        }

"""Click command groups that import commands when they are used, and show complete sentences."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click


class Commands(click.Group):
    """A command group whose overview shows the complete first sentence of each help text.

    `sections` maps the title of a section of the overview to the modules of its commands; without
    it there is one section. `modules` maps a module to its command names. Each command is a
    function of that name in the module, which is imported when the command is used. The subgroups
    are of this class too.
    """

    group_class = type  # click: of the same class as their group

    def __init__(
        self,
        *arguments: Any,
        modules: Mapping[str, Sequence[str]] | None = None,
        sections: Mapping[str, Sequence[str]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*arguments, **more)
        self._sections = sections or {}
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
        rows = {
            name: (name, command.get_short_help_str(limit=1000))
            for name, command in found
            if command is not None and not command.hidden
        }
        for title, names in self._titled(list(rows)).items():
            with formatter.section(title):
                formatter.write_dl([rows[name] for name in names])

    def _titled(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of commands by the title of their section."""
        titles = {module: title for title, modules in self._sections.items() for module in modules}
        found: dict[str, list[str]] = {title: [] for title in self._sections}
        for name in names:
            title = titles.get(self._modules.get(name, ""), "Commands")
            found.setdefault(title, []).append(name)
        return {title: known for title, known in found.items() if known}

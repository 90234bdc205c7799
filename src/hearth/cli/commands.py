"""Command groups whose list shows the whole first sentence of each help text."""

import click


class Commands(click.Group):
    """A group of commands; its subgroups list their commands in the same way."""

    group_class = type  # click: of the same class as their group

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the whole first sentence of its help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name, command in found
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

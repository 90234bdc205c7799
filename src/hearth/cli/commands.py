"""Click command groups whose overview shows the complete first sentence of each help text."""

import click


class Commands(click.Group):
    """A command group whose overview is not truncated; its subgroups are of this class too."""

    group_class = type  # click: of the same class as their group

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

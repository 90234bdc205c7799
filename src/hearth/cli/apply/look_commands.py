"""The commands that show stacks and their history."""

from pathlib import Path
from typing import Any

import click

from hearth.cli.apply.commands import name_argument, run_command
from hearth.cli.apply.options import StackLocation, location_options


@click.command()
@name_argument
@click.argument("key", metavar="[OUTPUT]", required=False)
@location_options
def output(name_given: str | None, key: str | None, **arguments: Any) -> None:
    """Print the outputs of the stack NAME, or the value of one OUTPUT.

    Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.output(location, name_given, key))


@click.command()
@name_argument
@location_options
def show(name_given: str | None, **arguments: Any) -> None:
    """Show the stack NAME: its state, its resources and its outputs.

    Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.show(location, name_given))


@click.command()
@name_argument
@location_options
def events(name_given: str | None, **arguments: Any) -> None:
    """List the events of the stack NAME, the oldest first.

    Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.events(location, name_given))


@click.command()
@name_argument
@location_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "svg"]),
    default="text",
    show_default=True,
    help="text: for people; dot: for Graphviz; svg: a picture.",
)
def graph(name_given: str | None, form: str, **arguments: Any) -> None:
    """Show what the resources of the stack NAME need, what they wait for, and the critical path.

    Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.graph(location, name_given, form))


@click.command()
@name_argument
@location_options
def revisions(name_given: str | None, **arguments: Any) -> None:
    """List the revisions of the stack NAME, the newest first.

    Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.revisions(location, name_given))


@click.command()
@click.argument("before", metavar="REVISION", type=int)
@click.argument("after", metavar="[REVISION]", type=int, required=False)
@location_options
def diff(before: int, after: int | None, **arguments: Any) -> None:
    """Show the difference between two revisions of a stack.

    The second one is the current revision by default. Exit status: 0, or 1 after an error.
    """
    from hearth.cli.apply import looks

    run_command(arguments, lambda location: looks.diff(location, None, before, after))


@click.command()
@name_argument
@location_options
@click.option("--all", "every", is_flag=True, help="Also list resources that are in sync.")
@click.option(
    "--accept",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="TEMPLATE",
    help="Write the real values of drifted properties into this template.",
)
@click.option(
    "--cached",
    is_flag=True,
    help="Show the last background check of the service instead of reading the cloud.",
)
def drift(
    name_given: str | None, accept: Path | None, *, every: bool, cached: bool, **arguments: Any
) -> None:
    """Compare the resources of the stack NAME with the cloud.

    Exit status: 0 without drift, 2 with drift, 1 after an error. apply --converge repairs drift.
    """
    from hearth.cli.apply import drifting

    if cached and (every or accept is not None):
        option = "--all" if every else "--accept"
        raise click.UsageError(f"--cached and {option} exclude each other")

    async def main(location: StackLocation) -> int:
        if cached:
            return await drifting.last_drift(location, name_given)
        return await drifting.drift(location, name_given, accept, every=every)

    run_command(arguments, main)

"""The commands for authors of templates and of resource types."""

import sys
from pathlib import Path
from typing import IO

import click

from hearth.cli.commands import Commands
from hearth.model import collector


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "-e",
    "--environment",
    "environments",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Environment file; may be repeated, later ones take precedence.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="text: for people; json: for programs; sarif: for code hosts; github: for GitHub Actions.",
)
@click.option("--strict", is_flag=True, help="Exit with status 1 for warnings too.")
@click.option(
    "--explain", "code", metavar="CODE", help="Print the explanation of a rule and check nothing."
)
def lint(
    files: tuple[Path, ...],
    environments: tuple[Path, ...],
    form: str,
    *,
    strict: bool,
    code: str | None,
) -> None:
    """Find mistakes in templates (FILES or folders; - is standard input).

    Nested templates and files are found relative to the template that names them. Exit status: 0
    without errors, 1 with errors (with --strict also with warnings), 2 if a file cannot be read.
    """
    collector.off()
    from hearth.cli import lint as command

    if code is not None:
        try:
            click.echo(command.explain(code), nl=False)
        except LookupError as problem:
            raise click.ClickException(str(problem)) from None
        return
    if not files:
        raise click.UsageError("no FILE given")
    sys.exit(command.run(files, environments, form, strict=strict))


@click.command()
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; list the files to change, and exit with 1 if there are any.",
)
@click.option("--diff", is_flag=True, help="Write nothing; print the changes.")
def fmt(names: tuple[str, ...], *, check: bool, diff: bool) -> None:
    """Format templates and environments in the style of docs/fmt.md.

    Formatting keeps comments and the meaning. Of a folder, all templates and environments below it
    are formatted; for - standard input is written to standard output.
    """
    from hearth.cli.fmt import run

    sys.exit(run(names, check=check, diff=diff))


@click.command()
@click.option("--flavour", type=click.Choice(["hot", "cfn"]), default="hot", show_default=True)
@click.option(
    "--version", metavar="VERSION", help="Version of the language; all versions when not given."
)
@click.option(
    "--type", "kind", metavar="TYPE", help="Print only the schema of the properties of this type."
)
@click.option(
    "-o",
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Write a file instead of printing.",
)
def schema(flavour: str, version: str | None, kind: str | None, output: IO[str]) -> None:
    """Print a JSON Schema of templates, for editors: see docs/editors.md."""
    from hearth.cli.schema import schema_text

    try:
        output.write(schema_text(flavour, version, kind))
    except LookupError as problem:
        raise click.UsageError(str(problem)) from None


@click.command()
@click.option(
    "--tcp",
    "port",
    type=click.IntRange(0, 65535),
    help="Listen on this port instead of standard input; 0 takes a free one.",
)
@click.option("--stdio", is_flag=True, help="Use standard input and output, which is the default.")
def lsp(port: int | None, *, stdio: bool) -> None:
    """Run a language server for editors: templates and environments."""
    from hearth.authoring.lsp.serve import serve

    if stdio and port is not None:
        raise click.UsageError("--stdio and --tcp exclude each other")
    sys.exit(serve(port))


@click.command()
@click.option(
    "--user-data", is_flag=True, help="Print a shell script that installs and starts the agent."
)
def agent(*, user_data: bool) -> None:
    """Print the agent that applies software configurations on a server.

    It needs Python 3.7 on the server. See docs/agent.md.
    """
    from hearth.resources.heat.agent_text import agent_text

    click.echo(agent_text(user_data=user_data), nl=False)


@click.group(cls=Commands)
def extend() -> None:
    """Help to write custom types."""


@extend.command()
@click.argument("plugin", type=click.File("r", encoding="utf-8", errors="surrogateescape"))
def port(plugin: IO[str]) -> None:
    """Print resource types of Hearth with the schemas in a plug-in of Heat.

    PLUGIN is the Python file of the plug-in; it is read, but not executed. What cannot be taken
    over is marked with TODO. See docs/extending.md.
    """
    from hearth.authoring.port.plugin import BYTES_MAX, NoPlugin, plugins_in
    from hearth.authoring.port.skeleton import skeleton

    file = Path(plugin.name).name
    try:
        text = skeleton(plugins_in(plugin.read(BYTES_MAX + 1), file), file)
    except NoPlugin as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(text, nl=False)

"""`hearth`: the commands. Each command imports its modules only when it runs."""

import gc
import sys
from pathlib import Path
from typing import IO

import click

import hearth
from hearth.cli.apply.commands import COMMANDS
from hearth.cli.commands import Commands
from hearth.cli.ending import Finished, end_at_once
from hearth.cli.manage_commands import configs_option, manage


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(hearth.__version__, prog_name="hearth", message="%(prog)s %(version)s")
def cli() -> None:
    """Orchestration for OpenStack."""


@cli.group(invoke_without_command=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8004,
    show_default=True,
    help="Port of the Orchestration API; 0 takes a free one. The cloud takes the next port.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for all data  [default: ~/.local/share/hearth].",
)
@click.option(
    "--ephemeral", is_flag=True, help="Keep no data after the process ends; --data is ignored."
)
@click.option(
    "--servers",
    type=click.Choice(["pretend", "sandbox"]),
    default="pretend",
    show_default=True,
    help="sandbox: servers boot and run, in namespaces of this machine (Linux).",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Port for metrics and health checks; 0: any free port. Default: none.",
)
@click.option(
    "--revive-retired-types",
    is_flag=True,
    help="Retired types with a successor work through it, see [hearth] revive_retired_types.",
)
@click.pass_context
def dev(
    ctx: click.Context,
    port: int,
    data: Path | None,
    *,
    ephemeral: bool,
    servers: str,
    metrics_port: int | None,
    revive_retired_types: bool,
) -> None:
    """Run Hearth with an embedded OpenStack on this machine; nothing needs to be installed."""
    ctx.obj = data
    if ctx.invoked_subcommand is None:
        from hearth.cli.dev import Options, run

        options = Options(servers, metrics_port, revive_retired_types)
        sys.exit(run(port, data, options, ephemeral=ephemeral))


@dev.group()
def image() -> None:
    """Build images for the servers of hearth dev --servers sandbox."""


@image.command()
@click.argument("name", type=click.Choice(["debian"]))
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory of hearth dev  [default: ~/.local/share/hearth].",
)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="LINE",
    help="Source of packages, as in sources.list; may be repeated  [default: as on this machine].",
)
@click.pass_context
def build(ctx: click.Context, name: str, data: Path | None, mirrors: tuple[str, ...]) -> None:
    """Build an image with mmdebstrap. This takes a minute or two, and 250 MB on the disk.

    hearth dev --servers sandbox then offers it. See docs/devcloud.md.
    """
    from hearth.cli.dev import build_image

    sys.exit(build_image(name, data or ctx.obj, mirrors))


@cli.command()
@configs_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port of the Orchestration API, or with --role cluster of the cluster API  "
    "[default: that of the configuration].",
)
@click.option(
    "--role",
    type=click.Choice(["all", "api", "engine", "cluster"]),
    default="all",
    show_default=True,
    help="Parts of Hearth that this process runs.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of processes that share the ports; needs PostgreSQL or MariaDB.",
)
@click.option(
    "--check-config",
    "check",
    is_flag=True,
    help="Print the effect of the configuration and start nothing.",
)
def serve(
    configs: tuple[Path, ...], port: int | None, role: str, workers: int, *, check: bool
) -> None:
    """Run Hearth for an existing Keystone and database."""
    if check:
        from hearth.cli import check_config

        sys.exit(check_config.run(configs, role))
    from hearth.cli.serve import run

    sys.exit(run(configs, port, role, workers))


cli.add_command(manage)
for _command in COMMANDS:
    cli.add_command(_command)


@cli.command()
@click.option("--transcript", is_flag=True, help="Print the equivalent openstack commands.")
def demo(*, transcript: bool) -> None:
    """Create, change and delete a three-tier stack on the embedded cloud.

    Its servers boot and run scripts if this machine can run servers; if not, the first line gives
    the reason.
    """
    from hearth.cli.demo import run

    sys.exit(run(transcript=transcript))


@cli.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "-e",
    "--environment",
    "environments",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Environment file; may be repeated, later ones win.",
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
    gc.disable()  # a short-lived process with hardly any garbage
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


@cli.command()
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


@cli.command()
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


@cli.command()
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


@cli.command()
@click.option(
    "--user-data", is_flag=True, help="Print a shell script that installs and starts the agent."
)
def agent(*, user_data: bool) -> None:
    """Print the agent that applies software configurations on a server.

    It needs Python 3.7 on the server. See docs/agent.md.
    """
    from hearth.resources.heat.agent_text import agent_text

    click.echo(agent_text(user_data=user_data), nl=False)


@cli.group()
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


@cli.group()
def docs() -> None:
    """Print reference documentation."""


@docs.command()
def engine() -> None:
    """Print the state tables of the engine, as in docs/engine.md."""
    from hearth.cli.docs_engine import engine_tables

    click.echo(engine_tables())


@docs.command()
def metrics() -> None:
    """Print the table of metrics, as in docs/monitoring.md."""
    from hearth.cli.docs_metrics import metrics_table

    click.echo(metrics_table())


@docs.command()
def api() -> None:
    """Print the reference of the Orchestration API, as in docs/api.md."""
    from hearth.api.reference import page

    click.echo(page(), nl=False)


@docs.command()
def cluster_api() -> None:
    """Print the reference of the cluster API, as in docs/cluster-api.md."""
    from hearth.api.clusters.reference import page

    click.echo(page(), nl=False)


@docs.command()
def options() -> None:
    """Print all settings by their names in heat.conf, as in docs/options.md."""
    from hearth.cli.docs_options import page

    click.echo(page(), nl=False)


@docs.command()
def compatibility() -> None:
    """Print the compatibility with Heat, as in docs/compatibility.md."""
    from hearth.cli.docs_compatibility import page

    click.echo(page(), nl=False)


@docs.command()
def language() -> None:
    """Print the reference of the template language: versions, sections, functions, environments,
    with examples.
    """
    from hearth.cli.docs import language_page

    click.echo(language_page(), nl=False)


@docs.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="markdown: for people; json: for programs.",
)
def types(form: str) -> None:
    """Print a table of all resource types, including how Hearth finds their objects again after a
    crash.
    """
    from hearth.cli.docs import types_table

    click.echo(types_table(form), nl=False)


@docs.command(name="type")
@click.argument("name")
def one_type(name: str) -> None:
    """Print the page of one resource type: its properties, its attributes and an example."""
    from hearth.cli import docs as pages

    try:
        click.echo(pages.one_type(name), nl=False)
    except LookupError as problem:
        raise click.ClickException(str(problem)) from None


@docs.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def reference(folder: Path) -> None:
    """Write the reference of the resource types to FOLDER, with a page for each service."""
    from hearth.cli.docs import write_reference

    click.echo(f"{write_reference(folder)} pages in {folder}")


def main() -> None:
    """The entry point of the `hearth` command."""
    try:
        cli()
    except Finished as end:
        end_at_once(end)


if __name__ == "__main__":
    main()

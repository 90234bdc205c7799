"""`hearth docs`: the pages of the reference."""

import json
from pathlib import Path

import click

from hearth.cli.commands import Commands


@click.group(cls=Commands)
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
@click.option(
    "--exchanges",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with recorded exchanges to show, as in tests/walk/exchanges.json.",
)
def api(exchanges: Path | None) -> None:
    """Print the reference of the Orchestration API, as in docs/api.md."""
    from hearth.api.reference import page

    recorded = {} if exchanges is None else json.loads(exchanges.read_text(encoding="utf-8"))
    click.echo(page(recorded), nl=False)


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

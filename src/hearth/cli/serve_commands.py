"""The commands that run Hearth: for a cloud, and with an embedded one."""

import sys
from pathlib import Path

import click

from hearth.cli.commands import Commands
from hearth.cli.manage_commands import configs_option, folders_option


@click.group(cls=Commands, invoke_without_command=True)
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
        from hearth.cli.dev import DevOptions, run

        options = DevOptions(servers, metrics_port, revive_retired_types)
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


@click.command()
@configs_option
@folders_option
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
    configs: tuple[Path, ...],
    folders: tuple[Path, ...],
    port: int | None,
    role: str,
    workers: int,
    *,
    check: bool,
) -> None:
    """Run Hearth for an existing Keystone and database."""
    configs = (*configs, *folders)
    if check:
        from hearth.cli import check_config

        sys.exit(check_config.run(configs, role))
    from hearth.cli.serve import run

    sys.exit(run(configs, port, role, workers))


@click.command()
@click.option("--transcript", is_flag=True, help="Print the equivalent openstack commands.")
def demo(*, transcript: bool) -> None:
    """Create, change and delete a three-tier stack on the embedded cloud.

    Its servers boot and run scripts if this machine can run servers; if not, the first line gives
    the reason.
    """
    from hearth.cli.demo import run

    sys.exit(run(transcript=transcript))

"""`hearth manage`: the jobs of heat-manage, by the same names, and the first start."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hearth.cli.commands import Commands

F = TypeVar("F", bound=Callable[..., Any])
GRANULARITIES = ("days", "hours", "minutes", "seconds")

configs_option = click.option(
    "--config",
    "--config-file",
    "configs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file in the form of heat.conf; may be repeated.",
)
folders_option = click.option(
    "--config-dir",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with configuration files *.conf, read after those of --config.",
)
FLAGS = (
    "--debug",
    "--nodebug",
    "--use-journal",
    "--nouse-journal",
    "--use-json",
    "--nouse-json",
    "--use-syslog",
    "--nouse-syslog",
)
VALUES = (
    "--log-config-append",
    "--log-date-format",
    "--log-dir",
    "--log-file",
    "--syslog-log-facility",
)
SPELLED = {
    "--debug": ("-d",),
    "--log-config-append": ("--log-config", "--log_config"),
    "--log-dir": ("--logdir",),
    "--log-file": ("--logfile",),
}


def options_of_the_log(command: F) -> F:
    """Let a command accept the options of heat-manage for its log, which have no effect."""
    text = "Accepted as by heat-manage; a job writes no log."
    for name in (*FLAGS, *VALUES):
        command = click.option(
            name,
            *SPELLED.get(name, ()),
            is_flag=name in FLAGS,
            expose_value=False,
            hidden=True,
            help=text,
        )(command)
    return command


class ByHeatsNames(Commands):
    """A command group that also accepts names with underscores, as heat-manage does."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return super().get_command(context, name.replace("_", "-"))


@click.group(cls=ByHeatsNames)
@configs_option
@folders_option
@options_of_the_log
@click.pass_context
def manage(context: click.Context, configs: tuple[Path, ...], folders: tuple[Path, ...]) -> None:
    """Prepare Keystone and maintain the database; most jobs have the names of heat-manage."""
    context.obj = (*configs, *folders)


def _job(context: click.Context, name: str, *arguments: Any) -> None:
    """Run the function `name` of the module `manage`; for WrongSetting, print an error and exit
    with 1.
    """
    from hearth.cli import manage as jobs
    from hearth.config.wrong import WrongSetting

    job: Callable[..., None] = getattr(jobs, name)
    try:
        job(context.obj, *arguments)
    except WrongSetting as problem:
        click.echo(f"hearth: {problem}", err=True)
        sys.exit(1)


@manage.command(name="db-sync")
@click.argument("version", required=False)
@click.pass_context
def db_sync(context: click.Context, version: str | None) -> None:
    """Migrate the database to the schema of this release. Processes also do this at their start."""
    _job(context, "db_sync", version)


@manage.command(name="db-version")
@click.pass_context
def db_version(context: click.Context) -> None:
    """Print the version of the database schema."""
    _job(context, "db_version")


@manage.command(name="purge-deleted")
@click.argument("age", type=click.IntRange(0), default=90)
@click.option(
    "-g",
    "--granularity",
    type=click.Choice(GRANULARITIES),
    default="days",
    show_default=True,
    help="Unit of AGE.",
)
@click.option("-p", "--project-id", help="Purge only the stacks of this project.")
@click.option(
    "-b",
    "--batch_size",
    "--batch-size",
    "batch",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Maximum number of stacks in one transaction.",
)
@click.pass_context
def purge_deleted(
    context: click.Context, age: int, granularity: str, project_id: str | None, batch: int
) -> None:
    """Purge stacks that were deleted more than AGE ago, in the unit of --granularity (default
    90).
    """
    _job(context, "purge_deleted", age, granularity, project_id, batch)


@manage.command(name="rekey")
@click.pass_context
def rekey(context: click.Context) -> None:
    """Encrypt all data again with the first key of auth_encryption_key. Processes may run."""
    _job(context, "rekey")


@manage.group()
def service() -> None:
    """List the engines in the database, and remove those that no longer run."""


@service.command(name="list")
@click.pass_context
def service_list(context: click.Context) -> None:
    """List all registered engines."""
    _job(context, "service_list")


@manage.command(name="drain")
@click.argument("host")
@click.option("--undo", is_flag=True, help="Let the engines of the host take stacks again.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Seconds to wait until the engines own no stack.",
)
@click.pass_context
def drain(context: click.Context, host: str, *, undo: bool, wait_s: float) -> None:
    """Make the engines on HOST release their stacks, for example before an upgrade.

    HOST is the name in `hearth manage service list`. Other engines continue the stacks. Calls in
    progress end first. The engines continue to run, but take no stacks until they are restarted or
    --undo is used.
    """
    _job(context, "drain", host, undo, wait_s)


@service.command(name="clean")
@click.pass_context
def service_clean(context: click.Context) -> None:
    """Remove engines that no longer run and own no stack."""
    _job(context, "service_clean")


def _address(name: str, text: str) -> Callable[..., Any]:
    return click.option(f"--{name}", metavar="URL", help=text)


def _file(name: str, text: str) -> Callable[..., Any]:
    path = click.Path(path_type=Path, dir_okay=False)
    return click.option(f"--{name}", metavar="FILE", type=path, help=text)


def _name(name: str, default: str, text: str) -> Callable[..., Any]:
    return click.option(f"--{name}", default=default, show_default=True, help=text)


@manage.command(name="bootstrap")
@click.option(
    "--os-cloud",
    envvar="OS_CLOUD",
    metavar="NAME",
    help="Entry of an administrator in clouds.yaml  [default: OS_CLOUD, or the variables "
    "of an openrc file].",
)
@click.option(
    "--public-url",
    metavar="URL",
    required=True,
    help="Address of the Orchestration API for users, without /v1.",
)
@_address("internal-url", "The same for services; also the admin endpoint  [default: public-url].")
@_address(
    "cfn-url",
    "Address of the CloudFormation-style API  [default: port 8000, if the "
    "public URL has port 8004].",
)
@_address("cfn-internal-url", "The same for services.")
@click.option("--clusters", is_flag=True, help="Also register the API of clusters.")
@_address(
    "cluster-url",
    "Address of the API of clusters  [default: port 9511, if the public URL has port 8004].",
)
@_address("cluster-internal-url", "The same for services.")
@click.option(
    "--region", help="Region of the endpoints  [default: that of clouds.yaml, or the only one]."
)
@_address(
    "auth-url", "Address of Keystone for Hearth and servers  [default: that of the administrator]."
)
@_name("service-domain", "Default", "Domain of the service user and its project.")
@_name("service-project", "service", "Project of the service user.")
@_name("service-user", "heat", "Name of the service user.")
@_file(
    "service-password-file",
    "File with the password of the service user  [default: HEARTH_SERVICE_PASSWORD, or a new one].",
)
@_name("stack-domain", "heat", "Domain of the users of stacks.")
@_name("stack-domain-admin", "heat_domain_admin", "Administrator of that domain.")
@_file(
    "stack-domain-password-file",
    "File with the administrator's password  [default: "
    "HEARTH_STACK_DOMAIN_PASSWORD, or a new one].",
)
@_file(
    "write",
    "Write the configuration to this file, readable by its owner only. A file that "
    "exists is kept, and its passwords are used.",
)
@click.option("--update", is_flag=True, help="Change what exists and differs.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
def bootstrap(**options: Any) -> None:
    """Create what Hearth needs in Keystone, and print or write the configuration.

    Users, roles, the domain of stacks, services and endpoints are created unless they exist. A
    second run changes nothing. The exit status is 1 if something differs and was left as it is.
    """
    from hearth.cli.bootstrap.desired import BootstrapOptions
    from hearth.cli.bootstrap.run import run
    from hearth.config.wrong import WrongSetting

    try:
        sys.exit(run(BootstrapOptions(**options)))
    except WrongSetting as problem:
        click.echo(f"hearth: {problem}", err=True)
        sys.exit(1)


@manage.command(name="resource-data-list")
@click.argument("resource_id")
@click.pass_context
def resource_data_list(context: click.Context, resource_id: str) -> None:
    """Show the private data of a resource, by the id of its record or of its object in the cloud.
    The data may be secret.
    """
    _job(context, "resource_data_list", resource_id)


@manage.command(name="reset-stack-status")
@click.argument("stack_id")
@click.pass_context
def reset_stack_status(context: click.Context, stack_id: str) -> None:
    """Print the state of a stack, and why a reset is not needed."""
    _job(context, "reset_stack_status", stack_id)


@manage.command(name="update-params")
@click.argument("what", type=click.Choice(["encrypt", "decrypt"]))
@click.option("-v", "--verbose-update-params", is_flag=True, hidden=True)
def update_params(what: str, *, verbose_update_params: bool) -> None:
    """Not needed: user data is always encrypted."""
    click.echo(f"{what}: not needed. User data is always encrypted in the database.")


@manage.command(name="migrate-convergence-1")
@click.argument("stack_ids", nargs=-1)
def migrate_convergence_1(stack_ids: tuple[str, ...]) -> None:
    """Not needed: every stack converges."""
    click.echo("not needed. Every stack converges.")


@manage.command(name="migrate-properties-data")
def migrate_properties_data() -> None:
    """Not needed: properties are stored in one place."""
    click.echo("not needed. Properties are stored in one place.")


manage.add_command(purge_deleted, "purge-deleted-stacks")

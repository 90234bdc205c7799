"""The options that the commands share, and where they find the stack."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from hearth.cli.apply.api import Api, UserError

F = TypeVar("F", bound=Callable[..., Any])


class StackLocation(Struct, frozen=True):
    """Where a stack is: in a state file with a cloud or, if `service` is true, in a service.

    `cloud` is a name in clouds.yaml. `serve` is the port of the endpoint for signals and polls (0:
    a free one), or None if there is none.
    """

    name: str | None
    cloud: str | None
    state: Path | None
    service: bool
    as_json: bool
    serve: int | None = None

    @asynccontextmanager
    async def opened(
        self,
        name: str | None,
        *,
        sign_in: bool = False,
        work: bool = False,
        create: bool = False,
        plan: bool = False,
    ) -> AsyncIterator[tuple[Api, str]]:
        """Open the API; return it with the name of the stack. Raises UserError.

        `name` is the default name of the stack. For the others, see `local_api`.
        """
        name = self.name or name
        if self.service:
            from hearth.cli.apply.remote import service_api

            if self.cloud is None:
                raise UserError(["which cloud? use --cloud NAME, or set OS_CLOUD"])
            if name is None:
                raise UserError(["which stack? give its name"])
            async with service_api(self.cloud) as remote:
                yield remote, name
            return
        from hearth.cli.apply.state import state_file

        state = state_file(name, self.state)
        from hearth.cli.apply.local import local_api

        async with local_api(
            state,
            self.cloud,
            sign_in=sign_in,
            work=work,
            create=create,
            plan=plan,
            serve=self.serve,
        ) as local:
            if work and local.url is not None:
                self._say_served(local.url)
            yield local, state.name

    def _say_served(self, url: str) -> None:
        from hearth.authoring.terminal import say, say_json

        if self.as_json:
            say_json({"type": "endpoint", "url": url})
        else:
            say(f"serving signals and polls at {url}")


def location_options(command: F) -> F:
    """Add the options that say where a stack is."""
    for option in reversed(
        (
            click.option(
                "--name",
                help="Name of the stack  [default: the template's file name, or the only name in "
                ".hearth].",
            ),
            click.option(
                "--cloud",
                envvar="OS_CLOUD",
                metavar="NAME",
                help="Name of a cloud in clouds.yaml  [default: $OS_CLOUD].",
            ),
            click.option(
                "--state",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="State file  [default: .hearth/NAME.db].",
            ),
            click.option(
                "--service",
                is_flag=True,
                help="Use the Orchestration service of the cloud instead of a state file.",
            ),
            click.option(
                "--json", "as_json", is_flag=True, help="Print JSON objects, one per line."
            ),
        )
    ):
        command = option(command)
    return command


def serve_options(command: F) -> F:
    """Add the options for the endpoint at which servers and users send signals."""
    for option in (
        click.option(
            "--serve-port",
            type=click.IntRange(1, 65535),
            metavar="PORT",
            help="Port of --serve, which it implies  [default: a free port].",
        ),
        click.option(
            "--serve",
            is_flag=True,
            help="Accept signals and polls on this machine while the command runs.",
        ),
    ):
        command = option(command)
    return command


def template_options(command: F) -> F:
    """Add the options for a template with its environments and parameters."""
    for option in reversed(
        (
            click.option(
                "-t",
                "--template",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Template; may be given instead of the argument TEMPLATE.",
            ),
            click.option(
                "-e",
                "--environment",
                "environments",
                multiple=True,
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Environment file; may be repeated, later ones take precedence.",
            ),
            click.option(
                "--parameter",
                "parameters",
                multiple=True,
                metavar="KEY=VALUE",
                help="Value of a parameter; may be repeated.",
            ),
            click.option(
                "--converge",
                is_flag=True,
                help="Read the real state of all resources first, and repair what has drifted.",
            ),
            click.option(
                "--revision",
                type=click.IntRange(1),
                metavar="NUMBER",
                help="Go back to this revision of the stack instead of using a template.",
            ),
            click.option(
                "--parameter-file",
                "parameter_files",
                multiple=True,
                metavar="KEY=FILE",
                help="File with the value of a parameter; may be repeated.",
            ),
        )
    ):
        command = option(command)
    return command

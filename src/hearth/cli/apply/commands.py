"""The commands that plan and change stacks."""

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hearth.cli.apply.options import (
    StackLocation,
    location_options,
    serve_options,
    template_options,
)
from hearth.model import collector
from hearth.process.ending import Finished

if TYPE_CHECKING:
    from hearth.cli.apply.runs import ChangeRequest

Arguments = dict[str, Any]
LOCATION = ("name", "cloud", "state", "service", "as_json")


policy_option = click.option(
    "--policy",
    "policies",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with rules for the plan; may be repeated.",
)


name_argument = click.argument("name_given", metavar="[NAME]", required=False)


def run_command(
    arguments: Arguments, main: Callable[[StackLocation], Coroutine[Any, Any, int]]
) -> NoReturn:
    """Run a command with the place that its options name, and end with its status."""
    collector.off()
    from hearth.cli.apply.runs import run

    serve, port = arguments.pop("serve", False), arguments.pop("serve_port", None)
    location = StackLocation(
        **{key: arguments.pop(key) for key in LOCATION}, serve=port or (0 if serve else None)
    )
    if location.service and location.serve is not None:
        raise click.UsageError("--service and --serve exclude each other")
    raise Finished(run(lambda: main(location), as_json=location.as_json))


def _change_request(
    target: Path | None, arguments: Arguments, policies: tuple[Path, ...]
) -> "ChangeRequest":
    """Return the request that the arguments describe. Raises UserError, OSError."""
    from hearth.cli.apply.api import UserError
    from hearth.cli.apply.bundle import bundle
    from hearth.cli.apply.runs import ChangeRequest
    from hearth.cli.apply.saved_plan import SavedPlan

    template = arguments.pop("template") or target
    environments, parameters = arguments.pop("environments"), arguments.pop("parameters")
    files, revision = arguments.pop("parameter_files"), arguments.pop("revision")
    options = {"converge": arguments.pop("converge")}
    if revision is not None:
        if (template is not None and template.exists()) or environments:
            raise UserError(["a revision contains its template and its environments"])
        return ChangeRequest(
            None if target is None else str(target),
            body={"revision": revision, "parameters": values_of(parameters, files), **options},
            policies=policies,
        )
    if template is None:
        raise UserError(["no TEMPLATE given"])
    saved = SavedPlan.read(template)
    if saved is not None:
        if environments or parameters or files:
            raise UserError(["a saved plan contains its environments and parameters"])
        delete = bool(saved.body.get("delete"))
        return ChangeRequest(saved.name, saved=saved, delete=delete, policies=policies)
    body = {**bundle(template, environments, values_of(parameters, files)), **options}
    return ChangeRequest(
        template.stem,
        body=body,
        template=template,
        environments=tuple(environments),
        policies=policies,
    )


def values_of(parameters: Sequence[str], files: Sequence[str]) -> dict[str, str]:
    """Return the values of parameters, given as KEY=VALUE and as KEY=FILE. Raises UserError,
    OSError.
    """
    from hearth.cli.apply.api import UserError
    from hearth.cli.apply.text_file import text_of

    values = {}
    for pair in (*parameters, *files):
        if pair != (readable := pair.encode(errors="replace").decode()):
            raise UserError([f"{readable.partition('=')[0]}: the parameter is not in UTF-8"])
    for pair in parameters:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError([f"--parameter {pair}: expected KEY=VALUE"])
        values[key] = value
    for pair in files:
        key, equals, path = pair.partition("=")
        if not equals:
            raise UserError([f"--parameter-file {pair}: expected KEY=FILE"])
        values[key] = text_of(Path(path))
    return values


@click.command()
@click.argument("target", metavar="[TEMPLATE]", required=False, type=click.Path(path_type=Path))
@location_options
@template_options
@serve_options
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Save the plan in this file.")
@click.option("--destroy", is_flag=True, help="Plan the deletion of the stack NAME.")
@policy_option
def plan(
    target: Path | None,
    out: Path | None,
    policies: tuple[Path, ...],
    *,
    destroy: bool,
    **arguments: Any,
) -> None:
    """Show what apply would do to each resource, and why.

    Exit status: 0 without changes, 2 with changes, 1 after an error or if the apply would fail.
    """
    from hearth.cli.apply import runs

    async def main(location: StackLocation) -> int:
        name = str(target) if target is not None else None
        request = runs.ChangeRequest(name, delete=True, policies=policies)
        if not destroy:
            request = _change_request(target, arguments, policies)
        return await runs.plan(location, request, out)

    run_command(arguments, main)


@click.command()
@click.argument("target", metavar="[TEMPLATE]", required=False, type=click.Path(path_type=Path))
@location_options
@template_options
@serve_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--rollback", is_flag=True, help="Roll back if a resource fails.")
@click.option("--timeout", type=click.IntRange(1), metavar="MINUTES", help="Fail after this time.")
@policy_option
def apply(
    target: Path | None,
    policies: tuple[Path, ...],
    *,
    yes: bool,
    rollback: bool,
    timeout: int | None,
    **arguments: Any,
) -> None:
    """Create or change a stack: show the plan, ask for confirmation, and carry it out.

    TEMPLATE is a template, or a plan that hearth plan -o saved. Exit status: 0 if the stack is
    complete, 1 if not, 130 after Ctrl-C.
    """
    from hearth.cli.apply import runs

    async def main(location: StackLocation) -> int:
        request = _change_request(target, arguments, policies)
        return await runs.apply(
            location, request, confirmed=yes, rollback=rollback, timeout=timeout
        )

    run_command(arguments, main)


@click.command()
@name_argument
@location_options
@serve_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@policy_option
def destroy(
    name_given: str | None, policies: tuple[Path, ...], *, yes: bool, **arguments: Any
) -> None:
    """Delete the stack NAME and its resources: show the plan, ask for confirmation, and carry it
    out.

    Exit status: 0 if nothing is left, 1 if not, 130 after Ctrl-C.
    """
    from hearth.cli.apply import runs

    async def main(location: StackLocation) -> int:
        request = runs.ChangeRequest(name_given, delete=True, policies=policies)
        return await runs.apply(location, request, confirmed=yes, rollback=False, timeout=None)

    run_command(arguments, main)


@click.command()
@name_argument
@location_options
def watch(name_given: str | None, **arguments: Any) -> None:
    """Follow the operation of the stack NAME that is in progress.

    Exit status: 0 if the stack is complete, 1 if not, 130 after Ctrl-C.
    """
    from hearth.cli.apply import runs

    run_command(arguments, lambda location: runs.watch(location, name_given))


@click.command()
@name_argument
@location_options
def refresh(name_given: str | None, **arguments: Any) -> None:
    """Check that the objects of the stack NAME are there and healthy, and record the result.

    The next apply replaces objects that are missing or unhealthy. Exit status: 0 if all are there
    and healthy, 1 if not, 130 after Ctrl-C.
    """
    from hearth.cli.apply import runs

    run_command(arguments, lambda location: runs.refresh(location, name_given))

"""`hearth drift`: the differences between a stack and the cloud, in words."""

from collections.abc import Iterator
from pathlib import Path

from hearth.authoring.terminal import say, say_json, style
from hearth.cli.apply.accept import accepted
from hearth.cli.apply.api import UserError
from hearth.cli.apply.options import StackLocation
from hearth.cli.apply.plan_text import value
from hearth.cli.apply.runs import CHANGES
from hearth.cli.apply.stack import DEPTH, Body, StackClient
from hearth.cli.apply.text_file import text_of

COLOURS = {"in sync": "green", "drifted": "yellow", "missing": "red", "not checkable": "cyan"}


async def drift(
    location: StackLocation, name: str | None, template: Path | None, *, every: bool
) -> int:
    """Print what differs; `every` is whether resources in sync are listed, too.

    If `template` is given, the real values are taken over into this file. Return 2 if anything has
    drifted, else 0.
    """
    async with location.opened(name, sign_in=True) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        query = {"nested_depth": DEPTH}
        report = (await api.call("GET", f"{stack.path}/drift", query=query))["drift"]
    status = _print(location, report, lines(report, every=every))
    if template is not None:
        _accept(template, report)
    return status


async def last_drift(location: StackLocation, name: str | None) -> int:
    """Print the result of the last background check, and when it was made; return like `drift`.

    Raises UserError if there is none.
    """
    advice = "hearth drift without --cached reads the cloud now"
    if not location.service:
        raise UserError(["--cached: only a service checks stacks in the background", advice])
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        query = {"cached": "true"}
        report = (await api.call("GET", f"{stack.path}/drift", query=query))["drift"]
    if report["checked_at"] is None:
        raise UserError([f"{stack.name}: {report['reason']}", advice])
    return _print(location, report, last_lines(report))


def _print(location: StackLocation, report: Body, text: Iterator[str]) -> int:
    """Print a drift as JSON or as `text`; return 2 if anything has drifted, else 0."""
    if location.as_json:
        say_json({"type": "drift", **report})
    else:
        for line in text:
            say(line)
    return CHANGES if report["state"] == "drifted" else 0


def last_lines(found_drift: Body) -> Iterator[str]:
    """Yield the lines of the result of a background check, which has no resources in sync."""
    yield f"checked at {found_drift['checked_at']}"
    if found_drift["reason"] is not None:
        yield f"{found_drift['state']}: {found_drift['reason']}"
    yield from lines(found_drift, every=False)


def lines(report: Body, *, every: bool) -> Iterator[str]:
    """Yield the lines of a drift, and a summary."""
    for resource in report["resources"]:
        if resource["state"] == "in sync" and not every:
            continue
        above = f"{resource['parent_resource']}." if resource["parent_resource"] else ""
        reason = f": {resource['reason']}" if resource["reason"] else ""
        state = style(resource["state"], fg=COLOURS[resource["state"]])
        yield f"{above}{resource['resource_name']}  {resource['resource_type']}  {state}{reason}"
        for pair in resource["differences"]:
            yield f"    {pair['property']}: {value(pair['want'])} -> {value(pair['have'])}"
        if resource["reason"] is None:
            for prop in resource["not_checkable"]:
                line = f"    {prop['property']}: not checkable: {prop['reason']}"
                yield style(line, dim=True)
    counts = ", ".join(f"{count} {state}" for state, count in report["counts"].items() if count)
    yield f"Drift: {counts or 'the stack has no resources'}."


def _accept(path: Path, report: Body) -> None:
    text = text_of(path)
    new_text, done, by_hand = accepted(text, path, report["resources"])
    if done:
        from hearth.authoring.fmt_files import replace

        replace(path, new_text)
    for line in done:
        say(f"accepted {line}")
    for line in by_hand:
        say(f"{style('change by hand:', fg='yellow')} {line}", err=True)

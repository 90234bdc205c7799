"""`hearth drift`: the differences between a stack and the cloud, in words."""

from collections.abc import Iterator
from pathlib import Path

from hearth.authoring.terminal import say, say_json, style
from hearth.cli.apply.accept import accepted
from hearth.cli.apply.api import Refused
from hearth.cli.apply.options import Where
from hearth.cli.apply.plan_text import value
from hearth.cli.apply.runs import CHANGES
from hearth.cli.apply.stack import DEPTH, Body, Stack
from hearth.cli.apply.text_file import text_of

COLOURS = {"in sync": "green", "drifted": "yellow", "missing": "red", "not checkable": "cyan"}


async def drift(where: Where, name: str | None, template: Path | None, *, every: bool) -> int:
    """Print what differs; `every` is whether resources in sync are listed, too.

    If `template` is given, the real values are taken over into this file. Return 2 if anything has
    drifted, else 0.
    """
    async with where.opened(name, sign_in=True) as (api, found):
        stack = await Stack(api, found).demand()
        query = {"nested_depth": DEPTH}
        found_drift = (await api.call("GET", f"{stack.path}/drift", query=query))["drift"]
    status = _print(where, found_drift, lines(found_drift, every=every))
    if template is not None:
        _accept(template, found_drift)
    return status


async def last_drift(where: Where, name: str | None) -> int:
    """Print the result of the last background check, and when it was made; return like `drift`.

    Raises Refused if there is none.
    """
    advice = "hearth drift without --cached reads the cloud now"
    if not where.service:
        raise Refused(["--cached: only a service checks stacks in the background", advice])
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        query = {"cached": "true"}
        found_drift = (await api.call("GET", f"{stack.path}/drift", query=query))["drift"]
    if found_drift["checked_at"] is None:
        raise Refused([f"{stack.name}: {found_drift['reason']}", advice])
    return _print(where, found_drift, last_lines(found_drift))


def _print(where: Where, found_drift: Body, text: Iterator[str]) -> int:
    """Print a drift as JSON or as `text`; return 2 if anything has drifted, else 0."""
    if where.as_json:
        say_json({"type": "drift", **found_drift})
    else:
        for line in text:
            say(line)
    return CHANGES if found_drift["state"] == "drifted" else 0


def last_lines(found_drift: Body) -> Iterator[str]:
    """Yield the lines of the result of a background check, which has no resources in sync."""
    yield f"checked at {found_drift['checked_at']}"
    if found_drift["reason"] is not None:
        yield f"{found_drift['state']}: {found_drift['reason']}"
    yield from lines(found_drift, every=False)


def lines(found_drift: Body, *, every: bool) -> Iterator[str]:
    """Yield the lines of a drift, and a summary."""
    for one in found_drift["resources"]:
        if one["state"] == "in sync" and not every:
            continue
        above = f"{one['parent_resource']}." if one["parent_resource"] else ""
        reason = f": {one['reason']}" if one["reason"] else ""
        state = style(one["state"], fg=COLOURS[one["state"]])
        yield f"{above}{one['resource_name']}  {one['resource_type']}  {state}{reason}"
        for pair in one["differences"]:
            yield f"    {pair['property']}: {value(pair['want'])} -> {value(pair['have'])}"
        if one["reason"] is None:
            for other in one["not_checkable"]:
                words = f"    {other['property']}: not checkable: {other['reason']}"
                yield style(words, dim=True)
    counts = ", ".join(
        f"{count} {state}" for state, count in found_drift["counts"].items() if count
    )
    yield f"Drift: {counts or 'the stack has no resources'}."


def _accept(path: Path, found_drift: Body) -> None:
    text = text_of(path)
    changed, done, left = accepted(text, path, found_drift["resources"])
    if done:
        from hearth.authoring.fmt_files import replace

        replace(path, changed)
    for line in done:
        say(f"accepted {line}")
    for line in left:
        say(f"{style('change by hand:', fg='yellow')} {line}", err=True)

"""The commands that only read: output, show, events, graph, revisions, diff."""

import time
from collections.abc import Iterator
from typing import Any

from hearth.authoring.terminal import say, say_json, say_value, style
from hearth.cli.apply.api import Refused
from hearth.cli.apply.graph import FORMATS, graph_of
from hearth.cli.apply.options import Where
from hearth.cli.apply.plan_text import value
from hearth.cli.apply.runs import output_lines, outputs_of
from hearth.cli.apply.stack import Body, Stack, paths
from hearth.cli.apply.waits import waits_for
from hearth.model.problem import hint, nearest


async def output(where: Where, name: str | None, key: str | None) -> int:
    """Print all outputs, or the value of the output `key` alone."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        assert stack.shown is not None
        outputs = outputs_of(stack.shown)
        errors = {
            one["output_key"]: one["output_error"]
            for one in stack.shown.get("outputs") or ()
            if one.get("output_error")
        }
    if key is None:
        if where.as_json:
            say_json(outputs)
        else:
            for line in output_lines(outputs):
                say(line)
            for one, error in errors.items():
                say(f"{one}: {error}", err=True)
        return 0
    if key in errors:
        raise Refused([f"{key}: {errors[key]}"])
    if key not in outputs:
        raise Refused([f"there is no output {key}{hint(nearest(key, outputs))}"], 404)
    known = outputs[key]
    if isinstance(known, str) and not where.as_json:
        say_value(known)
    else:
        say_json(known)
    return 0


async def show(where: Where, name: str | None) -> int:
    """Print the state of a stack and of its resources."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        resources = await stack.resources()
    assert stack.shown is not None
    if where.as_json:
        say_json({"stack": stack.shown, "resources": resources})
        return 0
    for line in _shown(stack, resources):
        say(line)
    return 0


def _shown(stack: Stack, resources: Any) -> Iterator[str]:
    shown = stack.shown or {}
    yield f"{style(stack.name, bold=True)}  {stack.status}  {shown['id']}"
    if not stack.status.endswith("_COMPLETE"):
        yield f"  {shown.get('stack_status_reason') or ''}"
    listed = sorted(paths(resources), key=lambda item: item[0])
    width = max((len(path[-1]) + 2 * len(path) for path, _ in listed), default=0)
    for path, one in listed:
        indent = "  " * len(path)
        yield (
            f"{indent}{path[-1]:{width - len(indent)}}  {one['resource_type']}  "
            f"{one['resource_status']}  {one['physical_resource_id'] or ''}"
        )
        reason = one.get("resource_status_reason") or ""
        words = waits_for(one.get("waiting"), reason, one["resource_type"])
        if one["resource_status"].endswith("_FAILED"):
            words = reason
        if words:
            yield f"{indent}    {words}"
    outputs = outputs_of(shown)
    if outputs:
        yield "outputs"
        yield from (f"  {line}" for line in output_lines(outputs))


async def events(where: Where, name: str | None) -> int:
    """Print the events of a stack and of its nested stacks, the oldest first."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        listed = await stack.all_events()
    for one in listed:
        if where.as_json:
            say_json({"type": "event", **one})
        else:
            say(_event(one))
    return 0


def _event(one: Body) -> str:
    reason = one["resource_status_reason"] or ""
    usual = ("", "state changed")
    why = "" if reason in usual else f"  {reason}"
    return f"{one['event_time']}  {one['resource_name']}  {one['resource_status']}{why}"


async def graph(where: Where, name: str | None, form: str) -> int:
    """Print the graph of a stack."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        resources, listed = await stack.resources(), await stack.all_events()
    for line in FORMATS[form](graph_of(resources, listed, time.time())):
        say(line)
    return 0


async def revisions(where: Where, name: str | None) -> int:
    """Print the revisions of a stack, the newest first."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        listed = (await api.call("GET", f"{stack.path}/revisions"))["revisions"]
    for one in listed:
        if where.as_json:
            say_json({"type": "revision", **one})
            continue
        copy = f"  like revision {one['copy_of']}" if one["copy_of"] is not None else ""
        now = "  current" if one["current"] else ""
        say(f"{one['number']:4}  {one['created_at']}  {one['created_by']}{copy}{now}")
    return 0


async def diff(where: Where, name: str | None, before: int, after: int | None) -> int:
    """Print the difference between two revisions; `after` is the current one if it is None."""
    async with where.opened(name) as (api, found):
        stack = await Stack(api, found).demand()
        if after is None:
            listed = (await api.call("GET", f"{stack.path}/revisions"))["revisions"]
            after = next(one["number"] for one in listed if one["current"])
        compared = (await api.call("GET", f"{stack.path}/revisions/{before}/diff/{after}"))["diff"]
    if where.as_json:
        say_json(compared)
        return 0
    for line in _difference(compared):
        say(line)
    return 0


def _difference(compared: Body) -> Iterator[str]:
    """Yield the lines of a difference between revisions: resources first, then the texts."""
    changed = compared["resources"] or {}
    for mark, key, colour in (("+", "added", "green"), ("-", "removed", "red")):
        for name in changed.get(key, ()):
            yield style(f"{mark} {name}", fg=colour)
    for one in changed.get("changed", ()):
        yield style(f"~ {one['resource']}", fg="yellow")
        for name in one["properties"]:
            yield f"    {name['property']}: {value(name['before'])} -> {value(name['after'])}"
        if one["parts"]:
            yield f"    its {', '.join(one['parts'])} changed"
    for one in compared["parameters"]:
        yield f"parameter {one['parameter']}: {value(one['before'])} -> {value(one['after'])}"
    for text in (compared["template"], *compared["files"].values()):
        for line in text.splitlines():
            yield style(line, fg={"+": "green", "-": "red"}.get(line[:1]))

"""The commands that only read: output, show, events, graph, revisions, diff."""

import time
from collections.abc import Iterator
from typing import Any

from hearth.authoring.terminal import say, say_json, say_value, style
from hearth.cli.apply.api import UserError
from hearth.cli.apply.graph import FORMATS, graph_of
from hearth.cli.apply.options import StackLocation
from hearth.cli.apply.plan_text import value
from hearth.cli.apply.runs import output_lines, outputs_of
from hearth.cli.apply.stack import Body, StackClient, paths
from hearth.cli.apply.waits import waits_for
from hearth.model.problem import hint, nearest


async def output(location: StackLocation, name: str | None, key: str | None) -> int:
    """Print all outputs, or the value of the output `key` alone."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        assert stack.details is not None
        outputs = outputs_of(stack.details)
        errors = {
            output["output_key"]: output["output_error"]
            for output in stack.details.get("outputs") or ()
            if output.get("output_error")
        }
    if key is None:
        if location.as_json:
            say_json(outputs)
        else:
            for line in output_lines(outputs):
                say(line)
            for output_key, error in errors.items():
                say(f"{output_key}: {error}", err=True)
        return 0
    if key in errors:
        raise UserError([f"{key}: {errors[key]}"])
    if key not in outputs:
        raise UserError([f"there is no output {key}{hint(nearest(key, outputs))}"], 404)
    output_value = outputs[key]
    if isinstance(output_value, str) and not location.as_json:
        say_value(output_value)
    else:
        say_json(output_value)
    return 0


async def show(location: StackLocation, name: str | None) -> int:
    """Print the state of a stack and of its resources."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        resources = await stack.resources()
    assert stack.details is not None
    if location.as_json:
        say_json({"stack": stack.details, "resources": resources})
        return 0
    for line in _stack_lines(stack, resources):
        say(line)
    return 0


def _stack_lines(stack: StackClient, resources: Any) -> Iterator[str]:
    details = stack.details or {}
    yield f"{style(stack.name, bold=True)}  {stack.status}  {details['id']}"
    if not stack.status.endswith("_COMPLETE"):
        yield f"  {details.get('stack_status_reason') or ''}"
    by_path = sorted(paths(resources), key=lambda item: item[0])
    width = max((len(path[-1]) + 2 * len(path) for path, _ in by_path), default=0)
    for path, resource in by_path:
        indent = "  " * len(path)
        yield (
            f"{indent}{path[-1]:{width - len(indent)}}  {resource['resource_type']}  "
            f"{resource['resource_status']}  {resource['physical_resource_id'] or ''}"
        )
        reason = resource.get("resource_status_reason") or ""
        phrase = waits_for(resource.get("waiting"), reason, resource["resource_type"])
        if resource["resource_status"].endswith("_FAILED"):
            phrase = reason
        if phrase:
            yield f"{indent}    {phrase}"
    outputs = outputs_of(details)
    if outputs:
        yield "outputs"
        yield from (f"  {line}" for line in output_lines(outputs))


async def events(location: StackLocation, name: str | None) -> int:
    """Print the events of a stack and of its nested stacks, the oldest first."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        events = await stack.all_events()
    for event in events:
        if location.as_json:
            say_json({"type": "event", **event})
        else:
            say(_event(event))
    return 0


def _event(event: Body) -> str:
    reason = event["resource_status_reason"] or ""
    usual = ("", "state changed")
    suffix = "" if reason in usual else f"  {reason}"
    return f"{event['event_time']}  {event['resource_name']}  {event['resource_status']}{suffix}"


async def graph(location: StackLocation, name: str | None, form: str) -> int:
    """Print the graph of a stack."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        resources, events = await stack.resources(), await stack.all_events()
    for line in FORMATS[form](graph_of(resources, events, time.time())):
        say(line)
    return 0


async def revisions(location: StackLocation, name: str | None) -> int:
    """Print the revisions of a stack, the newest first."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        revisions = (await api.call("GET", f"{stack.path}/revisions"))["revisions"]
    for revision in revisions:
        if location.as_json:
            say_json({"type": "revision", **revision})
            continue
        copy = f"  like revision {revision['copy_of']}" if revision["copy_of"] is not None else ""
        now = "  current" if revision["current"] else ""
        say(
            f"{revision['number']:4}  {revision['created_at']}  {revision['created_by']}{copy}{now}"
        )
    return 0


async def diff(location: StackLocation, name: str | None, before: int, after: int | None) -> int:
    """Print the difference between two revisions; `after` is the current one if it is None."""
    async with location.opened(name) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        if after is None:
            revisions = (await api.call("GET", f"{stack.path}/revisions"))["revisions"]
            after = next(revision["number"] for revision in revisions if revision["current"])
        compared = (await api.call("GET", f"{stack.path}/revisions/{before}/diff/{after}"))["diff"]
    if location.as_json:
        say_json(compared)
        return 0
    for line in _difference(compared):
        say(line)
    return 0


def _difference(compared: Body) -> Iterator[str]:
    """Yield the lines of a difference between revisions: resources first, then the texts."""
    resources = compared["resources"] or {}
    for mark, key, colour in (("+", "added", "green"), ("-", "removed", "red")):
        for name in resources.get(key, ()):
            yield style(f"{mark} {name}", fg=colour)
    for entry in resources.get("changed", ()):
        yield style(f"~ {entry['resource']}", fg="yellow")
        for name in entry["properties"]:
            yield f"    {name['property']}: {value(name['before'])} -> {value(name['after'])}"
        if entry["parts"]:
            yield f"    its {', '.join(entry['parts'])} changed"
    for entry in compared["parameters"]:
        yield f"parameter {entry['parameter']}: {value(entry['before'])} -> {value(entry['after'])}"
    for text in (compared["template"], *compared["files"].values()):
        for line in text.splitlines():
            yield style(line, fg={"+": "green", "-": "red"}.get(line[:1]))

"""Templates of types for first operations that their examples lack: `shapes.yaml`."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.second_steps.operations import VERBS, First, rolled_back
from tests.types.case import Subject, Template, kinds, without_refs

FILE = Path(__file__).with_name("shapes.yaml")
VERSION = {"heat_template_version": "2021-04-16"}


def shaped(type_name: str) -> Iterator[tuple[Subject, First]]:
    """Yield the first operations of a type beside those of its example, with their subjects."""
    for name, shape in shapes().items():
        if shape["type"] == type_name:
            one = _subject(shape)
            for first in _firsts(one, shape):
                yield one, replace(first, name=f"{name}: {first.name}")


@cache
def shapes() -> Mapping[str, Mapping[str, Any]]:
    """Return the shapes by name."""
    found: dict[str, Mapping[str, Any]] = yaml.safe_load(FILE.read_text())
    return found


def _subject(shape: Mapping[str, Any]) -> Subject:
    template = {**VERSION, **deepcopy(shape["template"])}
    resource = shape["resource"]
    template["resources"][resource]["type"] = shape["type"]  # several types share a template
    template["resources"][resource]["properties"] |= shape.get("properties") or {}
    case = {"guest": True} if shape.get("guest") else {}
    return Subject(kinds()[shape["type"]], "", template, resource, case)


def _firsts(one: Subject, shape: Mapping[str, Any]) -> Iterator[First]:
    whole, changes, guest = one.template, shape["changes"], bool(shape.get("guest"))
    without = without_refs(whole, one.resource)
    second = _with(whole, one.resource, changes[0]["properties"])
    yield First("create", without, whole, second, in_place=False, makes=True, guest=guest)
    for verb in VERBS:
        yield First(verb, whole, whole, second, in_place=True, verb=verb)
    for policy in shape.get("signals") or ():
        yield First(
            f"signal {policy}", whole, whole, second, in_place=True, verb="signal",
            target=policy, thorough=True,
        )  # fmt: skip
    before, server = whole, one.type_name in ("AWS::EC2::Instance", "OS::Nova::Server")
    for number, change in enumerate(changes):
        after = _with(before, one.resource, change["properties"])
        replaces = bool(change.get("replaces"))
        more = changes[number + 1 :]
        other = None
        if more and not more[0].get("replaces"):
            other = _with(after, one.resource, more[0]["properties"])
        in_place = not replaces
        name = f"{'replace' if replaces else 'update'} {change['name']}"
        first = First(
            name, before, after, other, in_place, of_server=server, guest=guest, thorough=True
        )
        yield first
        if in_place and not number:
            yield rolled_back(one, first)
        before = after


def _with(template: Template, resource: str, properties: Mapping[str, Any]) -> Template:
    changed = deepcopy(template)
    changed["resources"][resource]["properties"] |= deepcopy(properties)
    return changed

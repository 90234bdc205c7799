"""Mode `registry`: what a type leads to, and what holds for a resource of some name.

Nothing in the API tells the class of a resource. But a type can be known by what it takes: the
names of properties that pass validation, and the attributes.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.adapters.hot_api.client import LOOKS_S, SETTLES_S, Api, Body, Fault, Stack, request_of
from tests.adapters.hot_api.refusals import refusal

ENDINGS = (".yaml", ".template")
VERSION = {"heat_template_version": "2018-08-31"}
NO_TYPE = re.compile(r"The Resource Type \(.*?\) could not be found")
PROPERTY = re.compile(r'unknown property "(.*?)"')
ATTRIBUTE = re.compile(r'has no attribute "(.*?)"')
PAUSED = re.compile(r"[A-Z]+ paused until Hook (?P<hook>\S+) is cleared")
NAMES_MAX = 90  # in one request: an answer tells a hundred things that are wrong
NOBODY = "somebody"  # a resource that no entry of an environment means
OTHER = "OS::Heat::None"  # takes the place of any type


async def answer_registry(api: Api, vector: Body) -> dict[str, Any]:
    """Each lookup by requests of its own."""
    try:
        await api.preview(request_of(vector))
    except Fault as fault:
        raise await refusal(api, vector, fault) from None
    found = [await _looked_up(api, vector, lookup) for lookup in vector["lookups"]]
    return {"resolved": {"lookups": found}}


async def _looked_up(api: Api, vector: Body, lookup: Body) -> dict[str, Any]:
    if "hook" in lookup:
        return {**lookup, "matches": await _pauses(api, vector, lookup)}
    if "restricted" in lookup:
        return {**lookup, "actions": await _refused_actions(api, vector, lookup)}
    return {**lookup, **await _leads_to(api, vector, lookup)}


def _around(vector: Body) -> Body:
    """What the lookups have of the vector's request: all but the template."""
    return {name: value for name, value in request_of(vector).items() if name != "template"}


# -- types ----------------------------------------------------------------------------------------


async def _leads_to(api: Api, vector: Body, lookup: Body) -> dict[str, str]:
    """The template, the class or the error that comes of a type."""
    probe = _Probe(api, _around(vector), lookup.get("name", NOBODY), lookup["type"])
    try:
        if (template := await probe.template()) is not None:
            return {"template": template}
    except Fault as fault:
        if NO_TYPE.search(fault.message):
            return {"error": "EntityNotFound"}
        raise
    return {"class_of": await _class_of(api, probe)}


async def _class_of(api: Api, probe: _Probe) -> str:
    """The one type that takes what the probed one takes."""
    types = await api.types()
    mine = await probe.takes(types)
    equal = []
    for name, shown in types.items():
        may_be = set(shown["properties"]) in (mine[0], set())
        if may_be and await _Probe(api, {}, NOBODY, name).takes(types) == mine:
            equal.append(name)
    if len(equal) != 1:
        raise RuntimeError(f"{probe.type} is like {equal}")
    return equal[0]


class _Probe:
    """One resource of a type, under an environment."""

    def __init__(self, api: Api, around: Body, name: str, type_name: str) -> None:
        self._api, self._around, self._name, self.type = api, around, name, type_name

    async def template(self) -> str | None:
        """The template that the type stands for: each of those there may be says its own name."""
        names = {*_texts(self._around), self.type}
        files = {
            name: json.dumps({**VERSION, "description": name})
            for name in names
            if name.endswith(ENDINGS)
        }
        answer = await self._validated({}, {}, files, show_nested="true")
        below = answer.get("NestedParameters") or {}
        return str(below[self._name]["Description"]) if self._name in below else None

    async def takes(self, types: Mapping[str, Body]) -> tuple[set[str], set[str]]:
        """The properties and attributes that it takes of all that types have."""
        properties = {name for one in types.values() for name in one["properties"]}
        attributes = {name for one in types.values() for name in one["attributes"]}
        return (
            properties - await self._refused(PROPERTY, properties),
            attributes - await self._refused(ATTRIBUTE, attributes),
        )

    async def _refused(self, pattern: re.Pattern[str], names: Iterable[str]) -> set[str]:
        """Those among the names of properties or attributes that the type does not have."""
        refused: set[str] = set()
        for some in _batched(sorted(names), NAMES_MAX):
            given, outputs = dict.fromkeys(some), {}
            if pattern is ATTRIBUTE:
                read = {name: {"get_attr": [self._name, name]} for name in some}
                given, outputs = {}, {name: {"value": one} for name, one in read.items()}
            try:
                await self._validated(given, outputs, {})
            except Fault as fault:
                if not (found := pattern.findall(fault.message)):
                    raise
                refused.update(found)
        return refused

    async def _validated(
        self, properties: Body, outputs: Body, files: Body, **query: str
    ) -> Mapping[str, Any]:
        resource = {"type": self.type, "properties": properties}
        template = {**VERSION, "resources": {self._name: resource}, "outputs": outputs}
        files = {**(self._around.get("files") or {}), **files}
        body = {**self._around, "template": template, "files": files}
        found: Mapping[str, Any] = await self._api.call("POST", "/validate", body, **query)
        return found


def _batched(names: list[str], count: int) -> Iterator[list[str]]:
    """The names, so many at a time."""
    for start in range(0, len(names), count):
        yield names[start : start + count]


def _texts(value: Any) -> Iterator[str]:
    """All texts of a tree, keys too."""
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield key
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)


# -- hooks and restricted actions -----------------------------------------------------------------


async def _pauses(api: Api, vector: Body, lookup: Body) -> bool:
    """Whether the resource waits at the hook when the time of that hook comes."""
    life = _Life(api, vector, lookup)
    await life.prepare()
    async with api.stack(life.first) as stack:
        await life.go_on(stack)
        action = lookup["hook"].partition("-")[2]
        if action == "update":
            await api.call("PATCH", stack.path, {"template": life.templates[action]})
        elif action == "delete":
            await api.delete(stack)
        await life.go_on(stack)
    return lookup["hook"] in life.paused


async def _refused_actions(api: Api, vector: Body, lookup: Body) -> list[str]:
    """The actions that fail because they are restricted."""
    life = _Life(api, vector, lookup)
    await life.prepare()
    refused = []
    for action in ("update", "replace"):
        async with api.stack(life.first) as stack:
            await api.settled(stack)
            await api.call("PATCH", stack.path, {"template": life.templates[action]})
            shown = await api.settled(stack)
            reason = shown["stack_status_reason"]
            if "ResourceActionRestricted" in reason and f"{action} is restricted" in reason:
                refused.append(action)
            elif shown["stack_status"] != "UPDATE_COMPLETE":
                raise RuntimeError(reason)
    return refused


class _Life:
    """A stack of one resource, and templates that update or replace it."""

    def __init__(self, api: Api, vector: Body, lookup: Body) -> None:
        self._api, self._name, self._type = api, lookup.get("name", NOBODY), lookup["type"]
        self._around = _around(vector)
        self.paused: set[str] = set()

    async def prepare(self) -> None:
        """Learn from the type's schema how to change it."""
        schema = (await self._api.types())[self._type]["properties"]
        changeable = sorted(
            (not shown["required"], name)
            for name, shown in schema.items()
            if shown["update_allowed"] and shown["type"] in ("string", "any")
        )
        one = changeable[0][1]

        def template(resources: Body) -> Body:
            return {**VERSION, "resources": resources}

        def resource(value: str) -> Body:
            return {self._name: {"type": self._type, "properties": {one: value}}}

        self.first = {**self._around, "template": template(resource("a"))}
        self.templates = {
            "update": template(resource("b")),
            "replace": template({self._name: {"type": OTHER}}),
        }

    async def go_on(self, stack: Stack) -> None:
        """Until the action ends: clear each hook at which the resource waits, and note it."""
        async with asyncio.timeout(SETTLES_S):
            while True:
                shown = await self._api.shown(stack, outputs=False)
                for hook in await self._hooks(stack) - self.paused:
                    self.paused.add(hook)
                    signal = f"{stack.path}/resources/{self._name}/signal"
                    await self._api.call("POST", signal, {"unset_hook": hook})
                if not shown["stack_status"].endswith("_IN_PROGRESS"):
                    return
                await asyncio.sleep(LOOKS_S[0])

    async def _hooks(self, stack: Stack) -> set[str]:
        events = await self._api.call("GET", f"{stack.path}/events", resource_name=self._name)
        reasons = [event["resource_status_reason"] for event in events["events"]]
        return {told["hook"] for reason in reasons if (told := PAUSED.match(reason))}

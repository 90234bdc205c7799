"""Modes `parameters` and `environment`: what became of the values that were given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests.adapters.hot_api.client import Api, Body, Fault, request_of
from tests.adapters.hot_api.refusals import refusal
from tests.adapters.hot_api.stacks import created, more_outputs

UNKNOWN = re.compile(r'the template has no parameter "([^"]+)"')


async def answer_parameters(api: Api, vector: Body) -> dict[str, Any]:
    """The text forms as `show` has them, and the values as outputs give them back."""
    try:
        async with api.stack(request_of(vector)) as stack:
            shown = await created(api, stack)
            template = await api.call("GET", f"{stack.path}/template")
            names = list(template.get("parameters") or template.get("Parameters") or ())
            wanted = {name: {"get_param": name} for name in names}
            values = await more_outputs(api, stack, wanted)
    except Fault as fault:
        raise await refusal(api, vector, fault) from None
    text = {name: shown["parameters"][name] for name in names}
    return {"resolved": {"values": values, "text": text}}


async def answer_environment(api: Api, vector: Body) -> dict[str, Any]:
    """The environment of a stack that was made with the files.

    A parameter that the template lacks is refused, by name; so it is in the environment. With a
    template that declares it the environment can be read.
    """
    body = request_of(vector)
    try:
        try:
            found = await _environment(api, body)
        except Fault as fault:
            if not (unknown := UNKNOWN.findall(fault.message)):
                raise
            found = await _environment(api, await _declaring(api, body, unknown))
    except Fault as fault:
        raise await refusal(api, vector, fault) from None
    return {"resolved": {"environment": found}}


async def _environment(api: Api, body: Body) -> dict[str, Any]:
    """As GET has it, but for what that always shows: the entries of resources, be they none."""
    async with api.stack(body) as stack:
        await created(api, stack)
        found: dict[str, Any] = await api.call("GET", f"{stack.path}/environment")
    registry = found["resource_registry"]
    if registry.get("resources") == {}:
        del registry["resources"]
    return found


async def _declaring(api: Api, body: Body, names: Iterable[str]) -> Body:
    """The request with a template that has these parameters too."""
    async with api.stack({"template": body["template"]}) as stack:
        await created(api, stack)
        template = await api.call("GET", f"{stack.path}/template")
    declared = {name: {"type": "json"} for name in names}
    template["parameters"] = {**(template.get("parameters") or {}), **declared}
    return {**body, "template": template}

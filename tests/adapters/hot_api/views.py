"""Modes `preview` and `validate`: one call each."""

from __future__ import annotations

from typing import Any

from tests.adapters.hot_api.client import Api, Body, Fault, request_of
from tests.adapters.hot_api.refusals import Refused, error, refusal, text_of


async def answer_preview(api: Api, vector: Body) -> dict[str, Any]:
    """The properties of each resource before anything exists."""
    try:
        resources = await api.preview(request_of(vector))
    except Fault as fault:
        raise await refusal(api, vector, fault) from None
    shown = {one["resource_name"]: one["properties"] for one in resources}
    return {"resolved": {"properties": shown}}


async def answer_validate(api: Api, vector: Body) -> dict[str, Any]:
    """What the call says of the template."""
    query = {"show_nested": "true"} if vector.get("show_nested") else {}
    try:
        return {"resolved": await api.call("POST", "/validate", request_of(vector), **query)}
    except Fault as fault:
        found = error("validate", await _kind(api, vector, fault), fault.message)
        raise Refused(found) from None


async def _kind(api: Api, vector: Body, fault: Fault) -> str:
    """The kind of a failed validation, which has one type whatever is wrong: that which a preview
    names for the same message. Of a template that does not hold the engine tells no kind either,
    but a text, under the key `Error`."""
    try:
        await api.preview(request_of(vector))
    except Fault as other:
        alike = text_of(other.message) == text_of(fault.message)
        if alike and other.kind != "StackValidationFailed":
            return other.kind
    return "Error"

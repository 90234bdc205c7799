"""Faults of the API as errors of vectors: in which phase, of which kind, where.

The body of a fault has a type and a message and no more. Where that leaves the phase open, the
request is asked again without the part in question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.adapters.hot_api.client import Api, Fault, request_of

OF_ENVIRONMENTS = ("InvalidBreakPointHook", "InvalidRestrictedAction")
OF_MERGING = ("ConflictingMergeStrategyForParam", "InvalidMergeStrategyForParam")
OF_TEXTS = ("HTTPBadRequest", "Invalid")
"""Types of faults that a text may have, be it the template's or that of an environment file."""

PATH = re.compile(r"(?:(?:Property error|[A-Z]\w+): (?:: )?)?(?P<path>[^\s:]\S*?): ")
"""How a message begins that tells a place: `[kind: ]path: text`."""

PLACE = re.compile(r" \[[^\[\]]*:\d+:\d+\]$")
"""How a line ends that tells a file, a line and a column."""

Error = dict[str, Any]


class Refused(Exception):
    """The answer to the vector is an error."""

    def __init__(self, error: Error) -> None:
        super().__init__(error["message"])
        self.error = error


async def refusal(api: Api, vector: Mapping[str, Any], fault: Fault) -> Refused:
    """The fault of a create or preview as the error of the vector."""
    return Refused(error(await _phase(api, vector, fault), fault.kind, fault.message))


async def _phase(api: Api, vector: Mapping[str, Any], fault: Fault) -> str:
    if fault.kind in OF_ENVIRONMENTS:
        return "environment"
    if fault.kind in OF_MERGING:
        return "merge"
    may_merge = fault.kind in OF_TEXTS and vector.get("environment_files")
    if may_merge and not await _refused_alike(api, vector, fault):
        return "merge"
    too_long = fault.kind == "RequestLimitExceeded" and "characters" in fault.message
    return "parse" if too_long or fault.kind == "HTTPBadRequest" else "validate"


async def _refused_alike(api: Api, vector: Mapping[str, Any], fault: Fault) -> bool:
    """Whether the request would be refused in the same way without its environment files."""
    less = {**request_of(vector), "environment_files": []}
    try:
        await api.preview(less)
    except Fault as other:
        return (other.kind, other.message) == (fault.kind, fault.message)
    return False


def error(phase: str, kind: str, message: str) -> Error:
    """An error of a vector. A request that is not well formed is a ValueError to the engine that
    was recorded; the API knows it as a bad request."""
    found = {
        "phase": phase,
        "kind": "ValueError" if kind == "HTTPBadRequest" else kind,
        "message": message,
    }
    if (path := path_of(message)) is not None:
        found["path"] = path
    return found


def text_of(message: str) -> str:
    """What the first line says, without the place."""
    line = PLACE.sub("", message.partition("\n")[0])
    return line[told.end() :] if (told := PATH.match(line)) else line


def path_of(message: str) -> str | None:
    """The place that the first line tells. In properties positions are plain numbers."""
    if (told := PATH.match(message.partition("\n")[0])) is None:
        return None
    head, properties, tail = re.split(r"(\.[pP]roperties\.|$)", told["path"], maxsplit=1)
    return head + properties + tail.replace("[", ".").replace("]", "")

"""Parsing of requests for software configurations and deployments.

All errors in a request are reported at once, with the names of the fields. Source:
spec/rest-api.md, section 6.
"""

import math
from collections.abc import Mapping
from typing import Any

from hearth.api.v1.parse import NAME_CHARACTERS_MAX
from hearth.model.json_text import too_deep
from hearth.model.problem import HTTPBadRequest, Invalid, Problem, Rejected
from hearth.model.span import Span
from hearth.resources.heat import software_io
from hearth.service.software.configs import ConfigRequest
from hearth.service.software.deployments import DeploymentRequest

PROJECT_CHARACTERS_MAX = 64
STATUSES = ("IN_PROGRESS", "COMPLETE", "FAILED")


def config(data: Mapping[str, Any]) -> ConfigRequest:
    """Return the request to create a configuration. Raises Rejected."""
    fields = _Fields(data)
    found = ConfigRequest(
        name=fields.text("name"),
        group=fields.text("group"),
        config=fields.value("config"),
        inputs=software_io.inputs(fields.value("inputs"), Span(path="inputs"), fields.problems),
        outputs=software_io.outputs(fields.value("outputs"), Span(path="outputs"), fields.problems),
        options=fields.map("options") or {},
    )
    fields.done()
    return found


def deployment(data: Mapping[str, Any]) -> DeploymentRequest:
    """Return the request to create a deployment. Raises Rejected."""
    fields = _Fields(data)
    found = DeploymentRequest(
        config_id=fields.needed("config_id"),
        server_id=fields.needed("server_id"),
        input_values=fields.map("input_values") or {},
        action=fields.text("action"),
        status=fields.status(),
        reason=fields.text("status_reason", most=None),
        user_project_id=fields.text("stack_user_project_id", most=PROJECT_CHARACTERS_MAX),
    )
    fields.done()
    return found


def deployment_changes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a deployment that a request contains, by field names of `Deployment`.

    A field that is missing or null stays unchanged. Raises Rejected.
    """
    fields = _Fields(data)
    found = {
        "config_id": fields.text("config_id"),
        "input_values": fields.map("input_values"),
        "output_values": fields.map("output_values"),
        "action": fields.text("action"),
        "status": fields.status(),
        "reason": fields.text("status_reason", most=None),
    }
    fields.done()
    return {name: value for name, value in found.items() if value is not None}


class _Fields:
    """Reads the fields of a request body, and collects the errors in them.

    After an error, a method returns None or the wrong value, and `done` raises the errors.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.problems: list[Problem] = []

    def done(self) -> None:
        """Raise Rejected with all errors if there are any."""
        if self.problems:
            raise Rejected(self.problems)

    def value(self, name: str) -> Any:
        """Return any JSON value; None if the field is missing.

        If the value cannot be stored in the database, add an error and return None.
        """
        found = self._data.get(name)
        if (words := _unkept(found)) is None:
            return found
        self._wrong(name, words)
        return None

    def map(self, name: str) -> dict[str, Any] | None:
        """Return a map; None if the field is missing. For any other value, add an error."""
        found = self.value(name)
        if found is None or isinstance(found, dict):
            return found
        self._wrong(name, "expected a map")
        return None

    def text(self, name: str, *, most: int | None = NAME_CHARACTERS_MAX) -> str | None:
        """Return a string of at most `most` characters; None if the field is missing.

        If `most` is None, the length is not limited. A number is converted to a string. For any
        other value, add an error.
        """
        found = self.value(name)
        if isinstance(found, int | float) and not isinstance(found, bool):
            found = str(found)
        if found is None:
            return None
        if not isinstance(found, str):
            self._wrong(name, "expected a string")
            return None
        if most is not None and (len(found) > most or "\0" in found):
            words = f"this must be at most {most} characters long, without null characters"
            self.problems.append(Invalid(Span(path=name), words))
        return found

    def needed(self, name: str) -> str:
        """Return a string, and add an error if the field is missing or empty."""
        found = self.text(name)
        if not found and not any(one.at and one.at.path == name for one in self.problems):
            self._wrong(name, "this is missing")
        return found or ""

    def status(self) -> str | None:
        """Return the status of a deployment; None if the field is missing. For another word, add an
        error.
        """
        found = self.text("status")
        if found is not None and found not in STATUSES:
            self._wrong("status", f'expected one of {", ".join(STATUSES)}, got "{found}"')
        return found

    def _wrong(self, name: str, words: str) -> None:
        self.problems.append(HTTPBadRequest(Span(path=name), words))


def _unkept(value: Any) -> str | None:
    """Return the reason why a value cannot be stored in the database; None if it can be stored."""
    if too_deep(value):
        return "this is nested too deeply"
    waiting = [value]
    for one in waiting:
        if isinstance(one, Mapping):
            waiting += (*one.keys(), *one.values())
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, float) and not math.isfinite(one):
            return f"{one} is not a JSON number"
        elif isinstance(one, str) and not one.isascii() and _broken(one):
            return "this contains an invalid character (a lone surrogate)"
    return None


def _broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

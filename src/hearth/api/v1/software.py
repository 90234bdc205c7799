"""Parsing of requests for software configurations and deployments.

All errors in a request are reported at once, with the names of the fields. Source:
docs/spec/rest-api.md, section 6.
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
    config_request = ConfigRequest(
        name=fields.text("name"),
        group=fields.text("group"),
        config=fields.value("config"),
        inputs=software_io.inputs(fields.value("inputs"), Span(path="inputs"), fields.problems),
        outputs=software_io.outputs(fields.value("outputs"), Span(path="outputs"), fields.problems),
        options=fields.map("options") or {},
    )
    fields.done()
    return config_request


def deployment(data: Mapping[str, Any]) -> DeploymentRequest:
    """Return the request to create a deployment. Raises Rejected."""
    fields = _Fields(data)
    deployment_request = DeploymentRequest(
        config_id=fields.needed("config_id"),
        server_id=fields.needed("server_id"),
        input_values=fields.map("input_values") or {},
        action=fields.text("action"),
        status=fields.status(),
        reason=fields.text("status_reason", maximum=None),
        user_project_id=fields.text("stack_user_project_id", maximum=PROJECT_CHARACTERS_MAX),
    )
    fields.done()
    return deployment_request


def deployment_changes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a deployment that a request contains, by field names of `Deployment`.

    A field that is missing or null stays unchanged. Raises Rejected.
    """
    fields = _Fields(data)
    changes = {
        "config_id": fields.text("config_id"),
        "input_values": fields.map("input_values"),
        "output_values": fields.map("output_values"),
        "action": fields.text("action"),
        "status": fields.status(),
        "reason": fields.text("status_reason", maximum=None),
    }
    fields.done()
    return {name: value for name, value in changes.items() if value is not None}


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
        value = self._data.get(name)
        if (reason := _storage_problem(value)) is None:
            return value
        self._wrong(name, reason)
        return None

    def map(self, name: str) -> dict[str, Any] | None:
        """Return a map; None if the field is missing. For any other value, add an error."""
        value = self.value(name)
        if value is None or isinstance(value, dict):
            return value
        self._wrong(name, "expected a map")
        return None

    def text(self, name: str, *, maximum: int | None = NAME_CHARACTERS_MAX) -> str | None:
        """Return a string of at most `maximum` characters; None if the field is missing.

        If `maximum` is None, the length is not limited. A number is converted to a string. For any
        other value, add an error.
        """
        value = self.value(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if value is None:
            return None
        if not isinstance(value, str):
            self._wrong(name, "expected a string")
            return None
        if maximum is not None and (len(value) > maximum or "\0" in value):
            message = f"this must be at most {maximum} characters long, without null characters"
            self.problems.append(Invalid(Span(path=name), message))
        return value

    def needed(self, name: str) -> str:
        """Return a string, and add an error if the field is missing or empty."""
        text = self.text(name)
        if not text and not any(
            problem.at and problem.at.path == name for problem in self.problems
        ):
            self._wrong(name, "this is missing")
        return text or ""

    def status(self) -> str | None:
        """Return the status of a deployment; None if the field is missing. For another word, add an
        error.
        """
        status = self.text("status")
        if status is not None and status not in STATUSES:
            self._wrong("status", f'expected one of {", ".join(STATUSES)}, got "{status}"')
        return status

    def _wrong(self, name: str, message: str) -> None:
        self.problems.append(HTTPBadRequest(Span(path=name), message))


def _storage_problem(value: Any) -> str | None:
    """Return the reason why a value cannot be stored in the database; None if it can be stored."""
    if too_deep(value):
        return "this is nested too deeply"
    waiting = [value]
    for node in waiting:
        if isinstance(node, Mapping):
            waiting += (*node.keys(), *node.values())
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, float) and not math.isfinite(node):
            return f"{node} is not a JSON number"
        elif isinstance(node, str) and not node.isascii() and _broken(node):
            return "this contains an invalid character (a lone surrogate)"
    return None


def _broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

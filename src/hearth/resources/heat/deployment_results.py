"""The results of a deployment: status, reason and output values from a server's signal.

Source: docs/spec/software-config.md, section 5.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from hearth.model.json_text import too_deep
from hearth.model.state import Status

STATUS_CODE = "deploy_status_code"
ALWAYS = ("deploy_stdout", "deploy_stderr", STATUS_CODE)
RECEIVED = "Outputs received"
TOO_DEEP = "(nested too deep)"


class Results(Struct, frozen=True):
    """The results that a signal reports: status and reason of the deployment, and its output
    values.
    """

    status: Status
    reason: str
    output_values: Mapping[str, Any] = field(default_factory=dict)

    def event_text(self, deployment_id: str) -> str:
        """Return the event text for the signal with these results."""
        if self.status is Status.COMPLETE:
            return f"deployment {deployment_id} succeeded"
        code = self.output_values.get(STATUS_CODE)
        ended = f" ({code})" if _failed(code) and self.reason == _exited(code) else ""
        return f"deployment {deployment_id} failed{ended}"


def results_of(details: Mapping[str, Any] | None, outputs: Iterable[Mapping[str, Any]]) -> Results:
    """Return the results that a signal reports; `outputs` are the configuration's outputs.

    The values contain the standard outputs (null if missing) and those declared outputs that the
    signal contains. A non-zero exit code is a failure, and so is any value of an output declared as
    error output.
    """
    reported = {name: _clean(value) for name, value in (details or {}).items()}
    values = {name: reported.get(name) for name in ALWAYS}
    reasons = []
    if _failed(code := values[STATUS_CODE]):
        reasons.append(_exited(code))
    for output in outputs:
        name = output["name"]
        if name in reported:
            values[name] = reported[name]
            if output.get("error_output"):
                reasons.append(f"{name} : {_text(reported[name])}")
    if reasons:
        return Results(Status.FAILED, ", ".join(reasons), values)
    return Results(Status.COMPLETE, RECEIVED, values)


def _exited(code: Any) -> str:
    """Return the failure reason for a non-zero exit code."""
    return f"{STATUS_CODE} : Deployment exited with non-zero status code: {code}"


def _failed(code: Any) -> bool:
    """Return whether an exit code, given as a number or as text, is present and not 0."""
    if code is None or code == "":
        return False
    try:
        return float(code) != 0
    except (TypeError, ValueError, OverflowError):
        return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _clean(value: Any) -> Any:
    """Return the value with invalid characters in texts replaced by `?`.

    A value that is nested too deep is replaced by a message.
    """
    return TOO_DEEP if too_deep(value) else _whole(value)


def _whole(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case Mapping():
            return {_whole(str(key)): _whole(inner) for key, inner in value.items()}
        case list():
            return [_whole(inner) for inner in value]
        case _:
            return value

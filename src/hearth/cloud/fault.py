"""Exceptions for errors of cloud services, and the parser of their various error formats.

An overview of all error classes is in hearth.model.problem.
"""

import json
from collections.abc import Mapping
from typing import Any

PASSING = frozenset({0, 429, 502, 503, 504})
BROKEN_OFF = frozenset({500, 502, 503, 504})  # a write may have been carried out
OVER_LIMIT_TYPES = frozenset({"OverQuota", "overLimit", "OverQuotaClient"})
BRIEF_LIMIT = 200  # for a service that a user names
MESSAGE_LIMIT = 4096  # characters of a service's message that are kept
CONNECT_FAILURE = "ConnectFailure"  # the type of a fault without a connection to the service


class CloudFault(Exception):
    """A call to a service failed; `message` is the service's error message.

    `type` is the service's name for the error. Status 0 means that there was no response; the call
    did not reach the service, except for a NoAnswer. `retry_after` is in seconds.
    """

    def __init__(
        self,
        service: str,
        status: int,
        type: str,  # noqa: A002
        message: str,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{service}: {message} (HTTP {status})" if status else message)
        self.service = service
        self.status = status
        self.type = type
        self.message = message
        self.retry_after = retry_after

    @property
    def not_found(self) -> bool:
        """Whether the object of the call does not exist (404)."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """Whether the state of the object forbids the call, such as in use, pending, duplicate."""
        return self.status == 409 and not self.over_limit

    @property
    def over_limit(self) -> bool:
        """Whether a quota is exceeded, so that waiting does not help."""
        return self.status == 413 or self.type in OVER_LIMIT_TYPES

    @property
    def passing(self) -> bool:
        """Whether the error may be temporary (overload or outage), so that a retry may succeed."""
        return self.status in PASSING

    @property
    def not_carried_out(self) -> bool:
        """Whether the call certainly had no effect, so that a retry is safe even for a write."""
        if isinstance(self, NoAnswer):
            return False
        return self.status in {0, 429} or (self.status == 503 and self.retry_after is not None)


class NoAnswer(CloudFault):
    """The cloud may or may not have carried out the call: the response is missing or incomplete.

    If `again` is true, the call may be repeated once a search finds no result of it. It is false if
    a repetition would fail in the same way, such as after an internal error of the service (500).
    """

    def __init__(
        self,
        service: str,
        message: str,
        *,
        status: int = 0,
        type: str = "NoAnswer",  # noqa: A002
        again: bool = True,
    ) -> None:
        super().__init__(service, status, type, message)
        self.again = again

    @property
    def passing(self) -> bool:
        """Whether a retry may succeed."""
        return self.again


class Unreadable(NoAnswer):
    """The response is too large or unreadable: the outcome is unknown, and a retry useless."""

    def __init__(self, service: str, message: str) -> None:
        super().__init__(service, message, again=False)


def of_a_write(fault: CloudFault) -> CloudFault:
    """Return the fault of a failed write call, as NoAnswer if the call may have had an effect.

    That is the case after an internal error of the service (500) and after errors of a proxy: 502,
    504, and 503 without Retry-After.
    """
    bare = fault.status != 503 or fault.retry_after is None
    if fault.status not in BROKEN_OFF or not bare:
        return fault
    return NoAnswer(
        fault.service,
        fault.message,
        status=fault.status,
        type=fault.type,
        again=fault.status != 500,
    )


def fault_of(
    service: str, status: int, headers: Mapping[str, str], body: Any, *, brief: bool = False
) -> CloudFault:
    """Return the CloudFault for a response with a status of 300 or more.

    If `brief` is true, the message is cut to BRIEF_LIMIT characters, and bodies in plain text are
    ignored. This is for servers that users name, which may not be OpenStack services.

    Supported formats: {"NeutronError": {type, message}}, {"badRequest": {message}} (nova, cinder),
    {"error": {title, message}} (keystone), {title, message|description} (glance, barbican), {type,
    message|errors} (designate), {faultcode, faultstring} (octavia), {"error_message":
    {faultstring}} (aodh), {error_message} (blazar), {"errors": [{title, detail}]}, {message}, plain
    text (swift). For any other body, the message is the name of the status, such as "Not Found".
    """
    match body:
        case {"NeutronError": {"type": str(kind), "message": str(message)}}:
            pass
        case {"NeutronError": str(message)}:
            kind = "NeutronError"
        case {"error": {"title": str(kind), "message": str(message)}}:
            pass
        case {"error": {"message": str(message)}}:
            kind = _reason(status)
        case (
            {"faultstring": str(message)}
            | {"error_message": {"faultstring": str(message)}}
            | {"error_message": str(message)}
        ):
            kind = _reason(status)
        case {"type": str(kind), "message": str(message)}:
            pass
        case {"type": str(kind), "errors": errors}:
            message = json.dumps(errors)
        case {"title": str(kind), "message": str(message)}:
            pass
        case {"title": str(kind), "description": str(message)}:
            pass
        case {"errors": [{"title": str(kind), **first}, *_]}:
            message = str(first.get("detail") or kind)
        case dict() if len(body) == 1 and isinstance(next(iter(body.values())), dict):
            kind = str(next(iter(body)))
            message = str(body[kind].get("message", kind))
        case {"message": str(message)}:
            kind = _reason(status)
        case str(text) if not brief and text.strip() and "<html" not in text.lower():
            kind, message = _reason(status), text.strip()
        case _:
            kind = message = _reason(status)
    limit = BRIEF_LIMIT if brief else MESSAGE_LIMIT
    return CloudFault(service, status, kind[:limit], message[:limit], _retry_after(headers))


def _reason(status: int) -> str:
    return {
        400: "Bad Request",
        401: "Unauthorized",
        403: "Forbidden",
        404: "Not Found",
        405: "Method Not Allowed",
        409: "Conflict",
        413: "overLimit",
        429: "Too Many Requests",
        500: "Internal Server Error",
        502: "Bad Gateway",
        503: "Service Unavailable",
        504: "Gateway Timeout",
    }.get(status, f"HTTP {status}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None  # absent, or a date: nobody in OpenStack sends one


class NotFetched(Exception):
    """A URL could not be fetched or must not be fetched; the message gives the reason."""

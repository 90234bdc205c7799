"""Exceptions for errors of cloud services, and the parser of their various error formats.

An overview of all error classes is in hearth.model.problem.
"""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import isnan
from typing import Any

PASSING = frozenset({0, 429, 502, 503, 504})
OF_AN_EDGE = frozenset(range(520, 530))  # statuses of delivery networks in front of a service
BROKEN_OFF = frozenset({500, 502, 503, 504}) | OF_AN_EDGE  # a write may have been carried out
RETRY_AFTER_MIN_S, RETRY_AFTER_MAX_S = 0.5, 30.0
REQUEST_IDS = ("x-openstack-request-id", "x-compute-request-id", "x-trans-id")
"""The headers by which services of OpenStack number their requests; no router adds them."""

NO_ROUTE = ("The resource could not be found.", "The requested URL was not found on the server.")
"""The beginnings of the messages with which frameworks of services refuse a path that the service
does not have, such as that of an extension that is not loaded.
"""

NOT_ITS_OWN = "HTTP {}: the answer did not come from the service itself: {}"
OWN_MEANING = frozenset({401, 429})
"""Statuses with a handling of their own, even if a router answers: the token is renewed, or the
call waits.
"""

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
        self.retry_after = retry_after  # from `retry_after_s`

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


class NotFound(CloudFault):
    """The service that was asked reports that the object of the call does not exist.

    Only this class reports that an object is gone. Other faults with the status 404 say nothing
    about the object: a service that the catalogue lacks (NoService), Keystone refusing the
    credential of a call to another service (NoToken), a path that the service does not have. The
    page of a router in front of the service is Misdirected.
    """

    def __init__(
        self,
        service: str,
        message: str,
        type: str = "NotFound",  # noqa: A002
    ) -> None:
        super().__init__(service, 404, type, message)


class NoService(CloudFault):
    """The service catalogue lacks a service, so nothing is known of its objects."""

    def __init__(self, service: str) -> None:
        message = f"The service catalogue of the cloud has no {service} service."
        super().__init__(service, 404, "EndpointNotFound", message)


class NoToken(CloudFault):
    """Keystone issued no token, so the call to the service was not sent and had no effect."""

    @property
    def passing(self) -> bool:
        """Whether Keystone itself is in trouble, so that a retry may succeed."""
        return super().passing or of_a_read(self) is not self

    @property
    def not_carried_out(self) -> bool:
        """Whether the call certainly had no effect: always."""
        return True


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


class Misdirected(NoAnswer):
    """Something in front of the service answered, such as a router, a firewall or a login page.

    Such an answer says nothing about the call or its object. It counts as a 503; the message names
    the real status.
    """

    def __init__(self, service: str, message: str) -> None:
        super().__init__(service, message, status=503)

    def __str__(self) -> str:
        return f"{self.service}: {self.message}"


class Unreadable(NoAnswer):
    """The response is too large or unreadable: the outcome is unknown, and a retry useless."""

    def __init__(self, service: str, message: str) -> None:
        super().__init__(service, message, again=False)


def of_a_write(fault: CloudFault) -> CloudFault:
    """Return the fault of a failed write call, as NoAnswer if the call may have had an effect.

    That is the case after an internal error of the service (500) and after errors of a proxy: 502,
    504, 520 to 529, and 503 without Retry-After.
    """
    bare = fault.status != 503 or fault.retry_after is None
    if isinstance(fault, NoAnswer) or fault.status not in BROKEN_OFF or not bare:
        return fault
    return NoAnswer(
        fault.service,
        fault.message,
        status=fault.status,
        type=fault.type,
        again=fault.status != 500,
    )


def of_a_read(fault: CloudFault) -> CloudFault:
    """Return the fault of a failed read call, as NoAnswer if a repetition may succeed.

    That includes internal errors of the service (500): a read is harmless to repeat, and a deadlock
    in the database of the service or a restart of its message broker ends soon.
    """
    if fault.status != 500 and fault.status not in OF_AN_EDGE:
        return fault
    return NoAnswer(fault.service, fault.message, status=fault.status, type=fault.type)


def fault_of(
    service: str, status: int, headers: Mapping[str, str], body: Any, *, brief: bool = False
) -> CloudFault:
    """Return the CloudFault for a response with a status of 300 or more.

    Redirects, which Hearth does not follow, are Misdirected, and so are refusals that do not have
    the form of a service of OpenStack. A 404 is NotFound if it is about an object.

    If `brief` is true, the message is cut to BRIEF_LIMIT characters, and bodies in plain text and
    the targets of redirects are ignored. This is for servers that users name, which may not be
    OpenStack services.
    """
    if status < 400:
        return Misdirected(service, _redirection(status, "" if brief else headers.get("location")))
    stated = _stated(status, body)
    kind, message = stated or (_reason(status), _text(body, brief=brief) or _reason(status))
    limit = BRIEF_LIMIT if brief else MESSAGE_LIMIT
    kind, message = kind[:limit], message[:limit]
    numbered = any(name in headers for name in REQUEST_IDS)
    is_own = numbered or (stated is not None and body.keys() != {"message"})
    if status == 408 or (status < 500 and not is_own and status not in OWN_MEANING):
        full_message = (
            f"HTTP {status}: {message}" if is_own else NOT_ITS_OWN.format(status, message)
        )
        return Misdirected(service, full_message[:limit])
    if status != 404:
        return CloudFault(service, status, kind, message, retry_after_s(headers))
    if stated is not None and _lacks_path(body, message):
        return CloudFault(service, status, kind, message)
    return NotFound(service, message, kind)


def _redirection(status: int, target: str | None) -> str:
    """Return the message for a redirect to `target`. Its query may contain secrets."""
    address = re.split(r"[?#]", target or "")[0][:BRIEF_LIMIT]
    return f"HTTP {status}: the answer leads to {address or 'another address'}"


def _stated(status: int, body: Any) -> tuple[str, str] | None:
    """Return the type and the message of an error in a format that services of OpenStack use; None
    for another body.

    Supported formats: {"NeutronError": {type, message}}, {"badRequest": {message}} (nova, cinder),
    {"error": {title, message}} (keystone), {title, message|description} (glance, barbican), {type,
    message|errors} (designate), {faultcode, faultstring} (octavia), {"error_message":
    {faultstring}} (aodh), {error_message} (blazar), {"errors": [{title, detail}]}, {message}.
    """
    match body:
        case {"NeutronError": {"type": str(kind), "message": str(message)}}:
            return kind, message
        case {"NeutronError": str(message)}:
            return "NeutronError", message
        case {"error": {"title": str(kind), "message": str(message)}}:
            return kind, message
        case (
            {"error": {"message": str(message)}}
            | {"faultstring": str(message)}
            | {"error_message": {"faultstring": str(message)}}
            | {"error_message": str(message)}
        ):
            return _reason(status), message
        case {"type": str(kind), "message": str(message)}:
            return kind, message
        case {"type": str(kind), "errors": errors}:
            return kind, json.dumps(errors)
        case {"title": str(kind), "message": str(message)} | {
            "title": str(kind),
            "description": str(message),
        }:
            return kind, message
        case {"errors": [{"title": str(kind), **first}, *_]}:
            return kind, str(first.get("detail") or kind)
        case dict() if len(body) == 1 and isinstance(next(iter(body.values())), dict):
            kind = str(next(iter(body)))
            return kind, str(body[kind].get("message", kind))
        case {"message": str(message)}:
            return _reason(status), message
    return None


def _text(body: Any, *, brief: bool) -> str:
    """Return the message of a body in plain text (swift); empty for HTML and other bodies."""
    plain = isinstance(body, str) and not brief and "<html" not in body.lower()
    return body.strip() if plain else ""


def _lacks_path(body: Any, message: str) -> bool:
    """Return whether a 404 is about a path that the service does not have, not about an object.

    Nova and its relatives use the same message for objects, under the key `itemNotFound`.
    """
    return message.startswith(NO_ROUTE) and "itemNotFound" not in body


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


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the header Retry-After asks to wait, or None without a usable one.

    The header holds seconds or, from proxies, a date. The result is within RETRY_AFTER_MIN_S and
    RETRY_AFTER_MAX_S, whatever the header says.
    """
    text = headers.get("retry-after", "")
    pause_s = float("nan")
    with suppress(ValueError, OverflowError):
        pause_s = float(text)
    if isnan(pause_s):
        with suppress(ValueError, OverflowError):
            pause_s = parsedate_to_datetime(text).timestamp() - time.time()
    if isnan(pause_s):
        return None
    return min(max(pause_s, RETRY_AFTER_MIN_S), RETRY_AFTER_MAX_S)


class NotFetched(Exception):
    """A URL could not be fetched or must not be fetched; the message gives the reason."""

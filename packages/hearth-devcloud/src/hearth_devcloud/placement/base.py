"""Functions that all handlers of Placement share: microversions, errors and query arguments."""

from __future__ import annotations

from http import HTTPStatus

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.microversion import version_in

SERVICE = "placement"
OLDEST = (1, 0)
NEWEST = (1, 39)
HEADER = "OpenStack-API-Version"
Amounts = dict[str, int]
"""Amounts by resource class, such as {"VCPU": 2}."""


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Placement."""
    error: Body = {
        "status": fault.status,
        "title": HTTPStatus(fault.status).phrase,
        "detail": fault.message,
        "request_id": f"req-{call.cloud.store.new_id()}",
    }
    if call.version >= (1, 23):
        error["code"] = fault.type or "placement.undefined_code"
    if fault.status == 406:
        error |= {"max_version": _text(NEWEST), "min_version": _text(OLDEST)}
    return Reply(fault.status, {"errors": [error]}, dict(fault.headers))


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(message: str) -> Refusal:
    """Return a Refusal with status 404 and this message."""
    return Refusal(404, message=message)


def admin_only(call: Call, policy: str) -> None:
    """Raise Refusal 403 unless the caller has the role admin.

    `policy` is the name after `placement:`, such as `resource_providers:list`.
    """
    if not call.caller.is_admin:
        raise Refusal(403, message=f"Policy doesn't allow {SERVICE}:{policy} to be performed.")


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def prepare(call: Call) -> None:
    """Parse the microversion header. Raises Refusal 400 or 406."""
    call.version = OLDEST
    for item in (call.headers.get(HEADER) or "").split(","):
        service, _, text = item.strip().partition(" ")
        if service != SERVICE:
            continue
        if text == "latest":
            call.version = NEWEST
            return
        if (version := version_in(text)) is None:
            raise bad(f"invalid version string: {text}")
        if not OLDEST <= version <= NEWEST:
            raise Refusal(406, message=f"Unacceptable version header: {text}")
        call.version = version


def finish(call: Call, reply: Reply) -> None:
    """Add the microversion to the headers of a reply."""
    reply.headers[HEADER] = f"{SERVICE} {_text(max(call.version, OLDEST))}"
    reply.headers["Vary"] = HEADER


def versions(call: Call) -> Reply:
    """Handle GET of the API version and its microversions."""
    version = {
        "id": "v1.0",
        "status": "CURRENT",
        "max_version": _text(NEWEST),
        "min_version": _text(OLDEST),
        "links": [{"rel": "self", "href": ""}],
    }
    return Reply(200, {"versions": [version]})


def known_arguments(call: Call, since: dict[str, int]) -> None:
    """Raise Refusal 400 for a query argument that the call's microversion does not have.

    `since` maps the names of the arguments to their minor microversions.
    """
    for name in call.query:
        if name not in since or call.version < (1, since[name]):
            text = f"Additional properties are not allowed ('{name}' was unexpected)"
            raise bad(f"Invalid query string parameters: {text}")


def amounts(text: str) -> Amounts:
    """Return the amounts in a query argument such as `VCPU:2,DISK_GB:10`. Raises Refusal 400."""
    found: Amounts = {}
    for item in text.split(","):
        name, _, amount = item.partition(":")
        if not name or not amount.isdecimal() or int(amount) == 0:
            raise bad(
                "Badly formed resources parameter. Expected resources query string parameter in "
                f"form: ?resources=VCPU:2,MEMORY_MB:1024. Got: {text}."
            )
        found[name] = int(amount)
    return found

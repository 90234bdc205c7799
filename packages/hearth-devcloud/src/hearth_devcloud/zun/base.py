"""Functions that all handlers of Zun share: microversions, errors and the search for containers."""

from __future__ import annotations

from hearth_devcloud.collection import boolean
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.microversion import version_in
from hearth_devcloud.store import Resource

SERVICE = "application-container"
CONTAINERS = f"{SERVICE}.containers"
NEWEST = (1, 40)
OLDEST = (1, 1)
HEADER = "OpenStack-API-Version"
_TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    409: "Conflict",
}


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Zun."""
    title = _TITLES.get(fault.status, "Internal Server Error")
    error: Body = {
        "request_id": f"req-{call.cloud.store.new_id()}",
        "code": "",
        "status": fault.status,
        "title": title,
        "detail": fault.message or title,
        "links": [],
    }
    return Reply(fault.status, {"errors": [error]}, dict(fault.headers))


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def conflict(message: str) -> Refusal:
    """Return a Refusal with status 409 and this message."""
    return Refusal(409, message=message)


def prepare(call: Call) -> None:
    """Parse the microversion header of a call."""
    call.version = OLDEST
    for item in (call.headers.get(HEADER) or "").split(","):
        service, _, text = item.strip().partition(" ")
        if service.lower() not in ("container", SERVICE):
            continue
        if text == "latest":
            call.version = NEWEST
            return
        if (version := version_in(text)) is None:
            raise Refusal(406, message=f"Invalid version header: {item.strip()}")
        call.version = version
        if not OLDEST <= call.version <= NEWEST:
            message = f"Version {text} was requested but the supported versions are 1.1 to 1.40."
            raise Refusal(406, message=message)


def finish(call: Call, reply: Reply) -> None:
    """Add the microversions to the headers of a reply."""
    version = call.version if call.version != (0, 0) else OLDEST
    reply.headers[HEADER] = f"container {'.'.join(map(str, version))}"
    for name, bound in (("Minimum", OLDEST), ("Maximum", NEWEST)):
        reply.headers[f"OpenStack-API-{name}-Version"] = f"container {'.'.join(map(str, bound))}"
    reply.headers["Vary"] = HEADER


def not_in_version() -> Refusal:
    """Return a Refusal with status 406: the call does not exist in its microversion."""
    return Refusal(406, message="The request is not supported by this version of the API.")


def arguments(call: Call, names: tuple[str, ...]) -> dict[str, str]:
    """Return the query arguments of a call. Raises Refusal 400 for one that is not in `names`."""
    unknown = sorted(call.query.keys() - set(names))
    if unknown:
        raise bad(f"Additional properties are not allowed ({', '.join(unknown)})")
    return {name: values[0] for name, values in call.query.items()}


def flag(arguments: dict[str, str], name: str) -> bool:
    """Return the value of a boolean query argument; false if it is missing. Raises Refusal 400."""
    text = arguments.get(name, "false").lower()
    try:
        return boolean({"yes": "1", "on": "1", "no": "0", "off": "0"}.get(text, text))
    except ValueError:
        raise bad(f"Invalid input for query parameter {name}: {arguments[name]}") from None


def find_container(call: Call) -> Resource:
    """Return the container of the project that the path names, by its UUID or name.

    Raises Refusal 404, or 409 if several containers have the name.
    """
    ident, caller = call.ids[0], call.caller
    containers = [
        candidate
        for candidate in call.cloud.store.all(CONTAINERS)
        if ident in (candidate.id, candidate.body["name"])
        and (
            candidate.project_id == caller.project_id or (caller.is_admin and ident == candidate.id)
        )
    ]
    exact = [candidate for candidate in containers if candidate.id == ident]
    if len(exact or containers) > 1:
        raise conflict(f"Multiple containers exist with the name {ident}. Use the UUID instead.")
    if not containers:
        raise Refusal(404, message=f"Container {ident} could not be found.")
    return (exact or containers)[0]


def versions(call: Call) -> Reply:
    """Handle GET of the API versions."""
    root = f"{call.base}/{SERVICE}"
    version: Body = {
        "id": "v1",
        "links": [{"rel": "self", "href": f"{root}/v1/"}],
        "status": "CURRENT",
        "max_version": ".".join(map(str, NEWEST)),
        "min_version": ".".join(map(str, OLDEST)),
    }
    body: Body = {
        "name": "OpenStack Zun API",
        "description": "Zun is an OpenStack project which aims to provide containers management.",
        "default_version": version,
        "versions": [version],
    }
    return Reply(200, body)


def version(call: Call) -> Reply:
    """Handle GET /v1: the collections of the API."""
    root = f"{call.base}/{SERVICE}"
    containers = [{"rel": "self", "href": f"{root}/v1/containers/"}]
    links = [{"rel": "self", "href": f"{root}/v1/"}]
    return Reply(200, {"id": "v1", "links": links, "containers": containers})

"""What handlers read from a request: services, caller, version, body and query."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from starlette.requests import Request

from hearth.api.clusters.types import Fields, given
from hearth.api.clusters.versions import Version
from hearth.clusters.problems import bad_request, refused
from hearth.model.problem import hint, nearest
from hearth.service.caller import Caller
from hearth.service.services import Services

Read = Callable[[str], Any]
"""Reads the text of a query argument; raises ValueError with the words of the error."""
Arguments = Mapping[str, Read]

CONTAINERS_MAX = 50_000  # lists and maps of a body
_decode = msgspec.json.Decoder().decode  # strict: no NaN, no half of a surrogate pair


def services_of(request: Request) -> Services:
    """Return the services of the process."""
    return cast(Services, request.app.state.services)


def caller_of(request: Request) -> Caller:
    """Return the caller of the request."""
    return cast(Caller, request.state.caller)


def version_of(request: Request) -> Version:
    """Return the microversion of the request."""
    return cast(Version, request.state.version)


def base(request: Request) -> str:
    """Return the URL of the API as the client used it, without the version."""
    url = request.url
    return f"{url.scheme}://{url.netloc}{request.scope.get('root_path', '')}"


async def document(request: Request) -> Any:
    """Return the JSON value in the body. Raises Rejected."""
    limit = services_of(request).limits.body_bytes
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise bad_request(f"The body is too large. At most {limit} bytes are accepted.")
    if raw.count(b"[") + raw.count(b"{") > CONTAINERS_MAX:
        raise bad_request(f"The body has more than {CONTAINERS_MAX} lists and maps. Shorten it.")
    try:
        return _decode(bytes(raw))
    except (ValueError, RecursionError) as problem:
        raise bad_request(f"The body is not valid JSON. {problem}.") from None


async def body(request: Request, declared: Fields) -> dict[str, Any]:
    """Return the checked values of a POST body. Raises Rejected."""
    return given(await document(request), declared, version_of(request))


def query(request: Request, arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of the query that are given. Raises Rejected."""
    found = {}
    for name, value in request.query_params.multi_items():
        read = arguments.get(name)
        if read is None:
            near = hint(nearest(name, arguments))
            raise bad_request(f'Unknown query argument "{name}"{near}. Remove it.')
        try:
            found[name] = read(value)
        except ValueError as problem:
            raise bad_request(f"Invalid value of {name}: {problem}. Correct it.") from None
    return found


def admit(request: Request, arguments: Arguments) -> None:
    """Check the path, the project of the caller, and the query, which `asked` then reads. Raises
    Rejected.
    """
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise bad_request("The URL contains a null character. Remove it.")
    if not caller_of(request).project_id:
        raise refused(403, "The token is not scoped to a project. Use a token of a project.")
    request.state.query = query(request, arguments)


def asked(request: Request, name: str, default: Any = None) -> Any:
    """Return a checked argument of the query."""
    return request.state.query.get(name, default)

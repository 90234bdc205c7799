"""The parts of a request that handlers use: services, caller, version, body and query."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UnsetType
from starlette.requests import Request

from hearth.api.clusters.types import Fields, body_values
from hearth.api.clusters.versions import Version
from hearth.clusters.problems import bad_request, forbidden
from hearth.model.collector import collector_paused
from hearth.model.problem import hint, nearest
from hearth.service.caller import Caller
from hearth.service.services import Services

Read = Callable[[str], Any]
"""A function that converts the text of a query argument; it raises ValueError with an
explanation.
"""
Arguments = Mapping[str, Read]
T = TypeVar("T")

ZERO_NODES_SINCE = (1, 10)
"""The first microversion with clusters and node groups that have no nodes."""
CONTAINERS_MAX = 50_000  # lists and maps of a body
_decode = msgspec.json.Decoder().decode  # strict: no NaN, no half of a surrogate pair


def services_of(request: Request) -> Services:
    """Return the objects that the use cases work with, such as the store and the policy."""
    return cast(Services, request.app.state.services)


def caller_of(request: Request) -> Caller:
    """Return the caller of the request."""
    return cast(Caller, request.state.caller)


def version_of(request: Request) -> Version:
    """Return the microversion of the request."""
    return cast(Version, request.state.version)


def base(request: Request) -> str:
    """Return the URL of the API as the client used it, without the version and the final slash."""
    url = request.url
    return f"{url.scheme}://{url.netloc}{request.scope.get('root_path', '')}"


def demand_nodes(request: Request, count: int | UnsetType) -> None:
    """Raise Rejected if `count` is 0 in a version of the API in which each group has a node."""
    if count == 0 and version_of(request) < ZERO_NODES_SINCE:
        raise bad_request("No nodes at all need API version 1.10. Use a node_count of at least 1.")


async def document(request: Request) -> Any:
    """Return the JSON value in the body. Raises Rejected if it is invalid or too large."""
    limit = services_of(request).limits.max_json_body_size
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise bad_request(f"The body is too large. At most {limit} bytes are accepted.")
    if raw.count(b"[") + raw.count(b"{") > CONTAINERS_MAX:
        raise bad_request(f"The body has more than {CONTAINERS_MAX} lists and maps. Shorten it.")
    try:
        with collector_paused():
            return _decode(bytes(raw))
    except (ValueError, RecursionError) as problem:
        raise bad_request(f"The body is not valid JSON. {problem}.") from None


async def body(request: Request, declared: Fields, request_type: type[T]) -> T:
    """Return the body of a request as a struct. Raises Rejected.

    `declared` are the fields that the body may contain; `request_type` has those with an effect.
    """
    values = body_values(await document(request), declared, version_of(request))
    return msgspec.convert(values, request_type)


def query(request: Request, arguments: Arguments) -> dict[str, Any]:
    """Return the checked arguments in the query, by name. Raises Rejected.

    `arguments` are the allowed ones. If one occurs several times, its last value is used.
    """
    values = {}
    for name, value in request.query_params.multi_items():
        reader = arguments.get(name)
        if reader is None:
            near = hint(nearest(name, arguments))
            raise bad_request(f'Unknown query argument "{name}"{near}. Remove it.')
        try:
            values[name] = reader(value)
        except ValueError as problem:
            raise bad_request(f"Invalid value of {name}: {problem}. Correct it.") from None
    return values


def admit(request: Request, arguments: Arguments) -> None:
    """Check the caller's project and the query. Raises Rejected.

    The function `argument` can read the arguments of the query afterwards.
    """
    if not caller_of(request).project_id:
        raise forbidden("The token is not scoped to a project. Use a project-scoped token.")
    request.state.query = query(request, arguments)


def argument(request: Request, name: str, default: Any = None) -> Any:
    """Return an argument of the query, or `default` if the query does not contain it.

    The function `admit` must have checked the query before.
    """
    return request.state.query.get(name, default)

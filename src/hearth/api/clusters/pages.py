"""Lists in pages: the arguments that select a page, and the URL of the next page.

Source: docs/spec/clusters.md, 2.4.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from hearth.api.answer import JSONResponse
from hearth.api.clusters.context import Read, argument, base, services_of
from hearth.api.clusters.types import uuid
from hearth.clusters.problems import bad_request
from hearth.model.problem import hint, nearest
from hearth.store.clusters.pages import Page, sort_keys

NUMBER_MAX = 2**31 - 1
DIRECTIONS = ("asc", "desc")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:12]) <= NUMBER_MAX:
        raise ValueError(f'expected a whole number of at least 1, got "{text}"')
    return int(text)


def _direction(text: str) -> str:
    if text not in DIRECTIONS:
        raise ValueError(f"expected {' or '.join(DIRECTIONS)}")
    return text


LIST: Mapping[str, Read] = {
    "limit": _number,
    "marker": uuid,
    "sort_key": str,
    "sort_dir": _direction,
}
"""The query arguments of a list whose objects have a UUID."""
NUMBERED: Mapping[str, Read] = {**LIST, "marker": _number}
"""The query arguments of a list whose objects have a number instead of a UUID."""


def requested_page(request: Request, kind: type) -> Page:
    """Return the page that the query of a request selects. Raises Rejected.

    `kind` is the class of the listed objects; its attributes are the allowed sort keys.
    """
    limit_max = services_of(request).clusters.max_limit
    key = argument(request, "sort_key", "id")
    keys = sort_keys(kind)
    if key not in keys:
        raise bad_request(
            f'Unknown sort_key "{key}"{hint(nearest(key, keys))}. Use an attribute of the list.'
        )
    return Page(
        limit=min(argument(request, "limit", limit_max), limit_max),
        marker=argument(request, "marker"),
        sort_key=key,
        descending=argument(request, "sort_dir", "asc") == "desc",
    )


def answer(
    request: Request,
    name: str,
    bodies: Sequence[Mapping[str, Any]],
    page: Page,
    last: str | int | None,
) -> JSONResponse:
    """Return the response with a page of a list.

    `name` is the key of the list in the response, and `bodies` are the bodies of the objects on the
    page. `last` is the marker of the last object; None if the page is empty. A full page contains
    the URL of the next page, although that page may be empty.
    """
    body: dict[str, Any] = {name: bodies}
    if bodies and len(bodies) == page.limit:
        arguments = {
            "sort_key": page.sort_key,
            "sort_dir": DIRECTIONS[page.descending],
            **_filters(request),
            "limit": page.limit,
            "marker": last,
        }
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        body["next"] = f"{base(request)}{path}?{urlencode(arguments)}"
    return JSONResponse(body)


def _filters(request: Request) -> dict[str, Any]:
    """Return the arguments of the query that filter the list and do not select the page."""
    return {name: value for name, value in request.state.query.items() if name not in LIST}

"""Create the routes of an API from its table: one route per path, for all methods."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class Row(Protocol):
    """A row of a route table; it has at least a method and a path."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...


E = TypeVar("E", bound=Row)
Answer = Callable[[Request, Sequence[E]], Awaitable[Response]]
"""A function that responds to a request. It gets the rows of the table with the path and the method
of the request.
"""


def by_path(
    table: Iterable[E], prefix: str, answer: Answer[E], api: str = "orchestration"
) -> list[Route]:
    """Return one route per path, so that an unsupported method on a known path gets a 405.

    `prefix` is put before each path of the table. `answer` responds to the requests, and `api` is
    the name of the API in metrics.
    """
    paths: dict[str, dict[str, list[E]]] = {}
    for row in table:
        paths.setdefault(prefix + row.path, {}).setdefault(row.method, []).append(row)
    return [
        Route(path, _dispatch(by_method, answer, (api, path)), methods=[*by_method, "OPTIONS"])
        for path, by_method in paths.items()
    ]


def _dispatch(
    by_method: Mapping[str, Sequence[E]], answer: Answer[E], route: tuple[str, str]
) -> Callable[[Request], Awaitable[Response]]:
    allow = {"Allow": ", ".join(by_method)}

    async def handle(request: Request) -> Response:
        request.state.route = route
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        rows = by_method.get(request.method)
        if rows is None:  # the framework allows HEAD wherever GET is allowed
            raise HTTPException(405, headers=allow)
        return await answer(request, rows)

    return handle

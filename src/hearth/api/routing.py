"""Find the handler of a request in the table of an API."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from hearth.api.front.scope import below


class RouteRow(Protocol):
    """A row of a route table; it has at least a method and a path."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...


E = TypeVar("E", bound=RouteRow)
Handler = Callable[[Request], Awaitable[Response]]
Answer = Callable[[Request, Sequence[E]], Awaitable[Response]]
"""A function that responds to a request. It gets the rows of the table with the path and the method
of the request.
"""


class _Path(Struct, frozen=True):
    """A path of a table: its fixed segments and the names of the others, by index."""

    fixed: tuple[tuple[int, str], ...]
    names: tuple[tuple[int, str], ...]
    methods: frozenset[str]
    handler: Handler

    def matches(self, segments: Sequence[str]) -> bool:
        """Whether a path with as many segments is this one. A parameter is never empty."""
        return all(segments[i] == word for i, word in self.fixed) and all(
            segments[i] for i, _ in self.names
        )


class PathTable(BaseRoute):
    """The paths of a table. A request is compared with the paths that have as many segments.

    Starlette's own routes try one regular expression after the other. With the paths of the
    Orchestration API, compiling these takes a noticeable part of the time of a short command.
    `methods` contains the methods of each path.
    """

    def __init__(self, paths: Mapping[str, tuple[Iterable[str], Handler]]) -> None:
        self.methods = {path: frozenset(methods) for path, (methods, _) in paths.items()}
        self._by_length: dict[int, list[_Path]] = {}
        for path, (methods, handler) in paths.items():
            segments = path.split("/")
            entry = _Path(
                tuple((i, word) for i, word in enumerate(segments) if not word.startswith("{")),
                tuple((i, word[1:-1]) for i, word in enumerate(segments) if word.startswith("{")),
                frozenset(methods),
                handler,
            )
            self._by_length.setdefault(len(segments), []).append(entry)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Find the first path that has the method of the request, or else the first path, whose
        handler responds with 405.
        """
        if scope["type"] != "http":
            return Match.NONE, {}
        segments = below(scope).split("/")
        chosen = None
        for path in self._by_length.get(len(segments), ()):
            if path.matches(segments):
                if scope["method"] in path.methods:
                    chosen = path
                    break
                chosen = chosen or path
        if chosen is None:
            return Match.NONE, {}
        return Match.FULL, {
            "endpoint": chosen.handler,
            "path_params": {name: segments[i] for i, name in chosen.names},
        }

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for which `matches` has found a path."""
        response = await scope["endpoint"](Request(scope, receive, send))
        await response(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        """Raise NoMatchFound: these paths have no names."""
        raise NoMatchFound(name, path_params)


def by_path(
    table: Iterable[E], prefix: str, answer: Answer[E], api: str = "orchestration"
) -> PathTable:
    """Return the paths of a table. An unsupported method on a known path gets a 405.

    `prefix` is put before each path of the table. `answer` responds to the requests, and `api` is
    the name of the API in metrics. A parameter of a path is a whole segment.
    """
    paths: dict[str, dict[str, list[E]]] = {}
    for row in table:
        paths.setdefault(prefix + row.path, {}).setdefault(row.method, []).append(row)
    return PathTable(
        {
            path: (
                # as in Starlette, a path with GET is found for HEAD, too
                [*by_method, "OPTIONS", *(["HEAD"] if "GET" in by_method else [])],
                dispatch(by_method, answer, api, path),
            )
            for path, by_method in paths.items()
        }
    )


def dispatch(
    by_method: Mapping[str, Sequence[E]], answer: Answer[E], api: str, path: str
) -> Handler:
    """Return a handler of the requests to one path, for all methods."""
    allow, route = {"Allow": ", ".join(by_method)}, (api, path)

    async def handle(request: Request) -> Response:
        request.state.route = route
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        rows = by_method.get(request.method)
        if rows is None:
            raise HTTPException(405, headers=allow)
        return await answer(request, rows)

    return handle

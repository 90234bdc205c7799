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
    """A path of a table: its place there, and the names of its parameters, by index."""

    place: int
    names: tuple[tuple[int, str], ...]
    methods: frozenset[str]
    handler: Handler


NO_PATHS: Mapping[Any, Any] = {}
_Pattern = tuple[int, ...]
"""The indices of the fixed segments of a path."""


class PathTable(BaseRoute):
    """The paths of a table. For each pattern with as many segments as the path of a request, the
    fixed segments are looked up.

    Starlette's own routes try one regular expression after the other. With the paths of the
    Orchestration API, compiling these takes a noticeable part of the time of a short command.
    `methods` contains the methods of each path.
    """

    def __init__(self, paths: Mapping[str, tuple[Iterable[str], Handler]]) -> None:
        self.methods = {path: frozenset(methods) for path, (methods, _) in paths.items()}
        self._by_length: dict[int, dict[_Pattern, dict[tuple[str, ...], _Path]]] = {}
        for place, (path, (methods, handler)) in enumerate(paths.items()):
            segments = path.split("/")
            names = tuple((i, word[1:-1]) for i, word in enumerate(segments) if word[:1] == "{")
            pattern = tuple(i for i, word in enumerate(segments) if word[:1] != "{")
            by_words = self._by_length.setdefault(len(segments), {}).setdefault(pattern, {})
            words = tuple(segments[i] for i in pattern)
            by_words.setdefault(words, _Path(place, names, frozenset(methods), handler))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Find the first path that has the method of the request, or else the first path, whose
        handler responds with 405.
        """
        if scope["type"] != "http":
            return Match.NONE, {}
        segments = below(scope).split("/")
        found = [
            path
            for pattern, by_words in self._by_length.get(len(segments), NO_PATHS).items()
            if (path := by_words.get(tuple([segments[i] for i in pattern]))) is not None
            and all(segments[i] for i, _ in path.names)  # a parameter is never empty
        ]
        if not found:
            return Match.NONE, {}
        method = scope["method"]
        path = found[0]
        if len(found) > 1:
            path = min(found, key=lambda path: (method not in path.methods, path.place))
        parameters = {name: segments[i] for i, name in path.names}
        return Match.FULL, {"endpoint": path.handler, "path_params": parameters}

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

"""One row of the route table: a method on a path, who may, what comes and what goes.

Routing, policy, the OpenAPI document and the API reference are all made of these rows.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Awaitable[Response]]
Shape = Mapping[str, Any]  # a JSON Schema


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter. A `repeated` one may be given more than once, which means any of the
    values. `column` is what it filters by, where it is a filter of stored rows.
    """

    name: str
    shape: Shape
    text: str
    repeated: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the API can do. Paths are below `/v1`; `rule` is asked before the handler is called.

    `answer` is the shape of the body of a success, None where there is none. `guest` lets users of
    a stack's own project in under the path of the stack's owner: the handler judges them.
    `beside` marks what Heat does not have.
    """

    name: str
    method: str
    path: str
    rule: str | None
    handler: Handler
    answer: Shape | None = None
    status: int = 200
    body: Shape | None = None
    needs_body: bool = True
    query: tuple[Query, ...] = ()
    errors: tuple[int, ...] = ()
    guest: bool = False
    beside: bool = False

    @property
    def filters(self) -> Iterator[Query]:
        """Its query parameters that filter stored rows."""
        return (query for query in self.query if query.column)

    @property
    def text(self) -> str:
        """What it does, in the handler's own words."""
        return " ".join((self.handler.__doc__ or "").split())

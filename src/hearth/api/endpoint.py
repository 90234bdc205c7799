"""One row of the route table: a method and a path with its policy rule, request and answer.

Routing, policy checks, the OpenAPI document and the API reference are generated from these rows.
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
    """A query parameter.

    With `repeated` the parameter may occur several times, and each value is an alternative.
    `column` is the column of stored rows that it filters, None if it is not a filter.
    """

    name: str
    shape: Shape
    text: str
    repeated: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method on a path. Paths are below `/v1`; `rule` is checked before the handler is called.

    `answer` is the schema of a successful body, None for no body. With `guest`, stack domain users
    may use the path with the project of the stack's owner; the handler checks them. `beside` marks
    an endpoint that Heat does not have.
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
        """Yield the query parameters that filter stored rows."""
        return (query for query in self.query if query.column)

    @property
    def text(self) -> str:
        """The description of the endpoint: the docstring of its handler."""
        return " ".join((self.handler.__doc__ or "").split())

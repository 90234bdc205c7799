"""One row of the route table: a method on a path, its policy rule, its request and its answer.

Routing, policy, the OpenAPI document and the API reference are all made from these rows.
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

    A `repeated` one may be given several times, which means any of the values. `column` is the
    column of stored rows that it filters, if it is a filter.
    """

    name: str
    shape: Shape
    text: str
    repeated: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method on a path. Paths are below `/v1`; `rule` is checked before the handler is called.

    `answer` is the shape of the body of a success, None if it has no body. With `guest`, users of a
    stack's own project may use the path of the stack's owner: the handler checks them. `beside`:
    Heat does not have it.
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
        """Its description: the docstring of the handler."""
        return " ".join((self.handler.__doc__ or "").split())

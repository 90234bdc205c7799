"""The rows of the route table: a method and a path, with the policy rule, request and response.

Routing, policy checks, the OpenAPI document and the API reference are generated from these rows.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Awaitable[Response]]
Shape = Mapping[str, Any]  # a JSON Schema


class Query(Struct, frozen=True):
    """A query parameter of an endpoint; `shape` is its JSON Schema, and `text` its description.

    If `repeated` is true, the parameter may occur several times. `column` is the column of stored
    rows that it filters: rows with any of its values match. It is empty if the parameter is not a
    filter.
    """

    name: str
    shape: Shape
    text: str
    repeated: bool = False
    column: str = ""


class Endpoint(Struct, frozen=True):
    """A method on a path below `/v1`.

    The policy rule `rule` is checked before the handler is called; if it is None, the handler
    checks the policy. `answer` is the JSON Schema of the body of a successful response; None if it
    has no body. `body` is the schema of the request's body, which may be missing if `needs_body` is
    false. `errors` are the statuses of errors that this endpoint has in addition to those of all
    endpoints. If `guest` is true, stack domain users may use the path with the project of the
    stack's owner, and the handler checks them. If `kept` is true, the handler may say that its
    response may be kept for equal requests. `beyond_heat` is true for an endpoint that Heat does
    not have.
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
    kept: bool = False
    beyond_heat: bool = False

    @property
    def filters(self) -> Iterator[Query]:
        """Yield the query parameters that are filters of stored rows."""
        return (query for query in self.query if query.column)

    @property
    def text(self) -> str:
        """The description of the endpoint: the docstring of its handler."""
        return " ".join((self.handler.__doc__ or "").split())

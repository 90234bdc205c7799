"""The rows of the route table: a method, a path, the versions in which they exist, and the
handler.
"""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.clusters.context import Read
from hearth.api.clusters.versions import MINIMUM, Version

Handler = Callable[[Request], Awaitable[Response]]
LAST: Version = (1, 9999)


class Endpoint(Struct, frozen=True):
    """A method on a path below `/v1`.

    `since` and `until` are the first and the last microversion in which it exists. `rule` is the
    policy rule that the handler checks. `status` is the status of a successful response. `query`
    are the allowed arguments of the query, each with the function that reads it. `beyond_magnum` is
    true for an endpoint that Magnum does not have.
    """

    method: str
    path: str
    rule: str
    handler: Handler
    status: int = 200
    since: Version = MINIMUM
    until: Version = LAST
    query: Mapping[str, Read] = field(default_factory=dict)
    beyond_magnum: bool = False

    @property
    def text(self) -> str:
        """The description of the endpoint: the docstring of its handler."""
        return " ".join((self.handler.__doc__ or "").split())

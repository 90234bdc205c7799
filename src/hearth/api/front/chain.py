"""The parts of the front in their order, around an API."""

from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp

from hearth.api.front.access_log import AccessLog
from hearth.api.front.answered import Answered
from hearth.api.front.body_limit import BodyLimit
from hearth.api.front.cors import CrossOrigin
from hearth.api.front.departure import Departure
from hearth.api.front.health import Healthcheck
from hearth.api.front.proxies import ProxyHeaders
from hearth.api.front.request_id import RequestId
from hearth.api.front.settings import Front


def fronted(app: ASGIApp, front: Front, database: Callable[[], Awaitable[object]]) -> ASGIApp:
    """An API with all that its requests pass. `database` raises where the database is away.

    Monitors are answered before anything is logged, and judged by who is connected; the log tells
    what the client sent to the proxy; a page may read refusals, too.
    """
    limited = BodyLimit(Departure(app), front)
    logged = AccessLog(CrossOrigin(limited, front))
    return Answered(RequestId(Healthcheck(ProxyHeaders(logged, front), front, database)))

"""The order of the middleware around an API."""

from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp

from hearth.api.front.access_log import AccessLog
from hearth.api.front.body_limit import BodyLimit
from hearth.api.front.cors import CrossOrigin
from hearth.api.front.departure import Departure
from hearth.api.front.front import Front
from hearth.api.front.health import Healthcheck
from hearth.api.front.in_turn import InTurn, Steps
from hearth.api.front.overload import Overload
from hearth.api.front.proxies import ProxyHeaders
from hearth.api.front.request_id import RequestId


def fronted(
    app: ASGIApp, front: Front, steps: Steps, database: Callable[[], Awaitable[object]]
) -> ASGIApp:
    """Return `app` inside the middleware that every request passes. `front` has the settings, and
    `steps` lets requests run in turns.

    The health check awaits `database()`, which raises an exception if the database is unavailable.
    Health checks are not logged, and they work during an overload. They see the address of the
    peer, even if a proxy names another one. The log shows the request as the client sent it to the
    proxy. CORS headers are added to error responses, too.
    """
    limited = BodyLimit(Departure(InTurn(app, steps)), front)
    logged = AccessLog(CrossOrigin(Overload(limited, front), front), front.observer)
    checked = Healthcheck(ProxyHeaders(logged, front), front, database)
    return RequestId(checked, front.observer)

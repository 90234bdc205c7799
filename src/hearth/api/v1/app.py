"""Version 1 of the Orchestration API: its routes, and its responses to errors."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from hearth.api import fault
from hearth.api.application import Application
from hearth.api.endpoint import Endpoint
from hearth.api.response_cache import ResponseCache
from hearth.api.routing import by_path, dispatch
from hearth.api.v1 import stacks
from hearth.api.v1.context import admit, caller_of
from hearth.api.v1.routes import ROUTES
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.service.services import Services

ANY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ARN = "/v1/{tenant_id}/stacks/arn:{arn:path}"


class _ArnRoute(Route):
    """The route of lookups by ARN. Requests without one, nearly all, do not reach its pattern."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as a `Route` does."""
        if scope["type"] != "http" or "/stacks/arn:" not in scope["path"]:
            return Match.NONE, {}
        return super().matches(scope)


def routes() -> list[BaseRoute]:
    """Return the routes below /v1. Each request needs its caller in `request.state.caller`."""
    arn = Endpoint("stack_lookup", "GET", ARN, "stacks:lookup", stacks.lookup_arn, status=302)
    by_method = {method: [replace(arn, method=method)] for method in ANY_METHOD}
    handle = dispatch(by_method, _answer, "orchestration", ARN)
    lookups = _ArnRoute(ARN, handle, methods=[*ANY_METHOD, "OPTIONS"])
    return [lookups, by_path(ROUTES, "/v1", _answer)]


def application(
    services: Services,
    routes: Sequence[BaseRoute],
    middleware: Sequence[Middleware] = (),
    responses: ResponseCache | None = None,
) -> Application:
    """Return an ASGI application with these routes, and with the responses of the API to errors.

    `responses` keeps responses; if it is None, the application has its own cache.
    """
    error_handlers = {
        Rejected: fault.rejected,
        CloudFault: fault.cloud_fault,
        HTTPException: fault.http,
        Exception: fault.unexpected,
    }
    app = Application(routes, error_handlers, middleware)
    app.state.services = services
    app.state.responses = responses or ResponseCache(services)
    return app


async def _answer(request: Request, endpoints: Sequence[Endpoint]) -> Response:
    [endpoint] = endpoints
    request.scope["hearth.endpoint"] = endpoint
    admit(request, endpoint)
    if not endpoint.kept:
        return await endpoint.handler(request)
    responses: ResponseCache = request.app.state.responses
    return await responses.answer(request, caller_of(request), partial(endpoint.handler, request))

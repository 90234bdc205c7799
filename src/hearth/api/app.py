"""The application of the Orchestration API: the routes and the middleware around them."""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.answer import JSONResponse
from hearth.api.application import Application
from hearth.api.auth import Authenticated, TokenChecker
from hearth.api.cfn import app as cfn
from hearth.api.cfn.auth import Gate
from hearth.api.front.front import Front
from hearth.api.front.rate import RateLimited, Rates
from hearth.api.front.scope import below
from hearth.api.openapi import document
from hearth.api.response_cache import ResponseCache
from hearth.api.v1 import app as v1
from hearth.api.v1.view import base
from hearth.service.services import Services

ACCEPTED = "application/vnd.openstack.orchestration-v1"
VERSIONED = re.compile(r"/(v\d+(\.\d+)?(/.*)?|versions|healthcheck|openapi\.json|cfn/.*)?$")
LONG_NAME = re.compile(r"/v1\.0(?=/|$)")


async def version_document(request: Request) -> Response:
    """GET / and /versions: the version document, with status 300, which clients expect."""
    return JSONResponse(_versions(request), status_code=300)


async def version_one(request: Request) -> Response:
    """GET /v1: the version document, with status 200."""
    return JSONResponse(_versions(request))


async def version_other(request: Request) -> Response:
    """GET of any other version, such as /v2: the version document, with status 300."""
    if request.path_params["number"] == 1:
        raise HTTPException(404)
    return JSONResponse(_versions(request), status_code=300)


def _versions(request: Request) -> dict[str, object]:
    href = f"{base(request)}/"
    links = [{"rel": "self", "href": href}]
    return {"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}


async def openapi_document(request: Request) -> Response:
    """GET /openapi.json: the OpenAPI document."""
    return JSONResponse(document(base(request)))


class Mounted:
    """Middleware that passes requests below the path `prefix` to another application."""

    def __init__(self, app: ASGIApp, prefix: str, inner: ASGIApp) -> None:
        self._app = app
        self._prefix = prefix
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and below(scope).startswith(f"{self._prefix}/"):
            scope["root_path"] = scope.get("root_path", "") + self._prefix
            await self._inner(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class VersionOne:
    """Middleware that changes other names of version 1 in the path to `/v1`.

    `/v1.0`, the id in the version document, means `/v1`. A client may also name the version only in
    its Accept header.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = below(scope)
            if long := LONG_NAME.match(path):
                scope = _moved(scope, len(long[0]))
            elif not VERSIONED.match(path) and _accepts_one(scope):
                scope = _moved(scope, 0)
        await self._app(scope, receive, send)


def _accepts_one(scope: Scope) -> bool:
    return Headers(scope=scope).get("accept", "").startswith(ACCEPTED)


def _moved(scope: Scope, cut: int) -> Scope:
    """Return the request with `/v1` in place of the first `cut` characters of its path.

    A prefix that a proxy or a mount added to the path stays.
    """
    root: str = scope.get("root_path", "")
    raw = (scope.get("raw_path") or scope["path"].encode()).removeprefix(root.encode())
    path, raw = f"{root}/v1{below(scope)[cut:]}", root.encode() + b"/v1" + raw[cut:]
    return {**scope, "path": path, "raw_path": raw}


def application(
    services: Services,
    tokens: TokenChecker,
    gate: Gate,
    auth_url: str,
    rates: Rates | None = None,
    responses: ResponseCache | None = None,
) -> Application:
    """Return the ASGI application of the Orchestration API.

    `tokens` and `gate` find the callers of requests with a token and of signed requests. `auth_url`
    is the address of Keystone in responses with status 401. If `rates` is None, the default rate
    limits apply. `responses` keeps responses. The CloudFormation-style API is mounted below /cfn.
    """
    rates, responses = rates or Rates(Front()), responses or ResponseCache(services)
    all_routes = [
        *v1.routes(),  # first, because nearly all requests are for them
        Route("/", version_document),
        Route("/versions", version_document),
        Route("/v1", version_one),
        Route("/v1/", version_one),
        Route("/openapi.json", openapi_document),
        Route("/v{number:float}", version_other),
        Route("/v{number:float}/{rest:path}", version_other),
    ]
    signed = cfn.application(services, gate, rates, responses)
    middleware = [
        Middleware(Mounted, prefix="/cfn", inner=signed),  # it finds its callers itself
        Middleware(VersionOne),
        Middleware(Authenticated, tokens=tokens, auth_url=auth_url),
        Middleware(RateLimited, rates=rates),
    ]
    return v1.application(services, all_routes, middleware, responses)

"""CORS: browsers may call the API from web pages of the configured origins.

Starlette's middleware behaves differently from Heat's in most cases; docs/decisions/0018 lists the
differences.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.front import Front
from hearth.config.front import Cors

SIMPLE = frozenset(
    (
        "accept",
        "accept-language",
        "content-language",
        "content-type",
        "cache-control",
        "expires",
        "last-modified",
        "pragma",
    )
)
ANY = "*"


class CrossOrigin:
    """Middleware that responds to preflight requests, and adds CORS headers to all other responses.

    `front` has the settings. Browsers send preflight requests without a token. So as in Heat, an
    OPTIONS request without a token gets an empty response, even without configured origins.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        cors = self._front.settings.cors
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        app = self._app
        if scope["method"] == "OPTIONS" and "x-auth-token" not in Headers(scope=scope):
            app = Response()
        if not cors.allowed_origin:
            await app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        is_allowed = bool(origin) and not {origin, ANY}.isdisjoint(cors.allowed_origin)
        method = headers.get("access-control-request-method", "")
        if is_allowed and method and scope["method"] == "OPTIONS":
            requested_headers = headers.get("access-control-request-headers", "")
            await _preflight(cors, origin, method, requested_headers)(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.add_vary_header("Origin")
                if is_allowed:
                    _mark(cors, origin, answer)
                    if cors.expose_headers:
                        answer["Access-Control-Expose-Headers"] = ", ".join(cors.expose_headers)
            await send(message)

        await app(scope, receive, marked)


def _preflight(cors: Cors, origin: str, method: str, requested_headers: str) -> Response:
    """Return the response to a preflight request; it has no CORS headers if the request is
    refused.
    """
    answer = Response(status_code=200)
    answer.headers["Vary"] = "Origin"
    names = {name.strip().lower() for name in requested_headers.split(",") if name.strip()}
    allowed_names = SIMPLE | {header.lower() for header in cors.allow_headers}
    if method.upper() in cors.allow_methods and names <= allowed_names:
        _mark(cors, origin, answer.headers)
        answer.headers["Access-Control-Allow-Methods"] = ", ".join(cors.allow_methods)
        answer.headers["Access-Control-Max-Age"] = str(cors.max_age_s)
        if names:
            answer.headers["Access-Control-Allow-Headers"] = ", ".join(sorted(names))
    return answer


def _mark(cors: Cors, origin: str, headers: MutableHeaders) -> None:
    is_listed = origin in cors.allowed_origin
    headers["Access-Control-Allow-Origin"] = origin if is_listed else ANY
    if cors.allow_credentials and is_listed:  # browsers do not allow them with the origin *
        headers["Access-Control-Allow-Credentials"] = "true"

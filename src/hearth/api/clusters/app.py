"""The application of the cluster API: the routes and the middleware around them."""

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hearth.api.answer import JSONResponse
from hearth.api.application import Application
from hearth.api.auth import Authenticated, Tokens
from hearth.api.clusters import fault, nodes
from hearth.api.clusters.context import admit, base, services_of, version_of
from hearth.api.clusters.endpoint import Endpoint
from hearth.api.clusters.paths import VERSION, Paths
from hearth.api.clusters.routes import ROUTES
from hearth.api.clusters.versions import FIRST, Microversions, version_text
from hearth.api.front.front import Front
from hearth.api.front.rate import RateLimited, Rates
from hearth.api.routing import by_path
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.service.services import Services

COLLECTIONS = (
    "clustertemplates",
    "clusters",
    "quotas",
    "certificates",
    "mservices",
    "stats",
    "federations",
    "nodegroups",
    "credentials",
)
NO_DETAIL = "/mservices/detail"  # clients use it although Magnum does not have it


async def versions(request: Request) -> Response:
    """GET /: the version of the API, with the lowest and the highest supported microversion."""
    version = {
        "id": "v1",
        "links": [{"href": f"{base(request)}/v1/", "rel": "self"}],
        "status": "CURRENT",
        "max_version": services_of(request).clusters.version_max,
        "min_version": FIRST,
    }
    return JSONResponse(
        {
            "name": "OpenStack Magnum API",
            "description": "Clusters of servers that run containers",
            "versions": [version],
        }
    )


async def version_one(request: Request) -> Response:
    """GET /v1: links to the collections of the API."""
    body = {
        "id": "v1",
        "media_types": [
            {
                "base": "application/json",
                "type": "application/vnd.openstack.magnum.v1+json",
            }
        ],
        "links": [{"href": f"{base(request)}/v1/", "rel": "self"}],
    }
    for name in COLLECTIONS:
        path = f"clusters/{{cluster_id}}/{name}" if name == "nodegroups" else name
        body[name] = [
            {"href": f"{base(request)}/v1/{path}/", "rel": "self"},
            {"href": f"{base(request)}/{path}/", "rel": "bookmark"},
        ]
    return JSONResponse(body)


def _is_open(path: str) -> bool:
    return path in ("/", VERSION) or path.startswith(f"{VERSION}{nodes.PATH}/")


def application(
    services: Services, tokens: Tokens, auth_url: str, rates: Rates | None = None
) -> Application:
    """Return the ASGI application of the cluster API, which may be mounted below any path.

    `tokens` finds the callers of requests, and `auth_url` is the address of Keystone in responses
    with status 401. If `rates` is None, the default rate limits apply.
    """
    app = Application(
        [
            Route("/", versions),
            Route(VERSION, version_one),
            Route(f"{VERSION}{nodes.PATH}/{{cluster}}", nodes.credential),
            Route(f"{VERSION}{nodes.PATH}/{{cluster}}/{{signature}}", nodes.credential),
            Route(VERSION + NO_DETAIL, _nothing, methods=["POST"]),
            by_path(ROUTES, VERSION, _answer, "cluster"),
        ],
        middleware=[
            Middleware(Paths),
            Middleware(
                Authenticated,
                tokens=tokens,
                auth_url=auth_url,
                is_open=_is_open,
                service="container-infra",
            ),
            Middleware(
                RateLimited,
                rates=rates or Rates(Front()),
                refusal=lambda message: fault.answer(429, message),
            ),
            Middleware(Microversions, config=services.clusters),
        ],
        error_handlers={
            Rejected: fault.rejected,
            CloudFault: fault.cloud_fault,
            HTTPException: fault.http,
            Exception: fault.unexpected,
        },
    )
    app.state.services = services
    return app


async def _nothing(request: Request) -> Response:
    raise HTTPException(405)


async def _answer(request: Request, endpoints: Sequence[Endpoint]) -> Response:
    """Call the handler of the endpoint that exists in the request's microversion.

    Respond with 406 if no endpoint exists in it.
    """
    version = version_of(request)
    for endpoint in endpoints:
        if endpoint.since <= version <= endpoint.until:
            admit(request, endpoint.query)
            return await endpoint.handler(request)
    message = f"Not available in version {version_text(version)}. Ask for a higher version."
    raise HTTPException(406, message)

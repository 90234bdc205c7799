"""The application: the route table is the index of the API."""

import uuid
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api import fault
from hearth.api.auth import Authenticated, Tokens
from hearth.api.cfn import signal as cfn_signal
from hearth.api.v1 import events, resources, revisions, snapshots, stacks, templates
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.service.house import House

Handler = Callable[[Request], Awaitable[Response]]

TENANT = "/v1/{tenant_id}"
STACK = TENANT + "/stacks/{stack_name}/{stack_id}"
ARN = "arn:openstack:heat::"
ANY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]
RESOURCE = STACK + "/resources/{resource}"
SNAPSHOT = STACK + "/snapshots/{snapshot_id}"

ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", TENANT + "/stacks", stacks.index),
    ("POST", TENANT + "/stacks", stacks.create),
    ("GET", TENANT + "/stacks/detail", stacks.index),
    ("POST", TENANT + "/stacks/preview", stacks.preview),
    ("POST", TENANT + "/stacks/plan", stacks.create_plan),
    ("POST", TENANT + "/validate", templates.validate),
    ("GET", TENANT + "/resource_types", templates.type_list),
    ("GET", TENANT + "/resource_types/{type_name}", templates.type_show),
    ("GET", TENANT + "/resource_types/{type_name}/template", templates.type_template),
    ("GET", TENANT + "/template_versions", templates.versions),
    ("GET", TENANT + "/template_versions/{version}/functions", templates.functions),
    ("GET", TENANT + "/build_info", templates.build_info),
    *((method, TENANT + "/stacks/{identity}", stacks.lookup) for method in ANY_METHOD),
]

BY_NAME = {
    "GET": ("resources", "events", "template", "actions", "environment", "files"),
    "POST": ("resources", "events", "template", "actions"),
}

ON_STACK: list[tuple[str, str, Handler]] = [
    ("GET", STACK, stacks.show),
    ("PUT", STACK, stacks.update),
    ("PATCH", STACK, stacks.patch),
    ("DELETE", STACK, stacks.delete),
    ("PUT", STACK + "/preview", stacks.update_preview),
    ("PATCH", STACK + "/preview", stacks.update_preview),
    ("PUT", STACK + "/plan", stacks.update_plan),
    ("PATCH", STACK + "/plan", stacks.update_plan),
    ("POST", STACK + "/actions", stacks.action),
    ("GET", STACK + "/template", stacks.template),
    ("GET", STACK + "/environment", stacks.environment),
    ("GET", STACK + "/files", stacks.files),
    ("GET", STACK + "/revisions", revisions.index),
    ("GET", STACK + "/revisions/{number}", revisions.show),
    ("GET", STACK + "/revisions/{number}/diff/{other}", revisions.diff),
    ("DELETE", STACK + "/abandon", stacks.abandon),
    ("GET", STACK + "/export", stacks.export),
    ("GET", STACK + "/snapshots", snapshots.index),
    ("POST", STACK + "/snapshots", snapshots.create),
    ("GET", SNAPSHOT, snapshots.show),
    ("DELETE", SNAPSHOT, snapshots.delete),
    ("POST", SNAPSHOT + "/restore", snapshots.restore),
    ("GET", STACK + "/outputs", stacks.output_list),
    ("GET", STACK + "/outputs/{key}", stacks.output_show),
    ("GET", STACK + "/resources", resources.index),
    ("GET", RESOURCE, resources.show),
    ("PATCH", RESOURCE, resources.mark),
    ("GET", RESOURCE + "/metadata", resources.metadata),
    ("POST", RESOURCE + "/signal", resources.send_signal),
    ("GET", RESOURCE + "/events", events.of_resource),
    ("GET", RESOURCE + "/events/{event_id}", events.show),
    ("GET", STACK + "/events", events.of_stack),
]


async def version_document(request: Request) -> Response:
    """GET / and /versions: 300, as clients expect it."""
    return JSONResponse(_versions(request), status_code=300)


async def version_one(request: Request) -> Response:
    """GET /v1: the same without the question."""
    return JSONResponse(_versions(request))


async def version_other(request: Request) -> Response:
    """GET /v2 and the like: what there is instead."""
    if request.path_params["number"] == 1:
        raise HTTPException(404)
    return JSONResponse(_versions(request), status_code=300)


def _versions(request: Request) -> dict[str, object]:
    href = f"{request.url.scheme}://{request.url.netloc}/v1/"
    links = [{"rel": "self", "href": href}]
    return {"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}


async def healthcheck(request: Request) -> Response:
    return PlainTextResponse("OK")


class RequestId:
    """Every answer names its request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        mark = (b"x-openstack-request-id", f"req-{uuid.uuid4()}".encode())

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), mark]
            await send(message)

        await self._app(scope, receive, marked)


def application(house: House, tokens: Tokens, service: Cloud, auth_url: str) -> Starlette:
    """The ASGI application of the Orchestration API."""
    routes = [
        Route("/", version_document),
        Route("/versions", version_document),
        Route("/v1", version_one),
        Route("/v1/", version_one),
        Route("/healthcheck", healthcheck),
        Route(f"{TENANT}/stacks/{ARN}{{arn:path}}", _with("arn"), methods=ANY_METHOD),
        Route("/cfn/v1/waitcondition/{arn:path}", cfn_signal.waitcondition, methods=["PUT"]),
        Route("/cfn/v1/signal/{arn:path}", cfn_signal.plain, methods=["POST"]),
        *_by_path(ROUTES),
        *_by_path(_words()),
        *_by_path(ON_STACK),
        Route("/v{number:int}", version_other),
        Route("/v{number:int}/{rest:path}", version_other),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(RequestId),
            Middleware(Authenticated, tokens=tokens, auth_url=auth_url),
        ],
        exception_handlers={
            Rejected: fault.rejected,
            CloudFault: fault.cloud_fault,
            HTTPException: fault.http,
            Exception: fault.unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.house = house
    app.state.service_cloud = service
    app.state.auth_url = auth_url
    return app


def _by_path(table: list[tuple[str, str, Handler]]) -> list[Route]:
    """One route per path, so that another method on it is a 405."""
    paths: dict[str, dict[str, Handler]] = {}
    for method, path, handler in table:
        paths.setdefault(path, {})[method] = handler
    return [
        Route(path, _dispatch(by_method), methods=[*by_method, "OPTIONS"])
        for path, by_method in paths.items()
    ]


def _dispatch(by_method: dict[str, Handler]) -> Handler:
    allow = {"Allow": ", ".join(by_method)}

    async def handle(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        if request.method not in by_method:  # the framework lets HEAD in wherever GET is
            raise HTTPException(405, headers=allow)
        return await by_method[request.method](request)

    return handle


def _words() -> list[tuple[str, str, Handler]]:
    """Parts of a stack that are known by the stack's name alone."""
    return [
        (method, f"{TENANT}/stacks/{{identity}}/{word}", _with("rest", word))
        for method, words in BY_NAME.items()
        for word in words
    ]


def _with(name: str, value: str | None = None) -> Handler:
    """The lookup, for a path that says one thing more."""

    async def handle(request: Request) -> Response:
        if value is not None:
            request.path_params[name] = value
        return await stacks.lookup(request)

    return handle

"""The application of the CloudFormation-style API: on its own port, and below /cfn of the main
API.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hearth.api.answer import InPieces, JSONResponse
from hearth.api.application import Application
from hearth.api.auth import unauthorized
from hearth.api.cfn import actions, faults, signal
from hearth.api.cfn.accepted_keys import ACTION
from hearth.api.cfn.auth import Gate, NotAuthenticated
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import read
from hearth.api.front.rate import Rates
from hearth.api.front.scope import state
from hearth.api.response_cache import ResponseCache, Rows, Validator
from hearth.api.routing import PathTable
from hearth.api.v1.context import services_of
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.service.services import Services

Handler = Callable[[Request], Awaitable[Response]]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SELECTORS = ("StackName", "LogicalResourceId", "ContentType")
"""The parameters on which the response to DescribeStackResource depends."""


async def query(request: Request) -> Response:
    """GET or POST /v1/: run the action in the parameter Action."""
    if request.method not in ("GET", "POST"):
        return await unknown(request)
    parts = await read(request, form=True)
    request.state.as_json = parts.as_json
    gate: Gate = request.app.state.gate
    request_state = state(request.scope)
    caller = replace(
        await gate.caller(request, parts),
        request_id=request_state.get("request_id", ""),
        traceparent=request_state.get("traceparent", ""),
    )
    request_state["caller"] = caller
    rates: Rates = request.app.state.rates
    if (wait_s := rates.wait_s(caller)) > 0:
        raise CfnError("Throttling", f"send the next request in {wait_s:.1f} s")
    action = actions.ACTIONS.get(parts.params.get("Action", ""))
    if action is None:
        action_name = parts.params.get("Action")
        raise CfnError(
            "InvalidAction",
            f"there is no action {action_name}" if action_name else "Action is missing",
        )
    request.state.route = "cloudformation", action.name
    services = services_of(request)
    if not services.policy.allows(action.rule, caller):
        raise CfnError("AccessDenied", action.rule)
    action_request = actions.ActionRequest(services, caller, parts.params)
    if action.name != ACTION:
        return await _act(request, action_request, action)
    selectors = action.name, tuple(map(parts.params.get, SELECTORS))
    responses: ResponseCache = request.app.state.responses
    return await responses.answer(
        request, caller, partial(_described, request, action_request, action), selectors
    )


async def _act(
    request: Request, action_request: actions.ActionRequest, action: actions.QueryAction
) -> InPieces:
    result = await action.act(action_request)
    return faults.answer(request, {f"{action.name}Result": result}, f"{action.name}Response")


async def _described(
    request: Request, action_request: actions.ActionRequest, action: actions.QueryAction
) -> InPieces:
    """Describe a resource; the response to software in a server, which polls, may be kept."""
    response = await _act(request, action_request, action)
    if action_request.caller.guest:
        rows = Rows((await action_request.stack()).id, action_request.needed("LogicalResourceId"))
        request.state.validator = Validator(rows)
    return response


async def versions(request: Request) -> Response:
    """GET /: the version document, with status 300 as in the REST API."""
    root = request.scope.get("root_path", "")
    href = f"{request.url.scheme}://{request.url.netloc}{root}/v1/"
    links = [{"rel": "self", "href": href}]
    document = {"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}
    return JSONResponse(document, status_code=300)


async def unknown(request: Request) -> Response:
    """Raise an error for every other path or method below /v1."""
    raise CfnError("InvalidAction", f"{request.method} {request.url.path} does not exist")


async def unheard(request: Request, problem: Exception) -> Response:
    """Exception handler for `NotAuthenticated`: respond with 401, as the main API does."""
    gate: Gate = request.app.state.gate
    return unauthorized(gate.auth_url)


async def elsewhere(request: Request, problem: Exception) -> Response:
    """Exception handler for errors of the web framework, such as an unknown path."""
    assert isinstance(problem, HTTPException)
    return PlainTextResponse(str(problem.detail), problem.status_code, problem.headers)


def _route(path: str, by_method: dict[str, Handler]) -> Route:
    """Return a route that accepts every method.

    So an unsupported method gets an error of this API and not a 405.
    """

    async def handle(request: Request) -> Response:
        return await by_method.get(request.method, unknown)(request)

    return Route(path, handle, methods=METHODS)


def application(
    services: Services, gate: Gate, rates: Rates, responses: ResponseCache
) -> Application:
    """Return the ASGI application of the CloudFormation-style API.

    `gate` finds the callers of requests, `rates` limits how many requests they send, and
    `responses` keeps responses.
    """
    app = Application(
        [
            PathTable(dict.fromkeys(("/v1/", "/v1"), (METHODS, query))),
            Route("/", versions),
            _route("/v1/waitcondition/{arn:path}", {"PUT": signal.waitcondition}),
            _route("/v1/signal/{arn:path}", {"POST": signal.plain}),
            _route("/v1/{rest:path}", {}),
        ],
        {
            CfnError: faults.refused,
            NotAuthenticated: unheard,
            Rejected: faults.rejected,
            CloudFault: faults.cloud_fault,
            HTTPException: elsewhere,
            Exception: faults.unexpected,
        },
    )
    app.state.services = services
    app.state.gate = gate
    app.state.rates = rates
    app.state.responses = responses
    return app

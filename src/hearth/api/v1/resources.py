"""Resources of a stack, and signals to them."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hearth.api.v1 import parse, view
from hearth.api.v1.context import anyone_of, house_of, member_of, stack_of
from hearth.service import health
from hearth.service import resources as use
from hearth.service.signal import signal

KEYS = {"nested_depth", "with_detail", "type", "name", "status", "action", "id",
        "physical_resource_id"}  # fmt: skip
DEPTH_MAX = 5


async def index(request: Request) -> Response:
    """GET .../resources; unknown query keys are refused."""
    unknown = sorted(set(request.query_params) - KEYS)
    if unknown:
        raise parse.bad(f"Invalid filter parameters {unknown}; known are {sorted(KEYS)}")
    row = await stack_of(request, deleted=True)
    depth = min(parse.number(request, "nested_depth") or 0, DEPTH_MAX)
    detail = parse.flag(request, "with_detail")
    found = await use.resources(
        house_of(request), member_of(request), row, depth=depth, detail=detail
    )
    return JSONResponse(
        {"resources": [_view(request, one) for one in found if _wanted(request, one)]}
    )


def _wanted(request: Request, one: use.Shown) -> bool:
    record = one.record
    values = {
        "name": record.name,
        "status": record.status.value,
        "action": record.action.value,
        "physical_resource_id": record.physical_id or "",
        "id": record.id,
    }
    for key, value in values.items():
        asked = request.query_params.getlist(key)
        if asked and value not in asked:
            return False
    types = request.query_params.getlist("type")
    return not types or any(text in record.type for text in types)


def _view(request: Request, one: use.Shown) -> view.Body:
    body = view.resource(
        request,
        one.stack,
        one.record,
        required_by=one.required_by,
        nested=one.nested,
        parent_resource=one.parent_resource,
        attributes=one.attributes,
        description=one.description,
    )
    if one.waiting is not None:
        body["waiting"] = one.waiting.as_json()
    return body


async def show(request: Request) -> Response:
    """GET .../resources/{r}."""
    row = await stack_of(request, guest=True)
    house, caller = house_of(request), anyone_of(request)
    name = request.path_params["resource"]
    if caller.guest:
        await use.guest_may(house, caller, row, await use.find_resource(house, row, name))
    shown = await use.show_resource(
        house, caller, row, name, request.query_params.getlist("with_attr")
    )
    return JSONResponse({"resource": _view(request, shown)})


async def metadata(request: Request) -> Response:
    """GET .../resources/{r}/metadata."""
    row = await stack_of(request, guest=True)
    name = request.path_params["resource"]
    found = await use.metadata(house_of(request), anyone_of(request), row, name)
    return JSONResponse({"metadata": found})


async def mark(request: Request) -> Response:
    """PATCH .../resources/{name or physical id}: well or not, as the caller says."""
    row = await stack_of(request)
    unhealthy, reason = parse.health(await parse.body(request))
    name = request.path_params["resource"]
    await health.mark(house_of(request), row, name, healthy=not unhealthy, reason=reason)
    return JSONResponse(None)


async def send_signal(request: Request) -> Response:
    """POST .../resources/{r}/signal."""
    row = await stack_of(request, guest=True)
    house, caller = house_of(request), anyone_of(request)
    record = await use.find_resource(house, row, request.path_params["resource"])
    await use.guest_may(house, caller, row, record)
    details = await parse.body(request, needed=False)
    await signal(house, caller, row, record, details or None)
    return JSONResponse(None)

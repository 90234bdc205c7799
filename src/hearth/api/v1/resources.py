"""Handlers of the routes for resources of a stack, and for signals to them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.lasting import Lasting
from hearth.api.v1 import parse, queries, view
from hearth.api.v1.context import caller_of, services_of, stack_of, stack_with
from hearth.engine.core.record import Record
from hearth.service.reading import drift as compare
from hearth.service.reading import resources as use
from hearth.service.reading.drift_watch import SKIPPED
from hearth.service.stacks import health
from hearth.service.stacks.signal import signal
from hearth.store import drift_checks
from hearth.store.drift_checks import Result
from hearth.store.rows import StackRow

FILTERS: Mapping[str, Callable[[Record, Sequence[str]], bool]] = {
    "name": lambda record, asked: _among(record.name, asked),
    "type": lambda record, asked: any(part in record.type for part in asked),
    "status": lambda record, asked: record.status.value in asked,
    "action": lambda record, asked: _among(record.action.value, asked),
    "physical_resource_id": lambda record, asked: _among(record.physical_id or "", asked),
    "id": lambda record, asked: _among(record.id, asked),
}
"""For each filter, a function that returns whether a record matches the given values. As in Heat,
the case of letters counts only in types and statuses."""
KEYS = {query.name for query in queries.RESOURCES}
NOT_YET = "no background check of this stack has ended yet"


def _among(value: str, asked: Sequence[str]) -> bool:
    """Return whether a value is one of those asked for, whatever the case of letters."""
    return value.lower() in (one.lower() for one in asked)


async def index(request: Request) -> Response:
    """List the resources of a stack, on request with those of nested stacks.

    Unknown query parameters are refused.
    """
    unknown = sorted(set(request.query_params) - KEYS)
    if unknown:
        raise parse.bad(f"Invalid filter parameters {unknown}; known are {', '.join(sorted(KEYS))}")
    depth = _depth(request)
    row, rows = await stack_with(request, partial(use.rows_of, depth=depth), deleted=True)
    detail = parse.flag(request, queries.WITH_DETAIL)
    found = await use.resources(services_of(request), caller_of(request), row, rows, detail=detail)
    asked = parse.by_state(parse.filters(request))
    shown = [
        _view(request, one)
        for one in found
        if all(FILTERS[key](one.record, values) for key, values in asked.items())
    ]
    answer = JSONResponse({"resources": shown})
    if rows.fingerprint is not None and not detail and answer.rest is None:
        fingerprint = rows.fingerprint
        request.state.lasting = Lasting(bytes(answer.body), fingerprint, with_resources=True)
    return answer


def _depth(request: Request) -> int:
    """Return how many levels of nested stacks a request includes; the limit of the levels bounds
    it.
    """
    limit = services_of(request).limits.nested_depth
    return min(parse.number(request, queries.DEPTH) or 0, limit)


def _view(request: Request, one: use.ResourceView) -> view.Body:
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


async def drift(request: Request) -> Response:
    """Compare the resources of a stack with the real objects in the cloud, on request with those of
    nested stacks. Nothing is changed.
    """
    row = await stack_of(request)
    if parse.flag(request, queries.CACHED):
        return await _last_drift(request, row)
    depth = _depth(request)
    found = await compare.drift(services_of(request), caller_of(request), row, depth=depth)
    counts = Counter(one.state for one in found)
    body = {
        "state": compare.together(counts),
        "counts": {one.value: counts[one] for one in compare.DriftState},
        "resources": [one.as_json() for one in found],
    }
    return JSONResponse({"drift": body})


async def _last_drift(request: Request, row: StackRow) -> Response:
    """Return the last result of the background check."""
    last = await services_of(request).store.read(lambda tx: drift_checks.last(tx, row.id))
    result = Result(SKIPPED, reason=NOT_YET) if last is None else last.result
    known = result.state in set(compare.DriftState)
    body = {
        "state": result.state if known else compare.DriftState.NOT_CHECKABLE,
        "counts": {one.value: result.counts.get(one.value, 0) for one in compare.DriftState},
        "resources": result.resources,
        "checked_at": view.time(None if last is None else last.checked_at),
        "reason": result.reason,
    }
    return JSONResponse({"drift": body})


async def show(request: Request) -> Response:
    """Show a resource with its attributes."""
    row, rows = await stack_with(request, use.rows_of)
    services, caller = services_of(request), caller_of(request)
    name = request.path_params["resource_name"]
    if caller.guest:
        record = await use.find_resource_for(services, caller, row, name)
        rows = use.rows_about(rows, record)
    shown = await use.show_resource(
        services, caller, row, name, set(parse.given(request, queries.WITH_ATTR)), rows
    )
    return JSONResponse({"resource": _view(request, shown)})


async def metadata(request: Request) -> Response:
    """Show the metadata of a resource, which its server reads."""
    row = await stack_of(request)
    name = request.path_params["resource_name"]
    found = await use.metadata(services_of(request), caller_of(request), row, name)
    return JSONResponse({"metadata": found})


async def mark(request: Request) -> Response:
    """Mark a resource as unhealthy or healthy. The path has its name or the id of its object in the
    cloud.
    """
    row = await stack_of(request)
    unhealthy, reason = parse.health(await parse.body(request))
    name = request.path_params["resource_name"]
    await health.mark(services_of(request), row, name, healthy=not unhealthy, reason=reason)
    return JSONResponse(None)


async def send_signal(request: Request) -> Response:
    """Send a signal to a resource, or clear its hook with `unset_hook`. A body that is not a JSON
    object is ignored.
    """
    row = await stack_of(request)
    services, caller = services_of(request), caller_of(request)
    name = request.path_params["resource_name"]
    record = await use.find_resource_for(services, caller, row, name)
    details = await parse.body(request, needed=False)
    await signal(services, caller, row, record, details or None)
    return JSONResponse(None)

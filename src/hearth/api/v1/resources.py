"""Handlers of the routes for resources of a stack, and for signals to them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.response_cache import Rows, Validator
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
    "name": lambda record, choices: _among(record.name, choices),
    "type": lambda record, choices: any(part in record.type for part in choices),
    "status": lambda record, choices: record.status.value in choices,
    "action": lambda record, choices: _among(record.action.value, choices),
    "physical_resource_id": lambda record, choices: _among(record.physical_id or "", choices),
    "id": lambda record, choices: _among(record.id, choices),
}
"""For each filter, a function that returns whether a record matches the given values. As in Heat,
the case of letters counts only in types and statuses."""
KEYS = {query.name for query in queries.RESOURCES}
NOT_YET = "no background check of this stack has ended yet"


def _among(value: str, choices: Sequence[str]) -> bool:
    """Return whether a value is one of those asked for, whatever the case of letters."""
    return value.lower() in (choice.lower() for choice in choices)


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
    resources = await use.resources(
        services_of(request), caller_of(request), row, rows, detail=detail
    )
    filters = parse.by_state(parse.filters(request))
    bodies = [
        _view(request, resource)
        for resource in resources
        if all(FILTERS[key](resource.record, values) for key, values in filters.items())
    ]
    if rows.fingerprint is not None and not detail:
        request.state.validator = Validator(Rows(row.id, with_resources=True), rows.fingerprint)
    return JSONResponse({"resources": bodies})


def _depth(request: Request) -> int:
    """Return how many levels of nested stacks a request includes; the limit of the levels bounds
    it.
    """
    limit = services_of(request).programs.limits.max_nested_stack_depth
    return min(parse.number(request, queries.DEPTH) or 0, limit)


def _view(request: Request, resource: use.ResourceView) -> view.Body:
    body = view.resource(
        request,
        resource.stack,
        resource.record,
        required_by=resource.required_by,
        nested=resource.nested,
        parent_resource=resource.parent_resource,
        attributes=resource.attributes,
        description=resource.description,
    )
    if resource.waiting is not None:
        body["waiting"] = resource.waiting.as_json()
    return body


async def drift(request: Request) -> Response:
    """Compare the resources of a stack with the real objects in the cloud, on request with those of
    nested stacks. Nothing is changed.
    """
    row = await stack_of(request)
    if parse.flag(request, queries.CACHED):
        return await _last_drift(request, row)
    depth = _depth(request)
    drifts = await compare.drift(services_of(request), caller_of(request), row, depth=depth)
    counts = Counter(resource_drift.state for resource_drift in drifts)
    body = {
        "state": compare.together(counts),
        "counts": {state.value: counts[state] for state in compare.DriftState},
        "resources": [resource_drift.as_json() for resource_drift in drifts],
    }
    return JSONResponse({"drift": body})


async def _last_drift(request: Request, row: StackRow) -> Response:
    """Return the last result of the background check."""
    last = await services_of(request).store.read(lambda tx: drift_checks.last(tx, row.id))
    result = Result(SKIPPED, reason=NOT_YET) if last is None else last.result
    is_known = result.state in set(compare.DriftState)
    body = {
        "state": result.state if is_known else compare.DriftState.NOT_CHECKABLE,
        "counts": {state.value: result.counts.get(state.value, 0) for state in compare.DriftState},
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
    resource = await use.show_resource(
        services, caller, row, name, set(parse.values_of(request, queries.WITH_ATTR)), rows
    )
    return JSONResponse({"resource": _view(request, resource)})


async def metadata(request: Request) -> Response:
    """Show the metadata of a resource, which its server reads."""
    row = await stack_of(request)
    name = request.path_params["resource_name"]
    metadata = await use.metadata(services_of(request), caller_of(request), row, name)
    if caller_of(request).guest:  # software that polls
        request.state.validator = Validator(Rows(row.id, name))
    return JSONResponse({"metadata": metadata})


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
    details = await parse.body(request, required=False)
    await signal(services, caller, row, record, details or None)
    return JSONResponse(None)

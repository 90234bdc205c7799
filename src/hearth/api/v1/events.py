"""Handlers of the routes for events of stacks and resources."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.v1 import parse, queries, view
from hearth.api.v1.context import caller_of, services_of, stack_of, stack_with
from hearth.model.problem import rejection
from hearth.service.problems import HTTPNotFound
from hearth.service.reading.redact import sight_of
from hearth.service.reading.resources import find_resource, masks_all
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.reads import EventFilter, NumberedEvent
from hearth.store.rows import StackRow
from hearth.template.parameters import MASK


async def of_stack(request: Request) -> Response:
    """List the events of a stack, on request with those of nested stacks."""
    depth = parse.number(request, queries.DEPTH) or 0

    def look(tx: Tx, row: StackRow) -> tuple[dict[str, StackRow], list[NumberedEvent]]:
        stacks = {row.id: row}
        if depth:
            stacks |= {child.id: child for child in reads.children(tx, row, depth, retained=True)}
        event_filter = parse.event_filter(request, tuple(stacks))
        return stacks, reads.list_events(tx, event_filter)

    row, (stacks, events) = await stack_with(request, look, deleted=True)
    root = row if depth else None
    body = [
        view.event(request, stacks[numbered.event.stack_id], numbered, root) for numbered in events
    ]
    return JSONResponse({"events": body})


async def of_resource(request: Request) -> Response:
    """List the events of a resource. A resource without events is not found."""
    name = request.path_params["resource_name"]

    def look(tx: Tx, row: StackRow) -> tuple[EventFilter, list[NumberedEvent]]:
        event_filter = parse.event_filter(request, (row.id,), resource_name=name)
        return event_filter, reads.list_events(tx, event_filter)

    row, (event_filter, events) = await stack_with(request, look, deleted=True)
    if not events and event_filter.marker is None:
        if row.deleted_at is None:
            await find_resource(services_of(request), row, name)
        raise rejection(HTTPNotFound, f"No events found for resource {name}")
    return JSONResponse(
        {"events": [view.event(request, row, numbered, None) for numbered in events]}
    )


async def show(request: Request) -> Response:
    """Show an event, with the properties of the resource at that time."""
    row = await stack_of(request, deleted=True)
    event_id = request.path_params["event_id"]
    numbered = await services_of(request).store.read(
        lambda tx: reads.get_event(tx, row.id, event_id)
    )
    if numbered is None or numbered.event.resource_name != request.path_params["resource_name"]:
        raise rejection(HTTPNotFound, f"No event {event_id} found")
    body = view.event(request, row, numbered, None, full=True)
    sight = sight_of(services_of(request), caller_of(request))
    if await masks_all(services_of(request), sight, row):
        body["resource_properties"] = dict.fromkeys(body["resource_properties"], MASK)
    return JSONResponse({"event": body})

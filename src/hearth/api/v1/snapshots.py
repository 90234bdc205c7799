"""Handlers of the routes for snapshots of a stack."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.v1 import parse, view
from hearth.api.v1.context import caller_of, services_of, stack_of
from hearth.service.reading.redact import redacted, sight_of
from hearth.service.stacks import snapshots as use
from hearth.store.rows import StackRow
from hearth.store.snapshots import Snapshot


async def create(request: Request) -> Response:
    """Begin a snapshot of a stack. The response is the snapshot itself, without a wrapping key."""
    row = await stack_of(request)
    name = (await parse.body(request)).get("name")
    snapshot = await use.take_snapshot(
        services_of(request),
        caller_of(request),
        row,
        None if name is None else parse.short(str(name), "name"),
    )
    return JSONResponse(await _body(request, row, snapshot))


async def index(request: Request) -> Response:
    """List the snapshots of a stack."""
    row = await stack_of(request)
    snapshots = await use.list_snapshots(services_of(request), row)
    return JSONResponse(
        {"snapshots": [await _body(request, row, snapshot) for snapshot in snapshots]}
    )


async def show(request: Request) -> Response:
    """Show a snapshot."""
    row = await stack_of(request)
    snapshot = await use.show_snapshot(
        services_of(request), row, request.path_params["snapshot_id"]
    )
    return JSONResponse({"snapshot": await _body(request, row, snapshot)})


async def _body(request: Request, row: StackRow, snapshot: Snapshot) -> view.Body:
    """Return the body for a snapshot.

    If the caller may not export the stack, hidden values are masked and private data is left out.
    """
    body = await view.snapshot(services_of(request), row, snapshot)
    if body["data"] is not None and not sight_of(services_of(request), caller_of(request)).secrets:
        body["data"] = redacted(body["data"])
    return body


async def delete(request: Request) -> Response:
    """Delete a snapshot with its images and backups."""
    row = await stack_of(request)
    await use.delete_snapshot(services_of(request), row, request.path_params["snapshot_id"])
    return Response(status_code=204)


async def restore(request: Request) -> Response:
    """Restore a stack to the state of a snapshot."""
    row = await stack_of(request)
    snapshot_id = request.path_params["snapshot_id"]
    await use.restore_snapshot(services_of(request), caller_of(request), row, snapshot_id)
    return JSONResponse(None, status_code=202)

"""Handlers of the routes for revisions of a stack and their differences. Heat has none of them."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.v1 import parse, view
from hearth.api.v1.context import caller_of, services_of, stack_of
from hearth.service.reading import revisions as use
from hearth.service.reading.redact import masks_given, sight_of, without_hidden_defaults
from hearth.service.stacks.template_text import as_object
from hearth.store.rows import StackRow
from hearth.store.texts import RevisionRow


async def index(request: Request) -> Response:
    """List the revisions of a stack, newest first."""
    row = await stack_of(request, deleted=True)
    revisions = await use.list_revisions(services_of(request), row)
    return JSONResponse({"revisions": [_summary(row, revision) for revision in revisions]})


def _summary(row: StackRow, revision: RevisionRow) -> view.Body:
    return {
        "number": revision.number,
        "created_at": view.time(revision.created_at),
        "created_by": revision.created_by,
        "copy_of": revision.copy_of,
        "current": revision.number == row.revision,
    }


async def show(request: Request) -> Response:
    """Show a revision: the template as an object, the environment, the parameters, and the names of
    the files.
    """
    row = await stack_of(request, deleted=True)
    entry = await use.show_revision(services_of(request), row, _number(request, "number"))
    template = await as_object(services_of(request), row, entry.revision.template)
    sight = sight_of(services_of(request), caller_of(request))
    if not sight.secrets:
        template = without_hidden_defaults(template)
    masked = await masks_given(services_of(request), sight, row, entry.revision)
    body = {
        **_summary(row, entry.row),
        "template": template,
        "environment": use.masked_environment(entry.revision, entry.program, masked=masked),
        "files": sorted(entry.revision.files),
        "parameters": use.parameters_of(entry, masked=masked),
    }
    return JSONResponse({"revision": body})


async def diff(request: Request) -> Response:
    """Show the difference between two revisions."""
    row = await stack_of(request, deleted=True)
    services = services_of(request)
    before = await use.show_revision(services, row, _number(request, "number"))
    after = await use.show_revision(services, row, _number(request, "other"))
    sight = sight_of(services, caller_of(request))
    return JSONResponse({"diff": await use.compare(services, row, before, after, sight)})


def _number(request: Request, name: str) -> int:
    return parse.integer(request.path_params[name], "revision")

"""Handlers of the routes for stacks, and for their templates, files, environments and outputs."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hearth.api.answer import JSONResponse
from hearth.api.response_cache import Rows, Validator
from hearth.api.v1 import parse, queries, view
from hearth.api.v1.context import caller_of, demand, services_of, stack_of
from hearth.model.problem import (
    EntityNotFound,
    NotFound,
    Rejected,
    StackValidationFailed,
    rejection,
)
from hearth.model.state import Action
from hearth.service.reading.outputs import ReadAhead, outputs
from hearth.service.reading.redact import (
    EVERYTHING,
    seen_files,
    sight_of,
    without_hidden_defaults,
)
from hearth.service.reading.resources import masks_all
from hearth.service.reading.revisions import masked_environment
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.delete_plan import plan_delete
from hearth.service.stacks.documents import abandon_stack, export_stack
from hearth.service.stacks.find import find_stack, list_stacks
from hearth.service.stacks.operate import operate_stack
from hearth.service.stacks.preview import (
    changes,
    created_items,
    created_outputs,
    demand_plan,
    plan_create,
    plan_update,
)
from hearth.service.stacks.template_text import as_object
from hearth.service.stacks.update import cancel_update, delete_stack, update_stack

ACTIONS = ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback")
ARN = re.compile(r"^arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<rest>[^/]+/[^/]+(/.*)?)$")


async def index(request: Request) -> Response:
    """List the stacks of the project, newest first, without parameters and outputs."""
    everywhere = parse.flag(request, queries.GLOBAL)
    if everywhere:
        demand(request, "stacks:global_index")
    services, tenant = services_of(request), request.path_params["tenant_id"]
    filters = parse.stack_filter(request, None if everywhere else tenant)
    if not parse.flag(request, queries.SHOW_HIDDEN):
        hidden = services.limits.hidden_stack_tags
        filters = replace(filters, not_tags_any=(*filters.not_tags_any, *hidden))
    rows, count = await list_stacks(
        services, filters, count=parse.flag(request, queries.WITH_COUNT)
    )
    of_project = everywhere or services.policy.is_admin(caller_of(request))
    summaries = [view.summary(request, row, project=of_project) for row in rows]
    body: dict[str, object] = {"stacks": summaries}
    if filters.limit and len(rows) == filters.limit:
        body["links"] = [{"rel": "next", "href": _next(request, rows[-1].id)}]
    if count is not None:
        body["count"] = count
    return JSONResponse(body)


async def detail(request: Request) -> Response:
    """List stacks; this is an older path for the same list."""
    return await index(request)


def _next(request: Request, marker: str) -> str:
    pairs = [(k, v) for k, v in request.query_params.multi_items() if k != "marker"]
    query = "&".join(f"{quote(k)}={quote(v)}" for k, v in [*pairs, ("marker", marker)])
    tenant = request.path_params["tenant_id"]
    return f"{view.base(request)}/{tenant}/stacks?{query}"


async def create(request: Request) -> Response:
    """Create a stack: return its id and its address before the work starts.

    With `adopt_stack_data` the stack takes over the resources of that document. With `plan`, the
    hash of a plan, the request is refused if that is no longer the plan.
    """
    caller = caller_of(request)
    data = await parse.body(request)
    name = _new_name(data)
    if "converge" in data:
        raise parse.bad("converge is allowed in updates only")
    services = services_of(request)
    stack_request, adopt = await parse.stack_request_of(request, data), parse.adopt_data(data)
    if (agreed := parse.agreed_plan(data)) is not None:
        demand_plan(await plan_create(services, caller, name, stack_request), agreed)
    row = await create_stack(services, caller, name, stack_request, adopt=adopt)
    headers = {"Location": view.stack_url(request, row)}
    return JSONResponse(view.created(request, row), status_code=201, headers=headers)


def _new_name(data: Mapping[str, Any]) -> str:
    """Return the name of a new stack, with a number converted to text. Raises Rejected."""
    if "stack_name" not in data:
        raise parse.bad("No stack name specified")
    if isinstance(data["stack_name"], bool):
        raise rejection(StackValidationFailed, "stack_name must be a string")
    return str(data["stack_name"] or "")


async def preview(request: Request) -> Response:
    """Show the resources of a stack with their properties, without creating anything."""
    caller = caller_of(request)
    data = await parse.body(request)
    prediction = await plan_create(
        services_of(request), caller, _new_name(data), await parse.stack_request_of(request, data)
    )
    row, items = prediction.desired.row, await created_items(prediction)
    body = view.stack(request, row, prediction.desired.program, created_outputs(prediction))
    for key in ("stack_status", "stack_status_reason"):
        del body[key]
    href = view.stack_url(request, row).removesuffix(row.id) + "None"
    body.update(id="None", links=[{"href": href, "rel": "self"}], resources=items)
    return JSONResponse({"stack": body})


async def lookup(request: Request) -> Response:
    """Redirect any method from the name or id of a stack to its address, with the query."""
    return await _redirected(request, "")


async def lookup_below(request: Request) -> Response:
    """Redirect from a part of a stack, by name or id of the stack, to its address."""
    return await _redirected(request, "/" + request.url.path.rpartition("/")[2])


async def lookup_arn(request: Request) -> Response:
    """Redirect from the ARN of a stack, or of a part of it, to its address.

    Whether the stack exists is not checked.
    """
    arn = f"arn:{request.path_params['arn']}"
    match = ARN.match(arn)
    if match is None:
        raise rejection(EntityNotFound, "Stack", arn)
    url = f"{view.base(request)}/{quote(match['project'])}/stacks/{quote(match['rest'])}"
    return RedirectResponse(_with_query(request, url), status_code=302)


async def _redirected(request: Request, below: str) -> Response:
    """Return a redirect to the stack in the path; `below` is added to the address."""
    path, caller = request.path_params, caller_of(request)
    identity = path["stack_identity"]
    row = await find_stack(
        services_of(request), caller, path["tenant_id"], identity, deleted=True, anywhere=True
    )
    url = view.stack_url(request, row) + below
    return RedirectResponse(_with_query(request, url), status_code=302)


def _with_query(request: Request, url: str) -> str:
    return f"{url}?{request.url.query}" if request.url.query else url


async def show(request: Request) -> Response:
    """Show a stack with its state, parameters and outputs. A deleted stack is found by its id."""
    services = services_of(request)
    resolved = parse.flag(request, queries.RESOLVE_OUTPUTS, default=True)
    ahead = ReadAhead(services, with_outputs=resolved)
    row = await stack_of(request, deleted=True, also=ahead)
    values = None
    try:
        _, program = await services.program(row)
    except Rejected:
        program = None  # a type or file that it uses no longer exists; the stack is still shown
    if resolved and row.deleted_at is None:
        values = []
        if program is not None:
            values = await outputs(services, caller_of(request), row, ahead=ahead)
    sight = sight_of(services, caller_of(request))
    masked = await masks_all(services, sight, row)
    body = view.stack(request, row, program, values, masked=masked)
    from_above = row.parent_id is not None and sight != EVERYTHING  # what it may show depends on it
    if ahead.fingerprint is not None and not from_above:
        rows = Rows(row.id, with_resources=ahead.records is not None)
        request.state.validator = Validator(rows, ahead.fingerprint)
    return JSONResponse({"stack": body})


async def update(request: Request) -> Response:
    """Update a stack. The request replaces the template, parameters and environment; of the options
    only timeout, rollback and converge keep their values if they are missing. With `plan`, the hash
    of a plan, the request is refused if that is no longer the plan.
    """
    return await _update(request, existing=False)


async def patch(request: Request) -> Response:
    """Update the given parts of a stack. Missing parts stay as they are."""
    return await _update(request, existing=True)


async def _update(request: Request, *, existing: bool) -> Response:
    """Begin an update; if `existing` is true, missing parts of the request stay as they are."""
    row = await stack_of(request)
    data = await parse.body(request)
    if existing and not data:
        demand(request, "stacks:update_no_change")
    services, caller = services_of(request), caller_of(request)
    stack_request = await parse.update_request_of(request, data, existing=existing)
    if (agreed := parse.agreed_plan(data)) is not None:
        demand_plan(await plan_update(services, caller, row, stack_request), agreed)
    await update_stack(services, caller, row, stack_request)
    return JSONResponse({}, status_code=202)


async def update_preview(request: Request) -> Response:
    """Show what an update would do to each resource, without a change."""
    row = await stack_of(request)
    stack_request = await parse.update_request_of(
        request, await parse.body(request), existing=request.method == "PATCH"
    )
    prediction = await plan_update(
        services_of(request), caller_of(request), row, stack_request, recorded=True
    )
    nested = parse.flag(request, queries.NESTED)
    groups = await changes(services_of(request), prediction, show_nested=nested)
    return JSONResponse(
        {
            "resource_changes": {
                group: list(map(view.timed, items)) for group, items in groups.items()
            }
        }
    )


async def create_plan(request: Request) -> Response:
    """Plan a create: the action for each resource, and its reasons."""
    caller = caller_of(request)
    data = await parse.body(request)
    prediction = await plan_create(
        services_of(request), caller, _new_name(data), await parse.stack_request_of(request, data)
    )
    return JSONResponse({"plan": prediction.plan.as_json()})


async def update_plan(request: Request) -> Response:
    """Plan an update: the action for each resource, and its reasons by property.

    With `delete` the plan is that of a delete, and the rest of the body is ignored.
    """
    row = await stack_of(request)
    data = await parse.body(request)
    if parse.boolean(data.get("delete", False), "delete"):
        return JSONResponse({"plan": (await plan_delete(services_of(request), row)).as_json()})
    stack_request = await parse.update_request_of(request, data, existing=request.method == "PATCH")
    prediction = await plan_update(services_of(request), caller_of(request), row, stack_request)
    return JSONResponse({"plan": prediction.plan.as_json()})


async def delete(request: Request) -> Response:
    """Delete a stack and its resources. This is possible in every state, and can be repeated."""
    row = await stack_of(request)
    await delete_stack(services_of(request), caller_of(request), row)
    return Response(status_code=204)


async def action(request: Request) -> Response:
    """Suspend, resume, check or cancel. The body contains exactly one action; its value is
    ignored.
    """
    data = await parse.body(request)
    if len(data) != 1:
        raise parse.bad("The body must contain exactly one action")
    (word,) = data
    if word not in ACTIONS:
        choices = ", ".join(ACTIONS)
        raise parse.bad(f"Invalid action {word} specified: expected one of {choices}")
    demand(request, f"actions:{word}")
    row = await stack_of(request)
    match word:
        case "cancel_update":
            await cancel_update(services_of(request), row, rollback=True)
        case "cancel_without_rollback":
            await cancel_update(services_of(request), row, rollback=False)
        case _:
            await operate_stack(services_of(request), caller_of(request), row, Action(word.upper()))
    return JSONResponse(None)


async def export(request: Request) -> Response:
    """Export a stack: the document for an adopt."""
    row = await stack_of(request)
    services = services_of(request)
    return JSONResponse(await view.documented(services, row, await export_stack(services, row)))


async def abandon(request: Request) -> Response:
    """Abandon a stack: return its document and keep its resources in the cloud."""
    row = await stack_of(request)
    document = await abandon_stack(services_of(request), caller_of(request), row)
    return JSONResponse(await view.documented(services_of(request), row, document))


async def template(request: Request) -> Response:
    """Show the template as an object, even if it was sent as text."""
    row = await stack_of(request, deleted=True)
    revision, _ = await services_of(request).program(row)
    plain = await as_object(services_of(request), row, revision.template)
    exports = sight_of(services_of(request), caller_of(request)).secrets
    return JSONResponse(plain if exports else without_hidden_defaults(plain))


async def environment(request: Request) -> Response:
    """Show the environment, with hidden values masked."""
    row = await stack_of(request, deleted=True)
    revision, program = await services_of(request).program(row)
    sight = sight_of(services_of(request), caller_of(request))
    masked = await masks_all(services_of(request), sight, row)
    return JSONResponse(masked_environment(revision, program, masked=masked))


async def files(request: Request) -> Response:
    """Show the files that were sent with the template, by name."""
    row = await stack_of(request, deleted=True)
    revision, _ = await services_of(request).program(row)
    sight = sight_of(services_of(request), caller_of(request))
    return JSONResponse(seen_files(sight, revision.files))


async def output_list(request: Request) -> Response:
    """List the outputs, without their values."""
    row = await stack_of(request)
    _, program = await services_of(request).program(row)
    bodies = [
        {"output_key": name, "description": output.description}
        for name, output in program.outputs.items()
    ]
    return JSONResponse({"outputs": bodies})


async def output_show(request: Request) -> Response:
    """Show an output with its value, or the reason why it has none."""
    row = await stack_of(request)
    key = request.path_params["output_key"]
    values = await outputs(services_of(request), caller_of(request), row, key)
    if not values:
        raise rejection(NotFound, f"Specified output key {key} not found.")
    return JSONResponse({"output": view.output(values[0])})

"""Stacks: list, create, show, change, delete, and what they say of themselves."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from hearth.api.v1 import parse, view
from hearth.api.v1.context import caller_of, house_of, member_of, stack_of
from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.service.create_stack import create_stack
from hearth.service.documents import abandon_stack, export_stack
from hearth.service.find_stack import find_stack, list_stacks
from hearth.service.operate_stack import operate_stack
from hearth.service.outputs import outputs
from hearth.service.preview import changes, created_items, plan_create, plan_update
from hearth.service.problems import NotFound
from hearth.service.revisions import masked_environment
from hearth.service.update_stack import cancel_update, delete_stack, update_stack
from hearth.template import load


async def index(request: Request) -> Response:
    """GET /stacks."""
    member_of(request)
    wanted = parse.stack_filter(request, request.path_params["tenant_id"])
    if parse.flag(request, "global_tenant"):
        from hearth.service.problems import HTTPForbidden

        raise Rejected([HTTPForbidden(None, "global_tenant is not allowed by policy")])
    rows, count = await list_stacks(
        house_of(request), wanted, count=parse.flag(request, "with_count")
    )
    body: dict[str, object] = {"stacks": [view.summary(request, row) for row in rows]}
    if wanted.limit and len(rows) == wanted.limit:
        body["links"] = [{"rel": "next", "href": _next(request, rows[-1].id)}]
    if count is not None:
        body["count"] = count
    return JSONResponse(body)


def _next(request: Request, marker: str) -> str:
    pairs = [(k, v) for k, v in request.query_params.multi_items() if k != "marker"]
    query = "&".join(f"{quote(k)}={quote(v)}" for k, v in [*pairs, ("marker", marker)])
    tenant = request.path_params["tenant_id"]
    return f"{view.base(request)}/{tenant}/stacks?{query}"


async def create(request: Request) -> Response:
    """POST /stacks: 201 with the new stack's id and link."""
    caller = member_of(request)
    data = await parse.body(request)
    name = _new_name(data)
    if "converge" in data:
        raise parse.bad("converge is for updates only")
    wanted, adopt = parse.wanted(data), parse.adopt_data(data)
    row = await create_stack(house_of(request), caller, name, wanted, adopt=adopt)
    headers = {"Location": view.stack_url(request, row)}
    return JSONResponse(view.created(request, row), status_code=201, headers=headers)


def _new_name(data: Mapping[str, Any]) -> str:
    name = data.get("stack_name")
    if not name:
        raise parse.bad("No stack name specified")
    return str(name)


async def preview(request: Request) -> Response:
    """POST /stacks/preview."""
    caller = member_of(request)
    data = await parse.body(request)
    found = await plan_create(house_of(request), caller, _new_name(data), parse.wanted(data))
    row, items = found.aim.row, created_items(found)
    body = view.stack(request, row, found.aim.program, None)
    for key in ("stack_status", "stack_status_reason"):
        del body[key]
    href = view.stack_url(request, row).removesuffix(row.id) + "None"
    body.update(id="None", links=[{"href": href, "rel": "self"}], resources=items)
    return JSONResponse({"stack": body})


async def lookup(request: Request) -> Response:
    """Any method on a stack by name or id alone: 302 to where it really is, query and all."""
    path = request.path_params
    caller = caller_of(request)
    if "arn" in path:
        tenant, _, rest = path["arn"].partition(":stacks/")
        url = f"{view.base(request)}/{tenant}/stacks/{rest}"
    else:
        identity = path["identity"]
        row = await find_stack(house_of(request), caller, path["tenant_id"], identity, deleted=True)
        url = view.stack_url(request, row)
    if "rest" in path:
        url += f"/{path['rest']}"
    if request.url.query:
        url += f"?{request.url.query}"
    return RedirectResponse(url, status_code=302)


async def show(request: Request) -> Response:
    """GET /stacks/{name}/{id}."""
    row = await stack_of(request, deleted=True)
    house = house_of(request)
    values = None
    try:
        _, program = await house.program(row)
    except Rejected:
        program = None  # a type or file it used is gone; the stack is shown all the same
    if parse.flag(request, "resolve_outputs", default=True) and row.deleted_at is None:
        values = await outputs(house, caller_of(request), row) if program is not None else []
    return JSONResponse({"stack": view.stack(request, row, program, values)})


async def update(request: Request) -> Response:
    """PUT /stacks/{name}/{id}: everything is taken as given."""
    return await _update(request, existing=False)


async def patch(request: Request) -> Response:
    """PATCH /stacks/{name}/{id}: laid over what the stack has."""
    return await _update(request, existing=True)


async def _update(request: Request, *, existing: bool) -> Response:
    row = await stack_of(request)
    wanted = parse.wanted_update(await parse.body(request), existing=existing)
    await update_stack(house_of(request), caller_of(request), row, wanted)
    return JSONResponse({}, status_code=202)


async def update_preview(request: Request) -> Response:
    """PUT or PATCH /stacks/{name}/{id}/preview."""
    row = await stack_of(request)
    wanted = parse.wanted_update(await parse.body(request), existing=request.method == "PATCH")
    found = await plan_update(house_of(request), caller_of(request), row, wanted)
    shown = changes(found, show_nested=parse.flag(request, "show_nested"))
    return JSONResponse({"resource_changes": shown})


async def create_plan(request: Request) -> Response:
    """POST /stacks/plan: what a create would do. Beside the contract."""
    caller = member_of(request)
    data = await parse.body(request)
    found = await plan_create(house_of(request), caller, _new_name(data), parse.wanted(data))
    return JSONResponse({"plan": found.plan.as_json()})


async def update_plan(request: Request) -> Response:
    """PUT or PATCH /stacks/{name}/{id}/plan: what an update would do. Beside the contract."""
    row = await stack_of(request)
    wanted = parse.wanted_update(await parse.body(request), existing=request.method == "PATCH")
    found = await plan_update(house_of(request), caller_of(request), row, wanted)
    return JSONResponse({"plan": found.plan.as_json()})


async def delete(request: Request) -> Response:
    """DELETE /stacks/{name}/{id}."""
    row = await stack_of(request)
    await delete_stack(house_of(request), caller_of(request), row)
    return Response(status_code=204)


async def action(request: Request) -> Response:
    """POST /stacks/{name}/{id}/actions, with exactly one action."""
    row = await stack_of(request)
    data = await parse.body(request)
    if len(data) != 1:
        raise parse.bad("Exactly one action is needed")
    (word,) = data
    match word:
        case "cancel_update":
            await cancel_update(house_of(request), row, rollback=True)
        case "cancel_without_rollback":
            await cancel_update(house_of(request), row, rollback=False)
        case "suspend" | "resume" | "check":
            await operate_stack(house_of(request), caller_of(request), row, Action(word.upper()))
        case _:
            raise parse.bad(f"Invalid action {word} specified")
    return JSONResponse(None)


async def export(request: Request) -> Response:
    """GET .../export: the document of the stack."""
    row = await stack_of(request)
    return JSONResponse(view.document(await export_stack(house_of(request), row)))


async def abandon(request: Request) -> Response:
    """DELETE .../abandon: the document of the stack, which goes and leaves everything."""
    row = await stack_of(request)
    told = await abandon_stack(house_of(request), caller_of(request), row)
    return JSONResponse(view.document(told))


async def template(request: Request) -> Response:
    """GET .../template: the template as an object."""
    row = await stack_of(request, deleted=True)
    revision, _ = await house_of(request).program(row)
    return JSONResponse(load(revision.template, "template").plain())


async def environment(request: Request) -> Response:
    """GET .../environment: hidden values are masked."""
    row = await stack_of(request, deleted=True)
    revision, program = await house_of(request).program(row)
    return JSONResponse(masked_environment(revision, program))


async def files(request: Request) -> Response:
    """GET .../files."""
    row = await stack_of(request, deleted=True)
    revision, _ = await house_of(request).program(row)
    return JSONResponse(revision.files)


async def output_list(request: Request) -> Response:
    """GET .../outputs: without values."""
    row = await stack_of(request)
    _, program = await house_of(request).program(row)
    found = [
        {"output_key": name, "description": output.description}
        for name, output in program.outputs.items()
    ]
    return JSONResponse({"outputs": found})


async def output_show(request: Request) -> Response:
    """GET .../outputs/{key}."""
    row = await stack_of(request)
    key = request.path_params["key"]
    found = await outputs(house_of(request), caller_of(request), row, key)
    if not found:
        raise Rejected([NotFound(None, f"Specified output key {key} not found.")])
    return JSONResponse({"output": view.output(found[0])})

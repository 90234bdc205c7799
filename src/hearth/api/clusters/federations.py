"""Handlers of the routes for federations."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, patch, view
from hearth.api.clusters.bodies import FEDERATION
from hearth.api.clusters.context import body, caller_of, document, services_of
from hearth.clusters.objects import Federation
from hearth.clusters.problems import bad_request
from hearth.service.clusters.access import demand
from hearth.service.clusters.federations import (
    change_federation,
    create_federation,
    delete_federation,
)
from hearth.service.clusters.find import find_cluster, find_federation
from hearth.service.clusters.lists import list_federations

RULES = patch.Rules(
    FEDERATION,
    kept={"name", "hostcluster_id", "properties"},
    structured=patch.STRUCTURED | {"properties"},
)
MEMBERS = "member_ids"


async def index(request: Request) -> Response:
    """List the federations of the project."""
    return await _list(request, "federation:get_all", full=False)


async def detail(request: Request) -> Response:
    """List the federations of the project with all their attributes."""
    return await _list(request, "federation:detail", full=True)


async def _list(request: Request, rule: str, *, full: bool) -> Response:
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, rule)
    page = pages.wanted(request, Federation)
    found = await list_federations(services, caller.project_id, page)
    show_one = view.federation if full else view.federation_short
    shown = [show_one(request, one) for one in found]
    return pages.answer(request, "federations", shown, page, found[-1].uuid if found else None)


async def show(request: Request) -> Response:
    """Show a federation."""
    return JSONResponse(view.federation(request, await _found(request, "federation:get")))


async def create(request: Request) -> Response:
    """Create a federation. Hearth only stores it, with status CREATE_FAILED."""
    services, caller = services_of(request), caller_of(request)
    wanted = await body(request, FEDERATION)
    await demand(services, caller, "federation:create")
    made = await create_federation(services, caller, wanted)
    return JSONResponse({"uuid": made.uuid}, status_code=202)


async def update(request: Request) -> Response:
    """Add clusters to a federation, remove clusters, or change its properties. The operations are
    carried out one by one; those before a refused one stay.
    """
    operations = patch.changes(await document(request), RULES)
    found = await _found(request, "federation:update")
    for one in operations:
        if one.attribute == MEMBERS:
            found = await _change_members(request, found, one)
            continue
        before = {name: getattr(found, name, None) for name in RULES.fields}
        changed = patch.differing(before, patch.applied(before, [one], RULES))
        patch.only(changed, ("properties",), "federation")
        if changed:
            found = await change_federation(services_of(request), found, **changed)
    return JSONResponse({"uuid": found.uuid}, status_code=202)


async def _change_members(request: Request, found: Federation, one: patch.Change) -> Federation:
    """Add or remove the cluster in the operation `one`; return the federation. Raises Rejected."""
    services, caller = services_of(request), caller_of(request)
    if one.operation == "replace" or one.below or not isinstance(one.value, str):
        raise bad_request(
            "Each operation adds or removes one member. Use the id of a cluster as value."
        )
    if one.operation == "remove":
        return await change_federation(services, found, leaving=one.value)
    joined = await find_cluster(services, caller, one.value)
    return await change_federation(services, found, joined=joined)


async def delete(request: Request) -> Response:
    """Delete a federation; its clusters stay."""
    await delete_federation(services_of(request), await _found(request, "federation:delete"))
    return Response(status_code=204)


async def _found(request: Request, rule: str) -> Federation:
    services, caller = services_of(request), caller_of(request)
    found = await find_federation(services, caller, request.path_params["ident"])
    await demand(services, caller, rule, found)
    return found

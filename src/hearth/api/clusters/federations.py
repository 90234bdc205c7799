"""Handlers of the routes for federations."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, patch, view
from hearth.api.clusters.bodies import FEDERATION
from hearth.api.clusters.context import body, caller_of, document, services_of
from hearth.clusters.objects import Federation
from hearth.clusters.problems import bad_request
from hearth.clusters.requests import FederationRequest
from hearth.service.clusters.access import demand
from hearth.service.clusters.federations import (
    change_federation,
    create_federation,
    delete_federation,
)
from hearth.service.clusters.find import find_cluster, find_federation
from hearth.service.clusters.lists import list_federations

RULES = patch.PatchRules(
    FEDERATION,
    mandatory={"name", "hostcluster_id", "properties"},
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
    page = pages.requested_page(request, Federation)
    federations = await list_federations(services, caller.project_id, page)
    body_of = view.federation if full else view.federation_short
    bodies = [body_of(request, federation) for federation in federations]
    return pages.answer(
        request, "federations", bodies, page, federations[-1].uuid if federations else None
    )


async def show(request: Request) -> Response:
    """Show a federation."""
    return JSONResponse(view.federation(request, await _find(request, "federation:get")))


async def create(request: Request) -> Response:
    """Create a federation. Hearth only stores it, with status CREATE_FAILED."""
    services, caller = services_of(request), caller_of(request)
    description = await body(request, FEDERATION, FederationRequest)
    await demand(services, caller, "federation:create")
    federation = await create_federation(services, caller, description)
    return JSONResponse({"uuid": federation.uuid}, status_code=202)


async def update(request: Request) -> Response:
    """Add clusters to a federation, remove clusters, or change its properties. The operations are
    carried out one by one; those before a refused one stay.
    """
    operations = patch.changes(await document(request), RULES)
    federation = await _find(request, "federation:update")
    for change in operations:
        if change.attribute == MEMBERS:
            federation = await _change_members(request, federation, change)
            continue
        before = {name: getattr(federation, name, None) for name in RULES.fields}
        attributes = patch.differing(before, patch.applied(before, [change], RULES))
        patch.only(attributes, ("properties",), "federation")
        if attributes:
            federation = await change_federation(services_of(request), federation, **attributes)
    return JSONResponse({"uuid": federation.uuid}, status_code=202)


async def _change_members(
    request: Request, federation: Federation, change: patch.PatchOperation
) -> Federation:
    """Add or remove the cluster in `change`; return the federation. Raises Rejected."""
    services, caller = services_of(request), caller_of(request)
    if change.operation == "replace" or change.below or not isinstance(change.value, str):
        raise bad_request(
            "Each operation adds or removes one member. Use the id of a cluster as value."
        )
    if change.operation == "remove":
        return await change_federation(services, federation, leaving=change.value)
    joined = await find_cluster(services, caller, change.value)
    return await change_federation(services, federation, joined=joined)


async def delete(request: Request) -> Response:
    """Delete a federation; its clusters stay."""
    await delete_federation(services_of(request), await _find(request, "federation:delete"))
    return Response(status_code=204)


async def _find(request: Request, rule: str) -> Federation:
    services, caller = services_of(request), caller_of(request)
    federation = await find_federation(services, caller, request.path_params["ident"])
    await demand(services, caller, rule, federation)
    return federation

"""Handlers of the routes for quotas, statistics and conductors."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, view
from hearth.api.clusters.bodies import QUOTA
from hearth.api.clusters.context import argument, body, caller_of, services_of
from hearth.clusters.objects import Quota
from hearth.clusters.problems import bad_request
from hearth.clusters.requests import QuotaRequest
from hearth.service.clusters import quotas, stats
from hearth.service.clusters.access import demand
from hearth.service.clusters.lists import list_quotas

DEFAULT_LIMIT = 1  # of a quota that is created without one


async def index(request: Request) -> Response:
    """List the quotas of the project; with `all_tenants`, those of all projects."""
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, "quota:get_all")
    page = pages.requested_page(request, Quota)
    project = None if argument(request, "all_tenants", False) else caller.project_id
    page_quotas = await list_quotas(services, project, page)
    bodies = [view.quota(quota) for quota in page_quotas]
    return pages.answer(
        request, "quotas", bodies, page, page_quotas[-1].id if page_quotas else None
    )


async def show(request: Request) -> Response:
    """Show the quota of a project. Without a stored quota, show the default limit."""
    quota = await quotas.show_quota(
        services_of(request), caller_of(request), *_project_and_resource(request)
    )
    return JSONResponse(view.quota(quota))


async def create(request: Request) -> Response:
    """Create the quota of a project; without `hard_limit`, it allows one cluster."""
    values = await body(request, QUOTA, QuotaRequest)
    limit = DEFAULT_LIMIT if values.hard_limit is None else values.hard_limit
    services, caller = services_of(request), caller_of(request)
    quota = await quotas.create_quota(services, caller, values.project_id, limit)
    return JSONResponse(view.quota(quota), status_code=201)


async def update(request: Request) -> Response:
    """Change the quota of a project."""
    values = await body(request, QUOTA, QuotaRequest)
    project_id, resource = _project_and_resource(request)
    if values.project_id not in (None, project_id):
        raise bad_request(
            "project_id differs from the project in the URL. Use the same project id in both."
        )
    if values.hard_limit is None:
        raise bad_request("Attribute hard_limit is mandatory. Add a value.")
    services, caller = services_of(request), caller_of(request)
    after = await quotas.change_quota(services, caller, project_id, resource, values.hard_limit)
    return JSONResponse(view.quota(after), status_code=202)


async def delete(request: Request) -> Response:
    """Delete the quota of a project. Afterwards the default limit applies to the project."""
    await quotas.delete_quota(
        services_of(request), caller_of(request), *_project_and_resource(request)
    )
    return Response(status_code=204)


async def usage(request: Request) -> Response:
    """Return the numbers of clusters and nodes of a project. Without `project_id`, an administrator
    gets those of the whole cloud, and other users get those of their project.
    """
    project_id = argument(request, "project_id")
    clusters, nodes = await stats.stats(services_of(request), caller_of(request), project_id)
    return JSONResponse({"clusters": clusters, "nodes": nodes})


async def conductors(request: Request) -> Response:
    """List the conductors, each with its last heartbeat."""
    rows = await stats.conductors(services_of(request), caller_of(request))
    return JSONResponse({"mservices": [view.conductor(row) for row in rows]})


def _project_and_resource(request: Request) -> tuple[str, str]:
    """Return the project id and the resource in the path."""
    return request.path_params["project_id"], request.path_params["resource"]

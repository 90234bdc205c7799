"""Handlers of the routes for software configurations."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.v1 import parse, queries, software, view
from hearth.api.v1.context import caller_of, demand, scope_of, services_of
from hearth.service.reading.redact import seen_config, sight_of
from hearth.service.software import configs as use


async def index(request: Request) -> Response:
    """List software configurations, newest first. With `global_tenant`, those of all projects."""
    everywhere = parse.flag(request, queries.GLOBAL)
    if everywhere:
        demand(request, "software_configs:global_index")
    configs = await use.list_configs(
        services_of(request),
        None if everywhere else request.path_params["tenant_id"],
        limit=parse.number(request, queries.LIMIT),
        marker=parse.last(request, queries.MARKER),
    )
    of_project = everywhere or services_of(request).policy.is_admin(caller_of(request))
    bodies = [view.software_config_summary(config, project=of_project) for config in configs]
    return JSONResponse({"software_configs": bodies})


async def create(request: Request) -> Response:
    """Create a software configuration. It cannot be changed later."""
    config_request = software.config(await parse.body(request))
    config = await use.create_config(
        services_of(request), request.path_params["tenant_id"], config_request
    )
    return JSONResponse({"software_config": config.document()})


async def show(request: Request) -> Response:
    """Show a software configuration."""
    path = request.path_params
    config = await use.show_config(services_of(request), scope_of(request), path["config_id"])
    body = seen_config(sight_of(services_of(request), caller_of(request)), config.document())
    return JSONResponse({"software_config": body})


async def delete(request: Request) -> Response:
    """Delete a software configuration, unless a deployment uses it."""
    path = request.path_params
    await use.delete_config(services_of(request), scope_of(request), path["config_id"])
    return Response(status_code=204)

"""Handlers of the routes for software deployments, and for the configurations that servers read."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse, listing
from hearth.api.v1 import parse, queries, software
from hearth.api.v1.context import caller_of, scope_of, services_of
from hearth.service.reading.redact import seen_config, seen_deployment, sight_of
from hearth.service.software import deployments as use
from hearth.store.software_deployments import Deployment


async def index(request: Request) -> Response:
    """List software deployments, oldest first."""
    batches = use.list_deployments(
        services_of(request),
        request.path_params["tenant_id"],
        parse.last(request, queries.SERVER_ID),
    )
    sight = sight_of(services_of(request), caller_of(request))

    async def visible_batches() -> AsyncIterator[list[Any]]:
        async for batch in batches:
            yield [seen_deployment(sight, deployment.document()) for deployment in batch]

    return await listing("software_deployments", visible_batches())


async def create(request: Request) -> Response:
    """Create a software deployment. The server finds it in its metadata."""
    deployment_request = software.deployment(await parse.body(request))
    tenant = request.path_params["tenant_id"]
    deployment = await use.create_deployment(services_of(request), tenant, deployment_request)
    return _response(request, deployment)


async def show(request: Request) -> Response:
    """Show a software deployment, including results that its server has left in the cloud."""
    caller, path = caller_of(request), request.path_params
    deployment = await use.show_deployment(
        services_of(request), caller, scope_of(request), path["deployment_id"]
    )
    return _response(request, deployment)


async def update(request: Request) -> Response:
    """Update the given fields of a software deployment. A field that is missing or null stays
    unchanged.
    """
    path = request.path_params
    changes = software.deployment_changes(await parse.body(request))
    deployment = await use.update_deployment(
        services_of(request), scope_of(request), path["deployment_id"], changes
    )
    return _response(request, deployment)


async def delete(request: Request) -> Response:
    """Delete a software deployment. Its configuration stays."""
    path = request.path_params
    await use.delete_deployment(services_of(request), scope_of(request), path["deployment_id"])
    return Response(status_code=204)


async def metadata(request: Request) -> Response:
    """List the configurations that a server has to apply, sorted by name."""
    caller, path = caller_of(request), request.path_params
    configs = await use.server_configs(
        services_of(request), caller, path["tenant_id"], path["server_id"]
    )
    sight = sight_of(services_of(request), caller)
    return JSONResponse({"metadata": [seen_config(sight, config.document()) for config in configs]})


def _response(request: Request, deployment: Deployment) -> Response:
    sight = sight_of(services_of(request), caller_of(request))
    return JSONResponse({"software_deployment": seen_deployment(sight, deployment.document())})

"""Handlers of the routes for cluster templates."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, patch, view
from hearth.api.clusters.bodies import TEMPLATE
from hearth.api.clusters.context import body, caller_of, document, services_of
from hearth.clusters.objects import ClusterTemplate
from hearth.clusters.requests import TemplateRequest
from hearth.service.clusters import fence
from hearth.service.clusters.access import demand, scope
from hearth.service.clusters.find import find_template
from hearth.service.clusters.lists import list_templates
from hearth.service.clusters.templates import change_template, create_template, delete_template

RULES = patch.PatchRules(
    TEMPLATE,
    mandatory={
        "network_driver",
        "external_network_id",
        "tls_disabled",
        "public",
        "server_type",
        "coe",
        "registry_enabled",
        "cluster_distro",
        "hidden",
        "image_id",
    },
)


async def index(request: Request) -> Response:
    """List cluster templates: those of the project and public ones. Administrators list those of
    all projects.
    """
    rule = "clustertemplate:get_all"
    return await _list(request, rule, "clustertemplate:get_all_all_projects")


async def detail(request: Request) -> Response:
    """List cluster templates, with the same attributes as `GET /clustertemplates`."""
    return await _list(request, "clustertemplate:detail", "clustertemplate:detail_all_projects")


async def _list(request: Request, rule: str, everywhere: str) -> Response:
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, rule)
    project = await scope(services, caller, everywhere)
    page = pages.requested_page(request, ClusterTemplate)
    templates = await list_templates(services, project, page)
    bodies = [view.template(request, template) for template in templates]
    last = templates[-1].uuid if templates else None
    return pages.answer(request, "clustertemplates", bodies, page, last)


async def show(request: Request) -> Response:
    """Show a cluster template."""
    services, caller = services_of(request), caller_of(request)
    ident, everywhere = request.path_params["ident"], "clustertemplate:get_one_all_projects"
    template = await find_template(services, caller, ident, everywhere)
    if template.public:
        await fence.demand_person(services, caller)  # no rule applies
    else:
        await demand(services, caller, "clustertemplate:get", template)
    return JSONResponse(view.template(request, template))


async def create(request: Request) -> Response:
    """Create a cluster template."""
    description = await body(request, TEMPLATE, TemplateRequest)
    template = await create_template(services_of(request), caller_of(request), description)
    template_body = view.template(request, template)
    headers = {"Location": template_body["links"][0]["href"]}
    return JSONResponse(template_body, status_code=201, headers=headers)


async def update(request: Request) -> Response:
    """Change a cluster template."""
    services, caller = services_of(request), caller_of(request)
    operations = patch.changes(await document(request), RULES)
    template = await _find(request, "clustertemplate:update")
    before = {name: getattr(template, name, None) for name in RULES.fields}
    changes = patch.differing(before, patch.applied(before, operations, RULES))
    after = await change_template(services, caller, template, changes)
    return JSONResponse(view.template(request, after))


async def delete(request: Request) -> Response:
    """Delete a cluster template that no cluster uses."""
    template = await _find(request, "clustertemplate:delete")
    await delete_template(services_of(request), template)
    return Response(status_code=204)


async def _find(request: Request, rule: str) -> ClusterTemplate:
    services, caller = services_of(request), caller_of(request)
    ident = request.path_params["ident"]
    template = await find_template(services, caller, ident, f"{rule}_all_projects")
    await demand(services, caller, rule, template)
    return template

"""The route table of the Orchestration API: every endpoint, with its request and its response.

Routing and policy checks follow each row, and it is published in the OpenAPI document and in the
API reference. Source: tests/facts/rest_routes.json.
"""

from hearth.api.endpoint import Endpoint
from hearth.api.v1 import (
    events,
    queries,
    resources,
    revisions,
    services,
    shapes,
    snapshots,
    software_configs,
    software_deployments,
    stacks,
    templates,
)
from hearth.api.v1.shapes import FREE, NULL, TEXT, each, exact, ref, several, wrapped

PROJECT = "/{tenant_id}"
STACKS = PROJECT + "/stacks"
STACK = STACKS + "/{stack_name}/{stack_id}"
RESOURCE = STACK + "/resources/{resource_name}"
SNAPSHOT = STACK + "/snapshots/{snapshot_id}"
TYPES = PROJECT + "/resource_types"
VERSIONS = PROJECT + "/template_versions"
CONFIGS = PROJECT + "/software_configs"
DEPLOYMENTS = PROJECT + "/software_deployments"

# fmt: off
TEMPLATES = [
    Endpoint(
        "template_validate", "POST", PROJECT + "/validate", "stacks:validate_template",
        templates.validate, shapes.VALIDATED, body=shapes.VALIDATE, query=queries.VALIDATE,
        errors=(404,),
    ),
    Endpoint(
        "resource_types", "GET", TYPES, "stacks:list_resource_types",
        templates.type_list, shapes.TYPE_LIST, query=queries.TYPES,
    ),
    Endpoint(
        "resource_schema", "GET", TYPES + "/{type_name}", "stacks:resource_schema",
        templates.type_show, shapes.TYPE,
    ),
    Endpoint(
        "generate_template", "GET", TYPES + "/{type_name}/template", "stacks:generate_template",
        templates.type_template, FREE, query=(queries.TEMPLATE_TYPE,),
    ),
    Endpoint(
        "template_versions", "GET", VERSIONS, "stacks:list_template_versions",
        templates.versions, shapes.VERSION_LIST,
    ),
    Endpoint(
        "template_functions", "GET", VERSIONS + "/{template_version}/functions",
        "stacks:list_template_functions", templates.functions, shapes.FUNCTION_LIST,
        query=(queries.WITH_CONDITION_FUNC,),
    ),
]

ALL_STACKS = [
    Endpoint(
        "stack_index", "GET", STACKS, "stacks:index", stacks.index, shapes.STACK_LIST,
        query=queries.STACKS,
    ),
    Endpoint(
        "stack_create", "POST", STACKS, "stacks:create", stacks.create, shapes.CREATED,
        status=201, body=shapes.CREATE, errors=(404, 409),
    ),
    Endpoint(
        "stack_detail", "GET", STACKS + "/detail", "stacks:detail", stacks.detail,
        shapes.STACK_LIST, query=queries.STACKS,
    ),
    Endpoint(
        "stack_preview", "POST", STACKS + "/preview", "stacks:preview", stacks.preview,
        shapes.PREVIEWED_STACK, body=shapes.PREVIEW, errors=(404, 409),
    ),
    Endpoint(
        "stack_plan", "POST", STACKS + "/plan", "stacks:preview", stacks.create_plan,
        wrapped("plan", FREE), body=shapes.PREVIEW, errors=(404, 409), beyond_heat=True,
    ),
]

LOOKUPS = [
    *(
        Endpoint(
            "stack_lookup", method, STACKS + "/{stack_identity}", "stacks:lookup", stacks.lookup,
            status=302,
        )
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    ),
    *(
        Endpoint(
            "stack_lookup_subpath", method, STACKS + "/{stack_identity}/" + subpath,
            "stacks:lookup", stacks.lookup_below, status=302,
        )
        for method, subpaths in (
            ("GET", ("resources", "events", "template", "actions", "environment", "files")),
            ("POST", ("resources", "events", "template", "actions")),
        )
        for subpath in subpaths
    ),
]

ONE_STACK = [
    Endpoint(
        "stack_show", "GET", STACK, "stacks:show", stacks.show, wrapped("stack", ref("Stack")),
        query=(queries.RESOLVE_OUTPUTS,), kept=True,
    ),
    Endpoint(
        "stack_update", "PUT", STACK, "stacks:update", stacks.update, exact({}), status=202,
        body=shapes.UPDATE, errors=(409,),
    ),
    Endpoint(
        "stack_update_patch", "PATCH", STACK, "stacks:update_patch", stacks.patch, exact({}),
        status=202, body=shapes.UPDATE, errors=(409,),
    ),
    Endpoint(
        "stack_delete", "DELETE", STACK, "stacks:delete", stacks.delete, status=204,
        errors=(409,),
    ),
    Endpoint(
        "preview_stack_update", "PUT", STACK + "/preview", "stacks:preview_update",
        stacks.update_preview, shapes.CHANGES, body=shapes.UPDATE, query=(queries.NESTED,),
        errors=(409,),
    ),
    Endpoint(
        "preview_stack_update_patch", "PATCH", STACK + "/preview", "stacks:preview_update_patch",
        stacks.update_preview, shapes.CHANGES, body=shapes.UPDATE, query=(queries.NESTED,),
        errors=(409,),
    ),
    Endpoint(
        "stack_update_plan", "PUT", STACK + "/plan", "stacks:preview_update",
        stacks.update_plan, wrapped("plan", FREE), body=shapes.UPDATE_PLAN, errors=(409,),
        beyond_heat=True,
    ),
    Endpoint(
        "stack_update_patch_plan", "PATCH", STACK + "/plan", "stacks:preview_update_patch",
        stacks.update_plan, wrapped("plan", FREE), body=shapes.UPDATE_PLAN, errors=(409,),
        beyond_heat=True,
    ),
    Endpoint(
        "action_stack", "POST", STACK + "/actions", None, stacks.action, NULL,
        body=shapes.ACTION, errors=(409,),
    ),
    Endpoint(
        "stack_template", "GET", STACK + "/template", "stacks:template", stacks.template, FREE
    ),
    Endpoint(
        "stack_environment", "GET", STACK + "/environment", "stacks:environment",
        stacks.environment, ref("Environment"),
    ),
    Endpoint(
        "stack_files", "GET", STACK + "/files", "stacks:files", stacks.files, each(shapes.TEXT)
    ),
    Endpoint(
        "stack_output_list", "GET", STACK + "/outputs", "stacks:list_outputs",
        stacks.output_list, shapes.OUTPUT_LIST,
    ),
    Endpoint(
        "stack_output_show", "GET", STACK + "/outputs/{output_key}", "stacks:show_output",
        stacks.output_show, wrapped("output", ref("Output")),
    ),
    Endpoint(
        "stack_abandon", "DELETE", STACK + "/abandon", "stacks:abandon", stacks.abandon,
        ref("Document"), errors=(409,),
    ),
    Endpoint(
        "stack_export", "GET", STACK + "/export", "stacks:export", stacks.export, ref("Document")
    ),
    Endpoint(
        "stack_revisions", "GET", STACK + "/revisions", "stacks:template", revisions.index,
        wrapped("revisions", several(FREE)), beyond_heat=True,
    ),
    Endpoint(
        "stack_revision_show", "GET", STACK + "/revisions/{number}", "stacks:template",
        revisions.show, wrapped("revision", FREE), beyond_heat=True,
    ),
    Endpoint(
        "stack_revision_diff", "GET", STACK + "/revisions/{number}/diff/{other}",
        "stacks:template", revisions.diff, FREE, beyond_heat=True,
    ),
]

SNAPSHOTS = [
    Endpoint(
        "stack_list_snapshots", "GET", STACK + "/snapshots", "stacks:list_snapshots",
        snapshots.index, wrapped("snapshots", several(ref("Snapshot"))),
    ),
    Endpoint(
        "stack_snapshot", "POST", STACK + "/snapshots", "stacks:snapshot", snapshots.create,
        ref("Snapshot"), body=shapes.SNAPSHOT, errors=(409,),
    ),
    Endpoint(
        "stack_snapshot_show", "GET", SNAPSHOT, "stacks:show_snapshot", snapshots.show,
        wrapped("snapshot", ref("Snapshot")),
    ),
    Endpoint(
        "stack_snapshot_delete", "DELETE", SNAPSHOT, "stacks:delete_snapshot", snapshots.delete,
        status=204, errors=(409,),
    ),
    Endpoint(
        "stack_snapshot_restore", "POST", SNAPSHOT + "/restore", "stacks:restore_snapshot",
        snapshots.restore, status=202, answer=NULL, errors=(409,),
    ),
]

RESOURCES = [
    Endpoint(
        "resource_index", "GET", STACK + "/resources", "resource:index", resources.index,
        wrapped("resources", several(ref("Resource"))), query=queries.RESOURCES, kept=True,
    ),
    Endpoint(
        "stack_drift", "GET", STACK + "/drift", "stacks:show", resources.drift, shapes.DRIFT,
        query=(queries.DEPTH, queries.CACHED), beyond_heat=True,
    ),
    Endpoint(
        "resource_show", "GET", RESOURCE, "resource:show", resources.show,
        wrapped("resource", ref("DetailedResource")), query=(queries.WITH_ATTR,), guest=True,
    ),
    Endpoint(
        "resource_metadata_show", "GET", RESOURCE + "/metadata", "resource:metadata",
        resources.metadata, wrapped("metadata", FREE), guest=True, kept=True,
    ),
    Endpoint(
        "resource_signal", "POST", RESOURCE + "/signal", "resource:signal",
        resources.send_signal, NULL, body=FREE, needs_body=False, errors=(409,), guest=True,
    ),
    Endpoint(
        "resource_mark_unhealthy", "PATCH", RESOURCE, "resource:mark_unhealthy", resources.mark,
        NULL, body=shapes.HEALTH, errors=(409,),
    ),
]

EVENTS = [
    Endpoint(
        "event_index_stack", "GET", STACK + "/events", "events:index", events.of_stack,
        wrapped("events", several(ref("Event"))), query=queries.EVENTS,
    ),
    Endpoint(
        "event_index_resource", "GET", RESOURCE + "/events", "events:index", events.of_resource,
        wrapped("events", several(ref("Event"))), query=queries.EVENTS,
    ),
    Endpoint(
        "event_show", "GET", RESOURCE + "/events/{event_id}", "events:show", events.show,
        wrapped("event", ref("FullEvent")),
    ),
]

SOFTWARE = [
    Endpoint(
        "software_config_index", "GET", CONFIGS, "software_configs:index",
        software_configs.index,
        wrapped("software_configs", several(exact(shapes.CONFIG_SUMMARY, {"project": TEXT}))),
        query=queries.CONFIGS,
    ),
    Endpoint(
        "software_config_create", "POST", CONFIGS, "software_configs:create",
        software_configs.create, wrapped("software_config", ref("SoftwareConfig")),
        body=shapes.CONFIG_BODY,
    ),
    Endpoint(
        "software_config_show", "GET", CONFIGS + "/{config_id}", "software_configs:show",
        software_configs.show, wrapped("software_config", ref("SoftwareConfig")),
    ),
    Endpoint(
        "software_config_delete", "DELETE", CONFIGS + "/{config_id}", "software_configs:delete",
        software_configs.delete, status=204, errors=(409,),
    ),
    Endpoint(
        "software_deployment_index", "GET", DEPLOYMENTS, "software_deployments:index",
        software_deployments.index,
        wrapped("software_deployments", several(ref("SoftwareDeployment"))),
        query=(queries.SERVER_ID,),
    ),
    Endpoint(
        "software_deployment_create", "POST", DEPLOYMENTS, "software_deployments:create",
        software_deployments.create, wrapped("software_deployment", ref("SoftwareDeployment")),
        body=shapes.DEPLOYMENT_BODY,
    ),
    Endpoint(
        "software_deployment_metadata", "GET", DEPLOYMENTS + "/metadata/{server_id}",
        "software_deployments:metadata", software_deployments.metadata,
        wrapped("metadata", several(ref("SoftwareConfig"))),
    ),
    Endpoint(
        "software_deployment_show", "GET", DEPLOYMENTS + "/{deployment_id}",
        "software_deployments:show", software_deployments.show,
        wrapped("software_deployment", ref("SoftwareDeployment")),
    ),
    Endpoint(
        "software_deployment_update", "PUT", DEPLOYMENTS + "/{deployment_id}",
        "software_deployments:update", software_deployments.update,
        wrapped("software_deployment", ref("SoftwareDeployment")), body=shapes.DEPLOYMENT_CHANGE,
    ),
    Endpoint(
        "software_deployment_delete", "DELETE", DEPLOYMENTS + "/{deployment_id}",
        "software_deployments:delete", software_deployments.delete, status=204,
    ),
]

SERVICES = [
    Endpoint(
        "build_info", "GET", PROJECT + "/build_info", "build_info:build_info",
        services.build_info, shapes.BUILD,
    ),
    Endpoint(
        "service_index", "GET", PROJECT + "/services", "service:index", services.index,
        wrapped("services", several(exact(shapes.SERVICE))), errors=(503,),
    ),
]
# fmt: on

TABLE = {
    "Stacks": [*ALL_STACKS, *LOOKUPS, *ONE_STACK],
    "Snapshots": SNAPSHOTS,
    "Resources": RESOURCES,
    "Events": EVENTS,
    "Templates": TEMPLATES,
    "Software": SOFTWARE,
    "Services": SERVICES,
}
ROUTES = [endpoint for group in TABLE.values() for endpoint in group]

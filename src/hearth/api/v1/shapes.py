"""JSON Schemas of the bodies of requests and responses.

Source: tests/facts/api_constants.json, responses.
"""

from collections.abc import Mapping

from hearth.api.endpoint import Shape

TEXT: Shape = {"type": "string"}
MAYBE_TEXT: Shape = {"type": ["string", "null"]}
TIME: Shape = {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"}
MAYBE_TIME: Shape = {"type": ["string", "null"], "pattern": TIME["pattern"]}
FLAG: Shape = {"type": "boolean"}
FLAG_TEXT: Shape = {
    "type": "string",
    "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$",
}
FLAG_OR_TEXT: Shape = {"anyOf": [FLAG, FLAG_TEXT]}
NUMBER: Shape = {"type": "integer"}
COUNT: Shape = {"type": "integer", "minimum": 0}
ANY: Shape = {}
NULL: Shape = {"type": "null"}
FREE: Shape = {"type": "object"}


def ref(name: str) -> Shape:
    """Return a reference to the schema in COMPONENTS with this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def several(item: Shape) -> Shape:
    """Return the schema of a list whose items match `item`."""
    return {"type": "array", "items": item}


def each(value: Shape) -> Shape:
    """Return the schema of a map with any keys, whose values match `value`."""
    return {"type": "object", "additionalProperties": value}


def exact(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """Return the schema of a map with all the keys in `required`, any of the keys in `optional`,
    and no others.
    """
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def lenient(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """Return the schema of a map as `exact` does, but with any other keys, which are ignored."""
    shape = dict(exact(required, optional))
    del shape["additionalProperties"]
    return shape


def wrapped(name: str, shape: Shape) -> Shape:
    """Return the schema of a map with the single key `name`, whose value matches `shape`."""
    return exact({name: shape})


LINKS = several(exact({"href": {"type": "string", "format": "uri"}, "rel": TEXT}))
NAME: Shape = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]{0,254}$"}
WANTED: dict[str, Shape] = {
    "template": {"type": ["object", "string", "null"]},
    "template_url": TEXT,
    "parameters": FREE,
    "environment": {"type": ["object", "string"]},
    "environment_files": several(TEXT),
    "files": each(TEXT),
    "files_container": TEXT,
    "disable_rollback": FLAG_OR_TEXT,
    "timeout_mins": {"type": ["integer", "string", "null"], "minimum": 0, "pattern": "^[0-9]+$"},
    "tags": {"type": ["string", "array", "null"], "items": TEXT},
}
UPDATED: dict[str, Shape] = {
    **WANTED,
    "clear_parameters": several(TEXT),
    "converge": FLAG_OR_TEXT,
    "revision": COUNT,
}
SUMMARY: dict[str, Shape] = {
    "id": TEXT,
    "links": LINKS,
    "stack_name": TEXT,
    "description": TEXT,
    "stack_status": TEXT,
    "stack_status_reason": TEXT,
    "creation_time": TIME,
    "updated_time": MAYBE_TIME,
    "deletion_time": MAYBE_TIME,
    "stack_owner": MAYBE_TEXT,
    "parent": MAYBE_TEXT,
    "stack_user_project_id": MAYBE_TEXT,
    "tags": {"type": ["array", "null"], "items": TEXT},
}
FULL: dict[str, Shape] = {
    **SUMMARY,
    "template_description": TEXT,
    "parameters": each(TEXT),
    "capabilities": several(ANY),
    "notification_topics": several(ANY),
    "disable_rollback": FLAG,
    "timeout_mins": {"type": ["integer", "null"]},
}
OUTPUT = exact(
    {"output_key": TEXT, "description": TEXT, "output_value": ANY}, {"output_error": TEXT}
)
PREVIEWED: dict[str, Shape] = {
    "resource_name": TEXT,
    "resource_type": TEXT,
    "resource_action": TEXT,
    "resource_status": TEXT,
    "resource_status_reason": TEXT,
    "physical_resource_id": MAYBE_TEXT,
    "description": TEXT,
    "metadata": FREE,
    "attributes": FREE,
    "required_by": several(TEXT),
    "creation_time": MAYBE_TIME,
    "updated_time": MAYBE_TIME,
    "stack_name": TEXT,
    "resource_identity": ref("Identity"),
    "stack_identity": ref("Identity"),
}
RESOURCE: dict[str, Shape] = {
    "resource_name": TEXT,
    "logical_resource_id": TEXT,
    "physical_resource_id": TEXT,
    "resource_type": TEXT,
    "resource_status": TEXT,
    "resource_status_reason": TEXT,
    "required_by": several(TEXT),
    "creation_time": TIME,
    "updated_time": TIME,
    "links": LINKS,
}
DETAIL: dict[str, Shape] = {"description": TEXT, "attributes": {"type": ["object", "null"]}}
EVENT: dict[str, Shape] = {
    "id": TEXT,
    "event_time": TIME,
    "resource_name": TEXT,
    "logical_resource_id": TEXT,
    "resource_status": TEXT,
    "resource_status_reason": TEXT,
    "physical_resource_id": MAYBE_TEXT,
    "links": LINKS,
}
ENVIRONMENT: dict[str, Shape] = {
    "parameters": FREE,
    "parameter_defaults": FREE,
    "resource_registry": FREE,
    "event_sinks": several(ANY),
}
DOCUMENT: dict[str, Shape] = {
    "name": TEXT,
    "id": TEXT,
    "action": TEXT,
    "status": TEXT,
    "environment": FREE,
    "files": each(TEXT),
    "template": FREE,
    "project_id": TEXT,
    "stack_user_project_id": MAYBE_TEXT,
    "tags": several(TEXT),
    "resources": FREE,
}
PARAMETER = lenient(
    {
        "Type": {"enum": ["String", "Number", "CommaDelimitedList", "Json", "Boolean"]},
        "Description": TEXT,
        "Label": TEXT,
        "NoEcho": {"enum": ["true", "false"]},
    }
)
CONFIG: dict[str, Shape] = {
    "id": TEXT,
    "name": MAYBE_TEXT,
    "group": MAYBE_TEXT,
    "config": ANY,
    "inputs": several(FREE),
    "outputs": several(FREE),
    "options": FREE,
    "creation_time": TIME,
}
CONFIG_SUMMARY = {name: CONFIG[name] for name in ("id", "name", "group", "creation_time")}
DEPLOYMENT: dict[str, Shape] = {
    "id": TEXT,
    "config_id": TEXT,
    "server_id": TEXT,
    "input_values": FREE,
    "output_values": {"type": ["object", "null"]},
    "action": MAYBE_TEXT,
    "status": MAYBE_TEXT,
    "status_reason": MAYBE_TEXT,
    "creation_time": TIME,
}
SERVICE: dict[str, Shape] = {
    "id": TEXT,
    "binary": TEXT,
    "engine_id": TEXT,
    "host": TEXT,
    "hostname": TEXT,
    "topic": TEXT,
    "report_interval": {"type": "number"},
    "created_at": TEXT,
    "updated_at": MAYBE_TEXT,
    "deleted_at": MAYBE_TEXT,
    "status": {"enum": ["up", "down"]},
}

COMPONENTS: dict[str, Shape] = {
    "Fault": exact(
        {
            "code": NUMBER,
            "title": TEXT,
            "explanation": TEXT,
            "error": exact({"type": TEXT, "message": TEXT, "traceback": MAYBE_TEXT}),
        }
    ),
    "Unauthorized": wrapped("error", exact({"code": NUMBER, "title": TEXT, "message": TEXT})),
    "Versions": wrapped("versions", several(exact({"id": TEXT, "status": TEXT, "links": LINKS}))),
    "Identity": exact({"tenant": TEXT, "stack_name": TEXT, "stack_id": TEXT, "path": TEXT}),
    "StackSummary": exact(SUMMARY, {"project": TEXT}),
    "Stack": exact(FULL, {"outputs": several(ref("Output"))}),
    "Output": OUTPUT,
    "PreviewedResource": exact(
        PREVIEWED,
        {"parent_resource": TEXT, "properties": FREE, "nested_stack_id": ref("Identity")},
    ),
    "Resource": exact(RESOURCE, {"parent_resource": TEXT, "waiting": FREE, **DETAIL}),
    "DetailedResource": exact({**RESOURCE, **DETAIL}, {"parent_resource": TEXT, "waiting": FREE}),
    "Event": exact(EVENT),
    "FullEvent": exact({**EVENT, "resource_type": TEXT, "resource_properties": FREE}),
    "Document": exact(DOCUMENT),
    "Snapshot": exact(
        {
            "id": TEXT,
            "name": MAYBE_TEXT,
            "action": TEXT,
            "status": TEXT,
            "status_reason": MAYBE_TEXT,
            "creation_time": TIME,
            "data": {"anyOf": [ref("Document"), NULL]},
        }
    ),
    "Environment": exact({**ENVIRONMENT, "encrypted_param_names": several(TEXT)}),
    "Parameter": PARAMETER,
    "SoftwareConfig": exact(CONFIG),
    "SoftwareDeployment": exact(DEPLOYMENT, {"updated_time": MAYBE_TIME}),
}

CREATE = lenient(
    {"stack_name": NAME},
    {**WANTED, "plan": TEXT, "adopt_stack_data": {"type": ["string", "object"]}},
)
PREVIEW = lenient({"stack_name": NAME}, WANTED)
UPDATE = lenient({}, {**UPDATED, "plan": TEXT})
UPDATE_PLAN = lenient({}, {**UPDATED, "delete": FLAG_OR_TEXT})
VALIDATE = lenient({}, WANTED)
ACTION: Shape = {
    "type": "object",
    "properties": dict.fromkeys(
        ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback"), ANY
    ),
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
SNAPSHOT = lenient({}, {"name": MAYBE_TEXT})
HEALTH = exact({"mark_unhealthy": FLAG_OR_TEXT}, {"resource_status_reason": MAYBE_TEXT})

CREATED = wrapped("stack", exact({"id": TEXT, "links": LINKS}))
STACK_LIST = exact({"stacks": several(ref("StackSummary"))}, {"links": LINKS, "count": COUNT})
PREVIEWED_STACK = wrapped(
    "stack",
    exact(
        {
            **{k: v for k, v in FULL.items() if not k.startswith("stack_status")},
            "resources": several(ANY),
        },
        {"outputs": several(ref("Output"))},
    ),
)
CHANGES = wrapped(
    "resource_changes",
    exact(
        {
            kind: several(ref("PreviewedResource"))
            for kind in ("added", "deleted", "replaced", "unchanged", "updated")
        }
    ),
)
OUTPUT_LIST = wrapped("outputs", several(exact({"output_key": TEXT, "description": TEXT})))
VALIDATED = exact(
    {"Description": TEXT, "Parameters": each(ref("Parameter"))},
    {
        "ParameterGroups": several(FREE),
        "NestedParameters": each(FREE),
        "Environment": exact(ENVIRONMENT),
        "Findings": several(FREE),
    },
)
DRIFT_STATE: Shape = {"enum": ["in sync", "drifted", "missing", "not checkable"]}
DRIFT = wrapped(
    "drift",
    exact(
        {
            "state": DRIFT_STATE,
            "counts": each(COUNT),
            "resources": several(
                exact(
                    {
                        "resource_name": TEXT,
                        "resource_type": TEXT,
                        "physical_resource_id": TEXT,
                        "stack_name": TEXT,
                        "stack_id": TEXT,
                        "parent_resource": MAYBE_TEXT,
                        "state": DRIFT_STATE,
                        "reason": MAYBE_TEXT,
                        "differences": several(exact({"property": TEXT, "want": ANY, "have": ANY})),
                        "compared": several(TEXT),
                        "not_checkable": several(exact({"property": TEXT, "reason": TEXT})),
                    }
                )
            ),
        },
        {"checked_at": MAYBE_TIME, "reason": MAYBE_TEXT},
    ),
)
TYPE_LIST = wrapped(
    "resource_types",
    {
        "anyOf": [
            several(TEXT),
            several(exact({"resource_type": TEXT, "description": TEXT})),
        ]
    },
)
TYPE = exact(
    {
        "resource_type": TEXT,
        "properties": each(FREE),
        "attributes": each(FREE),
        "support_status": {"type": ["object", "null"]},
    },
    {"description": TEXT},
)
VERSION_LIST = wrapped(
    "template_versions",
    several(exact({"version": TEXT, "type": {"enum": ["hot", "cfn"]}, "aliases": several(TEXT)})),
)
FUNCTION_LIST = wrapped(
    "template_functions", several(exact({"functions": TEXT, "description": TEXT}))
)
BUILD = exact({"api": exact({"revision": TEXT}), "engine": exact({"revision": TEXT})})
CONFIG_BODY = lenient(
    {},
    {
        "name": MAYBE_TEXT,
        "group": MAYBE_TEXT,
        "config": ANY,
        "inputs": several(FREE),
        "outputs": several(FREE),
        "options": FREE,
    },
)
DEPLOYMENT_BODY = lenient(
    {"config_id": TEXT, "server_id": TEXT},
    {
        "input_values": {"type": ["object", "null"]},
        "action": MAYBE_TEXT,
        "status": MAYBE_TEXT,
        "status_reason": MAYBE_TEXT,
        "stack_user_project_id": MAYBE_TEXT,
    },
)
DEPLOYMENT_CHANGE = lenient(
    {},
    {
        "config_id": MAYBE_TEXT,
        "input_values": {"type": ["object", "null"]},
        "output_values": {"type": ["object", "null"]},
        "action": MAYBE_TEXT,
        "status": MAYBE_TEXT,
        "status_reason": MAYBE_TEXT,
    },
)

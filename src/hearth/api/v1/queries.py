"""The query parameters, used for parsing, the OpenAPI document and the reference.

Source: tests/facts/api_constants.json, query_parameters.
"""

from collections.abc import Iterator, Mapping

from hearth.api.endpoint import Query, Shape
from hearth.api.v1.shapes import COUNT as NUMBER
from hearth.api.v1.shapes import FLAG_TEXT as FLAG
from hearth.api.v1.shapes import TEXT

DIRECTION: Shape = {"type": "string", "enum": ["asc", "desc"]}


def words(*values: str) -> Shape:
    """Return the JSON Schema of a text that is one of these values."""
    return {"type": "string", "enum": list(values)}


def _filters(columns: Mapping[str, str]) -> Iterator[Query]:
    """Yield a query parameter for each filter, given as {name of the parameter: column}."""
    for name, column in columns.items():
        yield Query(name, TEXT, f"Entries with this {name}.", repeated=True, column=column)


LIMIT = Query("limit", NUMBER, "Maximum number; 0 gives an empty list.")
MARKER = Query("marker", TEXT, "Continue after the entry with this id.")
SORT_DIR = Query("sort_dir", DIRECTION, "The direction of sort_keys.")
DEPTH = Query("nested_depth", NUMBER, "Include nested stacks down to this depth.")
CACHED = Query(
    "cached",
    FLAG,
    "Return the last result of the background check, which has no resources in sync.",
)
NESTED = Query("show_nested", FLAG, "Include nested stacks.")
GLOBAL = Query("global_tenant", FLAG, "Include all projects; the default policy forbids it.")
SHOW_DELETED = Query("show_deleted", FLAG, "Include deleted stacks.")
SHOW_HIDDEN = Query("show_hidden", FLAG, "Include stacks with a tag of `hidden_stack_tags`.")
WITH_COUNT = Query("with_count", FLAG, "Add the total number.")
RESOLVE_OUTPUTS = Query("resolve_outputs", FLAG, "Evaluate the outputs; default: true.")
WITH_DETAIL = Query("with_detail", FLAG, "Add attributes and description.")
WITH_ATTR = Query(
    "with_attr", TEXT, "Add this attribute, even if it is not declared.", repeated=True
)
IGNORE_ERRORS = Query(
    "ignore_errors", words("99001"), "Ignore these errors: 99001, a missing service."
)
SHOW_FINDINGS = Query("show_findings", FLAG, "Return all mistakes with their places; not in Heat.")
TYPE_NAME = Query("name", TEXT, "A regular expression for the beginning of the name.")
TYPE_VERSION = Query("version", TEXT, "The release that introduced the type.")
SUPPORT_STATUS = Query(
    "support_status",
    words("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"),
    "The support status of the type.",
)
WITH_DESCRIPTION = Query("with_description", FLAG, "Add the description of each type.")
TEMPLATE_TYPE = Query(
    "template_type",
    {"type": "string", "pattern": "^([Cc][Ff][Nn]|[Hh][Oo][Tt])$"},
    "cfn (default) or hot.",
)
WITH_CONDITION_FUNC = Query("with_condition_func", FLAG, "Include the functions of conditions.")
SERVER_ID = Query("server_id", TEXT, "Deployments on this server.")

TAGS = Query("tags", TEXT, "Stacks with all of these tags, separated by commas.")
TAGS_ANY = Query("tags_any", TEXT, "Stacks with any of these tags.")
NOT_TAGS = Query("not_tags", TEXT, "Stacks without all of these tags.")
NOT_TAGS_ANY = Query("not_tags_any", TEXT, "Stacks without any of these tags.")
STACK_SORT_KEYS = Query(
    "sort_keys",
    words("stack_name", "stack_status", "creation_time", "updated_time"),
    "Sort keys; default: creation time, newest first.",
    repeated=True,
)
EVENT_SORT_KEYS = Query(
    "sort_keys", words("event_time", "resource_type"), "Sort keys.", repeated=True
)

STACKS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    STACK_SORT_KEYS,
    SHOW_DELETED,
    NESTED,
    SHOW_HIDDEN,
    TAGS,
    TAGS_ANY,
    NOT_TAGS,
    NOT_TAGS_ANY,
    GLOBAL,
    WITH_COUNT,
    *_filters(
        {
            "stack_name": "name",
            "stack_status": "status",
            "stack_action": "action",
            "stack_status_reason": "reason",
            "stack_owner": "creator",
            "parent": "parent_id",
            "stack_user_project_id": "user_project_id",
            "id": "id",
            "name": "name",
            "status": "status",
            "action": "action",
            "tenant": "project_id",
            "username": "creator",
            "owner_id": "parent_id",
        },
    ),
    Query("disable_rollback", FLAG, "Stacks with this setting.", column="disable_rollback"),
    Query(
        "timeout_mins",
        NUMBER,
        "Stacks with this timeout.",
        repeated=True,
        column="timeout_mins",
    ),
)
RESOURCES = (
    DEPTH,
    WITH_DETAIL,
    *(
        Query(name, TEXT, text, repeated=True, column=name)
        for name, text in (
            ("type", "A part of the type."),
            ("name", "The name."),
            ("status", "The status, such as COMPLETE or CREATE_COMPLETE."),
            ("action", "The action, such as CREATE."),
            ("id", "The id of the record."),
            ("physical_resource_id", "The id of the object in the cloud."),
        )
    ),
)
EVENTS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    EVENT_SORT_KEYS,
    DEPTH,
    *_filters(
        {
            "resource_name": "resource_name",
            "resource_type": "resource_type",
            "resource_action": "action",
            "resource_status": "status",
        },
    ),
)
VALIDATE = (NESTED, IGNORE_ERRORS, SHOW_FINDINGS)
TYPES = (TYPE_NAME, TYPE_VERSION, SUPPORT_STATUS, WITH_DESCRIPTION)
CONFIGS = (LIMIT, MARKER, GLOBAL)

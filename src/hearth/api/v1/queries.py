"""The parameters of queries. Source: facts/api_constants.json, query_parameters."""

from hearth.api.operation import Query, Shape
from hearth.api.v1.shapes import COUNT as NUMBER
from hearth.api.v1.shapes import FLAG_TEXT as FLAG
from hearth.api.v1.shapes import TEXT

DIRECTION: Shape = {"type": "string", "enum": ["asc", "desc"]}


def words(*values: str) -> Shape:
    """One of a few words."""
    return {"type": "string", "enum": list(values)}


LIMIT = Query("limit", NUMBER, "Maximum number; 0 gives an empty list.")
MARKER = Query("marker", TEXT, "Continue after the entry with this id.")
SORT_DIR = Query("sort_dir", DIRECTION, "The direction of sort_keys.")
DEPTH = Query("nested_depth", NUMBER, "Include nested stacks down to this depth, at most 5.")
NESTED = Query("show_nested", FLAG, "Include nested stacks.")
GLOBAL = Query("global_tenant", FLAG, "Include all projects; the default policy forbids it.")

STACKS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    Query(
        "sort_keys",
        words("stack_name", "stack_status", "creation_time", "updated_time"),
        "Sort keys; default: creation time, newest first.",
        repeated=True,
    ),
    Query("show_deleted", FLAG, "Include deleted stacks."),
    NESTED,
    Query("show_hidden", FLAG, "Include stacks with a tag of `hidden_stack_tags`."),
    Query("tags", TEXT, "Stacks with all of these tags, separated by commas."),
    Query("tags_any", TEXT, "Stacks with any of these tags."),
    Query("not_tags", TEXT, "Stacks without all of these tags."),
    Query("not_tags_any", TEXT, "Stacks without any of these tags."),
    GLOBAL,
    Query("with_count", FLAG, "Add the total number."),
    *(
        Query(name, TEXT, f"Entries with this {name}.", repeated=True)
        for name in (
            "stack_name", "stack_status", "stack_action", "stack_status_reason", "stack_owner",
            "parent", "stack_user_project_id", "id", "name", "status", "action", "tenant",
            "username", "owner_id",
        )
    ),
    Query("disable_rollback", FLAG, "Stacks with this setting."),
    Query("timeout_mins", NUMBER, "Stacks with this timeout.", repeated=True),
)  # fmt: skip
SHOW_STACK = (Query("resolve_outputs", FLAG, "Evaluate the outputs; default: true."),)
RESOURCES = (
    DEPTH,
    Query("with_detail", FLAG, "Add attributes and description."),
    *(
        Query(name, TEXT, text, repeated=True)
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
SHOW_RESOURCE = (
    Query("with_attr", TEXT, "Add this attribute, even if it is not declared.", repeated=True),
)
EVENTS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    Query("sort_keys", words("event_time", "resource_type"), "Sort keys.", repeated=True),
    DEPTH,
    *(
        Query(name, TEXT, f"Entries with this {name}.", repeated=True)
        for name in ("resource_name", "resource_type", "resource_action", "resource_status")
    ),
)
VALIDATE = (
    NESTED,
    Query("ignore_errors", words("99001"), "Ignore these errors: 99001, a missing service."),
    Query("show_findings", FLAG, "Return all mistakes with their places; not in Heat."),
)
TYPES = (
    Query("name", TEXT, "A regular expression for the beginning of the name."),
    Query("version", TEXT, "The release that introduced the type."),
    Query(
        "support_status",
        words("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"),
        "The support status of the type.",
    ),
    Query("with_description", FLAG, "Add the description of each type."),
)
TYPE_TEMPLATE = (
    Query(
        "template_type",
        {"type": "string", "pattern": "^([Cc][Ff][Nn]|[Hh][Oo][Tt])$"},
        "cfn (default) or hot.",
    ),
)
FUNCTIONS = (Query("with_condition_func", FLAG, "Include the functions of conditions."),)
CONFIGS = (LIMIT, MARKER, GLOBAL)
DEPLOYMENTS = (Query("server_id", TEXT, "Deployments on this server."),)

"""The parameters of queries. Source: facts/api_constants.json, query_parameters."""

from hearth.api.operation import Query, Shape
from hearth.api.v1.shapes import COUNT as NUMBER
from hearth.api.v1.shapes import FLAG_TEXT as FLAG
from hearth.api.v1.shapes import TEXT

DIRECTION: Shape = {"type": "string", "enum": ["asc", "desc"]}


def words(*values: str) -> Shape:
    """One of a few words."""
    return {"type": "string", "enum": list(values)}


LIMIT = Query("limit", NUMBER, "At most so many; 0 is none.")
MARKER = Query("marker", TEXT, "Only those after the one with this id.")
SORT_DIR = Query("sort_dir", DIRECTION, "The direction of sort_keys.")
DEPTH = Query("nested_depth", NUMBER, "Include nested stacks down to this depth, 5 at most.")
NESTED = Query("show_nested", FLAG, "Include nested stacks.")
GLOBAL = Query("global_tenant", FLAG, "Of all projects; policy forbids it unless changed.")

STACKS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    Query(
        "sort_keys",
        words("stack_name", "stack_status", "creation_time", "updated_time"),
        "What to sort by; creation time, newest first, when not given.",
        repeated=True,
    ),
    Query("show_deleted", FLAG, "Include deleted stacks."),
    NESTED,
    Query("show_hidden", FLAG, "Include stacks with a tag that hides them."),
    Query("tags", TEXT, "With all of these tags, a comma list."),
    Query("tags_any", TEXT, "With any of these tags."),
    Query("not_tags", TEXT, "Without all of these tags."),
    Query("not_tags_any", TEXT, "Without any of these tags."),
    GLOBAL,
    Query("with_count", FLAG, "Tell how many there are in all."),
    *(
        Query(name, TEXT, f"Only those with this {name}.", repeated=True)
        for name in (
            "stack_name", "stack_status", "stack_action", "stack_status_reason", "stack_owner",
            "parent", "stack_user_project_id", "id", "name", "status", "action", "tenant",
            "username", "owner_id",
        )
    ),
    Query("disable_rollback", FLAG, "Only those with this setting."),
    Query("timeout_mins", NUMBER, "Only those with this timeout.", repeated=True),
)  # fmt: skip
SHOW_STACK = (Query("resolve_outputs", FLAG, "Whether to evaluate the outputs; true."),)
RESOURCES = (
    DEPTH,
    Query("with_detail", FLAG, "With attributes and description."),
    *(
        Query(name, TEXT, text, repeated=True)
        for name, text in (
            ("type", "Part of the type."),
            ("name", "The name."),
            ("status", "The status, as COMPLETE or CREATE_COMPLETE."),
            ("action", "The action alone, as CREATE."),
            ("id", "The id of the record."),
            ("physical_resource_id", "The id of the thing in the cloud."),
        )
    ),
)
SHOW_RESOURCE = (
    Query("with_attr", TEXT, "Show this attribute too, though it is not declared.", repeated=True),
)
EVENTS = (
    LIMIT,
    MARKER,
    SORT_DIR,
    Query("sort_keys", words("event_time", "resource_type"), "What to sort by.", repeated=True),
    DEPTH,
    *(
        Query(name, TEXT, f"Only those with this {name}.", repeated=True)
        for name in ("resource_name", "resource_type", "resource_action", "resource_status")
    ),
)
VALIDATE = (
    NESTED,
    Query("ignore_errors", words("99001"), "Errors not to tell: 99001, a missing service."),
    Query("show_findings", FLAG, "Answer all that is wrong, with its place; not in Heat."),
)
TYPES = (
    Query("name", TEXT, "A regular expression for the beginning of the name."),
    Query("version", TEXT, "The release since which the type is there."),
    Query(
        "support_status",
        words("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"),
        "How the type is supported.",
    ),
    Query("with_description", FLAG, "Tell what each type is."),
)
TYPE_TEMPLATE = (
    Query(
        "template_type",
        {"type": "string", "pattern": "^([Cc][Ff][Nn]|[Hh][Oo][Tt])$"},
        "cfn, if not given, or hot.",
    ),
)
FUNCTIONS = (Query("with_condition_func", FLAG, "Include the functions of conditions."),)
CONFIGS = (LIMIT, MARKER, GLOBAL)
DEPLOYMENTS = (Query("server_id", TEXT, "Only those on this server."),)

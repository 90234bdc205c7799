"""Query parameters: the one table that parsing, the OpenAPI document and the reference use.

Source: facts/api_constants.json, query_parameters.
"""

from collections.abc import Iterator, Mapping

from hearth.api.operation import Query, Shape
from hearth.api.v1.shapes import COUNT as NUMBER
from hearth.api.v1.shapes import FLAG_TEXT as FLAG
from hearth.api.v1.shapes import TEXT

DIRECTION: Shape = {"type": "string", "enum": ["asc", "desc"]}


def words(*values: str) -> Shape:
    """One of a few words."""
    return {"type": "string", "enum": list(values)}


def _filters(text: str, columns: Mapping[str, str]) -> Iterator[Query]:
    """Filters of stored rows by their names: {name: column}."""
    for name, column in columns.items():
        yield Query(name, TEXT, text.format(name), repeated=True, column=column)


LIMIT = Query("limit", NUMBER, "At most so many; 0 is none.")
MARKER = Query("marker", TEXT, "Only those after the one with this id.")
SORT_DIR = Query("sort_dir", DIRECTION, "The direction of sort_keys.")
DEPTH = Query("nested_depth", NUMBER, "Include nested stacks down to this depth, 5 at most.")
NESTED = Query("show_nested", FLAG, "Include nested stacks.")
GLOBAL = Query("global_tenant", FLAG, "Of all projects; policy forbids it unless changed.")
SHOW_DELETED = Query("show_deleted", FLAG, "Include deleted stacks.")
SHOW_HIDDEN = Query("show_hidden", FLAG, "Include stacks with a tag that hides them.")
WITH_COUNT = Query("with_count", FLAG, "Tell how many there are in all.")
RESOLVE_OUTPUTS = Query("resolve_outputs", FLAG, "Whether to evaluate the outputs; true.")
WITH_DETAIL = Query("with_detail", FLAG, "With attributes and description.")
WITH_ATTR = Query(
    "with_attr", TEXT, "Show this attribute too, though it is not declared.", repeated=True
)
IGNORE_ERRORS = Query(
    "ignore_errors", words("99001"), "Errors not to tell: 99001, a missing service."
)
SHOW_FINDINGS = Query(
    "show_findings", FLAG, "Answer all that is wrong, with its place; not in Heat."
)
TYPE_NAME = Query("name", TEXT, "A regular expression for the beginning of the name.")
TYPE_VERSION = Query("version", TEXT, "The release since which the type is there.")
SUPPORT_STATUS = Query(
    "support_status",
    words("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"),
    "How the type is supported.",
)
WITH_DESCRIPTION = Query("with_description", FLAG, "Tell what each type is.")
TEMPLATE_TYPE = Query(
    "template_type",
    {"type": "string", "pattern": "^([Cc][Ff][Nn]|[Hh][Oo][Tt])$"},
    "cfn, if not given, or hot.",
)
WITH_CONDITION_FUNC = Query("with_condition_func", FLAG, "Include the functions of conditions.")
SERVER_ID = Query("server_id", TEXT, "Only those on this server.")

TAGS = Query("tags", TEXT, "With all of these tags, a comma list.")
TAGS_ANY = Query("tags_any", TEXT, "With any of these tags.")
NOT_TAGS = Query("not_tags", TEXT, "Without all of these tags.")
NOT_TAGS_ANY = Query("not_tags_any", TEXT, "Without any of these tags.")
STACK_SORT_KEYS = Query(
    "sort_keys",
    words("stack_name", "stack_status", "creation_time", "updated_time"),
    "What to sort by; creation time, newest first, when not given.",
    repeated=True,
)
EVENT_SORT_KEYS = Query(
    "sort_keys", words("event_time", "resource_type"), "What to sort by.", repeated=True
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
        "Only those with this {}.",
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
    Query("disable_rollback", FLAG, "Only those with this setting.", column="disable_rollback"),
    Query(
        "timeout_mins",
        NUMBER,
        "Only those with this timeout.",
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
            ("type", "Part of the type."),
            ("name", "The name."),
            ("status", "The status, as COMPLETE or CREATE_COMPLETE."),
            ("action", "The action alone, as CREATE."),
            ("id", "The id of the record."),
            ("physical_resource_id", "The id of the thing in the cloud."),
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
        "Only those with this {}.",
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

"""Parsing of requests. A malformed request is rejected here with the name of the field."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request

from hearth.api.endpoint import Endpoint, Query
from hearth.api.v1 import queries
from hearth.api.v1.context import caller_of, services_of
from hearth.api.v1.shapes import COUNT, FLAG_TEXT
from hearth.model.collector import collector_paused
from hearth.model.problem import (
    HTTPBadRequest,
    InvalidDirection,
    NoTemplateVersion,
    Rejected,
    RequestLimitExceeded,
    rejection,
)
from hearth.model.state import Status
from hearth.service.stacks.gather import gathered
from hearth.service.stacks.request import StackRequest
from hearth.store.reads import EventFilter, StackFilter
from hearth.template.versions import VERSION_KEYS

log = logging.getLogger(__name__)

_decode = msgspec.json.Decoder().decode  # strict: no NaN, no half of a surrogate pair

NAME_CHARACTERS_MAX = 255
TAG_CHARACTERS_MAX = 80
TAGS_MAX = 256  # of a stack; lists of stacks contain them
STATUSES = frozenset(Status)
INTEGER_MAX = 2**31 - 1
CONTAINERS_MAX = 150_000  # in a body, including brackets in texts; they take long to create
BESIDE_NO_REVISION = (
    "template",
    "template_url",
    "files",
    "files_container",
    "environment",
    "environment_files",
    "clear_parameters",
)


def bad(message: str) -> Rejected:
    """Return the exception for a malformed request."""
    return rejection(HTTPBadRequest, message)


async def body(request: Request, *, required: bool = True) -> dict[str, Any]:
    """Return the JSON object in the body of a request. Raises Rejected if it is malformed or too
    large.

    If `required` is false and the body does not begin like a JSON object, or has another content
    type, the result is empty.
    """
    limit = services_of(request).limits.max_json_body_size
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large(int(declared), limit)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise too_large(len(raw), limit)
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in ("", "application/json", "text/plain") or not raw.lstrip().startswith(b"{"):
        if required:
            raise bad(
                "The request needs a JSON object as its body, with Content-Type application/json"
            )
        return {}
    if raw.count(b"[") + raw.count(b"{") > CONTAINERS_MAX:
        raise bad(f"The request body has more than {CONTAINERS_MAX} lists and maps")
    try:
        with collector_paused():
            document: dict[str, Any] = _decode(bytes(raw))
    except ValueError as problem:
        raise bad(f"The request body is not valid JSON: {problem}") from None
    except RecursionError:
        raise bad("The lists and maps in the request body are nested too deeply") from None
    return document


def too_large(size: int, limit: int) -> Rejected:
    """Return the exception for a body of `size` bytes, when only `limit` bytes are allowed."""
    message = f"Request limit exceeded: JSON body size ({size} bytes) exceeds maximum allowed size "
    return rejection(RequestLimitExceeded, f"{message}({limit} bytes).")


def stack_request(data: Mapping[str, Any], *, existing: bool = False) -> StackRequest:
    """Return the fields that create, update, preview and validate requests have in common.

    Raises Rejected. If `existing` is true, fields that are missing keep their values in the stack.
    """
    names = data.get("environment_files") or []
    if not isinstance(names, list):
        raise bad("environment_files must be a list of file names")
    environment = data.get("environment")
    if not isinstance(environment, (str, Mapping, type(None))):
        raise bad("The environment is not valid: expected a map or a string")
    converge = data.get("converge")
    timeout = data.get("timeout_mins")
    minutes = None if timeout is None else integer(timeout, "timeout_mins")
    if minutes == 0:
        log.warning("timeout_mins is 0: the default timeout of stacks applies")
    return StackRequest(
        template=_template(data.get("template")),
        template_url=None if "template" in data else _text(data, "template_url"),
        parameters=_parameters(data),
        environment=environment or {},
        environment_files=tuple(str(name) for name in names),
        files=_files(data),
        files_container=_text(data, "files_container"),
        timeout_mins=minutes or None,
        disable_rollback=(
            boolean(data["disable_rollback"], "disable_rollback")
            if "disable_rollback" in data
            else None
        ),
        tags=_tags(data.get("tags")),
        existing=existing,
        clear_parameters=_cleared(data.get("clear_parameters")),
        converge=None if converge is None else boolean(converge, "converge"),
    )


async def stack_request_of(request: Request, data: Mapping[str, Any]) -> StackRequest:
    """Return the stack request in a body, after fetching its template URL and its files.

    Raises Rejected.
    """
    return await gathered(services_of(request), caller_of(request), stack_request(data))


async def update_request_of(
    request: Request, data: Mapping[str, Any], *, existing: bool
) -> StackRequest:
    """Return the request for an update, its preview or its plan. Raises Rejected.

    Instead of a template it may contain the number of an earlier revision. If `existing` is true,
    here or in the body, fields that are missing keep their values in the stack; without it here,
    the template is required nevertheless. Source: docs/spec/rest-api.md, 2.5.
    """
    laid_over = existing or boolean(data.get("existing") or False, "existing")
    update_request = stack_request(data, existing=laid_over)
    update_request = await gathered(services_of(request), caller_of(request), update_request)
    if not existing and update_request.template is None and data.get("revision") is None:
        raise bad("No template specified")
    if data.get("revision") is None:
        return update_request
    if conflicts := [key for key in BESIDE_NO_REVISION if data.get(key)]:
        message = f"revision cannot be combined with {', '.join(conflicts)}"
        raise bad(f"{message}: a revision already contains template, files and environment")
    return replace(update_request, revision=integer(data["revision"], "revision"))


def agreed_plan(data: Mapping[str, Any]) -> str | None:
    """Return the hash of the plan to which the caller agrees, or None. Raises Rejected."""
    return _text(data, "plan")


def adopt_data(data: Mapping[str, Any]) -> str | None:
    """Return the text of the document to adopt, or None if there is none. Raises Rejected."""
    if "adopt_stack_data" not in data:
        return None
    value = data["adopt_stack_data"]
    if not isinstance(value, str | Mapping):
        raise bad("adopt_stack_data is not valid: expected a map or a string")
    return value if isinstance(value, str) else json.dumps(value)


def health(data: Mapping[str, Any]) -> tuple[bool, str]:
    """Return (whether to mark the resource as unhealthy, the reason, which may be empty).

    Raises Rejected.
    """
    if unknown := sorted(set(data) - {"mark_unhealthy", "resource_status_reason"}):
        raise bad(f"Invalid keys in resource mark unhealthy {unknown}")
    if "mark_unhealthy" not in data:
        raise bad("Missing mandatory (mark_unhealthy) key from mark unhealthy request")
    reason = plain(str(data.get("resource_status_reason") or ""), "resource_status_reason")
    return boolean(data["mark_unhealthy"], "mark_unhealthy"), reason


def _template(value: Any) -> str | None:
    """Return the text of a template, which may be given as an object; None if it is missing or
    empty.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if value.keys().isdisjoint(VERSION_KEYS):
            message = f"the template has no version key; add {VERSION_KEYS[0]}"
            raise rejection(NoTemplateVersion, message)
        return json.dumps(value)
    raise bad("The template is not valid: expected a map or a string")


def _text(data: Mapping[str, Any], name: str) -> str | None:
    """Return a string; None if it is missing or empty. Raises Rejected."""
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise bad(f"{name} must be a string")
    return value or None


def plain(text: str, name: str) -> str:
    """Return the text unchanged. Raises Rejected if it contains a null character.

    Not every database can store null characters. `name` is the name of the field in the message.
    """
    if "\0" in text:
        raise bad(f"{name} contains a null character")
    return text


def short(text: str, name: str) -> str:
    """Return the text unchanged. Raises Rejected if it is too long for a name, or as `plain`."""
    if len(text) > NAME_CHARACTERS_MAX:
        raise bad(f"{name} has {len(text)} characters; at most {NAME_CHARACTERS_MAX} are allowed")
    return plain(text, name)


def _files(data: Mapping[str, Any]) -> dict[str, str]:
    files = data.get("files")
    if files is None:
        return {}
    if not isinstance(files, dict):
        raise bad("files must be a map of file names to strings")
    for name, text in files.items():
        if not isinstance(text, str):
            raise bad(f'The content of the file "{name}" must be a string')
    return files


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter values by name. Raises Rejected.

    Some clients send an empty list instead of an empty map.
    """
    value = data.get("parameters", {})
    if value in ("", []):
        return {}
    if not isinstance(value, dict):
        raise bad("parameters must be a map of names to values")
    return value


def _cleared(value: Any) -> tuple[str, ...]:
    """Return the names of the parameters to clear. Raises Rejected.

    As in Heat, a string is split into its characters.
    """
    if not isinstance(value or (), list | tuple | str):
        raise bad("clear_parameters must be a list of names")
    return tuple(str(name) for name in value or ())


def _tags(value: Any) -> tuple[str, ...] | None:
    """Return the tags, given as a list or as a string with commas; None if there are none."""
    if value is None:
        return None
    if not isinstance(value, str | list):
        raise bad("tags must be a list, or a string in which commas separate the tags")
    items = value if isinstance(value, list) else value.split(",")
    tags = tuple(str(item) for item in items if str(item))
    if len(tags) > TAGS_MAX:
        raise bad(f"A stack can have at most {TAGS_MAX} tags, not {len(tags)}")
    for tag in tags:
        plain(tag, "tags")
        if len(tag) > TAG_CHARACTERS_MAX:
            raise bad(f'Invalid tag, "{tag}" is longer than {TAG_CHARACTERS_MAX} characters')
    return tags


def boolean(value: Any, name: str) -> bool:
    """Return a boolean, given as JSON or as the string true or false in any case. Raises Rejected.

    `value` is any value in the request, and `name` the name of its field in the message.
    """
    text = str(value).lower()
    if text not in ("true", "false"):
        raise bad(f'Unrecognized value "{value}" for "{name}", acceptable values are: true, false')
    return text == "true"


def integer(value: Any, name: str) -> int:
    """Return an integer from 0 to INTEGER_MAX, given as a number or as digits. Raises Rejected.

    `value` is any value in the request, and `name` the name of its field in the message.
    """
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal():
        raise bad(f'"{value}" is not a valid value for "{name}": it must be a non-negative integer')
    if len(text) > len(str(INTEGER_MAX)) or int(text) > INTEGER_MAX:
        raise bad(f'"{name}" is too large: the maximum is {INTEGER_MAX}')
    return int(text)


def values_of(request: Request, query: Query) -> list[str]:
    """Return the values of a query parameter, without empty ones, which forms send for empty
    fields.

    If the query repeats a parameter that has one value, the last value counts. Raises LookupError
    if the endpoint does not declare the parameter, which is a mistake in Hearth.
    """
    endpoint: Endpoint = request.scope["hearth.endpoint"]
    if query not in endpoint.query:
        raise LookupError(f"{endpoint.name} declares no query parameter {query.name}")
    values = request.query_params.getlist(query.name)
    return [value for value in (values if query.repeated else values[-1:]) if value]


def last(request: Request, query: Query) -> str | None:
    """Return the last value of a query parameter, or None if the query does not contain a value."""
    values = values_of(request, query)
    return values[-1] if values else None


def flag(request: Request, query: Query, *, default: bool = False) -> bool:
    """Return the boolean in a query parameter, or `default` if it is missing. Raises Rejected."""
    value = last(request, query)
    return default if value is None else boolean(value, query.name)


def number(request: Request, query: Query) -> int | None:
    """Return the number in a query parameter, or None if it is missing. Raises Rejected."""
    value = last(request, query)
    return None if value is None else integer(value, query.name)


def _split_values(request: Request, query: Query) -> tuple[str, ...]:
    """Return the words in a query parameter, which are separated by commas or given one by one."""
    parts = [w for value in values_of(request, query) for w in value.split(",")]
    return tuple(word for word in parts if word)


def filters(request: Request) -> dict[str, tuple[Any, ...]]:
    """Return the allowed values of each column, from the endpoint's filters in the query.

    Raises Rejected. Filters that the query does not contain are left out. Two filters of one
    column, such as `name` and `stack_name`, allow the values of both.
    """
    endpoint: Endpoint = request.scope["hearth.endpoint"]
    equal: dict[str, tuple[Any, ...]] = {}
    for query in endpoint.filters:
        values = values_of(request, query)
        if not values:
            continue
        if query.shape is FLAG_TEXT:
            column_values: tuple[Any, ...] = tuple(boolean(value, query.name) for value in values)
        elif query.shape is COUNT:
            column_values = tuple(integer(value, query.name) for value in values)
        else:
            column_values = tuple(values)
        equal[query.column] = (*equal.get(query.column, ()), *column_values)
    return equal


def by_state(equal: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the filters with each status such as `CREATE_COMPLETE` split into an action and a
    status.

    `equal` are the allowed values of each column. Actions from such statuses replace the filter for
    actions.
    """
    if "status" not in equal:
        return equal
    statuses, actions = status_words(equal["status"])
    return {**equal, "status": statuses, **({"action": actions} if actions else {})}


def _descending(request: Request) -> bool | None:
    """Return whether the query asks for descending order; None if it does not name an order."""
    match last(request, queries.SORT_DIR):
        case None:
            return None
        case "asc":
            return False
        case "desc":
            return True
        case other:
            message = f"Invalid sort_dir {other}: expected asc or desc"
            raise rejection(InvalidDirection, message)


def stack_filter(request: Request, project_id: str | None) -> StackFilter:
    """Return the filters, the order and the page in the query of a stack list. Raises Rejected.

    `project_id` is the project whose stacks are listed; None for all projects. Unknown parameters
    are ignored.
    """
    return StackFilter(
        project_id=project_id,
        limit=number(request, queries.LIMIT),
        marker=last(request, queries.MARKER),
        sort_keys=_split_values(request, queries.STACK_SORT_KEYS),
        descending=_descending(request),
        show_deleted=flag(request, queries.SHOW_DELETED),
        show_nested=flag(request, queries.NESTED),
        equal=by_state(filters(request)),
        tags=_split_values(request, queries.TAGS),
        tags_any=_split_values(request, queries.TAGS_ANY),
        not_tags=_split_values(request, queries.NOT_TAGS),
        not_tags_any=_split_values(request, queries.NOT_TAGS_ANY),
    )


def status_words(values: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (statuses, actions) from the values of a status filter.

    A value such as `CREATE_COMPLETE` contains both. As in Heat, a status has upper-case letters,
    and an action may have any; a value that is no status matches nothing.
    """
    statuses, actions = [], []
    for value in values:
        action, _, status = value.partition("_")
        if status in STATUSES:
            actions.append(action)
            statuses.append(status)
        elif value in STATUSES:
            statuses.append(value)
    return tuple(statuses), tuple(actions)


def event_filter(request: Request, stack_ids: tuple[str, ...], **exact: str) -> EventFilter:
    """Return the filters, the order and the page in the query of an event list. Raises Rejected.

    `stack_ids` are the stacks whose events are listed. `exact` are further filters: the value of
    each column, in which the case of letters counts.
    """
    return EventFilter(
        stack_ids=stack_ids,
        limit=number(request, queries.LIMIT),
        marker=last(request, queries.MARKER),
        sort_keys=_split_values(request, queries.EVENT_SORT_KEYS),
        descending=_descending(request),
        equal=filters(request),
        exact=exact,
    )

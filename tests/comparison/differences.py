"""Differences by place, and the names of those that are meant to be.

A place is the way into the answer: `stack.tags`, `resources[].links[].rel`, or `status`. Items of
lists are put in one order first; `order` is where only that differed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.comparison.sides import Answer, Request

ABSENT = "<absent>"


@dataclass(frozen=True)
class Difference:
    """What stands at a place of one answer and of the other."""

    place: str
    original: Any
    here: Any

    def __str__(self) -> str:
        return f"{self.place}: {_short(self.original)} | {_short(self.here)}"


@dataclass(frozen=True)
class Known:
    """A difference that is meant to be: its class, its name, and what it looks like."""

    kind: str
    name: str
    matches: Callable[[Request, Difference, Answer, Answer], bool]


def differences(original: Answer, here: Answer) -> list[Difference]:
    """All of them, by place."""
    if original.status != here.status:
        return [Difference("status", _told(original), _told(here))]
    found = list(_differ("", _ordered(original.body), _ordered(here.body)))
    if not found and original.body != here.body:
        return [Difference("order", None, None)]
    return found


def _told(answer: Answer) -> str:
    body = answer.body
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return f"{answer.status} {error.get('type')}: {error.get('message')}"
    return str(answer.status)


def _ordered(value: Any) -> Any:
    """The same with the items of all lists that have maps in one order."""
    if isinstance(value, Mapping):
        return {name: _ordered(one) for name, one in value.items()}
    if isinstance(value, list):
        items = [_ordered(one) for one in value]
        return sorted(items, key=_rank) if any(isinstance(one, Mapping) for one in items) else items
    return value


def _rank(item: Any) -> str:
    if not isinstance(item, Mapping):  # the members of a nested stack in a preview
        return ""
    names = ("resource_name", "stack_name", "output_key", "resource_status", "functions", "rel",
             "name", "version", "href")  # fmt: skip
    return json.dumps([str(item.get(name)) for name in names if name in item], default=str)


def _differ(place: str, original: Any, here: Any) -> Iterator[Difference]:
    if isinstance(original, Mapping) and isinstance(here, Mapping):
        for name in sorted({*original, *here}):
            below = f"{place}.{name}" if place else name
            yield from _differ(below, original.get(name, ABSENT), here.get(name, ABSENT))
    elif isinstance(original, list) and isinstance(here, list) and len(original) == len(here):
        for one, other in zip(original, here, strict=True):
            yield from _differ(f"{place}[]", one, other)
    elif original != here:
        yield Difference(place, original, here)


def _short(value: Any) -> str:
    return value if value is ABSENT else json.dumps(value)[:200]


def known(request: Request, one: Difference, original: Answer, here: Answer) -> Known | None:
    """The first entry that explains it."""
    return next((entry for entry in KNOWN if entry.matches(request, one, original, here)), None)


def _place(pattern: str) -> Callable[[Request, Difference, Answer, Answer], bool]:
    compiled = re.compile(pattern)
    return lambda request, one, original, here: compiled.fullmatch(one.place) is not None


def _is(
    pattern: str, was: Callable[[Any], bool], now: Callable[[Any], bool], path: str = ""
) -> Callable[[Request, Difference, Answer, Answer], bool]:
    compiled, ways = re.compile(pattern), re.compile(path)
    return lambda request, one, original, here: (
        compiled.fullmatch(one.place) is not None
        and was(one.original)
        and now(one.here)
        and ways.search(f"{request.method} {request.path}") is not None
    )


def _any(value: Any) -> bool:
    return True


def _statuses(was: str, now: str, path: str = "") -> Callable[..., bool]:
    first, second = re.compile(was), re.compile(now)
    return _is(
        "status", lambda v: first.match(v) is not None, lambda v: second.match(v) is not None, path
    )


WORDS = r"(.*\.)?(message|explanation|.*description|Description|(resource_|stack_)?status_reason)"


def _words(value: Any) -> bool:
    return isinstance(value, str) and value != ABSENT


def _value(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


def _internal(request: Request, one: Difference, original: Answer, here: Answer) -> bool:
    return one.place == "status" and original.status == 500 and here.status != 500


PYTHON = ("AttributeError", "KeyError", "TypeError", "ValueError", "RemoteError")
INSIDE = r"(?!status$|error\.).+"
UNCHANGED = (
    r"resource_changes\.unchanged\[\]\.(creation_time|updated_time|physical_resource_id|nested_stack_id"
    r"|resource_action|resource_status_reason|(metadata|attributes|resource_identity|stack_identity|stack_name).*)"
)
KNOWN: tuple[Known, ...] = (
    Known("words", "messages and explanations are worded differently", _is(WORDS, _words, _words)),
    Known("order", "lists may come in another order", _place("order")),
    Known(
        "better",
        "a request that ends in an internal error (500) in Heat gets a useful answer",
        _internal,
    ),
    Known(
        "better",
        "`error.type` is never the name of a Python exception",
        _is(r"error\.type", _value(*PYTHON), _words),
    ),
    Known(
        "better",
        "`GET /stacks/detail` obeys its query parameters",
        lambda request, one, original, here: (
            request.path.startswith("/stacks/detail?")
            and one.place in ("status", "stacks", "count", "links")
        ),
    ),
    Known(
        "better",
        "validate, preview and create refuse values of a wrong type with 400",
        _statuses("20", r"400 (HTTPBadRequest|Invalid)", r"POST /(validate|stacks)"),
    ),
    Known(
        "better",
        "some unknown addresses below a known one answer 405 instead of 404",
        _statuses("404", "405"),
    ),
    Known(
        "harmless",
        "`template_functions` has condition functions only where the request asks for them",
        lambda request, one, original, here: (
            one.place == "template_functions" and "with_condition" not in request.path
        ),
    ),
    Known(
        "harmless",
        "the template of an unknown resource type is 404, also with an unknown format",
        _statuses("400 HTTPBadRequest: Template type", "404", "/template"),
    ),
    Known(
        "harmless",
        "a deployment of a missing configuration is refused with 400 instead of 404",
        _statuses("404 NotFound", "400", "POST /software_deployments"),
    ),
    Known(
        "harmless",
        "the first event of a resource has no physical id",
        _is(r"events?(\[\])?\.physical_resource_id", _words, _value(None, "")),
    ),
    Known(
        "deliberate",
        "`stack_user_project_id` is null until a resource of the stack needs a user",
        _is(r"(.*\.)?stack_user_project_id", _words, _value(None)),
    ),
    Known(
        "better",
        "an update preview shows unchanged resources with their current state",
        _place(UNCHANGED),
    ),
    Known(
        "harmless",
        "the environment of a stack has no registry entry that maps a nested template to itself",
        _is(r"(.*\.)?resource_registry\.child\.yaml", _words, _value(ABSENT)),
    ),
    Known(
        "harmless",
        "build information and the list of engines describe Hearth",
        _place(r"(api|engine)\.revision|services\[\]\..*"),
    ),
    Known(
        "better",
        "a 404 for an unknown address has an error body",
        lambda request, one, original, here: one.place == "" and original.status == 404,
    ),
    Known(
        "harmless",
        "a 202 answer has a JSON object as its body",
        lambda request, one, original, here: one.place == "" and original.status == 202,
    ),
    Known(
        "better", "an error always has a message", _is(r"error\.message", _value(ABSENT), _words)
    ),
    Known(
        "better",
        "the schema of a resource type has a description",
        _is("description", _value(ABSENT), _words),
    ),
    Known(
        "words",
        "descriptions of types, properties and attributes are worded differently",
        _place(r".*\.description"),
    ),
    Known(
        "harmless",
        "the list of resource types holds those that Hearth has",
        _is("resource_types", _any, _any, "version="),
    ),
    Known(
        "harmless",
        "templates generated from a resource type name and type their parameters differently",
        _is(INSIDE, _any, _any, r"^GET /resource_types/[^/]+/template"),
    ),
    Known(
        "better",
        "hidden values are masked in more places",
        _is(r".*", lambda v: v in ("y", "secret"), _value("******")),
    ),
    Known(
        "harmless",
        "a resource without an object in the cloud has its generated name as physical id",
        _is(r"(.*\.)?(physical_resource_id|resource_id)", _value("<id>"), _words),
    ),
    Known(
        "harmless",
        "the user of a signal handle has another id and another password",
        _place(r"(.*\.)?attributes\.signal|(.*\.)?resource_data\.password"),
    ),
    Known(
        "better",
        "a group shows the attributes `attributes`, `refs` and `refs_map`",
        _is(r"(.*\.)?attributes\.(attributes|refs|refs_map)", _value(None), bool),
    ),
    Known(
        "harmless",
        "events of a missing resource: `ResourceNotFound` instead of `HTTPNotFound`",
        _is(r"error\.type", _value("HTTPNotFound"), _value("ResourceNotFound"), "/events"),
    ),
    Known(
        "harmless",
        "resources without a dependency between them start in any order",
        _is(r"events\[\]\..*", _any, _any, r"limit=\d"),
    ),
    Known(
        "better",
        "a filter by a boolean finds the stacks that match",
        _is("stacks", _value([]), bool, "disable_rollback=true"),
    ),
    Known(
        "harmless",
        "an unknown section: `StackValidationFailed` instead of `InvalidTemplateSection`",
        _is(r"error\.type", _value("InvalidTemplateSection"), _value("StackValidationFailed")),
    ),
    Known(
        "better",
        "an update preview shows attributes, metadata and dependents, also in nested stacks",
        _is(
            r"resource_changes\..*\.(required_by|physical_resource_id|attributes.*|metadata.*)",
            _any,
            _any,
        ),
    ),
    Known(
        "better",
        "the properties in an event include defaults",
        _is(r"event\.resource_properties\..*", _value(ABSENT), _any),
    ),
    Known(
        "deliberate",
        "exported documents and snapshots name nested stacks and hold all an adopt needs",
        _is(INSIDE, _any, _any, r"/(export|abandon|snapshots)"),
    ),
    Known(
        "better",
        "the preview of a create shows outputs whose values are certain",
        _is(r"stack\.outputs\[\]\.output_value", _value(None), _any, "POST /stacks/preview"),
    ),
    Known(
        "harmless",
        "Heat does not list types of services that its cloud lacks",
        _is("resource_types", _value([]), _value(["OS::Aodh::Alarm"]), "support_status="),
    ),
    Known(
        "harmless",
        "the preview of a create names a nested stack after its resource",
        _is(r"stack\.resources\[\]\[\]\..*", _any, _any, "POST /stacks/preview"),
    ),
    Known(
        "harmless",
        "an adopted stack has no `updated_time`",
        _is(r"stack\.updated_time", _any, _value(None)),
    ),
    Known(
        "better",
        "the template of a deleted stack is complete",
        _is(r"resources\..*", _value(ABSENT), bool, "GET .*/template"),
    ),
    Known(
        "better",
        "a deployment without a status reason has null, not the text `None`",
        _is(r"software_deployments?(\[\])?\.status_reason", _value("None"), _value(None)),
    ),
)

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
    """The same with the items of all lists of maps in one order."""
    if isinstance(value, Mapping):
        return {name: _ordered(one) for name, one in value.items()}
    if isinstance(value, list):
        items = [_ordered(one) for one in value]
        return sorted(items, key=_rank) if items and isinstance(items[0], Mapping) else items
    return value


def _rank(item: Any) -> str:
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
    Known("words", "the same said otherwise", _is(WORDS, _words, _words)),
    Known("order", "the same in another order", _place("order")),
    Known("better", "the original has an internal error", _internal),
    Known(
        "better",
        "a type of error is not a class of Python",
        _is(r"error\.type", _value(*PYTHON), _words),
    ),
    Known(
        "better",
        "/stacks/detail reads its query",
        lambda request, one, original, here: (
            request.path.startswith("/stacks/detail?")
            and one.place in ("status", "stacks", "count", "links")
        ),
    ),
    Known(
        "better",
        "values of a wrong kind are refused by validate, preview and create too",
        _statuses("20", r"400 (HTTPBadRequest|Invalid)", r"POST /(validate|stacks)"),
    ),
    Known(
        "better",
        "an unknown address is 405 by any method where it is under a known one",
        _statuses("404", "405"),
    ),
    Known(
        "harmless",
        "condition functions are listed where they are asked for: the original shows "
        "them to all once anybody has asked",
        lambda request, one, original, here: (
            one.place == "template_functions" and "with_condition" not in request.path
        ),
    ),
    Known(
        "harmless",
        "what is looked for first: the type, then the format",
        _statuses("400 HTTPBadRequest: Template type", "404", "/template"),
    ),
    Known(
        "harmless",
        "a deployment of no configuration is a bad request",
        _statuses("404 NotFound", "400", "POST /software_deployments"),
    ),
    Known(
        "harmless",
        "the first event has no physical id yet",
        _is(r"events?(\[\])?\.physical_resource_id", _words, _value(None, "")),
    ),
    Known(
        "deliberate",
        "the project of a stack's users is made when it is needed",
        _is(r"(.*\.)?stack_user_project_id", _words, _value(None)),
    ),
    Known(
        "deliberate",
        "a configuration without a group is Heat::Ungrouped",
        _is(r"software_configs?(\[\])?\.group", _value(None), _value("Heat::Ungrouped")),
    ),
    Known(
        "better",
        "unchanged resources are shown as they are",
        _place(UNCHANGED),
    ),
    Known(
        "harmless",
        "a custom type's own name is not in the registry",
        _is(r"(.*\.)?resource_registry\.child\.yaml", _words, _value(ABSENT)),
    ),
    Known("harmless", "who serves", _place(r"(api|engine)\.revision|services\[\]\..*")),
    Known(
        "better",
        "an unknown address has a fault as its body",
        lambda request, one, original, here: one.place == "" and original.status == 404,
    ),
    Known(
        "harmless",
        "the body of 202 is a map",
        lambda request, one, original, here: one.place == "" and original.status == 202,
    ),
    Known("better", "an error says what is wrong", _is(r"error\.message", _value(ABSENT), _words)),
    Known("better", "each type says what it is", _is("description", _value(ABSENT), _words)),
    Known("words", "descriptions", _place(r".*\.description")),
    Known(
        "harmless",
        "types that one of the two does not have, or had not in that release",
        _is("resource_types", _any, _any, "version="),
    ),
    Known(
        "harmless",
        "generated templates are named and typed otherwise",
        _is(INSIDE, _any, _any, r"^GET /resource_types/[^/]+/template"),
    ),
    Known(
        "better",
        "hidden values are masked",
        _is(r".*", lambda v: v in ("y", "secret"), _value("******")),
    ),
    Known(
        "harmless",
        "the physical id of what is nowhere is its generated name",
        _is(r"(.*\.)?(physical_resource_id|resource_id)", _value("<id>"), _words),
    ),
    Known(
        "harmless",
        "the identity and the password of a handle's user",
        _place(r"(.*\.)?attributes\.signal|(.*\.)?resource_data\.password"),
    ),
    Known(
        "better",
        "a group shows its attributes, as get_attr has them",
        _is(r"(.*\.)?attributes\.(attributes|refs|refs_map)", _value(None), bool),
    ),
    Known(
        "harmless",
        "a resource that is not there is named as such",
        _is(r"error\.type", _value("HTTPNotFound"), _value("ResourceNotFound"), "/events"),
    ),
    Known(
        "harmless",
        "resources without an order between them start in any order",
        _is(r"events\[\]\..*", _any, _any, r"limit=\d"),
    ),
    Known(
        "better",
        "a filter by a boolean finds what has it",
        _is("stacks", _value([]), bool, "disable_rollback=true"),
    ),
    Known(
        "harmless",
        "a section that is unknown is a fault of validation",
        _is(r"error\.type", _value("InvalidTemplateSection"), _value("StackValidationFailed")),
    ),
    Known(
        "better",
        "a preview shows what is there, in nested stacks too",
        _is(
            r"resource_changes\..*\.(required_by|physical_resource_id|attributes.*|metadata.*)",
            _any,
            _any,
        ),
    ),
    Known(
        "better",
        "the properties of an event are all that the resource has, defaults too",
        _is(r"event\.resource_properties\..*", _value(ABSENT), _any),
    ),
    Known(
        "deliberate",
        "a document names what its nested stacks are, and says all that is needed",
        _is(INSIDE, _any, _any, r"/(export|abandon|snapshots)"),
    ),
    Known(
        "harmless",
        "a nested stack in a preview is called by the resource's name",
        _is(r"stack\.resources\[\]\[\]\..*", _any, _any, "POST /stacks/preview"),
    ),
    Known("harmless", "adopting is no update", _is(r"stack\.updated_time", _any, _value(None))),
    Known(
        "better",
        "the template of a deleted stack is whole",
        _is(r"resources\..*", _value(ABSENT), bool, "GET .*/template"),
    ),
    Known(
        "harmless",
        "a snapshot is gone when the answer is there",
        _statuses("200", "404", "GET .*/snapshots/"),
    ),
    Known(
        "better",
        "no reason is null, not the text None",
        _is(r"software_deployments?(\[\])?\.status_reason", _value("None"), _value(None)),
    ),
)

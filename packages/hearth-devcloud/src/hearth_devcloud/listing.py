"""Filtering, sorting and pagination of list calls, as most OpenStack services do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hearth_devcloud.http import Call, Refusal
from hearth_devcloud.store import Resource

CONTROLS = frozenset(
    {
        "limit",
        "marker",
        "fields",
        "sort_key",
        "sort_dir",
        "sort",
        "page_reverse",
        "all_tenants",
        "all_projects",
        "with_count",
        "offset",
    }
)
TAG_FILTERS = frozenset({"tags", "tags-any", "not-tags", "not-tags-any"})


def same(text: str, value: Any) -> bool:
    """Return whether the value of a field matches the text of a query argument."""
    if isinstance(value, bool):
        return text.lower() in (("true", "1") if value else ("false", "0"))
    if value is None:
        return text in ("", "None", "null")
    if isinstance(value, list):
        return text in value
    return text == str(value)


def filtered(
    resources: Iterable[Resource], query: Mapping[str, list[str]], ignore: frozenset[str] = CONTROLS
) -> list[Resource]:
    """Return the objects whose fields and tags match all query arguments except those in `ignore`.

    If an argument occurs several times, one of its values has to match.
    """
    resources = list(resources)
    for key, values in query.items():
        if key in TAG_FILTERS:
            names = set(",".join(values).split(","))
            resources = [t for t in resources if tagged(key, names, t.body.get("tags") or [])]
        elif key not in ignore:
            resources = [t for t in resources if _one_of(values, t.body.get(key))]
    return resources


def _one_of(texts: list[str], value: Any) -> bool:
    if isinstance(value, str):
        return value in texts
    return any(same(text, value) for text in texts)


def tagged(kind: str, names: set[str], tags: list[str]) -> bool:
    """Return whether an object with these tags passes a tag filter.

    `kind` is `tags`, `tags-any`, `not-tags` or `not-tags-any`; `names` are the tags in the query.
    """
    match kind:
        case "tags":
            return names <= set(tags)
        case "tags-any":
            return not names.isdisjoint(tags)
        case "not-tags":
            return not names <= set(tags)
        case _:
            return names.isdisjoint(tags)


def ordered(resources: list[Resource], call: Call) -> list[Resource]:
    """Return the objects sorted by the query arguments `sort_key`/`sort_dir` or `sort=key:dir`."""
    keys = list(call.query.get("sort_key", []))
    directions = list(call.query.get("sort_dir", []))
    for item in ",".join(call.query.get("sort", [])).split(","):
        key, _, direction = item.partition(":")
        if key:
            keys.append(key)
            directions.append(direction or "desc")
    for index, key in reversed(list(enumerate(keys))):
        descending = index < len(directions) and directions[index] == "desc"
        resources = sorted(resources, key=_sort_value(key), reverse=descending)
    return resources


def _sort_value(key: str) -> Callable[[Resource], tuple[bool, str]]:
    def value(resource: Resource) -> tuple[bool, str]:
        field = resource.body.get(key)
        return (field is None, str(field))

    return value


def page(
    resources: list[Resource], call: Call, *, marker_status: int = 400, max_limit: int = 1000
) -> tuple[list[Resource], bool]:
    """Return the page for the query arguments `limit` and `marker`, and whether more follow.

    Raises Refusal with `marker_status` if there is no object with the id `marker`. A limit of 0
    means `max_limit`.
    """
    marker = call.argument("marker")
    if marker:
        index = next((i for i, resource in enumerate(resources) if resource.id == marker), None)
        if index is None:
            raise Refusal(marker_status, "BadRequest", f"Marker {marker} could not be found")
        resources = resources[index + 1 :]
    limit_text = call.argument("limit")
    if limit_text is None:
        return resources, False
    if not limit_text.isdecimal():
        raise Refusal(400, "BadRequest", f"limit must be a whole number, not {limit_text!r}")
    limit = int(limit_text) or max_limit
    return resources[:limit], len(resources) > limit

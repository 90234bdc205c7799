"""Applying a type's translation rules: rename, move and merge properties; replace names by ids.

Values that are not known yet stay as they are. Source: docs/spec/hot.md, section 6.2.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hearth.model.problem import Problem, Rejected, ResourcePropertyConflict
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.schema import Add, Delete, Replace, Resolve, Rule, ordered

if TYPE_CHECKING:
    from hearth.resources.lookup import Names

ID = re.compile(r"^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$")
"""Matches values that can only be ids, so that no list call is needed."""


class Resolved(Struct, frozen=True):
    """The properties after the translation, and the problems that occurred."""

    properties: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()


async def resolve(
    properties: Mapping[str, Any], rules: Sequence[Rule], names: Names, at: Span | None = None
) -> Resolved:
    """Apply all rules to the properties, and return the result with the problems found.

    `at` is the place of the problems. `names` caches the lists of objects, so it must be used for
    one operation only. Raises CloudFault.
    """
    if not rules:
        return Resolved(properties)
    moved = move(properties, rules, at)
    values = dict(moved.properties)
    problems = list(moved.problems)

    async def id_of(finder: str, value: Any) -> Any:
        if not _is_name(value):
            return value
        ident = await names.id_of(finder, value, at)
        if isinstance(ident, Problem):
            problems.append(ident)
            return value
        return ident

    lookups = [
        (rule.finder.format_map(defaultdict(str, values)), holder, key)
        for rule in rules
        if isinstance(rule, Resolve) and values.get(rule.path[0])
        for holder, key in places(values, rule.path)
        if _has_name(holder[key])
    ]
    names.begin({finder for finder, _, _ in lookups})
    for finder, holder, key in lookups:
        holder[key] = await _each(holder[key], finder, id_of)
    return Resolved(values, tuple(problems))


async def translated(
    properties: Mapping[str, Any], rules: Sequence[Rule], names: Names
) -> Mapping[str, Any]:
    """Apply all rules and return the resulting properties.

    Raises Rejected if a name is not found, or if a deprecated property and its successor are both
    given.
    """
    resolved = await resolve(properties, rules, names)
    if resolved.problems:
        raise Rejected(resolved.problems)
    return resolved.properties


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not ID.match(value)


def _has_name(value: Any) -> bool:
    return any(map(_is_name, value)) if isinstance(value, list) else _is_name(value)


def move(properties: Mapping[str, Any], rules: Sequence[Rule], at: Span | None = None) -> Resolved:
    """Apply the rules that need no call to the cloud; problems have the place `at`."""
    values: dict[str, Any] = _copied(dict(properties))
    problems: list[Problem] = []
    for rule in ordered(rule for rule in rules if not isinstance(rule, Resolve)):
        match rule:
            case Add(path=path, values=more, value_path=source):
                extra = list(more)
                if source is not None:
                    extra += [h[k] for h, k in places(values, source) if h[k] is not None]
                before = values.get(path[0]) or []
                if extra and not isinstance(before, Unknown):
                    values[path[0]] = [*before, *extra]
            case Replace():
                problems += _replace(values, rule, at)
            case Delete(path=path):
                for holder, key in places(values, path):
                    holder.pop(key, None)
    return Resolved(values, tuple(problems))


def _copied(value: Any) -> Any:
    """Return deep copies of maps and lists, because rules change them."""
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


def places(values: dict[str, Any], path: Sequence[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (map, last key) for each map that a path of keys leads to and that contains the last
    key.

    A list on the path stands for each of its items.
    """
    first, *keys = path
    holders: list[Any] = [values]
    while keys:
        holders = [h.get(first) for h in holders if isinstance(h, dict)]
        holders = [x for h in holders for x in (h if isinstance(h, list) else [h])]
        first, *keys = keys
    for holder in holders:
        if isinstance(holder, dict) and first in holder:
            yield holder, first


def _replace(values: dict[str, Any], rule: Replace, at: Span | None) -> Iterator[Problem]:
    target = rule.path[-1]
    if rule.value_path is not None:
        sources = list(places(values, rule.value_path))
        into = values
    elif rule.value_name is not None:
        sources = list(places(values, [*rule.path[:-1], rule.value_name]))
        into = {}
    else:
        for holder, key in places(values, rule.path):
            holder[key] = rule.value
        return
    for holder, key in sources:
        value = holder.pop(key) if rule.entry is None else _entry(holder[key], rule.entry)
        if value is None:
            continue
        goal = into if rule.value_path is not None else holder
        sides = (value, goal.get(target))
        if any(isinstance(side, Unknown) and not side.present for side in sides):
            goal[target] = UNKNOWN
        elif goal.get(target) is not None:
            yield ResourcePropertyConflict(at, f"{target} and {key} exclude each other")
        else:
            goal[target] = value


def _entry(value: Any, name: str) -> Any:
    return value if isinstance(value, Unknown) else (value or {}).get(name)


async def _each(value: Any, finder: str, id_of: Callable[[str, Any], Awaitable[Any]]) -> Any:
    if isinstance(value, list):
        return [await id_of(finder, entry) for entry in value]
    return await id_of(finder, value)

"""Functions on lists and maps. Source: docs/spec/hot.md, sections 8.9 to 8.12, 8.14, 8.15, 8.17."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import prod
from typing import Any

from hearth.model.json_text import decode_json, too_deep
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.schema.constraint import comparable
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, bounded, pure, register
from hearth.template.signature import (
    ANYTHING,
    COLLECTION,
    LISTS,
    MAPS,
    SEQUENCE,
    TEXT,
    marks,
    positions,
)
from hearth.template.walk import values_in

REPEAT_MAX = 100_000
"""The maximum number of items that one `repeat` creates."""

REPEAT_VALUES_MAX = 500_000
"""The maximum number of values that all items of one `repeat` contain together."""


def map_merge(args: Any) -> Any:
    """Merge a list of maps and return the result; if they have equal keys, the last map takes
    precedence.

    Items that are null are skipped. If an item is Unknown, so is the result.
    """
    if isinstance(args, Unknown):
        return args
    if not isinstance(args, list):
        raise EvaluationError(f"expected a list of maps, got {args!r}")
    merged: dict[str, Any] = {}
    for item in args:
        if isinstance(item, Unknown):
            return item
        if item is None:
            continue
        if not isinstance(item, Mapping):
            raise EvaluationError(f"only maps can be merged, not {item!r}")
        merged.update(item)
    return merged


def map_replace(args: Any) -> dict[str, Any]:
    """Return a copy of a map in which some keys and values are replaced.

    `args` is the list [map, {"keys": {old: new}, "values": {old: new}}].
    """
    if not isinstance(args, list) or len(args) != 2:
        raise EvaluationError("expected a list with two items: a map, and a map of replacements")
    source, replacements = args
    if source is None:
        source = {}
    if not isinstance(source, Mapping) or not isinstance(replacements, Mapping):
        raise EvaluationError("both items must be maps: the map to change, and its replacements")
    for key in replacements:
        if key not in ("keys", "values"):
            raise EvaluationError(
                f'the replacements can have the keys "keys" and "values", not "{key}"'
            )
    keys = replacements.get("keys") or {}
    values = replacements.get("values") or {}
    if not isinstance(keys, Mapping) or not isinstance(values, Mapping):
        raise EvaluationError('"keys" and "values" of the replacements must be maps')
    result: dict[str, Any] = {}
    for key, value in source.items():
        new = keys.get(key)
        new = key if new is None else str(new)
        if new in result or (new != key and new in source):
            raise EvaluationError(f'two entries of the result would have the key "{new}"')
        if isinstance(value, str) and value in values:
            value = values[value]
        result[new] = value
    return result


def list_concat(args: Any) -> Any:
    """Concatenate a list of lists and return the result.

    Items that are null are skipped. If an item is Unknown, so is the result.
    """
    if isinstance(args, Unknown):
        return args
    if not isinstance(args, list):
        raise EvaluationError(f"expected a list of lists, got {args!r}")
    result: list[Any] = []
    for item in args:
        if isinstance(item, Unknown):
            return item
        if item is None:
            continue
        if not isinstance(item, list):
            raise EvaluationError(f"only lists can be concatenated, not {item!r}")
        result.extend(item)
    return result


def list_concat_unique(args: Any) -> Any:
    """Concatenate a list of lists and return the result without duplicates."""
    result: list[Any] = []
    keys: set[Any] = set()
    for item in list_concat(args):
        key = comparable(item)
        if key not in keys:
            keys.add(key)
            result.append(item)
    return result


def filter_out(args: Any) -> Any:
    """Return a list without some values; `args` is the list [values to remove, list]."""
    values, items = args
    if not items or not values:
        return items
    if not isinstance(values, list) or not isinstance(items, list):
        raise EvaluationError("both items must be lists: the values to remove, and the list")
    unwanted = set(map(comparable, values))
    return [item for item in items if comparable(item) not in unwanted]


def contains(args: Any) -> bool:
    """Return whether a list or a text contains a value; `args` is [value, list or text]."""
    value, sequence = args
    if isinstance(sequence, list):
        return value in sequence
    if isinstance(sequence, str):
        if not isinstance(value, str):
            raise EvaluationError(
                "expected a string as the first argument, because the second one is a string, "
                f"got {value!r}"
            )
        return value in sequence
    raise EvaluationError(f"expected a list or a string, got {sequence!r}")


def _pair(contents: str) -> Callable[[Any], str | None]:
    def check(args: Any) -> str | None:
        return (
            None
            if isinstance(args, list) and len(args) == 2
            else f"expected a list with {contents}"
        )

    return check


def _repeater(maps: bool, parallel: bool) -> Callable[[Any], list[Any]]:
    def repeat(args: Any) -> list[Any]:
        marks = args["for_each"]
        if not isinstance(marks, Mapping) or not marks:
            raise EvaluationError("for_each must be a map and not empty")
        permutations = args.get("permutations", True) if parallel else True
        if not isinstance(permutations, bool):
            raise EvaluationError("permutations must be a boolean")
        lists = [_items(items, maps and permutations) for items in marks.values()]
        rows: Iterable[tuple[Any, ...]]
        if permutations:
            count = prod(map(len, lists))
            if count > REPEAT_MAX:
                raise EvaluationError(
                    f"repeat would create {count} items, more than the {REPEAT_MAX} allowed"
                )
            rows = product(*lists)
        else:
            if not all(lists):
                return []
            if len({len(items) for items in lists}) > 1:
                message = "without permutations the lists of for_each must have the same length"
                raise EvaluationError(message)
            rows = zip(*lists, strict=True)
        template = args["template"]
        count = prod(map(len, lists)) if permutations else len(lists[0])
        if count * values_in(template) > REPEAT_VALUES_MAX:
            raise EvaluationError(f"repeat would create more than {REPEAT_VALUES_MAX} values")
        marker = _Marker(list(marks))
        return [marker.marked(template, row) for row in rows]

    return repeat


def _items(items: Any, maps: bool) -> list[Any]:
    if items is None:
        return []
    if isinstance(items, list):
        return items
    if isinstance(items, Mapping) and maps:
        return list(items)
    raise EvaluationError(f"for_each needs lists to iterate over, not {items!r}")


class _Marker:
    """Replaces the loop variables in a template of `repeat` by items.

    The total length of all created texts is limited.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.characters = 0

    def marked(self, template: Any, row: tuple[Any, ...]) -> Any:
        match template:
            case str():
                return self.text(template, row)
            case dict():
                return {
                    self.text(key, row): self.marked(value, row) for key, value in template.items()
                }
            case list():
                return [self.marked(item, row) for item in template]
            case _:
                return template

    def text(self, text: str, row: tuple[Any, ...]) -> str:
        for name, item in zip(self.names, row, strict=True):
            if not isinstance(item, str):
                raise EvaluationError(f"only a string can replace a name in a string, not {item!r}")
            count = text.count(name)
            if count:
                bounded(self.characters + len(text) + count * len(item))
                text = text.replace(name, item)
        self.characters += len(text)
        bounded(self.characters)
        return text


def _repeat_check(parallel: bool) -> Callable[[Any], str | None]:
    def check(args: Any) -> str | None:
        if not isinstance(args, dict) or "template" not in args or "for_each" not in args:
            return "expected a map with the keys template and for_each"
        if isinstance(args["for_each"], list | str | int | float | bool | None):
            return "for_each must be a map"
        if parallel and isinstance(args.get("permutations", True), str | int | float | list | dict):
            return (
                None
                if isinstance(args.get("permutations", True), bool)
                else ("permutations must be a boolean")
            )
        return None

    return check


def select(args: Any) -> Any:
    """Return an item of a list or a map; an empty text if there is no such item.

    `args` is the list [index or key, list or map]. The list or map may also be given as JSON text.
    """
    index, items = args
    if isinstance(items, str):
        if items == "":
            return ""
        try:
            items = decode_json(items)
        except (ValueError, RecursionError):
            raise EvaluationError(f"{items!r} is not JSON") from None
        if too_deep(items):
            raise EvaluationError("the JSON is nested too deep")
    if items is None:
        return ""
    if isinstance(items, Mapping):
        if not isinstance(index, str):
            raise EvaluationError(f"the key of a map must be a string, not {index!r}")
        return items.get(index, "")
    if isinstance(items, list):
        try:
            number = int(index)
        except (ValueError, TypeError, OverflowError):
            raise EvaluationError(f"the index of a list must be a number, not {index!r}") from None
        return items[number] if -1 < number < len(items) else ""
    raise EvaluationError(f"expected a list or a map, got {items!r}")


def member_list_to_map(args: Any) -> dict[str, str]:
    """Convert a list of texts such as `.member.0.NAME=k` and `.member.0.VALUE=v` to a map {k: v}.

    `args` is the list [key name, value name, texts]; the names are NAME and VALUE in the example.
    """
    key_name, value_name, items = args
    if not isinstance(key_name, str) or not isinstance(value_name, str):
        raise EvaluationError(f"expected two names, got {key_name!r} and {value_name!r}")
    if not isinstance(items, list):
        raise EvaluationError(f"expected a list of strings, got {items!r}")
    parts: dict[str, dict[str, str]] = {}
    for item in items:
        if not isinstance(item, str):
            raise EvaluationError(f"expected a list of strings, got {item!r}")
        key, _, text = item.partition("=")
        steps = key.split(".")
        if len(steps) > 3 and steps[0] == "" and steps[1] == "member":
            parts.setdefault(steps[2], {})[steps[3]] = text
    return {
        part[key_name]: part[value_name]
        for part in parts.values()
        if key_name in part and value_name in part
    }


def _check_members(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) != 3:
        return "expected a list with a key name, a value name and a list of strings"
    return None


register(
    Function(
        "map_merge", pure(map_merge), strict=False, takes=positions(rest=MAPS), gives=ValueKind.MAP
    )
)
register(
    Function("map_replace", pure(map_replace), takes=positions(MAPS, MAPS), gives=ValueKind.MAP)
)
register(
    Function(
        "list_concat",
        pure(list_concat),
        strict=False,
        takes=positions(rest=LISTS),
        gives=ValueKind.LIST,
    )
)
register(
    Function(
        "list_concat_unique",
        pure(list_concat_unique),
        takes=positions(rest=LISTS),
        gives=ValueKind.LIST,
    )
)
register(
    Function(
        "filter",
        pure(filter_out),
        _pair("a list of values to remove and a list"),
        takes=positions(LISTS, LISTS),
        gives=ValueKind.LIST,
    )
)
register(
    Function(
        "contains",
        pure(contains),
        _pair("a value and a sequence"),
        takes=positions(ANYTHING, SEQUENCE),
        gives=ValueKind.BOOLEAN,
    )
)
for _name, _maps, _parallel in (
    ("repeat.lists", False, False),
    ("repeat.maps", True, False),
    ("repeat", True, True),
):
    _repeat = pure(_repeater(maps=_maps, parallel=_parallel))
    register(Function(_name, _repeat, _repeat_check(_parallel), takes=marks, gives=ValueKind.LIST))
register(
    Function(
        "Fn::Select",
        pure(select),
        _pair("an index and a collection"),
        takes=positions(ANYTHING, COLLECTION),
    )
)
register(
    Function(
        "Fn::MemberListToMap",
        pure(member_list_to_map),
        _check_members,
        takes=positions(TEXT, TEXT, LISTS),
        gives=ValueKind.MAP,
    )
)

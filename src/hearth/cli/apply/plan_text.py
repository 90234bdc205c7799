"""A plan in words and colours: a line for each resource that changes, and below it the reasons."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hearth.authoring.terminal import style

Plan = Mapping[str, Any]

MARKS: Mapping[str, tuple[str, str]] = {
    "create": ("+", "green"),
    "update": ("~", "yellow"),
    "may update": ("~?", "yellow"),
    "replace": ("-/+", "magenta"),
    "may replace": ("-/+?", "magenta"),
    "delete": ("-", "red"),
    "retain": ("x", "cyan"),
    "fail": ("!", "red"),
    "keep": (" ", ""),
}
SUMMED = ("create", "update", "may update", "replace", "may replace", "delete", "retain", "fail")
WORDS = {"may update": "that may be updated", "may replace": "that may be replaced"}
VALUE_MAX = 60  # characters of a value
MARK_WIDTH = 4


def counted(plan: Plan) -> Counter[str]:
    """Return the number of resources for each action, with those of nested stacks."""
    found: Counter[str] = Counter()
    for one in plan["resources"]:
        found[one["action"]] += 1
        for inner in filter(None, (one.get("nested"), one.get("removed"))):
            found += counted(inner)
    return found


def changes(plan: Plan) -> bool:
    """Return whether a plan changes anything."""
    return any(action != "keep" for action in counted(plan))


def fails(plan: Plan) -> bool:
    """Return whether a plan contains an update that would fail."""
    return counted(plan)["fail"] > 0


def summary(plan: Plan) -> str:
    """Return the last line of a plan, such as `Plan: 2 to create, 1 to delete, 7 unchanged.`"""
    found = counted(plan)
    parts = [f"{found[one]} {WORDS.get(one, f'to {one}')}" for one in SUMMED if found[one]]
    if not parts:
        return f"No changes: {found['keep']} resources are as they should be."
    if found["keep"]:
        parts.append(f"{found['keep']} unchanged")
    return f"Plan: {', '.join(parts)}."


def lines(plan: Plan, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a plan, without the summary. Resources without a change are left out."""
    shown = [one for one in plan["resources"] if one["action"] != "keep"]
    width = max((len(one["resource"]) for one in shown), default=0)
    for one in shown:
        mark, colour = MARKS[one["action"]]
        name = f"{one['resource']:{width}}"
        yield (
            f"{'  ' * depth}{style(f'{mark:>{MARK_WIDTH}} {name}', fg=colour or None)}"
            f"  {style(one['type'], dim=True)}  {_action(one)}"
        )
        yield from (f"{'  ' * depth}{' ' * (MARK_WIDTH + 3)}{text}" for text in _reasons(one))
        for inner in filter(None, (one.get("removed"), one.get("nested"))):
            yield from lines(inner, depth + 1)


def _action(one: Mapping[str, Any]) -> str:
    lost = style(", deletes its data", fg="red") if one.get("deletes_data") else ""
    kept = ": the object stays in the cloud" if one["action"] == "retain" else ""
    return f"{one['action']}{lost}{kept}"


def _reasons(one: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a resource changes, and which of its values are not known yet."""
    for reason in one["reasons"]:
        said = reason["reason"]
        if "property" in reason and said.startswith(reason["property"]):
            said = said.removeprefix(reason["property"]).strip()
        text = f"{reason['property']}: " if "property" in reason else ""
        if "before" in reason:
            after = value(reason["after"]) if "after" in reason else "(known after apply)"
            text += f"{value(reason['before'])} -> {after}"
            said = "" if said == "changed" else f"  ({said})"
        yield style(f"{text}{said}", dim=not text)
    if one.get("unexpanded"):
        yield f"the plan does not contain the resources in it: {one['unexpanded']}"
    explained = {reason.get("property") for reason in one["reasons"]}
    for name, until in one.get("later", {}).items():
        if name not in explained:
            yield style(f"{name}: (known after {', '.join(until)})", dim=True)


def value(found: Any) -> str:
    """Return a value in one short line."""
    text = found if isinstance(found, str) else json.dumps(found, default=str, ensure_ascii=False)
    text = " ".join(text.split())
    text = text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 3]}..."
    return f'"{text}"' if isinstance(found, str) else text

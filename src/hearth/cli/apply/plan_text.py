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
    counts: Counter[str] = Counter()
    for resource in plan["resources"]:
        counts[resource["action"]] += 1
        for inner in filter(None, (resource.get("nested"), resource.get("removed"))):
            counts += counted(inner)
    return counts


def changes(plan: Plan) -> bool:
    """Return whether a plan changes anything."""
    return any(action != "keep" for action in counted(plan))


def fails(plan: Plan) -> bool:
    """Return whether a plan contains an update that would fail."""
    return counted(plan)["fail"] > 0


def summary(plan: Plan) -> str:
    """Return the last line of a plan, such as `Plan: 2 to create, 1 to delete, 7 unchanged.`"""
    counts = counted(plan)
    parts = [
        f"{counts[action]} {WORDS.get(action, f'to {action}')}"
        for action in SUMMED
        if counts[action]
    ]
    if not parts:
        return f"No changes: {counts['keep']} resources are as they should be."
    if counts["keep"]:
        parts.append(f"{counts['keep']} unchanged")
    return f"Plan: {', '.join(parts)}."


def lines(plan: Plan, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a plan, without the summary. Resources without a change are left out."""
    entries = [entry for entry in plan["resources"] if entry["action"] != "keep"]
    width = max((len(entry["resource"]) for entry in entries), default=0)
    for entry in entries:
        mark, colour = MARKS[entry["action"]]
        name = f"{entry['resource']:{width}}"
        yield (
            f"{'  ' * depth}{style(f'{mark:>{MARK_WIDTH}} {name}', fg=colour or None)}"
            f"  {style(entry['type'], dim=True)}  {_action(entry)}"
        )
        yield from (f"{'  ' * depth}{' ' * (MARK_WIDTH + 3)}{text}" for text in _reasons(entry))
        for inner in filter(None, (entry.get("removed"), entry.get("nested"))):
            yield from lines(inner, depth + 1)


def _action(entry: Mapping[str, Any]) -> str:
    lost = style(", deletes its data", fg="red") if entry.get("deletes_data") else ""
    suffix = ": the object stays in the cloud" if entry["action"] == "retain" else ""
    return f"{entry['action']}{lost}{suffix}"


def _reasons(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a resource changes, and which of its values are not known yet."""
    for reason in entry["reasons"]:
        phrase = reason["reason"]
        if "property" in reason and phrase.startswith(reason["property"]):
            phrase = phrase.removeprefix(reason["property"]).strip()
        text = f"{reason['property']}: " if "property" in reason else ""
        if "before" in reason:
            after = value(reason["after"]) if "after" in reason else "(known after apply)"
            text += f"{value(reason['before'])} -> {after}"
            phrase = "" if phrase == "changed" else f"  ({phrase})"
        yield style(f"{text}{phrase}", dim=not text)
    if entry.get("unexpanded"):
        yield f"the plan does not contain the resources in it: {entry['unexpanded']}"
    explained = {reason.get("property") for reason in entry["reasons"]}
    for name, until in entry.get("later", {}).items():
        if name not in explained:
            yield style(f"{name}: (known after {', '.join(until)})", dim=True)


def value(value: Any) -> str:
    """Return a value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = " ".join(text.split())
    text = text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 3]}..."
    return f'"{text}"' if isinstance(value, str) else text

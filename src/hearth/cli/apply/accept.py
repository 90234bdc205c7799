"""Take the values of drifted properties over into a template, and keep its text otherwise."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.cli.apply.stack import Body
from hearth.cli.apply.text_file import nodes_of
from hearth.template import Node, load
from hearth.template.parameters import MASK

SCALARS = (str, int, float, bool)
SECTIONS = {"resources": "properties", "Resources": "Properties"}


def accepted(text: str, path: Path, resources: Sequence[Body]) -> tuple[str, list[str], list[str]]:
    """Return the template with the real values of drifted properties, a line for each change, and a
    line for each property that must be changed by hand.

    `resources` are those of the drift. Raises UserError if the text is no YAML.
    """
    root = nodes_of(text, path)
    lines = text.splitlines(keepends=True)
    edits: list[tuple[int, int, str, str]] = []
    done: list[str] = []
    by_hand: list[str] = []
    for resource in resources:
        for difference in resource["differences"]:
            name = f"{resource['resource_name']}.{difference['property']}"
            node = _property(root, resource["resource_name"], difference["property"])
            obstacle = _obstacle(resource, node, difference, lines)
            if obstacle is not None or node is None:
                by_hand.append(f"{name}: {obstacle}")
                continue
            have = json.dumps(difference["have"], ensure_ascii=False)
            edits.append((node.line - 1, node.column - 1, _token(lines, node), have))
            done.append(f"{path}:{node.line}:{node.column}: {name} = {have}")
    for line, column, token, have in sorted(edits, reverse=True):
        at = lines[line]
        lines[line] = f"{at[:column]}{have}{at[column + len(token) :]}"
    return "".join(lines), done, by_hand


def _property(root: Node, resource: str, name: str) -> Node | None:
    for section, properties in SECTIONS.items():
        at: Node | None = root
        for key in (section, resource, properties, name):
            at = at.child(key) if at is not None and isinstance(at.value, dict) else None
        if at is not None:
            return at
    return None


def _obstacle(
    resource: Body, node: Node | None, difference: Mapping[str, Any], lines: Sequence[str]
) -> str | None:
    """Return why a property cannot be changed in the template, or None."""
    if resource["parent_resource"] is not None:
        return f"it is in the nested stack of {resource['parent_resource']}"
    if difference["have"] == MASK:
        return "its value is hidden"
    if node is None:
        return "the template does not set it"
    if not isinstance(difference["have"], SCALARS):
        return f"its real value is {json.dumps(difference['have'])}"
    if isinstance(node.value, dict) and "get_param" in node.value:
        return f"it comes from the parameter {node.value['get_param'].plain()}"
    if not isinstance(node.value, SCALARS):
        return "it is computed, or a list or a map"
    return None if _token(lines, node) else "its value is not on one line"


def _token(lines: Sequence[str], node: Node) -> str:
    """Return the text of a scalar as it is written; empty if it is not in one line."""
    text = lines[node.line - 1][node.column - 1 :]
    if text[:1] in "'\"":
        end = text.find(text[0], 1) + 1
        return text[:end] if end else ""
    written = text.rstrip("\n")
    for stop in (" #", ",", "}", "]"):
        written = written.partition(stop)[0]
    written = written.rstrip()
    loaded = load(f"v: {written}\n").child("v")
    return written if loaded is not None and loaded.value == node.value else ""

"""A language vector as files on a disk, linted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.lint import lint

VECTORS = Path(__file__).parents[1] / "vectors" / "hot"
ROOT = "the_root_template.yaml"


def vectors() -> list[dict[str, Any]]:
    """Those that create or preview a stack."""
    found = []
    for path in sorted(VECTORS.glob("*.yaml")):
        listed = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        found += [one for one in listed if one.get("mode", "stack") in ("stack", "preview")]
    return found


def works(vector: dict[str, Any]) -> bool:
    """Whether a stack of it completes and all its outputs can be read."""
    resolved = vector["expect"].get("resolved")
    return resolved is not None and not resolved.get("output_errors")


def errors_of(vector: dict[str, Any], folder: Path) -> list[Finding]:
    """The errors that lint finds, with the vector's files and environments in a folder."""
    for name, text in (vector.get("files") or {}).items():
        if isinstance(text, str) and not name.startswith("/") and "://" not in name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    root = folder / ROOT
    root.write_text(vector["template"], encoding="utf-8")
    inline = dict(vector.get("environment") or {})
    if vector.get("parameters"):
        inline["parameters"] = {**(inline.get("parameters") or {}), **vector["parameters"]}
    environments = []
    if inline:
        environments = [folder / "the_inline_environment.yaml"]
        environments[0].write_text(json.dumps(inline), encoding="utf-8")
    environments += [folder / key for key in vector.get("environment_files") or ()]
    return [one for one in lint(root, environments) if one.severity is Severity.ERROR]

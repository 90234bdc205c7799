"""What the compiler makes of every template that others wrote, as a reviewed snapshot.

    python -m tests.templates.corpus [--write]

Prints what differs from `corpus.json`: per template the findings, the resources with the types
they lead to, and what each waits for. With --write the snapshot becomes what is found.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from hearth.authoring.lint import lint
from hearth.authoring.project import Project
from hearth.authoring.types import author_catalog
from hearth.model.problem import Rejected
from hearth.model.unknown import UNKNOWN
from hearth.template import Environment
from hearth.template.compile import draft_template
from hearth.template.defaults import DEFAULTS
from hearth.template.environment import TypeEntry

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "templates" / "heat-templates"
SNAPSHOT = Path(__file__).parent / "corpus.json"
ENVIRONMENTS = ("software-config/boot-config", "_env.yaml")
"""In this folder, files of this ending are environments."""


def templates() -> list[Path]:
    """All of them, relative to the folder."""
    found = [*FOLDER.glob("**/*.yaml"), *FOLDER.glob("**/*.template")]
    relative = [path.relative_to(FOLDER) for path in found]
    return sorted(path for path in relative if not path.name.endswith(ENVIRONMENTS[1]))


def described(path: Path) -> dict[str, Any]:
    """A template's findings, resources and edges; to be called in the folder."""
    found = lint(path)
    return {
        "errors": [_brief(one) for one in found if one.severity == "error"],
        "warnings": [_brief(one) for one in found if one.severity == "warning"],
        "resources": _resources(path),
    }


def _brief(one: Any) -> str:
    return f"{one.file}:{one.line}:{one.column} {one.code}"


def _resources(path: Path) -> dict[str, Any] | str:
    project = Project()
    root = project.template(str(path))
    if root is None:
        return "no template"
    try:
        module = draft_template(
            root,
            files=project.files,
            parsed=project.parsed,
            environment=Environment(base=DEFAULTS),
            catalog=author_catalog(),
            file=str(path),
        )
        given = {
            name: UNKNOWN for name, one in module.syntax.parameters.items() if not one.has_default
        }
        program = module.specialise(given, stack_name="s")
    except Rejected as rejected:
        return str(rejected)
    shown = {}
    for name, definition in program.resources.items():
        found = module.environment.find(definition.type, name, module.catalog)
        leads_to = found.name if isinstance(found, TypeEntry) else definition.child.syntax.file
        shown[name] = {"type": leads_to, "requires": sorted(program.requires[name])}
    return shown


def snapshot() -> dict[str, Any]:
    """Everything, as it is now."""
    here = Path.cwd()
    os.chdir(FOLDER)
    try:
        return {str(path): described(path) for path in templates()}
    finally:
        os.chdir(here)


def main() -> None:
    now = snapshot()
    if "--write" in sys.argv:
        SNAPSHOT.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    before = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    for name in sorted(now.keys() | before.keys()):
        if now.get(name) != before.get(name):
            print(f"{name}\n  was {before.get(name)}\n  is  {now.get(name)}")
    wrong = sum(bool(one["errors"]) for one in now.values())
    print(f"{len(now)} templates, {wrong} of them with errors")


if __name__ == "__main__":
    main()

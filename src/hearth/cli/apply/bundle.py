"""The body of a create or an update from files on the disk.

The texts are sent as they are, so that the places in error messages are those in the files. Only
names of files are changed, in their lines: in the request they are relative to the template's
folder.
"""

import json
import os.path
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.authoring.project import Project
from hearth.cli.apply.api import UserError
from hearth.model.problem import Notice
from hearth.model.unknown import UNKNOWN
from hearth.template import Node, load
from hearth.template.environment import TEMPLATE_ENDINGS
from hearth.template.versions import VERSION_KEYS

# without one of these, a text names no file; a backslash may hide them
NAMES_A_FILE = ("get_file", "\\", *TEMPLATE_ENDINGS)
Edit = tuple[int, int, str, str]  # line and column from 0, the name as written, the new name


def bundle(
    template: Path, environments: Sequence[Path], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body of a create or an update request.

    Raises UserError if a file is missing or cannot be read as YAML, and OSError for other reasons
    why it cannot be read.
    """
    if not environments and (text := _alone(template)) is not None:
        return _body(text, {}, parameters)
    project = Project()
    for path in environments:
        project.environment(str(path))
    name = str(template)
    project.template(name)
    problems = [problem for problem in project.problems if not isinstance(problem, Notice)]
    if problems:
        raise UserError([str(problem) for problem in problems])
    if name not in project.parsed:
        raise UserError([f"{name} is not a template"])
    folder = os.path.dirname(name) or "."

    def short(path: str) -> str:
        return os.path.relpath(path, folder) if "://" not in path else path

    files = {short(path): _content(path, text) for path, text in project.files.items()}
    roots = {**project.parsed, **project.environments}
    for file, root in roots.items():
        files[short(file)] = project.texts[file]
        if len(files) > 1 or len(roots) > 1:  # otherwise it names no file
            files[short(file)] = rewritten(project.texts[file], file, root, short)
    body = _body(files.pop(short(name)), files, parameters)
    if environments:
        body["environment_files"] = [short(str(path)) for path in environments]
    return body


def _body(text: str, files: dict[str, str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"template": text, "files": files}
    return {**body, "parameters": dict(parameters)} if parameters else body


def _alone(template: Path) -> str | None:
    """Return the text of a template that certainly refers to no file, otherwise None.

    Such a text need not be loaded here: the service loads it anyway.
    """
    try:
        text = template.read_text(encoding="utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    has_version = any(key in text for key in VERSION_KEYS)
    return text if has_version and not any(word in text for word in NAMES_A_FILE) else None


def _content(path: str, text: Any) -> str:
    if text is UNKNOWN:
        raise UserError([f"{path} cannot be read, or is larger than 16 MiB"])
    return str(text)


def rewritten(text: str, path: str, root: Node, short: Any) -> str:
    """Return the text of a file with each name of a file replaced by its name in the request.

    `root` is the loaded text, in which the names are already paths.
    """
    lines = text.splitlines(keepends=True)
    edits = sorted(_edits(load(text, path), root, short), reverse=True)
    for line, column, written, name in edits:
        at = lines[line]
        end = column + len(written)
        raw = at[column:end]
        if raw != written:  # in quotes
            end = at.find(at[column], column + 1) + 1
            if at[column] not in "'\"" or not end:
                raise UserError([f"{path}:{line + 1}:{column + 1}: write this name on one line"])
        lines[line] = f"{at[:column]}{json.dumps(name)}{at[end:]}"
    return "".join(lines)


def _edits(written: Node, resolved: Node, short: Any) -> Iterator[Edit]:
    """Yield the names of files that must be changed."""
    waiting = [(written, resolved)]
    visited: set[int] = set()
    while waiting:
        old, new = waiting.pop()
        if isinstance(old.value, dict | list):
            if id(old.value) in visited:
                continue
            visited.add(id(old.value))
            pairs = (
                [(old.value[key], new.value[key]) for key in old.value]
                if isinstance(old.value, dict)
                else zip(old.value, new.value, strict=True)
            )
            waiting.extend(pairs)
        elif old.value != new.value and (name := short(new.value)) != old.value:
            yield old.line - 1, old.column - 1, old.value, name

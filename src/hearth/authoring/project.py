"""A template and the files to which it refers, read from the disk as Heat's clients do.

The names of files are relative to the file that contains them. They occur in `get_file`, as types
that are templates, and in an environment's resource_registry. In the loaded nodes they become paths
relative to the working directory, so that each file has a single name. URLs stay unchanged, because
nothing is fetched.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct, field

from hearth.model.problem import HTTPBadRequest, Notice, Problem, Rejected
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN
from hearth.template import Node, load
from hearth.template.environment import SECTIONS, TEMPLATE_ENDINGS
from hearth.template.load import Repeated
from hearth.template.versions import VERSION_KEYS

FILE_BYTES_MAX = 16 * 1024 * 1024
"""The maximum size of a file that is read, in bytes. Larger files are only listed."""


class Project(Struct):
    """A template with all files to which it refers.

    `texts` are the texts of all YAML files that were read, by name. `files` are the contents of the
    files as for a request; UNKNOWN stands for a content that was not read. `parsed` are the
    templates by name, and `environments` the environments in order.
    """

    open_texts: Mapping[Path, str] = field(default_factory=dict)  # by absolute path
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    parsed: dict[str, Node] = field(default_factory=dict)
    environments: dict[str, Node] = field(default_factory=dict)
    registered: set[str] = field(default_factory=set)  # types that environments name
    problems: list[Problem] = field(default_factory=list)

    def environment(self, name: str) -> None:
        """Read an environment file, and the templates to which its registry refers.

        Raises OSError if the file cannot be read.
        """
        node = self.load(name)
        if node is not None:
            self.add_environment(name, node)

    def add_environment(self, name: str, node: Node) -> None:
        """Add a loaded document as an environment, and read the templates to which its registry
        refers.
        """
        self.environments[name] = node
        registry = node.child("resource_registry")
        for key, entry in _entries(registry) if registry is not None else ():
            self.registered.add(key)
            if _is_template(entry.value) and key != "base_url":
                entry.value = self.resolved(name, entry.value)
                self.template(entry.value, Span(name, entry.line, entry.column))

    def template(self, name: str, at: Span | None = None) -> Node | None:
        """Read a template and all files to which it refers; return its root node.

        `at` is the place that refers to the template. If it is None, the file may also be an
        environment. Return None if there is no template: the file is an environment, missing, on
        the web, or cannot be loaded. Only if an environment refers to a missing file, the problem
        is recorded here; the compiler reports the others. Raises OSError if an existing file, or
        one without `at`, cannot be read.
        """
        if name in self.parsed or _on_the_web(name):
            return self.parsed.get(name)
        if at is not None and not self.exists(name):
            if at.file in self.environments or at.file not in self.texts:
                message = f'the template "{name}" does not exist'
                self.problems.append(HTTPBadRequest(at, message, code="missing-file"))
            return None
        node = self.load(name)
        if node is not None and at is None and is_environment(node):
            self.add_environment(name, node)
            return None
        self.files[name] = self.texts[name]
        if node is None:
            return None
        self.parsed[name] = node
        for map_node in _nodes(node):
            self.follow(map_node, name)
        return node

    def follow(self, node: Node, file: str) -> None:
        """Read the files to which the entries of a map refer, in keys such as `get_file` and
        `type`.
        """
        for key, value in node.value.items():
            if not isinstance(value.value, str):
                if key == "resources" and isinstance(value.value, list):
                    self.chain(value, file)
                continue
            if key == "get_file" and len(node.value) == 1:
                value.value = self.resolved(file, value.value)
                self.read(value.value, Span(file, value.line, value.column))
            elif (
                key in ("type", "Type")
                and _is_template(value.value)
                and value.value not in self.registered
            ):
                value.value = self.resolved(file, value.value)
                self.template(value.value, Span(file, value.line, value.column))

    def chain(self, node: Node, file: str) -> None:
        """Read the templates in a list of types, as in OS::Heat::ResourceChain."""
        for item in node.value:
            if _is_template(item.value) and self.exists(self.resolved(file, item.value)):
                item.value = self.resolved(file, item.value)
                self.template(item.value)

    def resolved(self, file: str, name: str) -> str:
        """Convert a file name in a file to a path relative to the working directory."""
        if _on_the_web(name):
            return name
        parts = _parts(name)
        if parts.scheme == "file":
            return os.path.relpath(unquote(parts.path) or ".")
        return os.path.normpath(os.path.join(os.path.dirname(file), name))

    def exists(self, name: str) -> bool:
        """Return whether a file exists on the disk or is open in the editor."""
        return Path(name).absolute() in self.open_texts or os.path.isfile(name)

    def read(self, name: str, at: Span) -> None:
        """Add a file to the project: its text, or UNKNOWN if it is on the web or cannot be read.

        A missing file is not added, unless its folder is missing, too, and not below the template.
        """
        if _on_the_web(name):
            self.files[name] = UNKNOWN
        elif self.elsewhere(name, at.file):
            self.files[name] = UNKNOWN
            message = (
                f"{name} is outside of the template's folder and does not exist on this machine"
            )
            self.problems.append(Notice(at, message, code="not-read"))
        elif name not in self.files and self.exists(name):
            text = self.open_texts.get(Path(name).absolute())
            try:
                if text is None and Path(name).stat().st_size <= FILE_BYTES_MAX:
                    text = Path(name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = None
            self.files[name] = UNKNOWN if text is None else text

    def elsewhere(self, name: str, file: str) -> bool:
        """Return whether a name leads out of the template's folder to a folder that does not exist.

        That folder may exist on the machine where the template is used.
        """
        folder = os.path.dirname(file) or "."
        above = os.path.relpath(name, folder).startswith(os.pardir)
        return above and not os.path.isdir(os.path.dirname(name) or ".")

    def load(self, name: str) -> Node | None:
        """Load a YAML file and return its root node.

        If it is not UTF-8 or not YAML, record the problems and return None. Raises OSError if it
        cannot be read.
        """
        try:
            text = self.open_texts.get(Path(name).absolute())
            if text is None:
                text = Path(name).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"the file is not UTF-8: byte {error.start} cannot be read"
            self.problems.append(HTTPBadRequest(Span(name, 1, 1), message, code="syntax"))
            self.texts[name] = ""
            return None
        text = text.removeprefix("\ufeff")
        self.texts[name] = text
        repeated: list[Repeated] = []
        try:
            node = load(text, name, repeated=repeated)
        except Rejected as rejected:
            self.problems.extend(rejected.problems)
            return None
        self.problems.extend(_duplicate_key(duplicate, name) for duplicate in repeated)
        return node


def is_environment(node: Node) -> bool:
    """Return whether a document is an environment.

    It is an environment if it has a section that only environments have and no version key, or if
    `parameters` is its only section.
    """
    names = set(node.value) if isinstance(node.value, dict) else set()
    sections = SECTIONS.keys() - {"parameters"}
    return names == {"parameters"} or (bool(names & sections) and not names & set(VERSION_KEYS))


def _duplicate_key(repeated: Repeated, file: str) -> Problem:
    message = (
        f'the key "{repeated.key}" is a duplicate of line {repeated.first_line}; '
        "only the last value counts"
    )
    return Notice(Span(file, repeated.line, repeated.column), message, code="duplicate-key")


def _nodes(root: Node) -> Iterator[Node]:
    """Yield all maps in a tree of nodes, including the root."""
    waiting = [root]
    visited: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node.value) in visited:
            continue
        if isinstance(node.value, dict):
            visited.add(id(node.value))
            yield node
            waiting.extend(node.value.values())
        elif isinstance(node.value, list):
            visited.add(id(node.value))
            waiting.extend(node.value)


def _entries(registry: Node) -> Iterator[tuple[str, Node]]:
    """Yield (name, node) of all entries of a registry, including those for single resources."""
    for node in _nodes(registry):
        yield from node.value.items()


def _is_template(name: Any) -> bool:
    return isinstance(name, str) and name.endswith(TEMPLATE_ENDINGS)


def _on_the_web(name: str) -> bool:
    return _parts(name).scheme in ("http", "https")


def _parts(name: str) -> SplitResult:
    """Split a URL. A name that is no URL is a path."""
    try:
        return urlsplit(name)
    except ValueError:
        return SplitResult("", "", name, "", "")

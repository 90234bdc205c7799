"""The properties and attributes of resource types: of built-in types and of nested templates."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import Files, is_template_name, local
from hearth.authoring.lsp.locations import Location, What
from hearth.authoring.lsp.syntax_tree import List, Map, Node, scalar_text
from hearth.authoring.types import AuthorCatalog
from hearth.schema import Attr, Prop, ValueKind
from hearth.template.environment import Environment, TemplateEntry
from hearth.template.types import TypeInfo

LOOK_AGAIN_S = 1.0
"""The seconds for which environments from the disk are cached."""

NO_SCHEMA = Prop(ValueKind.ANY)


class Kin(Struct, frozen=True):
    """A resource type with its properties and attributes.

    `info` is the type in the catalogue. If the type is a nested template, `info` is None and
    `child` is the document of the template.
    """

    name: str
    properties: Mapping[str, Prop]
    attributes: Mapping[str, Attr]
    update_policy: Mapping[str, Prop]
    info: TypeInfo | None = None
    child: Document | None = None


class Schemas:
    """Finds resource types by the names that templates use for them."""

    def __init__(self, files: Files, catalog: AuthorCatalog) -> None:
        self.files = files
        self.catalog = catalog
        self._environments: dict[Path, tuple[float, int, Environment]] = {}

    def environment(self, path: Path) -> Environment:
        """Return the merged registries of all environments for a file, with absolute paths of
        templates.
        """
        now, edits = time.monotonic(), self.files.environment_edits
        until, known_edits, cached = self._environments.get(path, (0.0, -1, Environment()))
        if now < until and known_edits == edits:
            return cached
        merged = self._merged(path)
        self._environments[path] = (now + LOOK_AGAIN_S, edits, merged)
        return merged

    def _merged(self, path: Path) -> Environment:
        merged: dict[str, Any] = {}
        for document in self.files.environments(path):
            for name, value in document.registry.items():
                merged[name] = _absolute(value, document.path)
        return Environment(resource_registry=merged)

    def child_path(self, path: Path, type_name: str, resource: str = "") -> Path | None:
        """Return the path of the nested template to which a type name refers, or None.

        `path` is the file that contains the name. `resource` is the name of the resource that has
        the type; empty if it has none.
        """
        entry = self.environment(path).find(type_name, resource, self.catalog)
        if isinstance(entry, TemplateEntry):
            return local(entry.template, path)
        return None

    def find(self, path: Path, type_name: str, resource: str = "") -> Kin | None:
        """Return the resource type to which a name in the file `path` refers.

        `resource` is the name of the resource that has the type; empty if it has none. Return None
        if there is no such type, or if its template cannot be read.
        """
        entry = self.environment(path).find(type_name, resource, self.catalog)
        if entry is None:
            return None
        if isinstance(entry, TemplateEntry):
            child_path = local(entry.template, path)
            child = self.files.at(child_path) if child_path else None
            if child is None or child.genre is not Genre.TEMPLATE:
                return None
            return _child(type_name, child)
        info = self.catalog.find(entry.name)
        if info is None:
            return None
        return Kin(info.name, info.properties, info.attributes, info.update_policy, info)

    def of_resource(self, document: Document, resource: str) -> Kin | None:
        """Return the type of a resource, or None if it is not known."""
        name = document.type_of(resource)
        return self.find(document.path, name, resource) if name else None

    def entries(self, document: Document, location: Location) -> Mapping[str, Prop] | None:
        """Return the keys that the map at a location may have, with their schemas.

        Return None if any key is allowed.
        """
        return self._walk(document, location)[1]

    def prop(self, document: Document, location: Location) -> Prop | None:
        """Return the schema of the value at a location; None if it has no schema."""
        return self._walk(document, location)[0]

    def top_prop(self, document: Document, location: Location) -> Prop | None:
        """Return the schema of the resource's own property that contains a location, or None."""
        if not location.steps:
            return None
        top = Location(location.what, location.name, location.root, location.steps[:1])
        return self.prop(document, top)

    def names_type(self, document: Document, location: Location) -> bool:
        """Return whether the value at a location is the name of a resource type.

        It may be the type of a resource, or the type in the definition of a group's members.
        """
        if location.what is What.TYPE:
            return True
        if not location.steps or location.steps[-1] != "type" or location.root != "properties":
            return False
        holder = Location(location.what, location.name, location.root, location.steps[:-1])
        prop = self.prop(document, holder) if holder.steps else None
        return prop is not None and _holds_resource(prop)

    def resource_at(
        self, document: Document, resource: str, steps: Sequence[str | int]
    ) -> tuple[str, str] | None:
        """Return (type name, resource name) of the resource whose properties are at the path
        `steps`.

        If `steps` is empty, it is the resource itself. Otherwise it is a resource definition inside
        a property, as in a group. Such a definition has no name, so the resource name is empty.
        Return None if there is no resource at the path.
        """
        if not steps:
            name = document.type_of(resource)
            return (name, resource) if name else None
        if len(steps) < 2 or steps[-1] != "properties":
            return None
        node = document.field("resources", resource, "properties")
        for step in steps[:-1]:
            node = _step(node, step)
        name = scalar_text(_step(node, "type"))
        return (name, "") if name else None

    def child(
        self, document: Document, resource: str, steps: Sequence[str | int] = ()
    ) -> Document | None:
        """Return the nested template whose parameters are set at the path `steps` in a resource, or
        None.
        """
        inner_type = self.resource_at(document, resource, steps)
        kin = self.find(document.path, *inner_type) if inner_type else None
        return kin.child if kin else None

    def _walk(
        self, document: Document, location: Location
    ) -> tuple[Prop | None, Mapping[str, Prop] | None]:
        if location.steps is None:
            return None, None
        kin = self.of_resource(document, location.name)
        if kin is None:
            return None, None
        prop: Prop | None = None
        entries: Mapping[str, Prop] | None = (
            kin.properties if location.root == "properties" else kin.update_policy
        )
        for depth, step in enumerate(location.steps):
            if isinstance(step, str) and entries is not None:
                holder, prop = prop, entries.get(step)
                entries = prop.entries if prop else None
                if step == "properties" and holder is not None and _holds_resource(holder):
                    inner_type = self.resource_at(
                        document, location.name, location.steps[: depth + 1]
                    )
                    kin = self.find(document.path, *inner_type) if inner_type else None
                    entries = kin.properties if kin else None
            elif prop is not None and prop.item is not None:
                prop = prop.item
                entries = prop.entries
            else:
                return None, None
        return prop, entries

    def mapped_names(self, path: Path) -> Iterator[str]:
        """Yield the type names that the environments for a template map to types or templates.

        Names with wildcards, and names that are template files themselves, are left out.
        """
        for name in self.environment(path).resource_registry:
            if name != "resources" and not name.endswith("*") and not is_template_name(name):
                yield name


def _holds_resource(prop: Prop) -> bool:
    """Return whether the value of a property is the definition of a resource."""
    entries = prop.entries or {}
    return "type" in entries and "properties" in entries


def _step(node: Node | None, step: str | int) -> Node | None:
    if isinstance(node, Map) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, List) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


def _child(name: str, child: Document) -> Kin:
    properties = {}
    for parameter in child.items("parameters"):
        schema = child.parameter(parameter)
        properties[parameter] = schema.as_property(not schema.has_default) if schema else NO_SCHEMA
    outputs = {
        output: Attr(None, scalar_text(child.field("outputs", output, "description")) or "")
        for output in child.items("outputs")
    }
    return Kin(name, properties, outputs, {}, None, child)


def _absolute(value: Any, origin: Path) -> Any:
    """Return a registry with absolute paths in place of the relative names of templates."""
    if isinstance(value, Mapping):
        return {name: _absolute(inner, origin) for name, inner in value.items()}
    if is_template_name(value):
        path = local(value, origin)
        return str(path) if path else value
    return value

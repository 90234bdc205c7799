"""Reads the resource types that a plug-in of Heat declares."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hearth.authoring.port.constants import Constants, NotConstant

BYTES_MAX = 1024 * 1024
DECLARATIONS_MAX = 20_000
DEPTH_MAX = 30  # of a schema within schemas
SCHEMAS = ("properties_schema", "attributes_schema")
MAPPINGS = ("resource_mapping", "available_resource_mapping")
SETTINGS = ("default_client_name", "entity", "support_status", "required_service_extension")
PROPERTY = (
    "kind",
    "description",
    "default",
    "schema",
    "required",
    "constraints",
    "implemented",
    "update_allowed",
    "immutable",
    "support_status",
    "allow_conversion",
)
"""The parameters of a property's schema in their order."""
ATTRIBUTE = ("description", "support_status", "cache_mode", "kind")
"""The parameters of an attribute's schema in their order."""


class NoPlugin(Exception):
    """The text is not a plug-in; the message says why, with the place if there is one."""


class Call(Struct, frozen=True):
    """A call, such as that of a constraint. `name` is the last part of the function's name, and
    `source` the whole call.
    """

    name: str
    source: str
    args: Sequence[Any]
    options: Mapping[str, Any]


class Unread(Struct, frozen=True):
    """An expression that is not constant, as it stands in the plug-in."""

    source: str
    line: int


class Declaration(Struct, frozen=True):
    """A property or an attribute: the arguments of its schema by name.

    A value is a constant, a Call, an Unread, a list of these, or for `schema` a Declaration or a
    map of them by name.
    """

    arguments: Mapping[str, Any]


class Plugin(Struct, frozen=True):
    """A resource type that a plug-in declares. `type_names` are its names in templates.

    `methods` are the names of its methods, with the lines where they begin.
    """

    class_name: str
    type_names: Sequence[str]
    line: int
    doc: str
    settings: Mapping[str, Any]  # default_client_name, entity, support_status …
    properties: Mapping[str, Declaration]
    attributes: Mapping[str, Declaration]
    methods: Mapping[str, int] = field(default_factory=dict)


def plugins_in(text: str, file: str) -> list[Plugin]:
    """Return the resource types that the text of a plug-in declares, in their order.

    `file` is its name for messages. Raises NoPlugin.
    """
    if len(text.encode(errors="replace")) > BYTES_MAX:
        raise NoPlugin(f"{file}: a plug-in can have at most {BYTES_MAX} bytes")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        position = f"{file}:{error.lineno or 1}:{error.offset or 1}"
        raise NoPlugin(f"{position}: this is not Python 3: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NoPlugin(f"{file}: this is not Python 3: {error}") from None
    reader = _Reader(tree, file)
    plugins = list(reader.plugins())
    if not plugins:
        message = "there is no class with properties_schema, attributes_schema or handle_create"
        raise NoPlugin(f"{file}: {message}; expected a plug-in of Heat")
    return plugins


class _Reader:
    """Reads the syntax tree of a plug-in."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        self._tree = tree
        self._file = file
        self._constants = Constants(tree)
        self._declarations = self._depth = 0
        self._names = self._type_names()

    def plugins(self) -> Iterator[Plugin]:
        for node in self._tree.body:
            if isinstance(node, ast.ClassDef) and self._is_plugin(node):
                yield self._plugin(node)

    def _is_plugin(self, node: ast.ClassDef) -> bool:
        methods = {
            statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)
        }
        return (
            node.name in self._names
            or "handle_create" in methods
            or any(self._constants.assigns(name, node.name) for name in SCHEMAS)
        )

    def _type_names(self) -> dict[str, list[str]]:
        """Return the type names by class, from the functions that map them."""
        names: dict[str, list[str]] = {}
        for function in self._tree.body:
            if not isinstance(function, ast.FunctionDef) or function.name not in MAPPINGS:
                continue
            for node in ast.walk(function):
                if not isinstance(node, ast.Dict):
                    continue
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(value, ast.Name) and isinstance(name := self._read(key), str):
                        names.setdefault(value.id, []).append(name)
        return names

    def _plugin(self, node: ast.ClassDef) -> Plugin:
        settings = {
            name: self._argument(value, node.name)
            for name in SETTINGS
            if (value := self._constants.find(name, node.name)) is not None
        }
        return Plugin(
            class_name=node.name,
            type_names=self._names.get(node.name, ()),
            line=node.lineno,
            doc=(ast.get_docstring(node) or "").strip(),
            settings=settings,
            properties=self._schemas("properties_schema", node.name, PROPERTY),
            attributes=self._schemas("attributes_schema", node.name, ATTRIBUTE),
            methods={
                statement.name: statement.lineno
                for statement in node.body
                if isinstance(statement, ast.FunctionDef)
            },
        )

    def _schemas(self, name: str, within: str, order: Sequence[str]) -> dict[str, Declaration]:
        node = self._constants.find(name, within)
        return self._declared(node, within, order) if isinstance(node, ast.Dict) else {}

    def _declared(
        self, node: ast.Dict, within: str, order: Sequence[str]
    ) -> dict[str, Declaration]:
        declarations = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(value, ast.Call) and key is not None:
                declarations[self._key(key, within)] = self._declaration(value, within, order)
        return declarations

    def _key(self, node: ast.expr, within: str) -> str:
        """Return the name of a property; if it is defined in another file, what its constant is
        called.
        """
        name = self._read(node, within)
        if isinstance(name, str):
            return name
        return (node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)).lower()

    def _declaration(self, call: ast.Call, within: str, order: Sequence[str]) -> Declaration:
        self._declarations += 1
        if self._declarations > DECLARATIONS_MAX:
            message = f"there are more than {DECLARATIONS_MAX} properties and attributes"
            raise NoPlugin(f"{self._file}: {message}")
        arguments = [*zip(order, call.args, strict=False)]
        arguments += [
            ("kind" if k.arg in ("type", "data_type") else k.arg, k.value)
            for k in call.keywords
            if k.arg is not None
        ]
        return Declaration(
            {
                name: self._inner(value, within, order)
                if name == "schema"
                else self._argument(value, within)
                for name, value in arguments
            }
        )

    def _inner(self, node: ast.expr, within: str, order: Sequence[str]) -> Any:
        """Return the value of a `schema`, which may be the name of a schema."""
        if isinstance(node, ast.Name) and (assigned := self._constants.find(node.id, within)):
            node = assigned
        if self._depth >= DEPTH_MAX:
            return Unread(ast.unparse(node), node.lineno)
        self._depth += 1
        try:
            match node:
                case ast.Dict():
                    return self._declared(node, within, order)
                case ast.Call():
                    return self._declaration(node, within, order)
            return self._argument(node, within)
        finally:
            self._depth -= 1

    def _argument(self, node: ast.expr, within: str) -> Any:
        """Return the value of an argument: a constant, a Call, an Unread, or a list of these."""
        value = self._read(node, within)
        if not isinstance(value, Unread):
            return value
        match node:
            case ast.List() | ast.Tuple():
                return [self._argument(element, within) for element in node.elts]
            case ast.Call():
                options = {k.arg: self._argument(k.value, within) for k in node.keywords if k.arg}
                args = [self._argument(arg, within) for arg in node.args]
                name = ast.unparse(node.func).rpartition(".")[2]
                return Call(name, ast.unparse(node), args, options)
            case ast.Attribute(attr=name) if name.isupper():  # properties.Schema.STRING
                return name
        return value

    def _read(self, node: ast.expr | None, within: str | None = None) -> Any:
        """Return the value of a constant expression; an Unread for any other."""
        try:
            return self._constants.value(node, within)
        except NotConstant:
            source = "" if node is None else ast.unparse(node)
            return Unread(source, getattr(node, "lineno", 0))

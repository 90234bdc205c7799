"""The interface of resource types, and what a type may use of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from hearth.model.span import Span
from hearth.schema import Attr, Prop, Support, Violation
from hearth.template.expr import Expr


class Definition(Protocol):
    """The definition of a resource, as its resource type uses it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def properties(self) -> Expr: ...
    @property
    def span(self) -> Span: ...


class Definitions(Protocol):
    """A program, as the resource types of its resources use it."""

    @property
    def resources(self) -> Mapping[str, Definition]: ...
    @property
    def requires(self) -> Mapping[str, frozenset[str]]: ...


class TypeInfo(Protocol):
    """A resource type, as the compiler uses it.

    A type may also have `accepts_any_property = True`: its properties are not checked; and
    `reserved_metadata(properties)`: the keys that the metadata must not have with these properties.
    `member_property` is the property of a group that contains the definition of its members. A type
    whose attributes cover several resources has `within`, which follows a path into each of them.
    """

    @property
    def name(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, Prop]: ...
    @property
    def attributes(self) -> Mapping[str, Attr]: ...
    @property
    def update_policy(self) -> Mapping[str, Prop]: ...
    @property
    def support(self) -> Support | None: ...
    @property
    def accepts_any_attribute(self) -> bool: ...
    @property
    def snapshot_policy_allowed(self) -> bool: ...

    def nested_definition(self, properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the template of the nested stack for these properties, or None."""

    def conflicts(
        self, properties: Mapping[str, Any], still_open: Collection[str] = ()
    ) -> Iterable[str | Violation]:
        """Return errors in the combination of properties; the properties in `still_open` have no
        value yet.
        """

    def implicit_requires(
        self, name: str, definition: Definition, program: Definitions
    ) -> Iterable[str]:
        """Return dependencies that the template does not express."""


class TypeCatalog(Protocol):
    """All resource types."""

    def find(self, name: str) -> TypeInfo | None:
        """Return the type with this exact name, or None."""

    def names(self) -> Iterable[str]:
        """Return the names of all types."""

    def missing(self, name: str) -> str | None:
        """Return why a type of Heat is not available; None if the name is unknown."""

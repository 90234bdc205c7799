"""The interfaces between the compiler and resource types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from hearth.model.span import Span
from hearth.schema import Attr, Prop, Support, Violation
from hearth.template.expr import Expr


class Definition(Protocol):
    """The definition of a resource, as resource types see it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def properties(self) -> Expr: ...
    @property
    def span(self) -> Span: ...


class Definitions(Protocol):
    """A program, as resource types see it."""

    @property
    def resources(self) -> Mapping[str, Definition]: ...
    @property
    def requires(self) -> Mapping[str, frozenset[str]]: ...


class TypeInfo(Protocol):
    """A resource type, as the compiler sees it.

    A type may also have these optional attributes. If `snapshot_policy_allowed` is true, the
    deletion policy Snapshot is possible. If `accepts_any_property` or `accepts_any_attribute`
    is true, properties or attributes are not checked. `hidden_properties` are the names of
    properties whose values are always hidden.
    `runs_on` are the names of properties that refer to servers on which software runs, and
    `without_agent(properties)` returns why a server never asks for that software, or None.
    `reserved_metadata(properties)` returns the keys that the metadata must not
    contain. `member_property` is the name of a group's property that contains the definition of its
    members, and `member_keys` are the keys in it that count; None if its schema has them.
    `nested_definition(properties)` returns the template of the nested stack that a group generates,
    or None, and `nested_copies(properties)` how many members one of its members represents.
    `of_members(attribute_path)` returns the attribute of the members that is needed to read an
    attribute of the group, and `sample(properties)` a template with one member. `within` follows a
    path into an attribute, for a type whose attributes cover several resources.
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

    def conflicts(self, properties: Mapping[str, Any]) -> Iterable[Violation]:
        """Return the errors in the combination of properties. Values may be unknown in part."""

    def implicit_requires(
        self, name: str, definition: Definition, program: Definitions
    ) -> Iterable[str]:
        """Return the names of resources on which this one depends without a reference in the
        template.
        """


def allows_snapshot(type_info: TypeInfo) -> bool:
    """Return whether the deletion policy Snapshot is possible for resources of this type."""
    return bool(getattr(type_info, "snapshot_policy_allowed", False))


def accepts_attribute(type_info: TypeInfo, name: Any) -> bool:
    """Return whether resources of this type may have an attribute with this name."""
    declared = name == "show" or name in type_info.attributes
    return declared or bool(getattr(type_info, "accepts_any_attribute", False))


class TypeCatalog(Protocol):
    """A catalogue of all resource types."""

    def find(self, name: str) -> TypeInfo | None:
        """Return the type with this exact name, or None."""

    def names(self) -> Iterable[str]:
        """Return the names of all types."""

"""Interfaces of the compiler: resource types, and values of resources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hearth.schema import Attr, Prop, Support, Violation

if TYPE_CHECKING:
    from hearth.template.program import Program, ResourceDefinition


Within = Callable[[str, Any, Sequence[Any]], Any]
"""Returns the value at a path in an attribute, given the attribute's name and value."""


class TypeInfo(Protocol):
    """A resource type, as the compiler sees it.

    A type may also have `accepts_any_property = True`: its properties are not checked.
    `member_property` is the property of a group that contains the definition of its members. A type
    whose attributes are those of several resources has `within`, which steps into each.
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
        """Return errors in the combination of properties; open ones have no value yet."""

    def implicit_requires(
        self, name: str, definition: ResourceDefinition, program: Program
    ) -> Iterable[str]:
        """Return dependencies that the template does not contain."""


class TypeCatalog(Protocol):
    """All resource types."""

    def find(self, name: str) -> TypeInfo | None:
        """Return the type of this exact name."""

    def names(self) -> Iterable[str]:
        """Return the names of all types."""

    def missing(self, name: str) -> str | None:
        """Return why a type of Heat is not available; None if the name is unknown."""


@dataclass(frozen=True)
class Facade:
    """The parent resource of this stack. `secret`: one of its properties is secret, or it belongs
    to such a resource itself.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: str = "Delete"
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False
    hidden: Sequence[str] = ()  # texts that this stack must not reveal


class World(Protocol):
    """The recorded values of a stack's resources.

    Answers are plain values, or Unknown for resources that do not exist yet. `path` is resolved. A
    world may raise EvaluationError, and may have two more methods: `secret(name, attribute)`
    returns whether an attribute must not be shown, `availability_zones()` returns those of the
    cloud.
    """

    @property
    def facade(self) -> Facade | None:
        """The parent resource of this stack, None in a root stack."""

    def reference(self, name: str) -> Any:
        """Return the value of `get_resource`."""

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        """Return the value of `get_attr`."""

"""What the compiler must know of the world outside: resource types, and values of resources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hearth.schema import Attr, Prop, Support, Violation

if TYPE_CHECKING:
    from hearth.template.program import Program, ResourceDefinition


Within = Callable[[str, Any, Sequence[Any]], Any]
"""What stands at a path in an attribute, given the attribute's name and value."""


class TypeInfo(Protocol):
    """A resource type, as far as templates are concerned.

    A type may also have `accepts_any_property = True`: its properties are then taken as they are;
    `member_property`: the property that defines the members of a group, as a resource is defined.
    One whose attributes are those of several has `within`, which steps into each.
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
        """The template of the child stack that these properties make; None if there is none."""

    def conflicts(
        self, properties: Mapping[str, Any], still_open: Collection[str] = ()
    ) -> Iterable[str | Violation]:
        """What is wrong with properties taken together; those that are open have no value yet."""

    def implicit_requires(
        self, name: str, definition: ResourceDefinition, program: Program
    ) -> Iterable[str]:
        """Resources to wait for that the template does not mention."""


class TypeCatalog(Protocol):
    """All resource types that there are."""

    def find(self, name: str) -> TypeInfo | None:
        """The type of this exact name."""

    def names(self) -> Iterable[str]:
        """The names of all types."""

    def missing(self, name: str) -> str | None:
        """Why a type that templates may know is not among them; None: nothing is known of it."""


@dataclass(frozen=True)
class Facade:
    """The resource that stands for this stack in its parent; `secret` if one of its properties is,
    or it stands inside of such a one.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: str = "Delete"
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False
    hidden: Sequence[str] = ()  # texts that nothing of this stack may tell


class World(Protocol):
    """What is recorded of the resources of a stack.

    Answers are plain values, or Unknown for what is not there yet. `path` has been resolved. A
    world may raise EvaluationError, and may have two methods more: `secret(name, attribute)` says
    whether an attribute must not be shown, `availability_zones()` lists those of the cloud.
    """

    @property
    def facade(self) -> Facade | None:
        """The resource that stands for this stack, None in a root stack."""

    def reference(self, name: str) -> Any:
        """What `get_resource` gives."""

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        """What `get_attr` gives."""

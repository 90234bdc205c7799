"""The interface through which the compiler reads the values of a stack's resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from hearth.model.unknown import UNKNOWN, Unknown, nulled, unknown_reference

Within = Callable[[str, Any, Sequence[Any]], Any]
"""A function that returns the value at a path in an attribute, given the attribute's name and
value.
"""


class Facade(Struct, frozen=True):
    """The parent resource of a nested stack, as the template of the nested stack sees it.

    `secret` is true if one of its properties is hidden, or if the parent stack itself has a secret
    facade.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: str = "Delete"
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False
    hidden: Sequence[str] = ()  # texts that this stack must not reveal


class World(Protocol):
    """The values of a stack's resources, as the compiler reads them.

    Values are plain, or Unknown for resources that do not exist yet. The methods follow `path`
    themselves, and may raise EvaluationError. A world may have more methods: `secret(name,
    attribute)` returns whether an attribute may reveal a hidden value, `guarded(name, attribute)`
    and `guarded_reference(name)` whether it is or contains a secret, such as a private key, and
    `availability_zones()` returns the names of the zones.
    """

    @property
    def facade(self) -> Facade | None:
        """The parent resource of this stack, or None in a root stack."""

    def reference(self, name: str) -> Any:
        """Return the result of `get_resource` for a resource."""

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        """Return the result of `get_attr` for a resource."""


class Nowhere:
    """A world in which no resource exists yet."""

    facade: Facade | None = None

    def reference(self, name: str) -> Any:
        return unknown_reference(name)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return Unknown(frozenset({name}))

    def availability_zones(self) -> Any:
        return UNKNOWN


NOWHERE = Nowhere()


class NullWorld:
    """A world for validation before a create, made from another world.

    Where `world` returns an Unknown, a reference is the name of its resource, and anything else is
    null.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.facade: Facade | None = world.facade

    def reference(self, name: str) -> Any:
        value = self.world.reference(name)
        return name if isinstance(value, Unknown) else value

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return nulled(self.world.attribute(name, attribute, path))

    def availability_zones(self) -> Any:
        zones = getattr(self.world, "availability_zones", None)
        return nulled(zones()) if zones is not None else None

    def secret(self, name: str, attribute: str) -> bool:
        is_secret = getattr(self.world, "secret", None)
        return bool(is_secret is not None and is_secret(name, attribute))

    def guarded(self, name: str, attribute: str) -> bool:
        is_guarded = getattr(self.world, "guarded", None)
        return bool(is_guarded is not None and is_guarded(name, attribute))

    def guarded_reference(self, name: str) -> bool:
        is_guarded = getattr(self.world, "guarded_reference", None)
        return bool(is_guarded is not None and is_guarded(name))

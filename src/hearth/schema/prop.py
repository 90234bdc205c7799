"""Declarations of the properties and attributes of resource types, with their support status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from hearth.model.value import ValueKind
from hearth.schema.constraint import AllowedValues, Constraint, Custom
from hearth.schema.convert import BAD, CONVERT

STRING: Final = ValueKind.STRING
INTEGER: Final = ValueKind.INTEGER
NUMBER: Final = ValueKind.NUMBER
BOOLEAN: Final = ValueKind.BOOLEAN
LIST: Final = ValueKind.LIST
MAP: Final = ValueKind.MAP
ANY: Final = ValueKind.ANY


class SupportStatus(StrEnum):
    """The support status of a type, a property or an attribute."""

    SUPPORTED = "SUPPORTED"
    DEPRECATED = "DEPRECATED"
    UNSUPPORTED = "UNSUPPORTED"
    HIDDEN = "HIDDEN"
    UNKNOWN = "UNKNOWN"


class Support(Struct, frozen=True):
    """A support status, the release (`version`) in which it began, and the status before that."""

    status: SupportStatus | str = SupportStatus.SUPPORTED
    version: str | None = None
    message: str | None = None
    previous: Support | None = None

    @property
    def hidden(self) -> bool:
        return self.status == SupportStatus.HIDDEN


class _Unset:
    """The class of UNSET, which marks a property without a default (None can be a default)."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class _Kind(Struct, frozen=True):
    kind: ValueKind
    description: str = ""


class Prop(_Kind, frozen=True, kw_only=True):
    """A property of a resource type, an entry of a map property, or the items of a list property.

    A change of the value updates the resource if `update_allowed` is true, and is refused if
    `immutable` is true; otherwise it replaces the resource. A property that is not `implemented` is
    known but refused. If `allow_conversion` is true, more types are converted: see `convert`.
    `schema` declares the entries of a map by name, or every item of a list or map. `constraint` is
    the name of a custom constraint. If `empty_is_none` is true, an empty text, list or map counts
    as not given, because templates often pass a parameter with the default "" to omit a value. If a
    required property is `nullable`, null is accepted and means the empty value of its type.
    """

    required: bool = False
    nullable: bool = False
    default: Any = UNSET
    update_allowed: bool = False
    immutable: bool = False
    constraints: Sequence[Constraint] = ()
    constraint: str | None = None
    schema: Mapping[str, Prop] | Prop | None = None
    since: str | None = None
    support: Support | None = None
    implemented: bool = True
    allow_conversion: bool = False
    empty_is_none: bool = False

    def __post_init__(self) -> None:
        if self.constraint is not None:
            force_setattr(self, "constraints", (*self.constraints, Custom(self.constraint)))
        if any(isinstance(constraint, AllowedValues) for constraint in self.constraints):
            force_setattr(self, "constraints", tuple(map(self._comparing, self.constraints)))

    def _comparing(self, constraint: Constraint) -> Constraint:
        """Return an AllowedValues with its values converted to this property's type.

        Other constraints are returned unchanged.
        """
        if not isinstance(constraint, AllowedValues) or self.kind is ValueKind.LIST:
            return constraint
        converted = [(value, CONVERT[self.kind](self, value)) for value in constraint.values]
        compared = tuple(value if coerced is BAD else coerced for value, coerced in converted)
        return replace(constraint, compared=compared)

    @property
    def has_default(self) -> bool:
        """Whether a default is declared."""
        return self.default is not UNSET

    @property
    def entries(self) -> Mapping[str, Prop] | None:
        """The declarations of the entries of a map by name, or None."""
        return self.schema if isinstance(self.schema, Mapping) else None

    @property
    def item(self) -> Prop | None:
        """The declaration of every item of a list or map, or None."""
        return self.schema if isinstance(self.schema, Prop) else None


class _AnyKind(Struct, frozen=True):
    kind: ValueKind | None = None
    description: str = ""


class Attr(_AnyKind, frozen=True, kw_only=True):
    """An attribute of a resource type. `kind` is the type of its value; None means any type.

    If `cached` is false, the attribute is read from the cloud whenever it is needed. If `secret` is
    true, it contains a credential, so users who may only read do not see it.
    """

    since: str | None = None
    support: Support | None = None
    cached: bool = True
    secret: bool = False

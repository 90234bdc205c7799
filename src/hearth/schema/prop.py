"""Declarations of the properties and attributes of resource types, with their support status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

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


@dataclass(frozen=True)
class Support:
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


@dataclass(frozen=True)
class Prop:
    """A property of a resource type, an entry of a map property, or the items of a list property.

    A change of the value updates the resource if `update_allowed` is true, and is refused if
    `immutable` is true; otherwise it replaces the resource. A property that is not `implemented` is
    known but refused. If `allow_conversion` is true, more types are converted: see `convert`.
    `schema` declares the entries of a map by name, or every item of a list or map. `constraint` is
    the name of a custom constraint. If `empty_is_none` is true, an empty text, list or map counts
    as not given, because templates often pass a parameter with the default "" to omit a value.
    """

    kind: ValueKind
    description: str = ""
    required: bool = field(default=False, kw_only=True)
    default: Any = field(default=UNSET, kw_only=True)
    update_allowed: bool = field(default=False, kw_only=True)
    immutable: bool = field(default=False, kw_only=True)
    constraints: Sequence[Constraint] = field(default=(), kw_only=True)
    constraint: str | None = field(default=None, kw_only=True)
    schema: Mapping[str, Prop] | Prop | None = field(default=None, kw_only=True)
    since: str | None = field(default=None, kw_only=True)
    support: Support | None = field(default=None, kw_only=True)
    implemented: bool = field(default=True, kw_only=True)
    allow_conversion: bool = field(default=False, kw_only=True)
    empty_is_none: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.constraint is not None:
            object.__setattr__(self, "constraints", (*self.constraints, Custom(self.constraint)))
        if any(isinstance(one, AllowedValues) for one in self.constraints):
            object.__setattr__(self, "constraints", tuple(map(self._comparing, self.constraints)))

    def _comparing(self, constraint: Constraint) -> Constraint:
        """Return an AllowedValues with its values converted to this property's type.

        Other constraints are returned unchanged.
        """
        if not isinstance(constraint, AllowedValues) or self.kind is ValueKind.LIST:
            return constraint
        converted = [(one, CONVERT[self.kind](self, one)) for one in constraint.values]
        compared = tuple(one if made is BAD else made for one, made in converted)
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


@dataclass(frozen=True)
class Attr:
    """An attribute of a resource type. `kind` is the type of its value; None means any type.

    If `cached` is false, the attribute is read from the cloud whenever it is needed.
    """

    kind: ValueKind | None = None
    description: str = ""
    since: str | None = field(default=None, kw_only=True)
    support: Support | None = field(default=None, kw_only=True)
    cached: bool = field(default=True, kw_only=True)

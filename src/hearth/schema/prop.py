"""Declarations of properties and attributes, and the release that introduced them."""

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
    """A support status, the release in which it began, and the previous status."""

    status: SupportStatus | str = SupportStatus.SUPPORTED
    version: str | None = None
    message: str | None = None
    previous: Support | None = None

    @property
    def hidden(self) -> bool:
        return self.status == SupportStatus.HIDDEN


class _Unset:
    """The default of a property without a default, because null can be a default."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


@dataclass(frozen=True)
class Prop:
    """A property of a resource type, an entry of a map property or the item of a list property.

    `schema` contains the entries of a map by name, or the item of a list. `constraint` is a short
    form for a single custom constraint. With `empty_is_none` an empty text, list or map counts as
    no value, because templates often pass a parameter with the default "" for no value.
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
        """Return the constraint with its allowed values converted to this property's type."""
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
        """The declared entries of a map."""
        return self.schema if isinstance(self.schema, Mapping) else None

    @property
    def item(self) -> Prop | None:
        """The declared item of a list."""
        return self.schema if isinstance(self.schema, Prop) else None


@dataclass(frozen=True)
class Attr:
    """An attribute of a resource type; `kind` is the type of its value, None if that is not
    guaranteed.
    """

    kind: ValueKind | None = None
    description: str = ""
    since: str | None = field(default=None, kw_only=True)
    support: Support | None = field(default=None, kw_only=True)
    cached: bool = field(default=True, kw_only=True)

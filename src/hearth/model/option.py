"""The definition of a setting of the operator.

A setting is declared once, as the annotation of a field in the struct that uses it. The field gives
its name, type and default:

    max_stacks_per_tenant: Annotated[int, Option("Maximum number of stacks.", minimum=-1)] = 512

Settings that a function or a library reads have an entry in `hearth.config.options` instead.
"""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from msgspec import Struct

Network = IPv4Network | IPv6Network
Kind = type[str] | type[int] | type[float] | type[bool] | type[list] | type[tuple]  # type: ignore[type-arg]
"""The type of an option's value.

`list` is a comma-separated list in one line; `tuple` is an option that may be given several times.
"""


class Option(Struct, frozen=True):
    """A configuration option: in `does` its effect in Hearth, its section, name, type and default.

    In an annotation, type and default are those of the field, and so is `name`, unless it is given.
    `convert` returns the value of the field for a value in the configuration, whose lists are
    tuples; it raises ValueError for an invalid value and leaves the default as it is.

    The value of a `secret` option is never shown. `choices` are the allowed values, if any;
    `minimum` and `maximum` limit a number. `differs` explains why Hearth with the default does
    something else than Heat. A `live` option can change while a process runs. A `hearth_only`
    option does not exist in Heat. A `library` option is registered by the library that reads it,
    such as oslo.policy. `formerly` lists older (section, name) pairs that are still accepted.
    """

    does: str
    group: str = "DEFAULT"
    name: str = ""
    kind: Kind = str
    default: Any = None
    convert: Callable[[Any], Any] | None = None
    secret: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    live: bool = False
    hearth_only: bool = False
    library: bool = False
    differs: str = ""
    formerly: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """The option as it appears in messages: `[section] name`, or only the name in [DEFAULT]."""
        return self.name if self.group == "DEFAULT" else f"[{self.group}] {self.name}"


def networks_of(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that an option lists. Raises ValueError."""
    return tuple(map(ip_network, texts))

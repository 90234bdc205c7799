"""The definition of a configuration option."""

from typing import Any

from msgspec import Struct

Kind = type[str] | type[int] | type[float] | type[bool] | type[list] | type[tuple]  # type: ignore[type-arg]
"""The type of an option's value.

`list` is a comma-separated list in one line; `tuple` is an option that may be given several times.
"""


class Option(Struct, frozen=True):
    """A configuration option: its section, name, type and default, and in `does` its effect in
    Hearth.

    The value of a `secret` option is never shown. `choices` are the allowed values, if any;
    `minimum` and `maximum` limit a number. `differs` explains why Hearth with the default does
    something else than Heat. A `live` option can change while a process runs. A `hearth_only`
    option does not exist in Heat. A `library` option is registered by the library that reads it,
    such as oslo.policy. `formerly` lists older (section, name) pairs that are still accepted.
    """

    group: str
    name: str
    kind: Kind
    default: Any
    does: str
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

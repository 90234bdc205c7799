"""What an option is: a name that operators know from heat.conf, and what it does here."""

from dataclasses import dataclass
from typing import Any

Kind = type[str] | type[int] | type[float] | type[bool] | type[list] | type[tuple]  # type: ignore[type-arg]
"""`list` is a list in one line; `tuple` an option that may be given several times."""


@dataclass(frozen=True)
class Option:
    """An option of a section. `differs` says why its default is not Heat's, `live` that it may
    change while a process runs, `own` that Heat has no such option, `library` that a library
    registers it itself. `formerly` are older names that still count: (section, name)."""

    group: str
    name: str
    kind: Kind
    default: Any
    does: str
    secret: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    live: bool = False
    own: bool = False
    library: bool = False
    differs: str = ""
    formerly: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """The option as a message names it; the section only where it is not the usual one."""
        return self.name if self.group == "DEFAULT" else f"[{self.group}] {self.name}"

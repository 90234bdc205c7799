"""The definition of an option: a setting known from heat.conf, and its effect in Hearth."""

from dataclasses import dataclass
from typing import Any

Kind = type[str] | type[int] | type[float] | type[bool] | type[list] | type[tuple]  # type: ignore[type-arg]
"""The type of an option's value. `list` is a list in one line; `tuple` is an option that may be
given several times.
"""


@dataclass(frozen=True)
class Option:
    """An option of a section.

    `differs` explains a default that is not Heat's. `live` options can change while a process runs.
    `own` options do not exist in Heat. A `library` registers its options itself. `formerly` are
    older names that are still accepted: (section, name).
    """

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
        """The option as messages name it: `[section] name`, without the section if it is
        DEFAULT.
        """
        return self.name if self.group == "DEFAULT" else f"[{self.group}] {self.name}"

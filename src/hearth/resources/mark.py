"""The mark: the record's key as it stands in an object that Hearth made.

It lets a create be found again whose answer was lost, and is nothing that a template asked for:
what a service shows is read without it.
"""

import re
from collections.abc import Mapping
from typing import Any

from hearth.resources.context import ResourceContext

MARK = "hearth:"
ENTRY = re.compile(r"hearth[-_]key\Z", re.IGNORECASE)
"""The end of the name of an entry that is there for the mark alone."""
MARKED = re.compile(
    re.escape(MARK) + r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:[\w.-]+)*"
)


def mark(ctx: ResourceContext) -> str:
    """The record's key as it stands in an object."""
    return f"{MARK}{ctx.key}"


def unmarked(value: Any, nothing: str | None = "") -> Any:
    """What a service shows, without marks at any depth, whichever record they are of.

    A text that is a mark becomes `nothing`; a tag, or an entry made for the mark, goes.
    """
    match value:
        case str():
            return nothing if MARKED.fullmatch(value) else value
        case Mapping():
            return {
                name: unmarked(one, nothing)
                for name, one in value.items()
                if not (ENTRY.search(str(name)) and _is_mark(one))
            }
        case list() | tuple():
            return [unmarked(one, nothing) for one in value if not _is_mark(one)]
        case _:
            return value


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and MARKED.fullmatch(value) is not None

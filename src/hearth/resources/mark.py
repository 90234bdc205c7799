"""The mark: the record's key inside an object that Hearth created.

Hearth finds the object by its mark if the answer to the create call was lost. Templates never see
it: marks are removed from the bodies of services.
"""

import re
from collections.abc import Mapping
from typing import Any

from hearth.resources.context import ResourceContext

MARK = "hearth:"
ENTRY = re.compile(r"hearth[-_]key\Z", re.IGNORECASE)
"""Matches the end of the name of an entry that only contains a mark."""
MARKED = re.compile(
    re.escape(MARK) + r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:[\w.-]+)*"
)


def mark(ctx: ResourceContext) -> str:
    """Return the record's key in the form in which an object contains it."""
    return f"{MARK}{ctx.key}"


def unmarked(value: Any, nothing: str | None = "") -> Any:
    """Return a value from a service without the marks of any record, at any depth.

    Text that is a mark becomes `nothing`; a tag or an entry that contains a mark is removed.
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

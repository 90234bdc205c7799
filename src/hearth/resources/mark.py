"""The mark: a record's intent key, written into the object that Hearth creates for the record.

If the answer to the create call is lost, Hearth finds the object by its mark. Templates never see
marks, because they are removed from response bodies.
"""

import re
from collections.abc import Mapping
from typing import Any

from hearth.resources.context import ResourceContext

MARK = "hearth:"
ENTRY = re.compile(r"hearth[-_]key\Z", re.IGNORECASE)
"""Matches the end of the name of a map entry whose only purpose is to contain a mark."""
MARKED = re.compile(
    re.escape(MARK) + r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:[\w.-]+)*"
)


def mark(ctx: ResourceContext) -> str:
    """Return the mark of the record: "hearth:" and the intent key."""
    return f"{MARK}{ctx.key}"


def unmarked(value: Any, nothing: str | None = "") -> Any:
    """Return `value`, from a response of a service, without any marks.

    Text that is a mark becomes `nothing`. An item of a list, or an entry of a map made for a mark,
    is removed.
    """
    match value:
        case str():
            return nothing if MARKED.fullmatch(value) else value
        case Mapping():
            return {
                name: unmarked(entry, nothing)
                for name, entry in value.items()
                if not (ENTRY.search(str(name)) and _is_mark(entry))
            }
        case list() | tuple():
            return [unmarked(entry, nothing) for entry in value if not _is_mark(entry)]
        case _:
            return value


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and MARKED.fullmatch(value) is not None

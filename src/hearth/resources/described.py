"""Generated documentation: the table of how Hearth finds objects again, and the examples."""

import json
import sys
from collections.abc import Iterable
from importlib import resources

from msgspec import Struct, structs

from hearth.resources.base import ResourceType
from hearth.resources.capabilities import MakesObject, UsesUsers, visibility_delay_s

NOTHING_MADE = "none, because it creates nothing in the cloud"
INTRODUCTION = """\
# Resource identification

After reading this page you know how Hearth finds each object again after a crash. To print the
table:

    hearth docs types

Before Hearth sends a create, it commits its intent. If the answer is lost, or if the engine dies
before it has recorded the answer, Hearth searches for the object before it repeats the call. It
searches as long as the service may hide a new object (*delay*). The table has the property that
identifies the object (*key*).

| column | meaning |
| --- | --- |
| identified by | the class of the key, from an id that Hearth chooses to a generated name |
| key | what Hearth searches for |
| delay | seconds for which a new object may be invisible |
| support | state of the type in Heat |

"""


class Row(Struct, frozen=True):
    """One resource type in the table. The visibility delay is in seconds."""

    type: str
    service: str
    identified_by: str
    key: str
    visibility_delay_s: float
    support: str


def rows(types: Iterable[ResourceType]) -> list[Row]:
    """Return one row per type, sorted by type name."""
    return [_row(kind) for kind in sorted(types, key=lambda kind: kind.name)]


def _row(rtype: ResourceType) -> Row:
    users = "identity" if isinstance(rtype, UsesUsers) else ""
    key_kind = rtype.identified_by.value if isinstance(rtype, MakesObject) else ""
    return Row(
        type=rtype.name,
        service=rtype.service or users,
        identified_by=key_kind,
        key=key_in_full(rtype),
        visibility_delay_s=visibility_delay_s(rtype) if rtype.service or users else 0,
        support=str(rtype.support.status),
    )


def key_in_full(rtype: ResourceType) -> str:
    """Return the text about the type's intent key, including the case in which there is no key."""
    if not isinstance(rtype, MakesObject):
        return NOTHING_MADE
    text = rtype.key_in_words()
    if not rtype.keyless_with:
        return text
    names = " and a ".join(sorted(rtype.keyless_with))
    return (
        f"{text}; none with a user-supplied {names}: the service has no place for a key and no"
        " update. After a lost answer a second object may remain, and an event reports it"
    )


def as_markdown(table: Iterable[Row]) -> str:
    """Return the table as a page in Markdown, with its introduction."""
    lines = ["| type | service | identified by | key | delay | support |",
             "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    lines += [
        f"| `{row.type}` | {row.service} | {row.identified_by} "
        f"| {row.key} | {row.visibility_delay_s:g} s | {row.support.lower()} |"
        for row in table
    ]
    return INTRODUCTION + "\n".join(lines) + "\n"


def as_json(table: Iterable[Row]) -> str:
    """Return the table as JSON."""
    return json.dumps([structs.asdict(row) for row in table], indent=2) + "\n"


def example(rtype: ResourceType) -> str | None:
    """Return the text of the type's example template, or None if there is none."""
    return beside(rtype, "yaml")


def beside(rtype: ResourceType, ending: str) -> str | None:
    """Return the text of a file about the type: `yaml` is its example, `md` more about it.

    It is in `examples/` beside the type's module; None if there is none. Its name is the type's
    name without the first two parts: `Net.yaml`, `TaaS.TapFlow.yaml`.
    """
    package = sys.modules[type(rtype).__module__].__package__
    name = ".".join(rtype.name.split("::")[2:])
    if not package or not name:
        return None
    path = resources.files(package) / "examples" / f"{name}.{ending}"
    return path.read_text(encoding="utf-8") if path.is_file() else None

"""Tags: pairs of a key and a value."""

from collections.abc import Mapping
from typing import Any

from hearth.schema import LIST, MAP, STRING, Prop


def pairs(description: str, *, update_allowed: bool = False, immutable: bool = False) -> Prop:
    """A property that is a list of keys with their values."""
    item = Prop(MAP, schema=_ENTRIES)
    return Prop(LIST, description, schema=item, update_allowed=update_allowed, immutable=immutable)


def ignored_tags() -> Prop:
    """Tags of something that has none in this cloud."""
    return Prop(
        LIST,
        "Accepted for templates that set them; nothing is done with them.",
        schema=Prop(MAP, schema=_ENTRIES, implemented=False),
    )


def as_map(tags: Any) -> dict[str, Any] | None:
    """The pairs as a map; None where there are none."""
    found: list[Mapping[str, Any]] = tags or []
    return {one["Key"]: one["Value"] for one in found} or None


_ENTRIES = {
    "Key": Prop(STRING, "The key.", required=True),
    "Value": Prop(STRING, "The value.", required=True),
}

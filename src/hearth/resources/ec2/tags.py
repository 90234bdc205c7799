"""Tags: pairs of a key and a value."""

from collections.abc import Mapping
from typing import Any

from hearth.schema import LIST, MAP, STRING, Prop


def pairs(description: str, *, update_allowed: bool = False, immutable: bool = False) -> Prop:
    """Return a property that is a list of key-value pairs."""
    item = Prop(MAP, schema=_ENTRIES)
    return Prop(LIST, description, schema=item, update_allowed=update_allowed, immutable=immutable)


def ignored_tags() -> Prop:
    """Return the property for tags that are accepted and ignored."""
    return Prop(
        LIST,
        "Accepted for compatibility; of no effect.",
        schema=Prop(MAP, schema=_ENTRIES, implemented=False),
    )


def as_map(tags: Any) -> dict[str, Any] | None:
    """Return the pairs as a map, or None if there are none."""
    found: list[Mapping[str, Any]] = tags or []
    return {one["Key"]: one["Value"] for one in found} or None


_ENTRIES = {
    "Key": Prop(STRING, "The key.", required=True),
    "Value": Prop(STRING, "The value.", required=True),
}

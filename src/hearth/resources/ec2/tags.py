"""Tags: pairs of a key and a value."""

from collections.abc import Mapping
from typing import Any

from hearth.schema import LIST, MAP, STRING, Prop


def pairs(description: str, *, update_allowed: bool = False, immutable: bool = False) -> Prop:
    """Declare a property that is a list of {Key: …, Value: …} maps."""
    item = Prop(MAP, schema=_ENTRIES)
    return Prop(LIST, description, schema=item, update_allowed=update_allowed, immutable=immutable)


def ignored_tags() -> Prop:
    """Declare the property `Tags` of a type that accepts tags and ignores them."""
    return Prop(
        LIST,
        "Accepted for compatibility; of no effect.",
        schema=Prop(MAP, schema=_ENTRIES, implemented=False),
    )


def as_map(tags: Any) -> dict[str, Any] | None:
    """Convert a list of tags to a map {key: value}; None if there are no tags."""
    rows: list[Mapping[str, Any]] = tags or []
    return {row["Key"]: row["Value"] for row in rows} or None


def as_pairs(tags: Any) -> Any:
    """Convert a map {key: value} to a list of tags; leave another value as it is."""
    if not isinstance(tags, Mapping):
        return tags
    return [{"Key": key, "Value": value} for key, value in tags.items()]


_ENTRIES = {
    "Key": Prop(STRING, "The key.", required=True),
    "Value": Prop(STRING, "The value.", required=True),
}

"""Compare the values that a service shows with the stored values of properties.

Services show a value in another form than it was sent: numbers as text, lists in another order,
addresses in another notation, an object in place of its id, nothing in place of an empty value.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_interface
from typing import Any

from hearth.schema import AllowedValues, Prop, ValueKind

IDS = ("id", "uuid", "name")
WORDS = {"true": True, "false": False}
NO_PROP = Prop(ValueKind.ANY)


def observed_value(prop: Prop, stored_value: Any, sent_value: Any, shown_value: Any) -> Any:
    """Return the value of a property according to the service, in the words of the property.

    `sent_value` is the stored value in the form of the service, and `shown_value` is what the
    service shows. If both mean the same, the result is the stored value.
    """
    return (
        stored_value
        if same_value(prop, sent_value, shown_value)
        else in_words(prop, stored_value, shown_value)
    )


def same_value(prop: Prop, sent_value: Any, shown_value: Any) -> bool:
    """Return whether a value shown by a service means the same as the value that was sent.

    The order of lists does not matter. A map with declared entries may show further entries, which
    the service has filled in; any other map must have the same keys.
    """
    if sent_value == shown_value or (_empty(sent_value) and _empty(shown_value)):
        return True
    match sent_value:
        case bool():
            return _plain(shown_value) in (sent_value, int(sent_value)) or (
                not sent_value and _empty(shown_value)
            )
        case int() | float():
            return not isinstance(shown_value, bool) and _number(shown_value or 0) == sent_value
        case str():
            return _same_text(prop, sent_value, shown_value)
        case list() | tuple():
            return isinstance(shown_value, list | tuple) and _same_items(
                prop, sent_value, shown_value
            )
        case Mapping():
            return isinstance(shown_value, Mapping) and _same_entries(prop, sent_value, shown_value)
    return False


def in_words(prop: Prop, stored_value: Any, shown_value: Any) -> Any:
    """Return the value that a service shows, as far as possible in the form of the stored value."""
    match stored_value:
        case bool():
            return _plain(shown_value)
        case int() | float():
            number = _number(shown_value)
            return shown_value if number is None else number
        case str() if isinstance(shown_value, Mapping):
            return next((shown_value[key] for key in IDS if key in shown_value), shown_value)
        case str() if isinstance(shown_value, int | float) and not isinstance(shown_value, bool):
            return str(shown_value)
        case list() if isinstance(shown_value, list):
            model = stored_value[0] if stored_value else None
            return [in_words(prop.item or NO_PROP, model, entry) for entry in shown_value]
        case Mapping() if isinstance(shown_value, Mapping) and prop.entries is not None:
            return {
                name: in_words(prop.entries.get(name, NO_PROP), stored_value.get(name), value)
                for name, value in shown_value.items()
                if name in prop.entries
            }
    return shown_value


def in_own_words(prop: Prop, value: Any, path: str, renamed: Mapping[str, str]) -> Any:
    """Return a value from a service with the keys of maps as the property has them, at any depth.

    `path` is the path of the value, such as "allocation_pools.start". `renamed` maps paths to the
    keys of the service. Keys that the property does not have are left out.
    """
    match value:
        case list() if prop.item is not None:
            return [in_own_words(prop.item, row, path, renamed) for row in value]
        case Mapping() if prop.entries is not None:
            entries = {}
            for name, entry in prop.entries.items():
                key = renamed.get(f"{path}.{name}", name)
                if key in value:
                    entries[name] = in_own_words(entry, value[key], f"{path}.{name}", renamed)
            return entries
    return value


def within(desired: Any, current: Any) -> Any:
    """Return `current`, a map or a list, without the entries that `desired` does not have."""
    if isinstance(desired, Mapping) and isinstance(current, Mapping):
        return {name: entry for name, entry in current.items() if name in desired}
    if isinstance(desired, list) and isinstance(current, list):
        return [entry for entry in current if entry in desired]
    return current


def _same_text(prop: Prop, sent_text: str, shown_value: Any) -> bool:
    match shown_value:
        case Mapping():
            return any(shown_value.get(key) == sent_text for key in IDS)
        case bool():
            return _plain(sent_text) is shown_value
        case int() | float():
            return _number(sent_text) == shown_value
        case str():
            chosen = any(isinstance(constraint, AllowedValues) for constraint in prop.constraints)
            if chosen and sent_text.casefold() == shown_value.casefold():
                return True
            return _canonical(sent_text) == _canonical(shown_value)
    return False


def _same_items(prop: Prop, sent_items: Sequence[Any], shown_items: Sequence[Any]) -> bool:
    """Return whether two lists have the same items, in any order."""
    if len(sent_items) != len(shown_items):
        return False
    item, unmatched = prop.item or NO_PROP, list(shown_items)
    for entry in sorted(sent_items, key=_size, reverse=True):  # those that fit fewest items first
        index = next(
            (n for n, candidate in enumerate(unmatched) if same_value(item, entry, candidate)), None
        )
        if index is None:
            return False
        del unmatched[index]
    return True


def _same_entries(
    prop: Prop, sent_entries: Mapping[str, Any], shown_entries: Mapping[str, Any]
) -> bool:
    """Return whether two maps have the same entries; null for a declared entry means not given."""
    declared = prop.entries
    if declared is None and prop is not NO_PROP and shown_entries.keys() - sent_entries.keys():
        return False
    props = declared or {}
    fallback = prop.item or NO_PROP
    return all(
        _usual(props.get(name), value, shown_entries.get(name))
        or same_value(props.get(name, fallback), value, shown_entries.get(name))
        for name, value in sent_entries.items()
        if value is not None or declared is None
    )


def _usual(prop: Prop | None, value: Any, shown_value: Any) -> bool:
    """Return whether the value is the default of an entry that the service does not show."""
    return shown_value is None and prop is not None and prop.has_default and value == prop.default


def _size(value: Any) -> int:
    return len(json.dumps(value, default=str))


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def _plain(value: Any) -> Any:
    return WORDS.get(value.casefold(), value) if isinstance(value, str) else value


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def _canonical(text: str) -> object:
    """Return a value that is equal for all notations of the same address, MAC or time."""
    text = text.strip()
    if len(text) == 17 and text.count(":") + text.count("-") == 5:
        return text.casefold().replace("-", ":")
    try:
        return ip_interface(text)
    except ValueError:
        pass
    if text[4:5] == "-" and len(text) >= len("2000-01-01"):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return text
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return text

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


def observed_value(prop: Prop, stored: Any, sent: Any, shown: Any) -> Any:
    """Return the value of a property according to the service, in the words of the property.

    `sent` is the stored value in the form of the service, and `shown` is what the service shows. If
    both mean the same, the result is the stored value.
    """
    return stored if same(prop, sent, shown) else in_words(prop, stored, shown)


def same(prop: Prop, sent: Any, shown: Any) -> bool:
    """Return whether the value `shown` by a service means the same as the value `sent`.

    The order of lists does not matter. A map with declared entries may show further entries, which
    the service has filled in; any other map must have the same keys.
    """
    if sent == shown or (_empty(sent) and _empty(shown)):
        return True
    match sent:
        case bool():
            return _plain(shown) in (sent, int(sent)) or (not sent and _empty(shown))
        case int() | float():
            return not isinstance(shown, bool) and _number(shown or 0) == sent
        case str():
            return _same_text(prop, sent, shown)
        case list() | tuple():
            return isinstance(shown, list | tuple) and _same_items(prop, sent, shown)
        case Mapping():
            return isinstance(shown, Mapping) and _same_entries(prop, sent, shown)
    return False


def in_words(prop: Prop, stored: Any, shown: Any) -> Any:
    """Return the value `shown` by a service, as far as possible in the form of the stored value."""
    match stored:
        case bool():
            return _plain(shown)
        case int() | float():
            found = _number(shown)
            return shown if found is None else found
        case str() if isinstance(shown, Mapping):
            return next((shown[key] for key in IDS if key in shown), shown)
        case str() if isinstance(shown, int | float) and not isinstance(shown, bool):
            return str(shown)
        case list() if isinstance(shown, list):
            model = stored[0] if stored else None
            return [in_words(prop.item or NO_PROP, model, one) for one in shown]
        case Mapping() if isinstance(shown, Mapping) and prop.entries is not None:
            return {
                name: in_words(prop.entries.get(name, NO_PROP), stored.get(name), value)
                for name, value in shown.items()
                if name in prop.entries
            }
    return shown


def in_own_words(prop: Prop, value: Any, path: str, renamed: Mapping[str, str]) -> Any:
    """Return a value from a service with the keys of maps as the property has them, at any depth.

    `path` is the path of the value, such as "allocation_pools.start". `renamed` maps paths to the
    keys of the service. Keys that the property does not have are left out.
    """
    match value:
        case list() if prop.item is not None:
            return [in_own_words(prop.item, one, path, renamed) for one in value]
        case Mapping() if prop.entries is not None:
            found = {}
            for name, entry in prop.entries.items():
                key = renamed.get(f"{path}.{name}", name)
                if key in value:
                    found[name] = in_own_words(entry, value[key], f"{path}.{name}", renamed)
            return found
    return value


def within(wanted: Any, shown: Any) -> Any:
    """Return `shown`, a map or a list, without the entries that `wanted` does not have."""
    if isinstance(wanted, Mapping) and isinstance(shown, Mapping):
        return {name: one for name, one in shown.items() if name in wanted}
    if isinstance(wanted, list) and isinstance(shown, list):
        return [one for one in shown if one in wanted]
    return shown


def _same_text(prop: Prop, sent: str, shown: Any) -> bool:
    match shown:
        case Mapping():
            return any(shown.get(key) == sent for key in IDS)
        case bool():
            return _plain(sent) is shown
        case int() | float():
            return _number(sent) == shown
        case str():
            chosen = any(isinstance(one, AllowedValues) for one in prop.constraints)
            if chosen and sent.casefold() == shown.casefold():
                return True
            return _canonical(sent) == _canonical(shown)
    return False


def _same_items(prop: Prop, sent: Sequence[Any], shown: Sequence[Any]) -> bool:
    """Return whether two lists have the same items, in any order."""
    if len(sent) != len(shown):
        return False
    item, left = prop.item or NO_PROP, list(shown)
    for one in sorted(sent, key=_size, reverse=True):  # those that fit fewest items first
        found = next((n for n, other in enumerate(left) if same(item, one, other)), None)
        if found is None:
            return False
        del left[found]
    return True


def _same_entries(prop: Prop, sent: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Return whether two maps have the same entries; null for a declared entry means not given."""
    known = prop.entries
    if known is None and prop is not NO_PROP and shown.keys() - sent.keys():
        return False
    props = known or {}
    fallback = prop.item or NO_PROP
    return all(
        _usual(props.get(name), value, shown.get(name))
        or same(props.get(name, fallback), value, shown.get(name))
        for name, value in sent.items()
        if value is not None or known is None
    )


def _usual(prop: Prop | None, value: Any, shown: Any) -> bool:
    """Return whether the value is the default of an entry that the service does not show."""
    return shown is None and prop is not None and prop.has_default and value == prop.default


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
        found = float(value)
    except (TypeError, ValueError):
        return None
    return int(found) if found.is_integer() else found


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
            when = datetime.fromisoformat(text)
        except ValueError:
            return text
        return when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return text

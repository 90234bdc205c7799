"""Values for properties, made from their schema: two for each, unlike each other."""

from typing import Any

from hearth.schema import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedPattern,
    AllowedValues,
    Custom,
    Length,
    Prop,
    Range,
    SupportStatus,
)

LOCAL = {
    "cron_expression": ("5 * * * *", "6 * * * *"),
    "dns_domain": ("one.example.", "two.example."),
    "dns_name": ("one", "two"),
    "expiration": ("2099-01-01T00:00:00", "2099-02-02T00:00:00"),
    "ip_addr": ("192.0.2.11", "192.0.2.12"),
    "ip_or_cidr": ("192.0.2.11", "192.0.2.12"),
    "iso_8601": ("2099-01-01T00:00:00", "2099-02-02T00:00:00"),
    "json_string": ("{}", "[]"),
    "mac_addr": ("fa:16:3e:00:00:11", "fa:16:3e:00:00:12"),
    "net_cidr": ("192.0.2.0/26", "192.0.2.64/26"),
    "rel_dns_name": ("one", "two"),
    "test_constr": ("one", "two"),
    "timezone": ("Europe/Berlin", "Asia/Tokyo"),
}


class NeedsCase(Exception):
    """The schema alone does not tell a value that means something: a case must."""


def unused(prop: Prop) -> bool:
    """Whether nobody is to use the property any more, or it does nothing."""
    status = prop.support.status if prop.support else SupportStatus.SUPPORTED
    return not prop.implemented or status == SupportStatus.HIDDEN


def value(prop: Prop, name: str, which: int) -> Any:
    """The first (0) or second (1) value of a property; raises NeedsCase."""
    for constraint in prop.constraints:
        match constraint:
            case AllowedValues(values=values):
                wanted = [one for one in values if not (prop.has_default and one == prop.default)]
                choices = [*wanted, *(one for one in values if one not in wanted)]
                return choices[which % len(choices)]
            case Custom(name=custom):
                if custom not in LOCAL:
                    raise NeedsCase(f"{name}: {custom}")
                return LOCAL[custom][which]
            case AllowedPattern():
                raise NeedsCase(f"{name}: {constraint.pattern}")
    match prop.kind:
        case k if k == BOOLEAN:
            first = not prop.default if prop.has_default and prop.default is not None else True
            return first if which == 0 else not first
        case k if k in (INTEGER, NUMBER):
            return _number(prop, which)
        case k if k == STRING:
            return _text(prop, name, which)
        case k if k == ANY:
            return f"{name}-{which + 1}"
        case k if k == LIST:
            return [value(prop.item, name, which)] if prop.item else [f"{name}-{which + 1}"]
        case k if k == MAP:
            return _map(prop, name, which)
    raise AssertionError(prop.kind)


def _number(prop: Prop, which: int) -> int:
    low, high = 1, None
    for constraint in prop.constraints:
        if isinstance(constraint, Range):
            low = int(constraint.min) if constraint.min is not None else low
            high = int(constraint.max) if constraint.max is not None else None
    choices = [low + 1 + n for n in range(3) if high is None or low + 1 + n <= high]
    choices = [one for one in [*choices, low] if not (prop.has_default and one == prop.default)]
    if len(choices) <= which:
        raise NeedsCase(f"no {which + 1} numbers in its range")
    return choices[which]


def _text(prop: Prop, name: str, which: int) -> str:
    text = f"{name}-{which + 1}"
    for constraint in prop.constraints:
        if isinstance(constraint, Length):
            if constraint.min is not None:
                text = text.ljust(int(constraint.min), "x")
            if constraint.max is not None and len(text) > constraint.max:
                text = text[-int(constraint.max) :]
    return text


def _map(prop: Prop, name: str, which: int) -> dict[str, Any]:
    if prop.entries is None:
        return {"key": f"{name}-{which + 1}"}
    made = {}
    for key, inner in prop.entries.items():
        try:
            if not unused(inner):
                made[key] = value(inner, f"{name}-{key}", which)
        except NeedsCase:
            if inner.required:
                raise
    return made

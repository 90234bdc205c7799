"""Validators for named constraints that need no cloud: addresses, domain names, times.

Each function returns None if the value is valid, otherwise the error message.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from hearth.model.json_text import parse_json

LABEL = re.compile(r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", re.IGNORECASE)
MAC = re.compile(r"^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$", re.IGNORECASE)
CRON_FIELD = re.compile(r"^[\d*/,\-a-zA-Z]+$")
DOMAIN_LIMIT = 255
ZONES: set[str] = set()


def ip_addr(value: Any) -> str | None:
    """Check that the value is an IP address."""
    return None if _parses(ipaddress.ip_address, value) else f'"{value}" is not an IP address'


def net_cidr(value: Any) -> str | None:
    """Check that the value is a network in CIDR notation."""
    text = str(value)
    if "/" in text and _parses(lambda v: ipaddress.ip_network(v, strict=False), text):
        return None
    return f'Invalid net cidr "{text}"'


def ip_or_cidr(value: Any) -> str | None:
    """Check that the value is an IP address or a network in CIDR notation."""
    if ip_addr(value) is None or net_cidr(value) is None:
        return None
    return f'"{value}" is neither an IP address nor a network'


def mac_addr(value: Any) -> str | None:
    """Check that the value is a hardware (MAC) address."""
    return None if MAC.match(str(value)) else f'"{value}" is not a hardware address'


def dns_name(value: Any) -> str | None:
    """Check that the value is a domain name, with or without a final dot."""
    text = str(value)
    if len(text) > DOMAIN_LIMIT:
        return f'"{value}" exceeds the {DOMAIN_LIMIT} character FQDN limit'
    labels = text.removesuffix(".").split(".")
    if not all(LABEL.match(label) for label in labels):
        return f'"{value}" not in valid format. A label has letters, digits and inner hyphens only'
    if text.endswith(".") and len(labels) > 1 and labels[-1].isdecimal():
        return f'"{value}": the last label of a full domain name must not be a number'
    return None


def rel_dns_name(value: Any) -> str | None:
    """Check that the value is a domain name without a final dot."""
    if str(value).endswith("."):
        return f'"{value}" must be a relative name, without a closing dot'
    return dns_name(value)


def dns_domain(value: Any) -> str | None:
    """Check that the value is a domain name with a final dot."""
    if not str(value).endswith("."):
        return f'"{value}" must end with "."'
    return dns_name(value)


def iso_8601(value: Any) -> str | None:
    """Check that the value is a time in ISO 8601 format."""
    return None if _parses(_moment, value) else f'"{value}" is not an ISO 8601 time'


def expiration(value: Any) -> str | None:
    """Check that the value is a time; the service checks that it is in the future."""
    return iso_8601(value)


def json_string(value: Any) -> str | None:
    """Check that the value is JSON."""
    return None if _parses(parse_json, value) else f'"{value}" is not JSON'


def cron_expression(value: Any) -> str | None:
    """Check that the value is a cron expression of five or six fields."""
    fields = str(value).split()
    if len(fields) in {5, 6} and all(CRON_FIELD.match(field) for field in fields):
        return None
    return f'"{value}" is not a cron expression'


def timezone(value: Any) -> str | None:
    """Check that the value is the name of a time zone."""
    if not ZONES:
        ZONES.update(available_timezones())
    return None if value in ZONES else f'"{value}" is not a time zone'


def always(_value: Any) -> str | None:
    """Accept every value; the test resource uses this constraint."""
    return None


CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "cron_expression": cron_expression,
    "dns_domain": dns_domain,
    "dns_name": dns_name,
    "expiration": expiration,
    "ip_addr": ip_addr,
    "ip_or_cidr": ip_or_cidr,
    "iso_8601": iso_8601,
    "json_string": json_string,
    "mac_addr": mac_addr,
    "net_cidr": net_cidr,
    "rel_dns_name": rel_dns_name,
    "test_constr": always,
    "timezone": timezone,
}


def _moment(value: Any) -> datetime:
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parses(parse: Callable[[Any], object], value: Any) -> bool:
    try:
        parse(value)
    except (ValueError, TypeError):
        return False
    return True

"""Checks of fields that contain addresses, prefixes or lists of them, with Neutron's messages."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from hearth_devcloud.collection import (
    Check,
    address,
    anything,
    integer,
    one_of,
    uuid,
)

_MAC = re.compile(r"^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$", re.IGNORECASE)


def mac(value: Any) -> Any:
    """Check a MAC address and return it. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, str) or not _MAC.match(value) or not value.strip("0:-"):
        raise ValueError(f"'{value}' is not a valid MAC address")
    return value.lower().replace("-", ":")


def ip_version(value: Any) -> Any:
    """Check an IP version and return it as 4 or 6. Raises ValueError."""
    return one_of(4, 6)(integer()(value))


def nameserver(value: Any) -> str:
    """Check the IP address of a name server and return it. Raises ValueError."""
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        text = f"'{value}' is not a valid nameserver. '{value}' is not a valid IP address"
        raise ValueError(text) from None


def _network(value: Any, *, strict: bool, kind: str) -> str:
    try:
        if "/" in str(value):
            return str(ipaddress.ip_network(str(value), strict=strict))
    except ValueError:
        pass
    raise ValueError(f"'{value}' is not a valid {kind}")


def cidr(value: Any) -> str:
    """Check a network in CIDR notation and return it.

    Raises ValueError if it is invalid or has host bits set.
    """
    return _network(value, strict=True, kind="CIDR")


def prefix(value: Any) -> str:
    """Return a network in CIDR notation with its host bits cleared. Raises ValueError."""
    return _network(value, strict=False, kind="IP subnet")


def fixed_ips(value: Any) -> Any:
    """Check the requested fixed IPs and return them. Raises ValueError.

    Each of them has a `subnet_id`, an `ip_address` or both.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"Invalid data format for fixed IP: '{value}'")
    checks: dict[str, Check] = {"subnet_id": uuid, "ip_address": address}
    items = [{k: checks.get(k, anything)(v) for k, v in item.items()} for item in value]
    addresses = [item["ip_address"] for item in items if "ip_address" in item]
    distinct(anything, "Duplicate IP address")(addresses)
    return items


def members(**checks: Check) -> Check:
    """Return a check for an object that has exactly the keys in `checks`.

    Each value is checked by the function of its key.
    """

    def check(value: Any) -> Any:
        if not isinstance(value, dict) or set(value) != set(checks):
            keys = sorted(value) if isinstance(value, dict) else value
            text = f"Expected keys: {sorted(checks)} Provided keys: {keys}"
            raise ValueError(f"Validation of dictionary's keys failed. {text}")
        return {key: checks[key](item) for key, item in value.items()}

    return check


def distinct(check_item: Check, doubled: str) -> Check:
    """Return a check for a list without duplicates. Null counts as an empty list.

    `check_item` checks each item, and `doubled` is the start of the error message for a duplicate.
    """

    def check(value: Any) -> Any:
        if not isinstance(value, list | None):
            raise ValueError(f"{value!r} is not a list")
        items: list[Any] = []
        for item in map(check_item, value or []):
            if item in items:
                raise ValueError(f"{doubled} '{item}'")
            items.append(item)
        return items

    return check


routes = distinct(members(destination=cidr, nexthop=address), "Duplicate hostroute")

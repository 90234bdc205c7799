"""Constraints with a name: those that need no cloud, such as addresses and times, are checked here.

Each check returns None if the value is valid, otherwise the error message.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from hearth.model.json_text import parse_json
from hearth.model.problem import hint, nearest

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
    """Check that the value is a time in the future."""
    wrong = iso_8601(value)
    if wrong is None and _moment(value) <= datetime.now(UTC):
        return f'"{value}" is in the past'
    return wrong


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


def queue_name(value: Any) -> str | None:
    """Check the length of the name of a queue.

    The queue need not exist: the first message or subscription creates it. Source: observed with
    Heat 27.0.1.
    """
    return None if 1 <= len(str(value)) <= 64 else "the name of a queue has 1 to 64 characters"


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
    "zaqar.queue": queue_name,
}

IN_CLOUD = frozenset(
    {
        "glance.image", "nova.flavor", "nova.server", "nova.host", "nova.keypair",
        "cinder.volume", "cinder.snapshot", "cinder.backup", "cinder.vtype", "cinder.qos_specs",
        "barbican.secret", "barbican.container", "designate.zone", "neutron.network",
        "neutron.subnet", "neutron.subnetpool", "neutron.port", "neutron.router",
        "neutron.security_group", "neutron.qos_policy", "neutron.address_scope",
        "neutron.segment", "neutron.floating_ip", "neutron.taas.tap_service",
        "neutron.taas.tap_flow", "neutron.flow_classifier", "neutron.port_pair",
        "neutron.port_pair_group", "neutron.lbaas.loadbalancer", "neutron.lbaas.listener",
        "neutron.lbaas.pool", "neutron.lbaas.provider", "nova.network", "keystone.user",
        "keystone.project", "keystone.domain", "keystone.group", "keystone.role",
        "keystone.service", "keystone.region", "octavia.loadbalancer", "octavia.listener",
        "octavia.pool", "octavia.l7policy", "octavia.flavor", "octavia.flavorprofile",
        "octavia.availabilityzone", "octavia.availabilityzoneprofile", "blazar.reservation",
        "ironic.node", "ironic.portgroup", "magnum.cluster_template", "manila.share_network",
        "manila.share_snapshot", "manila.share_type", "mistral.workflow", "trove.flavor",
    }
)  # fmt: skip
"""The constraints that only the cloud can check: the value is the name or id of an object."""

EMPTY_ALLOWED = frozenset(
    {
        *("dns_domain", "dns_name", "rel_dns_name", "timezone", "expiration", "cron_expression"),
        *("json_string", "nova.keypair", "nova.host", "neutron.segment"),
        *(name for name in IN_CLOUD if name.startswith("octavia.")),
    }
)
"""Constraints that accept an empty text, as in Heat 27.0.1."""


def wrong_value(name: str, value: Any) -> str | None:
    """Return why a value violates the constraint `name`.

    Return None if it does not, if only the cloud can tell, or if there is no such constraint. Null
    violates no constraint.
    """
    if value is None or (value == "" and name in EMPTY_ALLOWED):
        return None
    check = CHECKS.get(name)
    return None if check is None else check(value)


def unknown_constraint(name: str) -> str | None:
    """Return the error message if there is no constraint `name`, else None."""
    if name in CHECKS or name in IN_CLOUD:
        return None
    return f'there is no constraint "{name}"{hint(nearest(name, [*sorted(IN_CLOUD), *CHECKS]))}'


def _moment(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parses(parse: Callable[[Any], object], value: Any) -> bool:
    try:
        parse(value)
    except (ValueError, TypeError):
        return False
    return True

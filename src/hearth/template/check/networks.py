"""Mistakes with networks that Neutron and Nova refuse only while the stack is created.

All facts are in the template: ranges and addresses of subnets and ports, ranges of ports, and the
network of a server. Values that are not known are not judged. Resources with conditions are not
compared with others, because they may exclude each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from msgspec import Struct

from hearth.template.check.values import parts
from hearth.template.expr import Call, Const, Expr
from hearth.template.function import Refers
from hearth.template.parse import ResourceSource
from hearth.template.references import referred

SUBNET, PORT, SERVER, NET = (
    "OS::Neutron::Subnet", "OS::Neutron::Port", "OS::Nova::Server", "OS::Neutron::Net",
)  # fmt: skip
NETWORK = ("network", "network_id")
ICMP = frozenset({"icmp", "icmpv6", "ipv6-icmp", "1", "58"})  # its type and code are no range
USERS = frozenset({SERVER, PORT, "OS::Neutron::FloatingIP"})  # types that create no subnet


class Mistake(Struct, frozen=True):
    """A mistake: the resource, the steps to its place in the properties, the rule, the message."""

    source: ResourceSource
    steps: tuple[str | int, ...]
    code: str
    words: str


def mistakes(
    sources: Sequence[ResourceSource], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    """Yield the mistakes in the resources that can exist.

    `known` has the values of properties, as far as they are known, by resource. It lacks resources
    whose properties are wrong, which are not judged.
    """
    for source in [one for one in sources if one.name in known]:
        for steps in _reversed(known.get(source.name, {})):
            words = "port_range_min is larger than port_range_max"
            yield Mistake(source, (*steps, "port_range_min"), "ports-reversed", words)
    certain = [one for one in sources if one.condition is None]
    yield from _overlaps([one for one in certain if one.type == SUBNET], known)
    yield from _addresses([one for one in certain if one.type == PORT], known)
    yield from (one for one in _without_subnet(sources) if one.source.name in known)


def _overlaps(
    subnets: Sequence[ResourceSource], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    seen: list[tuple[str, str, IPv4Network | IPv6Network]] = []
    for one in subnets:
        network, text = _network(one), known.get(one.name, {}).get("cidr")
        try:
            cidr = ip_network(text, strict=False) if network and text else None
        except ValueError:
            continue
        if cidr is None or network is None:
            continue
        for name, other, theirs in seen:
            if other == network and theirs.version == cidr.version and theirs.overlaps(cidr):
                words = f'{cidr} overlaps with {theirs} of subnet "{name}" in the same network'
                yield Mistake(one, ("cidr",), "subnets-overlap", words)
                break
        seen.append((one.name, network, cidr))


def _addresses(
    ports: Sequence[ResourceSource], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    seen: dict[tuple[str, str], str] = {}
    for one in ports:
        network = _network(one)
        for number, fixed in enumerate(known.get(one.name, {}).get("fixed_ips") or ()):
            address = fixed.get("ip_address") if isinstance(fixed, Mapping) else None
            if network is None or not isinstance(address, str):
                continue
            other = seen.setdefault((network, address), one.name)
            if other != one.name:
                words = f'port "{other}" has the address {address} in the same network'
                yield Mistake(one, ("fixed_ips", number, "ip_address"), "address-taken", words)


def _without_subnet(sources: Sequence[ResourceSource]) -> Iterator[Mistake]:
    """Yield the servers on networks of the template that get no subnet there."""
    nets = {one.name for one in sources if one.type == NET}
    busy = {
        name for one in sources if one.type not in USERS for name in _references(one.properties)
    }
    for one in sources:
        if one.type != SERVER:
            continue
        networks = dict(_parts(one.properties)).get("networks")
        for number, entry in _parts(networks):
            for key, value in _parts(entry):
                name = _reference(value)
                if key in ("network", "uuid") and name in nets - busy:
                    words = f'network "{name}" has no subnet, so the server gets no address'
                    steps = ("networks", number, key)
                    yield Mistake(one, steps, "network-without-subnet", words)


def _reversed(value: Any, *steps: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of maps whose range of ports ends before it begins."""
    if isinstance(value, Mapping):
        low, high = value.get("port_range_min"), value.get("port_range_max")
        icmp = str(value.get("protocol") or "").lower() in ICMP
        if isinstance(low, int) and isinstance(high, int) and low > high and not icmp:
            yield steps
        for key, one in value.items():
            yield from _reversed(one, *steps, key)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _reversed(one, *steps, number)


def _network(one: ResourceSource) -> str | None:
    """Return a text that is equal for equal networks; None if the network is not known."""
    entries = dict(_parts(one.properties))
    for name in NETWORK:
        value = entries.get(name)
        if isinstance(value, Const) and isinstance(value.value, str):
            return value.value
        if value is not None and (reference := _reference(value)) is not None:
            return f"resource {reference}"
    return None


def _reference(value: Expr | None) -> str | None:
    if isinstance(value, Call) and value.function.refers is Refers.RESOURCE:
        return referred(value.function.refers, value.args)
    return None


def _references(expr: Expr) -> Iterator[str]:
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call) and one.function.refers is not None:
            name = referred(one.function.refers, one.args)
            if name is not None:
                yield name
        waiting.extend(one.parts())


def _parts(expr: Expr | None) -> Iterator[tuple[Any, Expr]]:
    if expr is not None:
        yield from parts(expr)

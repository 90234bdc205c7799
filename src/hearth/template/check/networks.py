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
    "OS::Neutron::Subnet",
    "OS::Neutron::Port",
    "OS::Nova::Server",
    "OS::Neutron::Net",
)
NETWORK = ("network", "network_id")
ICMP = frozenset({"icmp", "icmpv6", "ipv6-icmp", "1", "58"})  # its type and code are no range
USERS = frozenset({SERVER, PORT, "OS::Neutron::FloatingIP"})  # types that create no subnet


class Mistake(Struct, frozen=True):
    """A mistake: the resource, the steps to its place in the properties, the rule, the message."""

    source: ResourceSource
    steps: tuple[str | int, ...]
    code: str
    message: str


def mistakes(
    sources: Sequence[ResourceSource], values_by_name: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    """Yield the mistakes in the resources that can exist.

    `values_by_name` has the values of properties, as far as they are known, by resource. It lacks
    resources whose properties are wrong, which are not judged.
    """
    judged = [source for source in sources if source.name in values_by_name]
    for source in judged:
        for steps in _reversed(values_by_name.get(source.name, {})):
            message = "port_range_min is larger than port_range_max"
            yield Mistake(source, (*steps, "port_range_min"), "ports-reversed", message)
    certain = [source for source in sources if source.condition is None]
    yield from _overlaps([subnet for subnet in certain if subnet.type == SUBNET], values_by_name)
    yield from _addresses([port for port in certain if port.type == PORT], values_by_name)
    yield from (
        mistake for mistake in _without_subnet(sources) if mistake.source.name in values_by_name
    )


def _overlaps(
    subnets: Sequence[ResourceSource], values_by_name: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    earlier: list[tuple[str, str, IPv4Network | IPv6Network]] = []
    for subnet in subnets:
        network, text = _network(subnet), values_by_name.get(subnet.name, {}).get("cidr")
        try:
            cidr = ip_network(text, strict=False) if network and text else None
        except ValueError:
            continue
        if cidr is None or network is None:
            continue
        for name, its_network, theirs in earlier:
            if its_network == network and theirs.version == cidr.version and theirs.overlaps(cidr):
                message = f'{cidr} overlaps with {theirs} of subnet "{name}" in the same network'
                yield Mistake(subnet, ("cidr",), "subnets-overlap", message)
                break
        earlier.append((subnet.name, network, cidr))


def _addresses(
    ports: Sequence[ResourceSource], values_by_name: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mistake]:
    owners: dict[tuple[str, str], str] = {}
    for port in ports:
        network = _network(port)
        for number, fixed in enumerate(values_by_name.get(port.name, {}).get("fixed_ips") or ()):
            address = fixed.get("ip_address") if isinstance(fixed, Mapping) else None
            if network is None or not isinstance(address, str):
                continue
            owner = owners.setdefault((network, address), port.name)
            if owner != port.name:
                message = f'port "{owner}" has the address {address} in the same network'
                yield Mistake(port, ("fixed_ips", number, "ip_address"), "address-taken", message)


def _without_subnet(sources: Sequence[ResourceSource]) -> Iterator[Mistake]:
    """Yield the servers on networks of the template that get no subnet there."""
    nets = {source.name for source in sources if source.type == NET}
    busy = {
        name
        for source in sources
        if source.type not in USERS
        for name in _references(source.properties)
    }
    for server in sources:
        if server.type != SERVER:
            continue
        networks = dict(_parts(server.properties)).get("networks")
        for number, entry in _parts(networks):
            for key, value in _parts(entry):
                name = _reference(value)
                if key in ("network", "uuid") and name in nets - busy:
                    message = f'network "{name}" has no subnet, so the server gets no address'
                    steps = ("networks", number, key)
                    yield Mistake(server, steps, "network-without-subnet", message)


def _reversed(value: Any, *steps: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of maps whose range of ports ends before it begins."""
    if isinstance(value, Mapping):
        low, high = value.get("port_range_min"), value.get("port_range_max")
        icmp = str(value.get("protocol") or "").lower() in ICMP
        if isinstance(low, int) and isinstance(high, int) and low > high and not icmp:
            yield steps
        for key, inner in value.items():
            yield from _reversed(inner, *steps, key)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _reversed(inner, *steps, number)


def _network(source: ResourceSource) -> str | None:
    """Return a text that is equal for equal networks; None if the network is not known."""
    entries = dict(_parts(source.properties))
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
        part = waiting.pop()
        if isinstance(part, Call) and part.function.refers is not None:
            name = referred(part.function.refers, part.args)
            if name is not None:
                yield name
        waiting.extend(part.parts())


def _parts(expr: Expr | None) -> Iterator[tuple[Any, Expr]]:
    if expr is not None:
        yield from parts(expr)

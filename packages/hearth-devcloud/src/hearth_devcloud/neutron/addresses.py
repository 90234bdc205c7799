"""Allocation of IP and MAC addresses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Refusal
from hearth_devcloud.store import Resource, Store

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_slaac(subnet: Resource) -> bool:
    """Return whether hosts of the subnet generate their own IPv6 addresses (SLAAC)."""
    return subnet.body["ipv6_address_mode"] in ("slaac", "dhcpv6-stateless")


def pools_without(net: Network, gateway: str | None) -> list[Body]:
    """Return the default allocation pools of a subnet: all host addresses except the gateway."""
    first, last = int(net.network_address), int(net.broadcast_address)
    if net.version == 4 and net.prefixlen < 31:
        first, last = first + 1, last - 1
    elif net.version == 6 and net.prefixlen < 127:
        first += 1
    spans = [(first, last)]
    if gateway is not None:
        out = int(ipaddress.ip_address(gateway))
        if first <= out <= last:
            spans = [(first, out - 1), (out + 1, last)]
    kind = ipaddress.IPv4Address if net.version == 4 else ipaddress.IPv6Address
    return [{"start": str(kind(low)), "end": str(kind(high))} for low, high in spans if low <= high]


def overlaps(net: Network, cidrs: Iterable[str]) -> bool:
    """Return whether `net` overlaps a network in `cidrs`, which are in CIDR notation."""
    for text in cidrs:
        network = ipaddress.ip_network(text)
        if network.version == net.version and net.overlaps(network):
            return True
    return False


def take(subnet: Resource, port_id: str, requested_address: str | None = None) -> str:
    """Allocate an address of the subnet for a port and return it.

    This is `requested_address`, or else the next free address of the allocation pools. Raises
    Refusal 409 if the address is in use or no address is left.
    """
    used: dict[str, str] = subnet.hidden.setdefault("used", {})
    if requested_address is not None:
        address = str(ipaddress.ip_address(requested_address))
        if address in used:
            text = f"IP address {address} already allocated in subnet {subnet.id}"
            raise Refusal(409, "IpAddressAlreadyAllocated", text)
    else:
        free_address = _next(subnet, used)
        if free_address is None:
            text = f"No more IP addresses available on network {subnet.body['network_id']}."
            raise Refusal(409, "IpAddressGenerationFailure", text)
        address = subnet.hidden["last"] = free_address
    used[address] = port_id
    return address


def _next(subnet: Resource, used: dict[str, str]) -> str | None:
    after = subnet.hidden.get("last")
    spans = [
        (ipaddress.ip_address(pool["start"]), ipaddress.ip_address(pool["end"]))
        for pool in subnet.body["allocation_pools"]
    ]
    start = int(ipaddress.ip_address(after)) + 1 if after else 0
    for begin in (start, 0):
        for low, high in spans:
            number = max(int(low), begin)
            while number <= int(high):
                text = str(type(low)(number))
                if text not in used:
                    return text
                number += 1
        if begin == 0:
            break
    return None


def free(store: Store, fixed_ips: Iterable[Body]) -> None:
    """Release the addresses of fixed IPs, so that other ports can get them."""
    for item in fixed_ips:
        subnet = store.table(tables.SUBNETS).get(item["subnet_id"])
        if subnet is not None:
            subnet.hidden.get("used", {}).pop(item["ip_address"], None)


def eui64(cidr: str, mac: str) -> str:
    """Return the SLAAC address of a host with this MAC address in a /64 network."""
    octets = [int(part, 16) for part in mac.split(":")]
    octets[0] ^= 2
    suffix = int.from_bytes(bytes([*octets[:3], 0xFF, 0xFE, *octets[3:]]), "big")
    return str(ipaddress.IPv6Address(int(ipaddress.ip_network(cidr).network_address) | suffix))


def is_host(net: Network, address: Any) -> bool:
    """Return whether an address is in the network and may belong to a host.

    Network and broadcast addresses of IPv4 may not.
    """
    number = ipaddress.ip_address(address)
    if net.version == 4 and net.prefixlen < 31:
        return number in net and number not in (net.network_address, net.broadcast_address)
    return number in net


def contains(subnet: Resource, address: str) -> bool:
    """Return whether an address is in the subnet and may belong to a host."""
    return is_host(ipaddress.ip_network(subnet.body["cidr"]), address)


def new_mac(store: Store) -> str:
    """Return a random MAC address."""
    text = store.new_hex()
    return f"fa:16:3e:{text[0:2]}:{text[2:4]}:{text[4:6]}"


def assignment(port: Body, domain: str = "cloud.test.") -> list[Any]:
    """Return the value of `dns_assignment` for a port: a DNS name for each of its addresses.

    `domain` is the domain of these names.
    """
    addresses = []
    for item in port["fixed_ips"]:
        address = item["ip_address"]
        name = port["dns_name"] or "host-" + address.replace(".", "-").replace("::", "--").replace(
            ":", "-"
        )
        addresses.append({"ip_address": address, "hostname": name, "fqdn": f"{name}.{domain}"})
    return addresses

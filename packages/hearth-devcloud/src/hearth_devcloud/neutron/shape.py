"""Checks of a subnet's gateway, allocation pools, routes and IPv6 modes against its CIDR."""

from __future__ import annotations

import ipaddress
from itertools import combinations

from hearth_devcloud.http import Body, Refusal
from hearth_devcloud.neutron import addresses
from hearth_devcloud.neutron.rest import bad_input

_NAMESERVERS_MAX = 5
_ROUTES_MAX = 20
_NO_HOST = {"multicast": "is_multicast", "loopback": "is_loopback"}


def check(net: addresses.Network, subnet: Body) -> None:
    """Raise Refusal if the gateway, pools or routes of a subnet do not fit its CIDR `net`."""
    if len(subnet["dns_nameservers"]) > _NAMESERVERS_MAX:
        text = f"The number of DNS nameservers exceeds the limit {_NAMESERVERS_MAX}."
        raise Refusal(400, "DNSNameServersExhausted", text)
    if len(subnet["host_routes"]) > _ROUTES_MAX:
        text = f"The number of host routes exceeds the limit {_ROUTES_MAX}."
        raise Refusal(400, "HostRoutesExhausted", text)
    if subnet["gateway_ip"] is not None:
        _of_version(net, "gateway_ip", subnet["gateway_ip"])
        gateway = ipaddress.ip_address(subnet["gateway_ip"])
        if gateway in net and not addresses.is_host(net, gateway):
            raise bad_input("Gateway is not valid on subnet.")
    for server in subnet["dns_nameservers"]:
        _of_version(net, "dns_nameserver", server)
    for route in subnet["host_routes"]:
        _of_version(net, "nexthop", route["nexthop"])
        _of_version(net, "destination", route["destination"].partition("/")[0])
    if subnet["enable_dhcp"]:
        _check_dhcp(net)
    _check_pools(net, subnet)


def check_modes(net: addresses.Network, values: Body) -> None:
    """Raise Refusal for IPv6 modes that cannot be combined."""
    modes = {name: values[name] for name in ("ipv6_ra_mode", "ipv6_address_mode") if values[name]}
    for name in modes:
        if net.version == 4:
            raise bad_input(f"{name} is not valid when ip_version is 4.")
        if not values["enable_dhcp"]:
            raise bad_input(f"{name} cannot be set when enable_dhcp is set to False.")
    if len(set(modes.values())) > 1:
        raise bad_input("ipv6_ra_mode and ipv6_address_mode must be the same value.")
    if values["ipv6_address_mode"] in ("slaac", "dhcpv6-stateless") and net.prefixlen != 64:
        raise bad_input(f"Invalid CIDR {net} for IPv6 address mode, which needs a /64.")


def _of_version(net: addresses.Network, name: str, address: str) -> None:
    if ipaddress.ip_address(address).version != net.version:
        raise bad_input(f"{name} '{address}' does not match the ip_version '{net.version}'.")


def _check_dhcp(net: addresses.Network) -> None:
    if net.prefixlen >= net.max_prefixlen - 1:
        raise bad_input("Subnet has a prefix length that is incompatible with DHCP.")
    if int(net.network_address) == 0 and net.version == 4:
        raise bad_input("First IP '0.0.0.0' of network is not supported if enable_dhcp is True.")
    for kind, attribute in _NO_HOST.items():
        if getattr(net, attribute):
            raise bad_input(f"{kind} subnets are not supported if enable_dhcp is True.")


def _check_pools(net: addresses.Network, subnet: Body) -> None:
    spans = []
    for pool in subnet["allocation_pools"]:
        low, high = (ipaddress.ip_address(pool[end]) for end in ("start", "end"))
        text = f"{low}-{high}"
        if {low.version, high.version} != {net.version} or int(low) > int(high):
            raise Refusal(400, "InvalidAllocationPool", f"The pool {text} is not valid.")
        if not (addresses.is_host(net, low) and addresses.is_host(net, high)):
            text = f"The allocation pool {text} spans beyond the subnet cidr {net}."
            raise Refusal(400, "OutOfBoundsAllocationPool", text)
        spans.append((int(low), int(high), text))
    for lower, upper in combinations(sorted(spans), 2):
        if upper[0] <= lower[1]:
            text = f"Found overlapping allocation pools: {lower[2]} {upper[2]} for subnet {net}."
            raise Refusal(409, "OverlappingAllocationPools", text)
    gateway = subnet["gateway_ip"]
    number = int(ipaddress.ip_address(gateway)) if gateway else -1
    for first, last, text in spans:
        if first <= number <= last:
            text = f"Gateway ip {gateway} conflicts with allocation pool {text}."
            raise Refusal(409, "GatewayConflictWithAllocationPools", text)

"""A guard that blocks connections to internal networks if users name the address.

A user could name an address that only this machine can reach. The guard checks the resolved IP
address of each connection and allows only public addresses and configured networks.
"""

import ipaddress
from collections.abc import Sequence

from msgspec import Struct

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address
INTERNAL = tuple(
    ipaddress.ip_network(network)
    for network in (
        "64:ff9b:1::/48",  # NAT64 of a site, to IPv4 addresses that may be its own (RFC 8215)
        "::/96",  # IPv4-compatible addresses (RFC 4291)
        "::ffff:0:0:0/96",  # IPv4-translated addresses (RFC 2765)
        "fec0::/10",  # addresses of a site (RFC 3879)
        "5f00::/16",  # segment routing inside a network (RFC 9602)
        "3fff::/20",  # documentation (RFC 9637)
    )
)
"""Networks that Python takes for public, but whose addresses may lead into an internal network."""


class Guard(Struct, frozen=True):
    """Allows connections to public addresses and to `networks`."""

    networks: tuple[Network, ...] = ()

    def allows(self, address: str) -> bool:
        """Return whether a connection to an IP address is allowed."""
        return _is_allowed(_plain(address), self.networks)


def _plain(address: str) -> Address:
    """Return the parsed address. If an IPv6 address embeds an IPv4 address, return the IPv4
    address.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed in TRANSLATED:
            return ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        return parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (0, parsed))[1]
    return parsed


def _is_allowed(address: Address, networks: Sequence[Network]) -> bool:
    if any(address in network for network in networks):
        return True
    internal = any(address in network for network in INTERNAL)
    return address.is_global and not address.is_multicast and not internal

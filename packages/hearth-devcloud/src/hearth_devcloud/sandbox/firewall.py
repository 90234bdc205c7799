"""nftables rules for security groups and for the NAT of routers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hearth_devcloud import tables
from hearth_devcloud.store import Body, Resource, Store

_PORTS = {"tcp": "tcp", "udp": "udp", "sctp": "sctp", "dccp": "dccp", "udplite": "udplite"}
_PORTS |= {"6": "tcp", "17": "udp", "132": "sctp", "33": "dccp", "136": "udplite"}
_ICMP = {"icmp": "icmp", "1": "icmp", "icmpv6": "icmpv6", "ipv6-icmp": "icmpv6", "58": "icmpv6"}
_TABLE = "inet hearth"


def server_rules(store: Store, ports: Mapping[str, Resource]) -> str:
    """Return the nft rules for the security groups of a server, as an nft script.

    `ports` contains the ports of the server by interface name.
    """
    chains, jumps = [], {"ingress": "", "egress": ""}
    for name, port in ports.items():
        if not port.body["port_security_enabled"]:
            continue
        for direction, word in (("ingress", "iifname"), ("egress", "oifname")):
            chain = f"{direction}-{name}"
            jumps[direction] += f'{word} "{name}" jump {chain}\n'
            lines = "".join(f"{line} accept\n" for line in _allowed(store, port, direction))
            chains.append(f"chain {chain} {{\n{lines}drop\n}}\n")
    if not chains:
        return _emptied(_TABLE)
    always = "ct state established,related accept\nicmpv6 type { 133-137 } accept\n"
    hooks = "".join(
        f"chain {direction} {{\ntype filter hook {hook} priority 0; policy accept;\n"
        f"{always}{jumps[direction]}}}\n"
        for direction, hook in (("ingress", "input"), ("egress", "output"))
    )
    return f"{_emptied(_TABLE)}table {_TABLE} {{\n{''.join(chains)}{hooks}}}\n"


def _emptied(table: str) -> str:
    return f"table {table}\ndelete table {table}\n"


def _allowed(store: Store, port: Resource, direction: str) -> Iterable[str]:
    """Yield nft expressions for the packets that a port's security groups allow in a direction."""
    for group_id in port.body["security_groups"]:
        for rule in store.where(tables.SECURITY_GROUP_RULES, security_group_id=group_id):
            if rule.body["direction"] == direction:
                match = _match(store, rule.body, "saddr" if direction == "ingress" else "daddr")
                if match is not None:
                    yield match


def _match(store: Store, rule: Body, side: str) -> str | None:
    """Return the nft expression for a security group rule, or None if no packet can match.

    `side` is the nft keyword for the remote address: saddr or daddr.
    """
    family = "ip" if rule["ethertype"] == "IPv4" else "ip6"
    terms = [f"meta nfproto {'ipv4' if family == 'ip' else 'ipv6'}"]
    if rule["remote_ip_prefix"]:
        terms.append(f"{family} {side} {rule['remote_ip_prefix']}")
    elif rule["remote_group_id"]:
        members = sorted(_members(store, rule["remote_group_id"], family))
        if not members:
            return None
        terms.append(f"{family} {side} {{ {', '.join(members)} }}")
    return " ".join([*terms, *_protocol(rule)])


def _members(store: Store, group_id: str, family: str) -> set[str]:
    return {
        item["ip_address"]
        for port in store.all(tables.PORTS)
        if group_id in port.body["security_groups"]
        for item in port.body["fixed_ips"]
        if (":" in item["ip_address"]) == (family == "ip6")
    }


def _protocol(rule: Body) -> list[str]:
    protocol = rule["protocol"]
    low, high = rule["port_range_min"], rule["port_range_max"]
    if protocol in (None, "", "any", "0"):
        return []
    if name := _PORTS.get(str(protocol)):
        if low is None and high is None:
            return [f"meta l4proto {name}"]
        return [f"{name} dport {low if low is not None else high}-{high if high else low}"]
    if name := _ICMP.get(str(protocol)):
        name = "icmpv6" if rule["ethertype"] == "IPv6" else name
        terms = [f"meta l4proto {name}"]
        if low is not None:
            terms.append(f"{name} type {low}")
        if high is not None:
            terms.append(f"{name} code {high}")
        return terms
    return [f"meta l4proto {protocol}"]


def router_rules(interface: str, address: str, floating: Mapping[str, str], *, snat: bool) -> str:
    """Return the NAT rules for the external interface of a router, as an nft script.

    `floating` maps floating IPs to fixed IPs. If `snat` is true, all other outgoing
    packets get the source address `address`, the router's own external address.
    """
    table = "ip hearth"
    before = "".join(
        f"ip daddr {floating_ip} dnat to {to}\n" for floating_ip, to in floating.items()
    )
    after = "".join(
        f'oifname "{interface}" ip saddr {to} snat to {floating_ip}\n'
        for floating_ip, to in floating.items()
    )
    after += f'oifname "{interface}" snat to {address}\n' if snat else ""
    return (
        f"{_emptied(table)}table {table} {{\n"
        f"chain before {{\ntype nat hook prerouting priority dstnat;\n{before}}}\n"
        f"chain after {{\ntype nat hook postrouting priority srcnat;\n{after}}}\n}}\n"
    )

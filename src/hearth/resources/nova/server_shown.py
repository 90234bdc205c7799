"""Attributes of a server that need more than one field of its body, or another call."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import ResourceContext

CONSOLES = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}
MAC = "OS-EXT-IPS-MAC:mac_addr"


def networks_of(body: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the server's addresses as {network name: [address, …]}."""
    return {
        name: [entry["addr"] for entry in entries]
        for name, entries in (body.get("addresses") or {}).items()
    }


async def ports_by_mac(ctx: ResourceContext) -> dict[str, Body]:
    """Return the server's ports as {MAC address: port}."""
    path = f"/v2.0/ports?device_id={segment(ctx.physical)}"
    return {port["mac_address"]: port for port in await ctx.cloud.listing("network", path)}


async def networks(ctx: ResourceContext, body: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the addresses as {network: [address, …]}; each network occurs under its name and its
    id.
    """
    by_network = networks_of(body)
    ports = await ports_by_mac(ctx)
    for name, entries in (body.get("addresses") or {}).items():
        for entry in entries:
            port = ports.get(entry.get(MAC, ""))
            if port is not None:
                by_network[port["network_id"]] = by_network[name]
    return by_network


async def addresses(ctx: ResourceContext, body: Mapping[str, Any]) -> dict[str, list[Body]]:
    """Return the address entries, each with the id of its port, its network and the subnets of the
    port, as {network: [entry, …]}.

    Each network occurs under its name and under its id. Source: observed with Heat 27.0.1.
    """
    ports = await ports_by_mac(ctx)
    nets = await _by_id(ctx, "networks", {port["network_id"] for port in ports.values()})
    fixed = {ip["subnet_id"] for port in ports.values() for ip in port.get("fixed_ips") or ()}
    subnets = await _by_id(ctx, "subnets", fixed)
    by_network: dict[str, list[Body]] = {}
    for name, entries in (body.get("addresses") or {}).items():
        by_network[name] = []
        for entry in entries:
            port = ports.get(entry.get(MAC, ""), {})
            ids = [ip["subnet_id"] for ip in port.get("fixed_ips") or ()]
            facts = {
                "port": port.get("id"),
                "network": nets.get(port.get("network_id", "")),
                "subnets": [subnets[ident] for ident in dict.fromkeys(ids) if ident in subnets],
            }
            by_network[name].append({**entry, **facts})
            if port:
                by_network[port["network_id"]] = by_network[name]
    return by_network


async def _by_id(ctx: ResourceContext, collection: str, idents: Iterable[str]) -> dict[str, Body]:
    query = "&".join(f"id={segment(ident)}" for ident in sorted(idents))
    if not query:
        return {}
    rows = await ctx.cloud.listing("network", f"/v2.0/{collection}?{query}")
    return {str(row["id"]): row for row in rows}


async def first_address(ctx: ResourceContext, body: Mapping[str, Any]) -> str:
    """Return the first address of the server, or an empty text."""
    return next((ips[0] for ips in networks_of(body).values() if ips), "")


async def instance_name(ctx: ResourceContext, body: Mapping[str, Any]) -> Any:
    """Return the server's name in the hypervisor, or None for users who are not administrators."""
    return body.get("OS-EXT-SRV-ATTR:instance_name")


async def console_urls(ctx: ResourceContext, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the URL of each kind of console; if the call fails, the error message instead."""
    urls: dict[str, str] = {}
    for kind, protocol in CONSOLES.items():
        fields = {"remote_console": {"protocol": protocol, "type": kind}}
        try:
            answer = await ctx.cloud.request(
                "compute",
                "POST",
                f"/servers/{segment(ctx.physical)}/remote-consoles",
                json=fields,
                microversion="2.8",
            )
            urls[kind] = str(answer.part("remote_console").get("url"))
        except CloudFault as fault:
            urls[kind] = f"Cannot get console url: {fault.message}"
    return urls


async def os_collect_config(ctx: ResourceContext, body: Mapping[str, Any]) -> Any:
    """Return the section os-collect-config of the resource's metadata, which configures the
    agent.
    """
    return ctx.metadata.get("os-collect-config") or {}


SHOWN: Mapping[str, Callable[[ResourceContext, Mapping[str, Any]], Awaitable[Any]]] = {
    "networks": networks,
    "addresses": addresses,
    "first_address": first_address,
    "instance_name": instance_name,
    "console_urls": console_urls,
    "os_collect_config": os_collect_config,
}

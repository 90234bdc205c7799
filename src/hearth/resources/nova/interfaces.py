"""The networks of a server: the field of the create call, ports created by Hearth, and updates.

Hearth creates a port for an entry of the property `networks` that the compute service cannot
express: one with a subnet, extra port properties or a floating IP. The private data
`internal_ports` contains the ids of these ports.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.model.problem import Problem, Rejected
from hearth.resources.base import Failed, Later, Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import forgiving
from hearth.resources.lookup import Names
from hearth.resources.mark import mark
from hearth.resources.neutron.port import port_fields

PORTS = "/v2.0/ports"
PORT = "port:"  # prefix of orphans that are ports, not servers
DETACH_S = 60.0
RENAMED = {"qos_policy": "qos_policy_id"}
FIELDS_OF_OURS = ("no_fixed_ips", "value_specs")


def needs_port(one: Mapping[str, Any]) -> bool:
    """Return whether Hearth must create a port for an entry of the property `networks`."""
    if one.get("port") or one.get("allocate_network"):
        return False
    return bool(one.get("subnet") or one.get("port_extra_properties") or one.get("floating_ip"))


def own_ports(ctx: ResourceContext) -> bool:
    """Return whether Hearth must create a port for any entry of the property `networks`."""
    return any(needs_port(one) for one in ctx.given("networks") or [])


def all_ports(ctx: ResourceContext) -> bool:
    """Return whether every entry of `networks` has a port; security groups then belong to the
    ports.
    """
    networks = ctx.given("networks") or []
    return bool(networks) and all(one.get("port") or needs_port(one) for one in networks)


def kept_ports(ctx: ResourceContext) -> dict[str, str]:
    """Return the ports that Hearth created, as {key of the entry: port id}.

    The key is the result of `keyed`, or the position of the entry in data that Heat stored.
    """
    kept = json.loads(ctx.data.get("internal_ports") or "{}")
    if isinstance(kept, list):  # the format of Heat
        return {str(index): one["id"] for index, one in enumerate(kept)}
    return dict(kept)


def entry_key(one: Mapping[str, Any]) -> str:
    """Return a text that is equal for entries with the same network, address, tag and port
    properties.
    """
    names = ("network", "subnet", "fixed_ip", "port_extra_properties", "tag")
    return json.dumps({name: one.get(name) for name in names}, sort_keys=True)


def keyed(networks: list[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (key, entry) for each entry; a number makes the keys of equal entries unique."""
    seen: dict[str, int] = {}
    rows = []
    for one in networks:
        key = entry_key(one)
        seen[key] = seen.get(key, 0) + 1
        rows.append((f"{key}#{seen[key]}", one))
    return rows


def networks_field(ctx: ResourceContext) -> Any:
    """Return the field `networks` of the create call, or None if the template does not set it."""
    networks = ctx.given("networks")
    if not networks:
        return None
    for one in networks:
        if one.get("allocate_network"):
            return one["allocate_network"]
    kept = kept_ports(ctx)
    field = []
    for key, one in keyed(networks):
        if one.get("port") or key in kept:
            entry: Body = {"port": one.get("port") or kept[key]}
        else:
            entry = {"uuid": one.get("network")}
            if one.get("fixed_ip"):
                entry["fixed_ip"] = one["fixed_ip"]
        if one.get("tag"):
            entry["tag"] = one["tag"]
        field.append(entry)
    return field


async def make_ports(ctx: ResourceContext) -> Made:
    """Create the ports that are missing. Ports of earlier attempts are found by their
    description.
    """
    kept = kept_ports(ctx)
    wanted = [(key, one) for key, one in keyed(ctx.given("networks") or []) if needs_port(one)]
    there = await marked_ports(ctx, kept.values())
    for number, (key, one) in enumerate(wanted):
        if key in kept:
            continue
        text = f"{mark(ctx)}:{number}:{hash_of(key)}"
        kept[key] = there.get(text) or await make_port(ctx, one, number, text)
    return Made(data={"internal_ports": json.dumps(kept, sort_keys=True)})


async def make_port(ctx: ResourceContext, one: Mapping[str, Any], number: int, text: str) -> str:
    """Create the port for the entry `one` of `networks`, and return the port's id.

    `number` is part of the port's name; `text` is its description.
    """
    extra = {k: v for k, v in (one.get("port_extra_properties") or {}).items() if v is not None}
    fields: Body = {
        RENAMED.get(name, name): value
        for name, value in extra.items()
        if name not in FIELDS_OF_OURS
    }
    fields |= {"name": f"{ctx.wanted_name}-port-{number}", "description": text}
    fields["network_id"] = one.get("network") or await network_of(ctx, str(one["subnet"]))
    address = {"subnet_id": one.get("subnet"), "ip_address": one.get("fixed_ip")}
    address = {name: value for name, value in address.items() if value}
    fields = port_fields(fields, extra, frozenset({*extra, "network"}))
    if address:
        fields["fixed_ips"] = [address]
    if ctx.given("security_groups"):
        fields["security_groups"] = await group_ids(ctx)
    fields |= dict(extra.get("value_specs") or {})
    answer = await ctx.cloud.request("network", "POST", PORTS, json={"port": fields})
    return str(answer.part("port")["id"])


async def group_ids(ctx: ResourceContext) -> list[str]:
    """Return the ids of the security groups in the properties. Raises Rejected if one does not
    exist.
    """
    names = Names(ctx.cloud)
    found = [
        await names.id_of("neutron.security_group", name)
        for name in ctx.properties["security_groups"]
    ]
    problems = [one for one in found if isinstance(one, Problem)]
    if problems:
        raise Rejected(problems)
    return [str(one) for one in found]


async def network_of(ctx: ResourceContext, subnet: str) -> str:
    """Return the id of the subnet's network."""
    return str((await ctx.cloud.member("network", "/v2.0/subnets", subnet))["network_id"])


async def drop_ports(ctx: ResourceContext) -> Made:
    """Delete the ports that Hearth created."""
    for port in kept_ports(ctx).values():
        await drop_port(ctx, port)
    return Made(data={"internal_ports": None})


async def drop_port(ctx: ResourceContext, port: str) -> None:
    """Delete one port; "not found" is success."""
    await forgiving(
        ctx.cloud.request("network", "DELETE", f"{PORTS}/{segment(port)}", idempotent=True)
    )


async def stray_ports(ctx: ResourceContext) -> list[str]:
    """Return the orphan ports of the record, each as "port:ID".

    An orphan port has the record's intent key, but its id is not in the private data. It may be of
    a failed update, so the properties do not say whether there is one.
    """
    ports = await marked_ports(ctx, kept_ports(ctx).values())
    return [f"{PORT}{ident}" for ident in ports.values()]


async def marked_ports(ctx: ResourceContext, kept: Collection[str]) -> dict[str, str]:
    """Return the ports with this record's intent key, except those in `kept`, as {description:
    id}.
    """
    return {
        str(port.get("description")): str(port["id"])
        for port in await ctx.cloud.listing("network", PORTS)
        if str(port.get("description", "")).startswith(f"{mark(ctx)}:") and port["id"] not in kept
    }


async def point_floating(ctx: ResourceContext) -> Made | None:
    """Associate the floating IP of each entry with the port of that entry."""
    kept = kept_ports(ctx)
    for key, one in keyed(ctx.given("networks") or []):
        if one.get("floating_ip"):
            port = one.get("port") or kept[key]
            await ctx.cloud.request(
                "network",
                "PUT",
                f"/v2.0/floatingips/{segment(one['floating_ip'])}",
                json={"floatingip": {"port_id": port}},
                idempotent=True,
            )
    return None


# changes in place


async def attached(ctx: ResourceContext) -> list[Body]:
    """Return the interfaces that are attached to the server: {port_id, net_id, fixed_ips, …}."""
    path = f"/servers/{segment(ctx.physical)}/os-interface"
    return list(await ctx.cloud.listing("compute", path))


async def reuse(ctx: ResourceContext) -> Made:
    """Find attached interfaces that satisfy changed entries, so that they stay attached.

    The port of such an interface is recorded as a port of Hearth if the entry needs one.
    """
    kept = kept_ports(ctx)
    wanted = keyed(ctx.given("networks") or [])
    before = {key for key, _ in keyed(ctx.before.get("networks") or [])}
    held = {key: kept[key] for key, _ in wanted if key in kept}
    taken = {*held.values(), *(one["port"] for _, one in wanted if one.get("port"))}
    taken |= {port for key, port in kept.items() if NOTHING_MORE not in key}
    free = [i for i in await attached(ctx) if i["port_id"] not in taken]
    searching = [(key, one) for key, one in wanted if not one.get("port") and key not in held]
    for key, one in sorted(searching, key=lambda row: row[0] not in before):
        match = next((i for i in free if serves(i, one)), None)
        if match is not None:
            free.remove(match)
            if needs_port(one) or match["port_id"] in kept.values():
                held[key] = match["port_id"]
    left = {key: port for key, port in kept.items() if port not in held.values()}
    ports = {**left, **held}
    return Made(data={"internal_ports": json.dumps(ports, sort_keys=True) if ports else None})


NOTHING_MORE = '"port_extra_properties": null'
"""The part of an entry's key which shows that the entry has no extra port properties."""


def serves(interface: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Return whether an attached interface satisfies the entry `one` of `networks`.

    An entry with a tag or extra port properties always needs a new port.
    """
    if one.get("port_extra_properties") or one.get("tag") or one.get("allocate_network"):
        return False
    subnets = {ip.get("subnet_id") for ip in interface.get("fixed_ips") or []}
    if one.get("subnet") and one["subnet"] not in subnets:
        return False
    network = one.get("network") or (interface["net_id"] if one.get("subnet") else None)
    return fits(interface, {**one, "network": network})


def leaving(ctx: ResourceContext, interfaces: list[Body]) -> list[str]:
    """Return the ids of the ports whose interfaces no entry of `networks` needs."""
    kept = kept_ports(ctx)
    wanted = keyed(ctx.given("networks") or [])
    ports = {one.get("port") or kept.get(key) for key, one in wanted}
    free = [i for i in interfaces if i["port_id"] not in ports]
    ours = set(kept.values())  # never reused for another entry
    for key, one in wanted:
        if one.get("port") or needs_port(one) or key in kept:
            continue
        match = next((i for i in free if i["port_id"] not in ours and fits(i, one)), None)
        if match is not None:
            free.remove(match)
    return [i["port_id"] for i in free]


def fits(interface: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Return whether an interface has the network and, if given, the address of the entry `one`."""
    ips = {ip.get("ip_address") for ip in interface.get("fixed_ips") or []}
    wanted_ip = one.get("fixed_ip")
    return interface["net_id"] == one.get("network") and (not wanted_ip or wanted_ip in ips)


async def detach(ctx: ResourceContext) -> Made | None:
    """Detach the interfaces that no entry of `networks` needs."""
    for port in leaving(ctx, await attached(ctx)):
        path = f"/servers/{segment(ctx.physical)}/os-interface/{segment(port)}"
        await forgiving(ctx.cloud.request("compute", "DELETE", path, idempotent=True))
    return None


def detach_step() -> Step:
    """Return the step that detaches the interfaces which no entry of `networks` needs."""
    return Step("detach", detach, poll=_detached(leaving))


def yield_step() -> Step:
    """Return the step that detaches the ports which the template manages as separate resources,
    because the new server needs them.
    """
    return Step("yield-ports", yield_ports, poll=_detached(_given))


def _detached(
    doomed: Callable[[ResourceContext, list[Body]], list[str]],
) -> Callable[[ResourceContext], Awaitable[Progress]]:
    """Return a poll function that reports whether the ports are detached which `doomed` returns.

    It fails after DETACH_S seconds: a host that is down never detaches a port.
    """
    since: list[float] = []

    async def detached(ctx: ResourceContext) -> Progress:
        left = sorted(doomed(ctx, await attached(ctx)))
        since.append(ctx.now)
        if not left:
            return Ready()
        if ctx.now - since[0] < DETACH_S:
            return Later(1.0, seen=f"attached ports {', '.join(left)}")
        words = f"server {ctx.physical} has not detached {', '.join(left)} in {DETACH_S:.0f} s"
        return Failed(words, "InterfaceDetachFailed")

    return detached


def _given(ctx: ResourceContext, interfaces: list[Body]) -> list[str]:
    """Return the ids of the attached ports that the template manages as separate resources."""
    return [str(i["port_id"]) for i in interfaces if i["port_id"] in given_ports(ctx)]


def given_ports(ctx: ResourceContext) -> set[str]:
    """Return the ids of the ports that the template manages as separate resources."""
    return {str(one["port"]) for one in ctx.given("networks") or [] if one.get("port")}


async def yield_ports(ctx: ResourceContext) -> Made | None:
    """Detach the ports that the template manages as separate resources."""
    given = given_ports(ctx)
    try:
        there = await attached(ctx)
    except NotFound:
        await unbind(ctx, given)
        return None
    for interface in there:
        if interface["port_id"] in given:
            path = f"/servers/{segment(ctx.physical)}/os-interface/{segment(interface['port_id'])}"
            await forgiving(ctx.cloud.request("compute", "DELETE", path, idempotent=True))
    return None


async def unbind(ctx: ResourceContext, ports: Collection[str]) -> None:
    """Clear the device of those ports that still name the server.

    Only for a server that is gone: when a server is deleted later, the compute service unbinds its
    former ports from whatever server has them then.
    """
    for port in sorted(ports):
        await forgiving(_unbind(ctx, port))


async def _unbind(ctx: ResourceContext, port: str) -> None:
    if (await ctx.cloud.member("network", PORTS, port)).get("device_id") != ctx.physical:
        return
    nobody = {"port": {"device_id": "", "device_owner": ""}}
    path = f"{PORTS}/{segment(port)}"
    await ctx.cloud.request("network", "PUT", path, json=nobody, idempotent=True)


async def attach(ctx: ResourceContext) -> Made | None:
    """Attach the missing interfaces, then delete the ports of Hearth that no entry needs."""
    kept = kept_ports(ctx)
    wanted = keyed(ctx.given("networks") or [])
    free = await attached(ctx)
    for key, one in wanted:
        port = one.get("port") or kept.get(key)
        match = next((i for i in free if i["port_id"] == port or (not port and fits(i, one))), None)
        if match is not None:
            free.remove(match)
            continue
        fields: Body = {"port_id": port} if port else {"net_id": one.get("network")}
        if not port and one.get("fixed_ip"):
            fields["fixed_ips"] = [{"ip_address": one["fixed_ip"]}]
        path = f"/servers/{segment(ctx.physical)}/os-interface"
        await ctx.cloud.request("compute", "POST", path, json={"interfaceAttachment": fields})
    keys = {key for key, _ in wanted}
    for key, port in list(kept.items()):
        if key not in keys:
            await drop_port(ctx, port)
            del kept[key]
    return Made(data={"internal_ports": json.dumps(kept, sort_keys=True) if kept else None})


async def all_attached(ctx: ResourceContext) -> Progress:
    """Report whether the server has at least as many interfaces as `networks` has entries."""
    wanted = len(ctx.given("networks") or [])
    return Ready() if len(await attached(ctx)) >= wanted else Later(1.0)


def hash_of(text: str) -> str:
    """Return the first 12 hexadecimal digits of a text's SHA-256 hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]

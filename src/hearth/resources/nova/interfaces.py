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


def needs_port(entry: Mapping[str, Any]) -> bool:
    """Return whether Hearth must create a port for an entry of the property `networks`."""
    if entry.get("port") or entry.get("allocate_network"):
        return False
    return bool(
        entry.get("subnet") or entry.get("port_extra_properties") or entry.get("floating_ip")
    )


def own_ports(ctx: ResourceContext) -> bool:
    """Return whether Hearth must create a port for any entry of the property `networks`."""
    return any(needs_port(entry) for entry in ctx.given("networks") or [])


def all_ports(ctx: ResourceContext) -> bool:
    """Return whether every entry of `networks` has a port; security groups then belong to the
    ports.
    """
    networks = ctx.given("networks") or []
    return bool(networks) and all(entry.get("port") or needs_port(entry) for entry in networks)


def kept_ports(ctx: ResourceContext) -> dict[str, str]:
    """Return the ports that Hearth created, as {key of the entry: port id}.

    The key is the result of `keyed`, or the position of the entry in data that Heat stored.
    """
    ports = json.loads(ctx.data.get("internal_ports") or "{}")
    if isinstance(ports, list):  # the format of Heat
        return {str(index): port["id"] for index, port in enumerate(ports)}
    return dict(ports)


def entry_key(entry: Mapping[str, Any]) -> str:
    """Return a text that is equal for entries with the same network, address, tag and port
    properties.
    """
    names = ("network", "subnet", "fixed_ip", "port_extra_properties", "tag")
    return json.dumps({name: entry.get(name) for name in names}, sort_keys=True)


def keyed(networks: list[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (key, entry) for each entry; a number makes the keys of equal entries unique."""
    counts: dict[str, int] = {}
    rows = []
    for entry in networks:
        key = entry_key(entry)
        counts[key] = counts.get(key, 0) + 1
        rows.append((f"{key}#{counts[key]}", entry))
    return rows


def networks_field(ctx: ResourceContext) -> Any:
    """Return the field `networks` of the create call, or None if the template does not set it."""
    networks = ctx.given("networks")
    if not networks:
        return None
    for entry in networks:
        if entry.get("allocate_network"):
            return entry["allocate_network"]
    ports = kept_ports(ctx)
    field = []
    for key, entry in keyed(networks):
        if entry.get("port") or key in ports:
            row: Body = {"port": entry.get("port") or ports[key]}
        else:
            row = {"uuid": entry.get("network")}
            if entry.get("fixed_ip"):
                row["fixed_ip"] = entry["fixed_ip"]
        if entry.get("tag"):
            row["tag"] = entry["tag"]
        field.append(row)
    return field


async def make_ports(ctx: ResourceContext) -> Made:
    """Create the ports that are missing. Ports of earlier attempts are found by their
    description.
    """
    ports = kept_ports(ctx)
    entries = [
        (key, entry) for key, entry in keyed(ctx.given("networks") or []) if needs_port(entry)
    ]
    existing = await marked_ports(ctx, ports.values())
    for number, (key, entry) in enumerate(entries):
        if key in ports:
            continue
        text = f"{mark(ctx)}:{number}:{hash_of(key)}"
        ports[key] = existing.get(text) or await make_port(ctx, entry, number, text)
    return Made(data={"internal_ports": json.dumps(ports, sort_keys=True)})


async def make_port(ctx: ResourceContext, entry: Mapping[str, Any], number: int, text: str) -> str:
    """Create the port for `entry` of `networks`, and return the port's id.

    `number` is part of the port's name; `text` is its description.
    """
    extra = {k: v for k, v in (entry.get("port_extra_properties") or {}).items() if v is not None}
    fields: Body = {
        RENAMED.get(name, name): value
        for name, value in extra.items()
        if name not in FIELDS_OF_OURS
    }
    fields |= {"name": f"{ctx.wanted_name}-port-{number}", "description": text}
    fields["network_id"] = entry.get("network") or await network_of(ctx, str(entry["subnet"]))
    address = {"subnet_id": entry.get("subnet"), "ip_address": entry.get("fixed_ip")}
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
    resolved = [
        await names.id_of("neutron.security_group", name)
        for name in ctx.properties["security_groups"]
    ]
    problems = [problem for problem in resolved if isinstance(problem, Problem)]
    if problems:
        raise Rejected(problems)
    return [str(ident) for ident in resolved]


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


async def orphan_ports(ctx: ResourceContext) -> list[str]:
    """Return the orphan ports of the record, each as "port:ID".

    An orphan port has the record's intent key, but its id is not in the private data. It may be of
    a failed update, so the properties do not say whether there is one.
    """
    ports = await marked_ports(ctx, kept_ports(ctx).values())
    return [f"{PORT}{ident}" for ident in ports.values()]


async def marked_ports(ctx: ResourceContext, excluded: Collection[str]) -> dict[str, str]:
    """Return the ports with this record's intent key, except those in `excluded`, as {description:
    id}.
    """
    return {
        str(port.get("description")): str(port["id"])
        for port in await ctx.cloud.listing("network", PORTS)
        if str(port.get("description", "")).startswith(f"{mark(ctx)}:")
        and port["id"] not in excluded
    }


async def point_floating(ctx: ResourceContext) -> Made | None:
    """Associate the floating IP of each entry with the port of that entry."""
    ports = kept_ports(ctx)
    for key, entry in keyed(ctx.given("networks") or []):
        if entry.get("floating_ip"):
            port = entry.get("port") or ports[key]
            await ctx.cloud.request(
                "network",
                "PUT",
                f"/v2.0/floatingips/{segment(entry['floating_ip'])}",
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
    ports = kept_ports(ctx)
    entries = keyed(ctx.given("networks") or [])
    before = {key for key, _ in keyed(ctx.before.get("networks") or [])}
    assigned = {key: ports[key] for key, _ in entries if key in ports}
    used_ids = {*assigned.values(), *(entry["port"] for _, entry in entries if entry.get("port"))}
    used_ids |= {port for key, port in ports.items() if NOTHING_MORE not in key}
    free = [i for i in await attached(ctx) if i["port_id"] not in used_ids]
    searching = [
        (key, entry) for key, entry in entries if not entry.get("port") and key not in assigned
    ]
    for key, entry in sorted(searching, key=lambda row: row[0] not in before):
        match = next((i for i in free if serves(i, entry)), None)
        if match is not None:
            free.remove(match)
            if needs_port(entry) or match["port_id"] in ports.values():
                assigned[key] = match["port_id"]
    unassigned = {key: port for key, port in ports.items() if port not in assigned.values()}
    ports_after = {**unassigned, **assigned}
    return Made(
        data={"internal_ports": json.dumps(ports_after, sort_keys=True) if ports_after else None}
    )


NOTHING_MORE = '"port_extra_properties": null'
"""The part of an entry's key which shows that the entry has no extra port properties."""


def serves(interface: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Return whether an attached interface satisfies `entry` of `networks`.

    An entry with a tag or extra port properties always needs a new port.
    """
    if entry.get("port_extra_properties") or entry.get("tag") or entry.get("allocate_network"):
        return False
    subnets = {ip.get("subnet_id") for ip in interface.get("fixed_ips") or []}
    if entry.get("subnet") and entry["subnet"] not in subnets:
        return False
    network = entry.get("network") or (interface["net_id"] if entry.get("subnet") else None)
    return fits(interface, {**entry, "network": network})


def leaving(ctx: ResourceContext, interfaces: list[Body]) -> list[str]:
    """Return the ids of the ports whose interfaces no entry of `networks` needs."""
    ports = kept_ports(ctx)
    entries = keyed(ctx.given("networks") or [])
    needed_ids = {entry.get("port") or ports.get(key) for key, entry in entries}
    free = [i for i in interfaces if i["port_id"] not in needed_ids]
    ours = set(ports.values())  # never reused for another entry
    for key, entry in entries:
        if entry.get("port") or needs_port(entry) or key in ports:
            continue
        match = next((i for i in free if i["port_id"] not in ours and fits(i, entry)), None)
        if match is not None:
            free.remove(match)
    return [i["port_id"] for i in free]


def fits(interface: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Return whether an interface has the network and, if given, the address of the entry."""
    ips = {ip.get("ip_address") for ip in interface.get("fixed_ips") or []}
    wanted_ip = entry.get("fixed_ip")
    return interface["net_id"] == entry.get("network") and (not wanted_ip or wanted_ip in ips)


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
    return Step("yield-ports", yield_ports, poll=_detached(_attached_given))


def _detached(
    doomed: Callable[[ResourceContext, list[Body]], list[str]],
) -> Callable[[ResourceContext], Awaitable[Progress]]:
    """Return a poll function that reports whether the ports are detached which `doomed` returns.

    It fails after DETACH_S seconds: a host that is down never detaches a port.
    """
    since: list[float] = []

    async def detached(ctx: ResourceContext) -> Progress:
        ports = sorted(doomed(ctx, await attached(ctx)))
        since.append(ctx.now)
        if not ports:
            return Ready()
        if ctx.now - since[0] < DETACH_S:
            return Later(1.0, seen=f"attached ports {', '.join(ports)}")
        message = f"server {ctx.physical} has not detached {', '.join(ports)} in {DETACH_S:.0f} s"
        return Failed(message, "InterfaceDetachFailed")

    return detached


def _attached_given(ctx: ResourceContext, interfaces: list[Body]) -> list[str]:
    """Return the ids of the attached ports that the template manages as separate resources."""
    return [str(i["port_id"]) for i in interfaces if i["port_id"] in given_ports(ctx)]


def given_ports(ctx: ResourceContext) -> set[str]:
    """Return the ids of the ports that the template manages as separate resources."""
    return {str(entry["port"]) for entry in ctx.given("networks") or [] if entry.get("port")}


async def yield_ports(ctx: ResourceContext) -> Made | None:
    """Detach the ports that the template manages as separate resources."""
    ports = given_ports(ctx)
    try:
        interfaces = await attached(ctx)
    except NotFound:
        await unbind(ctx, ports)
        return None
    for interface in interfaces:
        if interface["port_id"] in ports:
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
    ports = kept_ports(ctx)
    entries = keyed(ctx.given("networks") or [])
    free = await attached(ctx)
    for key, entry in entries:
        port = entry.get("port") or ports.get(key)
        match = next(
            (i for i in free if i["port_id"] == port or (not port and fits(i, entry))), None
        )
        if match is not None:
            free.remove(match)
            continue
        fields: Body = {"port_id": port} if port else {"net_id": entry.get("network")}
        if not port and entry.get("fixed_ip"):
            fields["fixed_ips"] = [{"ip_address": entry["fixed_ip"]}]
        path = f"/servers/{segment(ctx.physical)}/os-interface"
        await ctx.cloud.request("compute", "POST", path, json={"interfaceAttachment": fields})
    keys = {key for key, _ in entries}
    for key, port in list(ports.items()):
        if key not in keys:
            await drop_port(ctx, port)
            del ports[key]
    return Made(data={"internal_ports": json.dumps(ports, sort_keys=True) if ports else None})


async def all_attached(ctx: ResourceContext) -> Progress:
    """Report whether the server has at least as many interfaces as `networks` has entries."""
    count = len(ctx.given("networks") or [])
    return Ready() if len(await attached(ctx)) >= count else Later(1.0)


def hash_of(text: str) -> str:
    """Return the first 12 hexadecimal digits of a text's SHA-256 hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]

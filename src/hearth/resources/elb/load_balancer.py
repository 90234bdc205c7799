"""AWS::ElasticLoadBalancing::LoadBalancer: one address for several servers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources import capabilities
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.collection import id_in
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.mark import mark
from hearth.resources.octavia.base import SERVICE, OctaviaResource, lbaas
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Each,
    Fits,
    NotAbove,
    Prop,
    Resolve,
)

TARGET = re.compile(r"^(HTTPS?|TCP|SSL):(\d{1,5})(/\S*)?$")
MONITORS = {"SSL": "TLS-HELLO"}  # the others go by the same name
POOLS = "/v2/lbaas/pools"
ADDRESSES = ("CanonicalHostedZoneName", "DNSName")
ServerAddress = tuple[str, str]  # address and subnet


class LoadBalancer(capabilities.BalancerType, OctaviaResource, capabilities.Suspends):
    """One address for several servers. Its reference is its name in the template."""

    type_name = "AWS::ElasticLoadBalancing::LoadBalancer"
    properties = {
        "AppCookieStickinessPolicy": not_implemented(STRING),
        "AvailabilityZones": Prop(
            LIST, "Accepted for compatibility: it serves all availability zones.", required=True
        ),
        "HealthCheck": Prop(
            MAP,
            "Health check of the servers.",
            schema={
                "HealthyThreshold": Prop(
                    INTEGER, "Number of successful checks until a server is healthy.", required=True
                ),
                "Interval": Prop(INTEGER, "Seconds between two checks.", required=True),
                "Target": Prop(
                    STRING,
                    "Protocol, port and path of the check, such as TCP:22 or HTTP:80/path.",
                    required=True,
                ),
                "Timeout": Prop(INTEGER, "Seconds until a check fails.", required=True),
                "UnhealthyThreshold": Prop(
                    INTEGER, "Number of failed checks until a server is unhealthy.", required=True
                ),
            },
        ),
        "Instances": Prop(LIST, "The servers, by id.", update_allowed=True),
        "LBCookieStickinessPolicy": not_implemented(STRING),
        "Listeners": Prop(
            LIST,
            "Ports and protocols of the load balancer and of the servers.",
            required=True,
            schema=Prop(
                MAP,
                schema={
                    "InstancePort": Prop(INTEGER, "Port of the servers.", required=True),
                    "LoadBalancerPort": Prop(INTEGER, "Port of the load balancer.", required=True),
                    "PolicyNames": not_implemented(LIST),
                    "Protocol": Prop(
                        STRING,
                        "Protocol.",
                        required=True,
                        constraints=(AllowedValues(["TCP", "HTTP"]),),
                    ),
                    "SSLCertificateId": not_implemented(STRING),
                },
            ),
        ),
        "SecurityGroups": Prop(
            LIST, "Security groups of its address, by name or id.", update_allowed=True
        ),
        "Subnets": Prop(
            LIST,
            "Subnets, by name or id: its address is in the first one. Without a value, it is in "
            "the subnet of the first server, or else in the only network of the project.",
        ),
    }
    attributes = {
        "CanonicalHostedZoneName": Attr(STRING, "Its address."),
        "CanonicalHostedZoneNameID": Attr(STRING, "Always empty."),
        "DNSName": Attr(STRING, "Its address."),
        "SourceSecurityGroup.GroupName": Attr(STRING, "Always empty."),
        "SourceSecurityGroup.OwnerAlias": Attr(STRING, "Always empty."),
    }
    translation = (
        Resolve(("SecurityGroups",), "neutron.security_group"),
        Resolve(("Subnets",), "neutron.subnet"),
    )
    relations = (
        Each(
            "HealthCheck",
            NotAbove("Timeout", "Interval"),
            Fits("Target", TARGET.match, "expected PROTOCOL:PORT or PROTOCOL:PORT/PATH"),
        ),
    )
    collection = lbaas("loadbalancers", "loadbalancer")

    # made at once with all its parts

    async def create(self, ctx: ResourceContext) -> Made:
        addresses = [await address_of(ctx, server) for server in ctx.given("Instances") or []]
        fields: Body = {
            "name": ctx.physical_name,
            "tags": [mark(ctx)],
            "vip_subnet_id": await subnet_of(ctx, addresses),
            "listeners": [listener(ctx, row, addresses) for row in ctx.properties["Listeners"]],
        }
        if ctx.given("SecurityGroups"):
            fields["vip_sg_ids"] = list(ctx.given("SecurityGroups"))
        answer = await ctx.cloud.request(
            SERVICE, "POST", self.path(ctx), json={"loadbalancer": fields}
        )
        balancer = answer.part("loadbalancer")
        return Made(physical_id=id_in(balancer), body=balancer)

    async def drop(self, ctx: ResourceContext, physical_id: str) -> None:
        path = f"{self.url(ctx, physical_id)}?cascade=true"
        await ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True)

    # changed in place

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = {"Instances": self.settle, "SecurityGroups": self.guard}
        return tuple(
            Step(name.lower(), do, poll=self.checked)
            for name, do in steps.items()
            if name in ctx.changed
        )

    async def settle(self, ctx: ResourceContext) -> Made | None:
        """Set the servers in the property `Instances` as the members of the pools."""
        await self.set_instances(ctx, ctx.given("Instances") or [])
        return None

    async def guard(self, ctx: ResourceContext) -> Made | None:
        """Set the security groups in the property `SecurityGroups`."""
        return await self.change(ctx, {"vip_sg_ids": list(ctx.given("SecurityGroups") or [])})

    async def set_instances(self, ctx: ResourceContext, instances: Sequence[str]) -> None:
        """Make these servers the only members of the pools.

        The service accepts one change at a time. If it refuses the change of a second pool as a
        conflict (see `busy`), the engine repeats the step, which then skips the pools that are
        already correct.
        """
        addresses = [await address_of(ctx, server) for server in dict.fromkeys(instances)]
        path = f"{POOLS}?loadbalancer_id={ctx.physical}"
        pools = {pool["name"]: pool["id"] for pool in await ctx.cloud.listing(SERVICE, path)}
        for row in ctx.properties["Listeners"]:
            path = f"{POOLS}/{segment(pools[pool_name(ctx, row)])}/members"
            members = [member(ctx, row, server_address) for server_address in addresses]
            if _ends(await ctx.cloud.listing(SERVICE, path)) != _ends(members):
                body = {"members": members}
                await ctx.cloud.request(SERVICE, "PUT", path, json=body, idempotent=True)

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("switch-off", self.switch_off, poll=self.checked),)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("switch-on", self.switch_on, poll=self.checked),)

    async def switch_off(self, ctx: ResourceContext) -> Made | None:
        """Set the load balancer administratively down: it accepts no connections."""
        return await self.change(ctx, {"admin_state_up": False})

    async def switch_on(self, ctx: ResourceContext) -> Made | None:
        """Set the load balancer administratively up: it accepts connections again."""
        return await self.change(ctx, {"admin_state_up": True})

    # shown

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.name

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "show":
            return await self.show(ctx)
        return self.attributes_of(ctx.body or await self.show(ctx) or {}).get(name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return self.attributes_of(ctx.body) if ctx.body else {}

    def attributes_of(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of the load balancer, computed from its response body.

        AWS attributes without a counterpart in OpenStack are empty.
        """
        none = {name: "" for name in self.attributes if name != "show"}
        return {**none, **dict.fromkeys(ADDRESSES, body.get("vip_address"))}


def listener(
    ctx: ResourceContext, row: Mapping[str, Any], addresses: Sequence[ServerAddress]
) -> Body:
    """Return the request body of a listener, with its pool, health monitor and members.

    `row` is an item of the property `Listeners`; `addresses` has the address of each server.
    """
    pool: Body = {
        "name": pool_name(ctx, row),
        "protocol": row["Protocol"],
        "lb_algorithm": "ROUND_ROBIN",
        "members": [member(ctx, row, server_address) for server_address in addresses],
    }
    if ctx.given("HealthCheck"):
        pool["healthmonitor"] = monitor(ctx.properties["HealthCheck"])
    return {
        "name": pool_name(ctx, row),
        "protocol": row["Protocol"],
        "protocol_port": row["LoadBalancerPort"],
        "default_pool": pool,
    }


def pool_name(ctx: ResourceContext, row: Mapping[str, Any]) -> str:
    """Return the name of a listener's pool, which is unique in the load balancer."""
    return f"{ctx.physical_name}-{row['LoadBalancerPort']}"


def member(ctx: ResourceContext, row: Mapping[str, Any], server_address: ServerAddress) -> Body:
    """Return the request body of the pool member for the server at `server_address`, with
    the listener's port.
    """
    address, subnet = server_address
    fields = {"address": address, "subnet_id": subnet, "protocol_port": row["InstancePort"]}
    target = TARGET.match((ctx.given("HealthCheck") or {}).get("Target", ""))
    if target and int(target[2]) != row["InstancePort"]:
        fields["monitor_port"] = int(target[2])
    return fields


def monitor(check: Mapping[str, Any]) -> Body:
    """Return the request body of the health monitor; `check` is the property `HealthCheck`."""
    target = TARGET.match(check["Target"])
    assert target is not None, check["Target"]
    fields: Body = {
        "type": MONITORS.get(target[1], target[1]),
        "delay": check["Interval"],
        "timeout": check["Timeout"],
        "max_retries": check["HealthyThreshold"],
        "max_retries_down": check["UnhealthyThreshold"],
    }
    if target[1].startswith("HTTP"):
        fields["url_path"] = target[3] or "/"
    return fields


async def address_of(ctx: ResourceContext, server: str) -> ServerAddress:
    """Return the first address of a server, and the id of its subnet. Raises CloudFault if it has
    none.
    """
    for port in await ctx.cloud.listing("network", f"/v2.0/ports?device_id={segment(server)}"):
        for address in port["fixed_ips"]:
            return str(address["ip_address"]), str(address["subnet_id"])
    message = f"Instances: server {server} has no address"
    raise CloudFault("network", 400, "BadRequest", message)


async def subnet_of(ctx: ResourceContext, addresses: Sequence[ServerAddress]) -> str:
    """Return the id of the subnet in which the load balancer gets its address.

    It is the given subnet, else the subnet of the first server, else that of the only usable
    network. Raises CloudFault if there is no such single network.
    """
    if ctx.given("Subnets"):
        return str(ctx.given("Subnets")[0])
    if addresses:
        return addresses[0][1]
    usable = [
        network
        for network in await ctx.cloud.listing("network", "/v2.0/networks")
        if network["subnets"] and not network.get("router:external")
    ]
    candidates = [
        network for network in usable if network["project_id"] == ctx.stack.project_id
    ] or usable
    if len(candidates) == 1:
        return str(candidates[0]["subnets"][0])
    message = (
        f"Subnets: required, because the project has {len(candidates)} usable networks, not one"
    )
    raise CloudFault("network", 400, "BadRequest", message)


def _ends(members: Iterable[Mapping[str, Any]]) -> set[tuple[str, int]]:
    """Return the set of (address, port) of the members that are not being deleted."""
    return {
        (row["address"], row["protocol_port"])
        for row in members
        if row.get("provisioning_status") != "PENDING_DELETE"
    }

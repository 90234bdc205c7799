"""OS::Neutron::Port: a connection of a device to a network."""

import json
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import FOR_HEARTH, Change, Made, ResourceContext, Step
from hearth.resources.capabilities import GivesWay
from hearth.resources.collection import Collection, Elsewhere
from hearth.resources.neutron import order
from hearth.resources.neutron.base import USUAL, NeutronResource, addresses, as_text
from hearth.resources.properties import ADMIN_STATE_UP, NAME, TAGS, VALUE_SPECS
from hearth.schema import (
    BOOLEAN,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Replace,
    Resolve,
    Support,
    SupportStatus,
    Where,
    Without,
)

SECURE = "port_security_enabled"
EXTRA_PROPERTIES: dict[str, Prop] = {
    "admin_state_up": ADMIN_STATE_UP,
    "allowed_address_pairs": Prop(
        LIST,
        "Additional address pairs that are allowed on the port.",
        update_allowed=True,
        schema=Prop(
            MAP,
            schema={
                "ip_address": Prop(STRING, "IP address.", required=True, constraint="ip_or_cidr"),
                "mac_address": Prop(STRING, "MAC address.", constraint="mac_addr"),
            },
        ),
    ),
    "binding:vnic_type": Prop(
        STRING,
        "Type of the virtual network card.",
        default="normal",
        update_allowed=True,
        constraints=(
            AllowedValues(
                [
                    "normal",
                    "direct",
                    "macvtap",
                    "direct-physical",
                    "baremetal",
                    "virtio-forwarder",
                    "smart-nic",
                ]
            ),
        ),
        since="2015.1",
    ),
    "mac_address": Prop(STRING, "MAC address.", constraint="mac_addr"),
    "no_fixed_ips": Prop(
        BOOLEAN,
        "true: the port has no fixed IP.",
        default=False,
        update_allowed=True,
        since="16.0.0",
    ),
    "port_security_enabled": Prop(
        BOOLEAN,
        "true: port security is enabled; it blocks traffic with forged addresses.",
        update_allowed=True,
        since="5.0.0",
    ),
    "propagate_uplink_status": Prop(
        BOOLEAN,
        "true: the status of the physical link is propagated to the port.",
        update_allowed=True,
        since="15.0.0",
    ),
    "qos_policy": Prop(
        STRING,
        "QoS policy, by name or id.",
        update_allowed=True,
        constraint="neutron.qos_policy",
        since="6.0.0",
    ),
    "value_specs": VALUE_SPECS,
}
"""Those properties of a port that a server's network entry may also set for its port."""


class Port(NeutronResource, GivesWay):
    """A connection of a device, such as a server, to a network."""

    type_name = "OS::Neutron::Port"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "allowed_address_pairs": Prop(
            LIST,
            "Additional address pairs that are allowed on the port.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "ip_address": Prop(
                        STRING, "IP address or network.", required=True, constraint="ip_or_cidr"
                    ),
                    "mac_address": Prop(STRING, "MAC address.", constraint="mac_addr"),
                },
            ),
        ),
        "binding:vnic_type": Prop(
            STRING,
            "Type of the virtual network card.",
            default="normal",
            update_allowed=True,
            constraints=(
                AllowedValues(
                    [
                        "normal",
                        "direct",
                        "macvtap",
                        "direct-physical",
                        "baremetal",
                        "virtio-forwarder",
                        "smart-nic",
                    ]
                ),
            ),
            since="2015.1",
        ),
        "device_id": Prop(
            STRING,
            "Id of the attached device; usually set by the compute service.",
            default="",
            update_allowed=True,
        ),
        "device_owner": Prop(
            STRING, "Owner of the port, such as compute:nova.", default="", update_allowed=True
        ),
        "dns_name": Prop(
            STRING,
            "DNS name of its record.",
            update_allowed=True,
            constraint="dns_name",
            since="7.0.0",
        ),
        "fixed_ips": Prop(
            LIST,
            "Fixed IPs, or subnets from which they are allocated.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "ip_address": Prop(STRING, "IP address.", constraint="ip_addr"),
                    "subnet": Prop(
                        STRING,
                        "The subnet, by name or id.",
                        constraint="neutron.subnet",
                        since="2014.2",
                    ),
                    "subnet_id": Prop(
                        STRING,
                        "Use subnet instead.",
                        constraint="neutron.subnet",
                        support=Support(
                            SupportStatus.HIDDEN,
                            "5.0.0",
                            previous=Support(SupportStatus.DEPRECATED, "2014.2 "),
                        ),
                    ),
                },
            ),
            empty_is_none=True,
        ),
        "mac_address": Prop(STRING, "MAC address.", constraint="mac_addr"),
        "name": NAME,
        "network": Prop(
            STRING,
            "The network, by name or id.",
            required=True,
            constraint="neutron.network",
            since="2014.2",
        ),
        "network_id": Prop(
            STRING,
            "Use network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "no_fixed_ips": Prop(
            BOOLEAN,
            "true: the port has no fixed IP.",
            default=False,
            update_allowed=True,
            since="16.0.0",
        ),
        "port_security_enabled": Prop(
            BOOLEAN,
            "true: port security is enabled; it blocks traffic with forged addresses.",
            update_allowed=True,
            since="5.0.0",
        ),
        "propagate_uplink_status": Prop(
            BOOLEAN,
            "true: the status of the physical link is propagated to the port.",
            update_allowed=True,
            since="15.0.0",
        ),
        "qos_policy": Prop(
            STRING,
            "QoS policy, by name or id.",
            update_allowed=True,
            constraint="neutron.qos_policy",
            since="6.0.0",
        ),
        "replacement_policy": Prop(
            STRING,
            "REPLACE_ALWAYS: every update replaces the port.",
            default="AUTO",
            update_allowed=True,
            constraints=(AllowedValues(["REPLACE_ALWAYS", "AUTO"]),),
            support=Support(
                SupportStatus.HIDDEN,
                "9.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "6.0.0",
                    previous=Support(SupportStatus.SUPPORTED, "2014.2"),
                ),
            ),
        ),
        "security_groups": Prop(LIST, "Security groups, by name or id.", update_allowed=True),
        "tags": TAGS,
        "value_specs": VALUE_SPECS,
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "allowed_address_pairs": Attr(
            LIST, "Additional address pairs that are allowed on the port."
        ),
        "device_id": Attr(STRING, "Id of the attached device; usually set by the compute service."),
        "device_owner": Attr(STRING, "Owner of the port, such as compute:nova."),
        "dns_assignment": Attr(MAP, "Its DNS records.", since="7.0.0"),
        "fixed_ips": Attr(LIST, "Fixed IPs, or subnets from which they are allocated."),
        "mac_address": Attr(STRING, "MAC address."),
        "name": Attr(STRING, "Its name."),
        "network": Attr(MAP, "Its network, with all fields.", since="11.0.0"),
        "network_id": Attr(STRING, "Id of its network."),
        "port_security_enabled": Attr(
            BOOLEAN,
            "true: port security is enabled; it blocks traffic with forged addresses.",
            since="5.0.0",
        ),
        "propagate_uplink_status": Attr(
            BOOLEAN,
            "true: the status of the physical link is propagated to the port.",
            since="15.0.0",
        ),
        "qos_policy_id": Attr(STRING, "Id of its QoS policy.", since="6.0.0"),
        "security_groups": Attr(LIST, "Security groups, by name or id."),
        "status": Attr(STRING, "Its status."),
        "subnets": Attr(LIST, "Its subnets, with all fields."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Replace(("network",), value_path=("network_id",)),
        Replace(
            (
                "fixed_ips",
                "subnet",
            ),
            value_name="subnet_id",
        ),
        Resolve(("network",), "neutron.network"),
        Resolve(
            (
                "fixed_ips",
                "subnet",
            ),
            "neutron.subnet",
        ),
        Resolve(("security_groups",), "neutron.security_group"),
    )
    collection = Collection("network", "/v2.0/ports", body="port")
    not_sent = frozenset({"tags", "network_id", "no_fixed_ips", "replacement_policy"})
    renamed = {"network": "network_id", "qos_policy": "qos_policy_id"}
    comes_after = (order.Subnets(("network", "network_id")),)
    unobserved = {
        "no_fixed_ips": "the addresses of the port are compared only if the template lists them",
        "replacement_policy": FOR_HEARTH,
    }
    cleared: ClassVar[Mapping[str, Any]] = {**USUAL, SECURE: None}  # see `update`
    relations = (Where("no_fixed_ips", (True,), Without("fixed_ips")),)
    elsewhere = {"network": Elsewhere("/v2.0/networks", member="network_id")}

    def fields_of(
        self, ctx: ResourceContext, values: Mapping[str, Any], names: frozenset[str]
    ) -> Body:
        fields = super().fields_of(ctx, values, names)
        return port_fields(fields, values, names)

    def must_replace(self, change: Change) -> str | None:
        if change.after.get("replacement_policy") == "REPLACE_ALWAYS":
            return "replacement_policy is REPLACE_ALWAYS"
        return None

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if fields.get("fixed_ips") is None:  # removed: the port keeps its addresses
            fields.pop("fixed_ips", None)
        return fields

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Send the update call; if port security is no longer given, with the network's value.

        Without port security, a port must not have security groups, such as the default one.
        """
        fields = self.changed_fields(ctx)
        if SECURE in fields and fields[SECURE] is None:
            port = await self.show(ctx) or {}
            path = f"/v2.0/networks/{segment(port['network_id'])}"
            network = await ctx.cloud.request("network", "GET", path)
            fields[SECURE] = network.part("network").get(SECURE, True)
            if not fields[SECURE] and ctx.given("security_groups") is None:
                fields["security_groups"] = []
        return await self.change(ctx, fields)

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current property values; leave out the device unless the template sets it, and
        the name that Nova gives to a port without one.
        """
        values = await super().observe(ctx)
        if values is None:
            return None
        values = dict(values)
        for name in ("device_id", "device_owner", "dns_name"):
            if not ctx.given(name):
                values.pop(name, None)
        return values

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the current property values without the addresses that Neutron has added."""
        entries, mac = ctx.given("fixed_ips") or [], str(body.get("mac_address"))
        own_values = {
            entry[name] for entry in entries for name in ("subnet", "ip_address") if entry.get(name)
        }
        fixed_ips = [
            address
            for address in body.get("fixed_ips") or []
            if not own_values.isdisjoint(address.values())
            or not is_generated(address["ip_address"], mac)
        ]
        return super().observed(ctx, {**body, "fixed_ips": fixed_ips})

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "subnets":
            return await super().attribute(ctx, name)
        body = ctx.body or await self.show(ctx) or {}
        return [
            await ctx.cloud.member("network", "/v2.0/subnets", str(address["subnet_id"]))
            for address in body.get("fixed_ips", [])
            if address.get("subnet_id")
        ]

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that release the port's addresses, which the new port may need."""
        if not ctx.physical_id:
            return ()
        note = Step("note-addresses", self.note_addresses)
        return (note, Step("yield-addresses", self.yield_addresses))

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("take-addresses", self.take_addresses),) if "port_fip" in ctx.data else ()

    async def note_addresses(self, ctx: ResourceContext) -> Made | None:
        """Store the port's addresses in private data, unless they are stored already."""
        if "port_fip" in ctx.data:
            return None
        try:
            port = await self.show(ctx) or {}
        except NotFound:
            return None  # a deleted port has no addresses
        return Made(data={"port_fip": as_text(port.get("fixed_ips", []))})

    async def yield_addresses(self, ctx: ResourceContext) -> Made | None:
        """Remove all addresses from the port; "not found" is success.

        Only an administrator may change the MAC address of a port. So a port in an error state that
        has one from the template is deleted: the new port has the same.
        """
        with suppress(NotFound):
            port = (await self.show(ctx) or {}) if ctx.given("mac_address") else {}
            if port.get("status") == "ERROR":
                await self.drop(ctx, ctx.physical)
            else:
                await self.change(ctx, {"fixed_ips": []})
        return None

    async def take_addresses(self, ctx: ResourceContext) -> Made | None:
        """Set the port's addresses to the stored ones, unless the port was deleted."""
        updated = None
        with suppress(NotFound):
            updated = await self.change(ctx, {"fixed_ips": json.loads(ctx.data["port_fip"])})
        return Made(data={"port_fip": None}, body=updated.body if updated else None)


def is_generated(address: str, mac: str) -> bool:
    """Return whether an IPv6 address contains the MAC address `mac`, as in subnets whose hosts
    choose their own addresses (SLAAC).

    Neutron gives such an address of each of these subnets to each port.
    """
    octets = bytes.fromhex(mac.replace(":", ""))
    ident = bytes((octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]))
    return ip_address(address).packed.endswith(ident)


def port_fields(fields: Body, values: Mapping[str, Any], names: frozenset[str]) -> Body:
    """Convert fixed_ips, device_id and device_owner in `fields` to the format of the service.

    `values` are the properties, `names` those that are sent. Changes and returns `fields`.
    """
    if not fields.get("fixed_ips"):  # Neutron chooses or keeps the addresses
        fields.pop("fixed_ips", None)
    else:
        fields["fixed_ips"] = addresses(fields["fixed_ips"])
    if "no_fixed_ips" in names and values.get("no_fixed_ips"):
        fields["fixed_ips"] = []
    for name in ("device_id", "device_owner"):
        if fields.get(name) == "" and "network" in names:  # create: omit the field
            fields.pop(name)
    return fields

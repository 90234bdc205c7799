"""Gateways between networks of the cloud and physical ones."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import IntentKey, Live, Made, Step
from hearth.resources.collection import Collection, forgiving
from hearth.resources.neutron.base import Natural, NeutronResource
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Each,
    Length,
    OnlyFor,
    Prop,
    Range,
    Replace,
    RequiredFor,
    Resolve,
    Support,
    SupportStatus,
    Where,
)


class L2Gateway(NeutronResource):
    """Switches on which networks of the cloud can meet physical ones."""

    type_name = "OS::Neutron::L2Gateway"
    support = Support(version="12.0.0")
    properties = {
        "devices": Prop(
            LIST,
            "The switches.",
            required=True,
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "device_name": Prop(STRING, "Name of the switch.", required=True),
                    "interfaces": Prop(
                        LIST,
                        "Its ports.",
                        required=True,
                        schema=Prop(
                            MAP,
                            schema={
                                "name": Prop(STRING, "Name of the port.", required=True),
                                "segmentation_id": Prop(LIST, "Numbers of the VLANs."),
                            },
                        ),
                    ),
                },
            ),
        ),
        "name": Prop(STRING, "Its name.", required=True, update_allowed=True),
    }
    extension = "l2-gateway"
    identified_by = IntentKey.RENAME
    collection = Collection("network", "/v2.0/l2-gateways", body="l2_gateway", key_field=None)


class L2GatewayConnection(Natural):
    """Connects a network with a gateway."""

    type_name = "OS::Neutron::L2GatewayConnection"
    support = Support(version="12.0.0")
    properties = {
        "l2_gateway_id": Prop(STRING, "Id of the gateway.", required=True),
        "network_id": Prop(
            STRING, "The network, by name or id.", required=True, constraint="neutron.network"
        ),
        "segmentation_id": Prop(STRING, "Number of the VLAN, where the gateway does not say it."),
    }
    translation = (Resolve(("network_id",), "neutron.network"),)
    extension = "l2-gateway-connection"
    collection = Collection(
        "network", "/v2.0/l2-gateway-connections", body="l2_gateway_connection", key_field=None
    )
    alike = ("l2_gateway_id", "network_id")
    known_by = "gateway and network: they are connected once at most"


class NetworkGateway(NeutronResource):
    """Devices that connect networks of the cloud with physical ones."""

    type_name = "OS::Neutron::NetworkGateway"
    support = Support(version="2014.1")
    properties = {
        "connections": Prop(
            LIST,
            "The networks that it connects.",
            default={},
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
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
                            SupportStatus.HIDDEN,
                            version="5.0.0",
                            previous=Support(SupportStatus.DEPRECATED, version="2014.2"),
                        ),
                    ),
                    "segmentation_id": Prop(
                        INTEGER,
                        "Number of the VLAN; none for flat.",
                        constraints=(Range(min=0, max=4094),),
                    ),
                    "segmentation_type": Prop(
                        STRING,
                        "Kind of the segment.",
                        default="flat",
                        constraints=(AllowedValues(["flat", "vlan"]),),
                    ),
                },
            ),
        ),
        "devices": Prop(
            LIST,
            "The devices; others make another gateway.",
            required=True,
            update_allowed=True,
            constraints=(Length(min=1),),
            schema=Prop(
                MAP,
                schema={
                    "id": Prop(STRING, "Id of the device.", required=True),
                    "interface_name": Prop(STRING, "Name of its interface.", required=True),
                },
            ),
        ),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
    }
    attributes = {
        "default": Attr(STRING, "Whether it is the one that is taken when none is named."),
    }
    translation = (
        Replace(("connections", "network"), value_name="network_id"),
        Resolve(("connections", "network"), "neutron.network"),
    )
    extension = "network-gateway"
    identified_by = IntentKey.RENAME
    collection = Collection(
        "network", "/v2.0/network-gateways", body="network_gateway", key_field=None
    )
    not_sent = frozenset({"connections"})
    relations = (
        Each(
            "connections",
            RequiredFor("segmentation_id", "segmentation_type", "vlan"),
            Where(
                "segmentation_type",
                ("flat",),
                OnlyFor("segmentation_id", "segmentation_type", "vlan"),
            ),
        ),
    )
    replaced_for = {"devices": "its devices can not be changed"}

    def after_create(self, live: Live) -> tuple[Step, ...]:
        steps = super().after_create(live)
        return (*steps, Step("connect", self.settle)) if live.given("connections") else steps

    def after_update(self, live: Live) -> tuple[Step, ...]:
        return (Step("connect", self.settle),) if "connections" in live.changed else ()

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        steps = super().delete_steps(live)
        return (Step("disconnect", self.leave), *steps) if steps else ()

    async def settle(self, live: Live) -> Made | None:
        """Connect what is wanted and nothing else of before; doing it again changes nothing."""
        before, wanted = connections(live.before), connections(live.properties)
        for one in before:
            if one not in wanted:
                await forgiving(self.put(live, "disconnect_network", one))
        for one in wanted:
            if one not in before:
                await self.connect(live, one)
        return None

    async def connect(self, live: Live, one: Body) -> None:
        """Connect a network; a conflict with what we did before is none."""
        try:
            await self.put(live, "connect_network", one)
        except CloudFault as fault:
            query = f"device_id={live.physical}&network_id={one['network_id']}"
            if not fault.conflict or not await live.cloud.listing(
                "network", f"/v2.0/ports?{query}"
            ):
                raise

    async def leave(self, live: Live) -> Made | None:
        """Disconnect all networks."""
        for one in connections(live.properties):
            await forgiving(self.put(live, "disconnect_network", one))
        return None

    async def put(self, live: Live, verb: str, one: Body) -> None:
        """Connect or disconnect a network."""
        path = f"{self.path(live)}/{live.physical}/{verb}"
        await live.cloud.request("network", "PUT", path, json=one, idempotent=True)


def connections(properties: Mapping[str, Any]) -> list[Body]:
    """The connections as the service takes them."""
    found = []
    for one in properties.get("connections") or []:
        names = ("segmentation_type", "segmentation_id")
        found.append(known({"network_id": one["network"], **{n: one.get(n) for n in names}}))
    return found


def known(fields: Mapping[str, Any]) -> Body:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}

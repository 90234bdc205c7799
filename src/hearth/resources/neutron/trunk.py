"""OS::Neutron::Trunk: one port that carries the traffic of several."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Range,
    Resolve,
    Support,
)


class Trunk(NeutronResource):
    """Carries the networks of several ports over one."""

    type_name = "OS::Neutron::Trunk"
    support = Support(version="9.0.0")
    properties = {
        "admin_state_up": Prop(BOOLEAN, "Whether it is switched on.", update_allowed=True),
        "description": Prop(STRING, "What it is for.", update_allowed=True),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
        "port": Prop(
            STRING,
            "The port, by name or id.",
            required=True,
            immutable=True,
            constraint="neutron.port",
        ),
        "sub_ports": Prop(
            LIST,
            "Ports that share the trunk.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "port": Prop(
                        STRING, "The port, by name or id.", required=True, constraint="neutron.port"
                    ),
                    "segmentation_id": Prop(
                        INTEGER,
                        "Number of the segment.",
                        required=True,
                        constraints=(Range(min=1, max=4094),),
                    ),
                    "segmentation_type": Prop(
                        STRING,
                        "Kind of the segment.",
                        required=True,
                        constraints=(AllowedValues(["vlan"]),),
                    ),
                },
            ),
        ),
    }
    attributes = {
        "port_id": Attr(STRING, "The port it points to."),
    }
    translation = (
        Resolve(("port",), "neutron.port"),
        Resolve(
            (
                "sub_ports",
                "port",
            ),
            "neutron.port",
        ),
    )
    extension = "trunk"
    collection = Collection("network", "/v2.0/trunks", body="trunk")
    not_sent = frozenset({"sub_ports"})
    renamed = {"port": "port_id"}

    def fields(self, live: Live) -> Body:
        return {**super().fields(live), "sub_ports": [row(one) for one in rows(live.properties)]}

    def after_update(self, live: Live) -> tuple[Step, ...]:
        return (Step("sub-ports", self.settle),) if "sub_ports" in live.changed else ()

    async def settle(self, live: Live) -> Made | None:
        """Make the sub-ports those wanted; doing it again changes nothing."""
        wanted = {one["port"]: row(one) for one in rows(live.properties)}
        now = {one["port_id"]: one for one in (await self.show(live) or {}).get("sub_ports", [])}
        for verb, ports in (
            ("remove_subports", [{"port_id": p} for p in now if now[p] != wanted.get(p)]),
            ("add_subports", [one for p, one in wanted.items() if now.get(p) != one]),
        ):
            if ports:
                path = f"/v2.0/trunks/{live.physical}/{verb}"
                await live.cloud.request("network", "PUT", path, json={"sub_ports": ports})
        return None


def rows(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The sub-ports as given."""
    return list(properties.get("sub_ports") or [])


def row(one: Mapping[str, Any]) -> Body:
    """A sub-port as the service takes it."""
    return {
        "port_id": one["port"],
        "segmentation_id": one["segmentation_id"],
        "segmentation_type": one["segmentation_type"],
    }

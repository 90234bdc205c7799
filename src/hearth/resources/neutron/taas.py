"""Taps (traffic mirroring): copies of the traffic of ports, sent to another port."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import DESCRIPTION
from hearth.schema import (
    STRING,
    AllowedPattern,
    AllowedValues,
    Prop,
    Resolve,
    Support,
)


class Tap(NeutronResource):
    """Base class of tap services and tap flows. Without a name in the template, the name is
    empty.
    """

    extension = "taas"

    def fields_of(
        self, ctx: ResourceContext, values: Mapping[str, Any], names: frozenset[str]
    ) -> Body:
        fields = super().fields_of(ctx, values, names)
        return {**fields, "name": values.get("name") or ""} if "name" in fields else fields


class TapService(Tap):
    """A tap service: the port that receives the copies of the traffic."""

    type_name = "OS::Neutron::TaaS::TapService"
    support = Support(version="12.0.0")
    properties = {
        "description": DESCRIPTION,
        "name": Prop(STRING, "Its name.", default="", update_allowed=True),
        "port": Prop(STRING, "The port, by name or id.", required=True, constraint="neutron.port"),
    }
    translation = (Resolve(("port",), "neutron.port"),)
    collection = Collection("network", "/v2.0/taas/tap_services", body="tap_service")
    renamed = {"port": "port_id"}


class TapFlow(Tap):
    """A tap flow: a port whose traffic is copied to a tap service."""

    type_name = "OS::Neutron::TaaS::TapFlow"
    support = Support(version="12.0.0")
    properties = {
        "description": DESCRIPTION,
        "direction": Prop(
            STRING,
            "Direction of the mirrored traffic.",
            default="BOTH",
            constraints=(AllowedValues(["IN", "OUT", "BOTH"]),),
        ),
        "name": Prop(STRING, "Its name.", default="", update_allowed=True),
        "port": Prop(STRING, "The port, by name or id.", required=True, constraint="neutron.port"),
        "tap_service": Prop(
            STRING,
            "Tap service that receives the mirrored traffic, by name or id.",
            required=True,
            constraint="neutron.taas.tap_service",
        ),
        "vlan_filter": Prop(
            STRING,
            "VLANs to mirror, such as 1,5-7; all when not given.",
            constraints=(AllowedPattern(r"^([0-9]+(-[0-9]+)?)(,([0-9]+(-[0-9]+)?))*$"),),
        ),
    }
    translation = (
        Resolve(("port",), "neutron.port"),
        Resolve(("tap_service",), "neutron.taas.tap_service"),
    )
    collection = Collection("network", "/v2.0/taas/tap_flows", body="tap_flow")
    renamed = {"port": "source_port", "tap_service": "tap_service_id"}

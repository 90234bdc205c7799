"""OS::Neutron::Segment: one of the physical pieces of a network."""

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.schema import (
    INTEGER,
    STRING,
    AllowedValues,
    Prop,
    Range,
    Resolve,
    Support,
)

VLAN_MAX = 4094


class Segment(NeutronResource):
    """A piece of a network that is one broadcast domain. Only administrators may make it."""

    type_name = "OS::Neutron::Segment"
    support = Support(version="9.0.0")
    properties = {
        "description": Prop(STRING, "What it is for.", update_allowed=True),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
        "network": Prop(
            STRING, "The network, by name or id.", required=True, constraint="neutron.network"
        ),
        "network_type": Prop(
            STRING,
            "How its packets are told from those of other networks.",
            required=True,
            constraints=(AllowedValues(["local", "vlan", "vxlan", "gre", "geneve", "flat"]),),
        ),
        "physical_network": Prop(
            STRING, "Name of the physical network that carries it; for flat and vlan."
        ),
        "segmentation_id": Prop(
            INTEGER, "Number of the VLAN or of the tunnel.", constraints=(Range(min=1),)
        ),
    }
    translation = (Resolve(("network",), "neutron.network"),)
    extension = "segment"
    collection = Collection("network", "/v2.0/segments", body="segment")
    renamed = {"network": "network_id"}

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str]:
        kind, number = properties.get("network_type"), properties.get("segmentation_id")
        physical = properties.get("physical_network")
        if kind in {"flat", "local"} and number is not None:
            yield f"segmentation_id does not go with network_type {kind}"
        if kind in {"local", "vxlan", "gre", "geneve"} and physical:
            yield f"physical_network does not go with network_type {kind}"
        if kind == "vlan" and number is not None and number > VLAN_MAX:
            yield f"segmentation_id of a vlan is at most {VLAN_MAX}"
        if kind in {"flat", "vlan"} and "physical_network" not in properties:
            yield f"network_type {kind} needs physical_network"

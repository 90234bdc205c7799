"""OS::Neutron::Segment: a segment of a network."""

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    INTEGER,
    STRING,
    AllowedValues,
    NotAbove,
    OnlyFor,
    Prop,
    Range,
    RequiredFor,
    Resolve,
    Support,
    Where,
)

VLAN_MAX = 4094


class Segment(NeutronResource):
    """A part of a network that is one broadcast domain. Only administrators may create it."""

    type_name = "OS::Neutron::Segment"
    support = Support(version="9.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "network": Prop(
            STRING, "The network, by name or id.", required=True, constraint="neutron.network"
        ),
        "network_type": Prop(
            STRING,
            "Network type of the segment.",
            required=True,
            constraints=(AllowedValues(["local", "vlan", "vxlan", "gre", "geneve", "flat"]),),
        ),
        "physical_network": Prop(
            STRING, "Name of the physical network that carries it; for flat and vlan."
        ),
        "segmentation_id": Prop(INTEGER, "VLAN id or tunnel id.", constraints=(Range(min=1),)),
    }
    translation = (Resolve(("network",), "neutron.network"),)
    extension = "segment"
    undescribed = None
    collection = Collection("network", "/v2.0/segments", body="segment")
    renamed = {"network": "network_id"}
    relations = (
        OnlyFor("segmentation_id", "network_type", "vlan", "vxlan", "gre", "geneve"),
        Where("network_type", ("vlan",), NotAbove("segmentation_id", VLAN_MAX)),
        OnlyFor("physical_network", "network_type", "flat", "vlan"),
        RequiredFor("physical_network", "network_type", "flat", "vlan"),
        RequiredFor("segmentation_id", "network_type", "vlan"),
    )

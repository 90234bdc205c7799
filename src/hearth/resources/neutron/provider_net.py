"""OS::Neutron::ProviderNet: a network on a chosen physical network; for administrators."""

from hearth.resources.neutron.net import Net
from hearth.resources.properties import ADMIN_STATE_UP, NAME
from hearth.schema import (
    BOOLEAN,
    LIST,
    STRING,
    AllowedValues,
    Attr,
    OnlyFor,
    Prop,
    Support,
)


class ProviderNet(Net):
    """A network with a chosen physical network. Only administrators may create it."""

    type_name = "OS::Neutron::ProviderNet"
    support = Support(version="2014.1")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "availability_zone_hints": Prop(
            LIST, "Availability zones to prefer.", update_allowed=True, since="19.0.0"
        ),
        "dns_domain": Prop(
            STRING,
            "DNS domain of its records.",
            update_allowed=True,
            constraint="dns_domain",
            since="15.0.0",
        ),
        "name": NAME,
        "network_type": Prop(
            STRING,
            "Type of the provider network, such as vlan or vxlan.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["local", "vlan", "vxlan", "gre", "geneve", "flat"]),),
        ),
        "physical_network": Prop(
            STRING,
            "Name of the physical network; for types flat and vlan.",
            update_allowed=True,
        ),
        "port_security_enabled": Prop(
            BOOLEAN,
            "true: port security is enabled; it blocks traffic with forged addresses.",
            update_allowed=True,
            since="8.0.0",
        ),
        "router_external": Prop(
            BOOLEAN,
            "true: the network is external, so it can be the gateway of routers.",
            default=False,
            update_allowed=True,
            since="6.0.0",
        ),
        "segmentation_id": Prop(STRING, "VLAN id or tunnel id.", update_allowed=True),
        "shared": Prop(
            BOOLEAN, "true: every project can use it.", default=True, update_allowed=True
        ),
        "tags": Prop(
            LIST,
            "Tags: arbitrary words for filtering.",
            update_allowed=True,
            since="12.0.0",
            schema=Prop(STRING),
        ),
        "tenant_id": Prop(
            STRING,
            "The project it belongs to; only administrators may choose another project.",
            since="24.0.0",
        ),
    }
    attributes = {
        "segments": Attr(LIST, "Its provider segments.", since="16.0.0"),
        "status": Attr(STRING, "Its status."),
        "subnets": Attr(LIST, "Ids of its subnets."),
    }
    extension = "provider"
    not_sent = frozenset({"tags"})
    renamed = {
        "network_type": "provider:network_type",
        "physical_network": "provider:physical_network",
        "segmentation_id": "provider:segmentation_id",
        "router_external": "router:external",
    }
    relations = (
        OnlyFor("segmentation_id", "network_type", "vlan", "vxlan", "gre", "geneve"),
        OnlyFor("physical_network", "network_type", "flat", "vlan"),
    )
    for_admins = frozenset()  # only admins create this type
    parts = ()

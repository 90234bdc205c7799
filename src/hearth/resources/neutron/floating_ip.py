"""OS::Neutron::FloatingIP, its association with a port, and its port forwarding."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.collection import Collection
from hearth.resources.neutron import order
from hearth.resources.neutron.base import Natural, NeutronResource
from hearth.resources.neutron.pointer import Pointer
from hearth.schema import (
    INTEGER,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Needs,
    Prop,
    Range,
    Replace,
    Resolve,
    Support,
    SupportStatus,
)


class FloatingIP(NeutronResource):
    """An external address that can be associated with a port."""

    type_name = "OS::Neutron::FloatingIP"
    properties = {
        "dns_domain": Prop(
            STRING,
            "DNS domain of its records.",
            update_allowed=True,
            constraint="dns_domain",
            since="7.0.0",
        ),
        "dns_name": Prop(
            STRING,
            "DNS name of its record.",
            update_allowed=True,
            constraint="rel_dns_name",
            since="7.0.0",
        ),
        "fixed_ip_address": Prop(
            STRING,
            "Fixed address of the port; needed if the port has several.",
            update_allowed=True,
            constraint="ip_addr",
        ),
        "floating_ip_address": Prop(
            STRING,
            "The floating address; the service chooses one when not given.",
            constraint="ip_addr",
            since="5.0.0",
        ),
        "floating_network": Prop(
            STRING,
            "The external network, by name or id.",
            required=True,
            constraint="neutron.network",
            since="2014.2",
        ),
        "floating_network_id": Prop(
            STRING,
            "Use floating_network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "floating_subnet": Prop(
            STRING,
            "Subnet from which the address is allocated, by name or id.",
            constraint="neutron.subnet",
            since="9.0.0",
        ),
        "port_id": Prop(STRING, "The port, by id.", update_allowed=True, constraint="neutron.port"),
        "value_specs": Prop(
            MAP, "Further fields for the API call, passed on as they are.", default={}
        ),
    }
    attributes = {
        "fixed_ip_address": Attr(STRING, "The fixed address.", cached=False),
        "floating_ip_address": Attr(STRING, "The floating address."),
        "floating_network_id": Attr(STRING, "Id of the external network."),
        "port_id": Attr(STRING, "Id of its port.", cached=False),
        "router_id": Attr(STRING, "Id of its router."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Replace(("floating_network",), value_path=("floating_network_id",)),
        Resolve(("floating_network",), "neutron.network"),
        Resolve(("floating_subnet",), "neutron.subnet"),
    )
    collection = Collection("network", "/v2.0/floatingips", body="floatingip")
    not_sent = frozenset({"floating_network_id"})
    renamed = {"floating_network": "floating_network_id", "floating_subnet": "subnet_id"}
    comes_after = (order.Routes(),)
    together = frozenset({"port_id", "fixed_ip_address"})
    relations = (Needs("fixed_ip_address", "port_id"),)


class FloatingIPAssociation(Pointer):
    """Associates a floating IP with a port. The physical id is FLOATINGIP:PORT."""

    type_name = "OS::Neutron::FloatingIPAssociation"
    properties = {
        "fixed_ip_address": Prop(
            STRING,
            "Fixed address of the port; needed if the port has several.",
            update_allowed=True,
            constraint="ip_addr",
        ),
        "floatingip_id": Prop(STRING, "Id of the floating IP.", required=True, update_allowed=True),
        "port_id": Prop(
            STRING,
            "The port, by id.",
            required=True,
            update_allowed=True,
            constraint="neutron.port",
        ),
    }
    known_by = "the only port of the address; setting it again has no effect"
    comes_after = (order.Routes(),)
    objects = "/v2.0/floatingips"
    body = "floatingip"
    holder: ClassVar[str] = "floatingip_id"
    target: ClassVar[str] = "port_id"
    field = "port_id"
    along = ("fixed_ip_address",)
    known_again = True


class FloatingIPPortForward(Natural):
    """Forwards a port of a floating IP to a port of an internal address."""

    type_name = "OS::Neutron::FloatingIPPortForward"
    support = Support(version="19.0.0")
    properties = {
        "external_port": Prop(
            INTEGER,
            "Port number of the floating IP.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=1, max=65535),),
        ),
        "floating_ip": Prop(STRING, "The floating IP, by address or id.", required=True),
        "internal_ip_address": Prop(
            STRING,
            "Fixed address of the internal port.",
            required=True,
            update_allowed=True,
            constraint="ip_addr",
        ),
        "internal_port": Prop(
            STRING,
            "The internal port, by name or id.",
            required=True,
            update_allowed=True,
            constraint="neutron.port",
        ),
        "internal_port_number": Prop(
            INTEGER,
            "Internal port number; the external one when not given.",
            update_allowed=True,
            constraints=(Range(min=1, max=65535),),
        ),
        "protocol": Prop(
            STRING,
            "Protocol.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["tcp", "udp", "icmp", "icmp6", "sctp", "dccp"]),),
        ),
    }
    translation = (
        Resolve(("floating_ip",), "neutron.floating_ip"),
        Resolve(("internal_port",), "neutron.port"),
    )
    extension = "floating-ip-port-forwarding"
    collection = Collection(
        "network",
        "/v2.0/floatingips/{floating_ip}/port_forwardings",
        body="port_forwarding",
        key_field=None,
    )
    not_sent = frozenset({"floating_ip"})
    renamed = {"internal_port": "internal_port_id", "internal_port_number": "internal_port"}
    alike = ("external_port", "protocol")
    known_by = "floating IP, external port and protocol, which are unique together"
    comes_after = (order.Routes(),)

    def fields_of(
        self, ctx: ResourceContext, values: Mapping[str, Any], names: frozenset[str]
    ) -> Body:
        fields = super().fields_of(ctx, values, names)
        if names & {"internal_port_number", "external_port"}:
            fields["internal_port"] = values.get("internal_port_number") or values["external_port"]
        return fields

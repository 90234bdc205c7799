"""OS::Neutron::RouterGateway: the external gateway of a router, as a separate resource."""

from hearth.resources.neutron import order
from hearth.resources.neutron.pointer import Pointer
from hearth.schema import STRING, AtLeastOne, Prop, Replace, Resolve, Support, SupportStatus


class RouterGateway(Pointer):
    """The external gateway of a router. The physical id is ROUTER:NETWORK."""

    type_name = "OS::Neutron::RouterGateway"
    support = Support(
        SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.1")
    )
    properties = {
        "network": Prop(STRING, "The network, by name or id.", constraint="neutron.network"),
        "network_id": Prop(
            STRING,
            "Use network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "9.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "router_id": Prop(
            STRING, "The router, by name or id.", required=True, constraint="neutron.router"
        ),
    }
    translation = (
        Replace(("network",), value_path=("network_id",)),
        Resolve(("network",), "neutron.network"),
        Resolve(("router_id",), "neutron.router"),
    )
    relations = (AtLeastOne("network"),)
    known_by = "the only gateway of the router; setting it again has no effect"
    comes_after = (order.Subnets(("network", "network_id")),)
    objects = "/v2.0/routers"
    body = "router"
    holder = "router_id"
    target = "network"
    field = "external_gateway_info"
    inner = "network_id"

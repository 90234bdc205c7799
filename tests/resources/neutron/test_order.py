"""What must come first although no property refers to it."""

from hearth.resources.registry import default_catalog
from hearth.template import Environment, compile_template

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  low:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  elsewhere:
    type: OS::Neutron::Subnet
    properties: {network: other, cidr: 10.1.0.0/24}
  router:
    type: OS::Neutron::Router
    properties: {external_gateway_info: {network: public}}
  leg:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: low}}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}}
  server:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, networks: [{network: {get_resource: net}}]}
  older:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, networks: [{uuid: {get_resource: net}}]}
  older_port:
    type: OS::Neutron::Port
    properties: {network_id: {get_resource: net}}
  stranger:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, networks: [{network: other}]}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port}}
  link:
    type: OS::Neutron::FloatingIPAssociation
    properties: {floatingip_id: {get_resource: address}, port_id: {get_resource: port}}
  lone: {type: OS::Neutron::Router}
  routes:
    type: OS::Neutron::ExtraRouteSet
    properties: {router: {get_resource: router}}
  lonely_routes:
    type: OS::Neutron::ExtraRouteSet
    properties: {router: {get_resource: lone}}
  vpn:
    type: OS::Neutron::VPNService
    properties: {router: {get_resource: router}, subnet: {get_resource: low}}
"""


def requires():
    module = compile_template(
        TEMPLATE, files={}, environment=Environment.parse({}), catalog=default_catalog()
    )
    return module.specialise({}, stack_name="s", project_id="p").requires


def test_ports_and_servers_wait_for_the_subnets_of_their_networks():
    found = requires()
    assert found["port"] == {"net", "low"}
    assert found["server"] == {"net", "low"}
    assert found["older"] == found["older_port"] == {"net", "low"}
    assert found["stranger"] == {"elsewhere"}


def test_addresses_wait_for_routers_and_their_legs():
    found = requires()
    assert {"router", "leg", "port"} <= found["address"]
    assert {"router", "leg", "address"} <= found["link"]


def test_what_a_router_carries_waits_for_its_legs():
    found = requires()
    assert found["routes"] == {"router", "leg"}
    assert found["lonely_routes"] == {"lone"}
    assert found["vpn"] == {"router", "leg", "low"}

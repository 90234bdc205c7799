"""Which module declares which resource types: a type is imported when a template asks for it."""

from collections.abc import Mapping

_MODULES: Mapping[str, tuple[str, ...]] = {
    "cfn.wait_condition": (
        "AWS::CloudFormation::WaitCondition",
        "AWS::CloudFormation::WaitConditionHandle",
        "OS::Heat::UpdateWaitConditionHandle",
    ),
    "cinder.volume": ("OS::Cinder::Volume",),
    "cinder.volume_attachment": ("OS::Cinder::VolumeAttachment",),
    "cinder.volume_type": ("OS::Cinder::VolumeType",),
    "heat.delay": ("OS::Heat::Delay",),
    "heat.none": ("OS::Heat::None",),
    "heat.random_string": ("OS::Heat::RandomString",),
    "heat.resource_group": ("OS::Heat::ResourceGroup",),
    "heat.stack": ("OS::Heat::Stack",),
    "heat.template_resource": ("<template>",),
    "heat.test_resource": ("OS::Heat::TestResource",),
    "heat.value": ("OS::Heat::Value",),
    "heat.wait_condition": ("OS::Heat::WaitCondition",),
    "heat.wait_condition_handle": ("OS::Heat::WaitConditionHandle",),
    "keystone.people": ("OS::Keystone::Group", "OS::Keystone::User"),
    "keystone.places": ("OS::Keystone::Domain", "OS::Keystone::Project", "OS::Keystone::Role"),
    "neutron.extra_route_set": ("OS::Neutron::ExtraRouteSet",),
    "neutron.firewall": (
        "OS::Neutron::Firewall",
        "OS::Neutron::FirewallPolicy",
        "OS::Neutron::FirewallRule",
    ),
    "neutron.floating_ip": (
        "OS::Neutron::FloatingIP",
        "OS::Neutron::FloatingIPAssociation",
        "OS::Neutron::FloatingIPPortForward",
    ),
    "neutron.gateways": (
        "OS::Neutron::L2Gateway",
        "OS::Neutron::L2GatewayConnection",
        "OS::Neutron::NetworkGateway",
    ),
    "neutron.metering": ("OS::Neutron::MeteringLabel", "OS::Neutron::MeteringRule"),
    "neutron.net": ("OS::Neutron::Net",),
    "neutron.pools": (
        "OS::Neutron::AddressScope",
        "OS::Neutron::QoSPolicy",
        "OS::Neutron::SubnetPool",
    ),
    "neutron.port": ("OS::Neutron::Port",),
    "neutron.provider_net": ("OS::Neutron::ProviderNet",),
    "neutron.qos_rules": (
        "OS::Neutron::QoSBandwidthLimitRule",
        "OS::Neutron::QoSDscpMarkingRule",
        "OS::Neutron::QoSMinimumBandwidthRule",
        "OS::Neutron::QoSMinimumPacketRateRule",
    ),
    "neutron.quota": ("OS::Neutron::Quota",),
    "neutron.rbac_policy": ("OS::Neutron::RBACPolicy",),
    "neutron.router": ("OS::Neutron::Router",),
    "neutron.router_gateway": ("OS::Neutron::RouterGateway",),
    "neutron.router_interface": ("OS::Neutron::RouterInterface",),
    "neutron.security_group": ("OS::Neutron::SecurityGroup", "OS::Neutron::SecurityGroupRule"),
    "neutron.segment": ("OS::Neutron::Segment",),
    "neutron.subnet": ("OS::Neutron::Subnet",),
    "neutron.taas": ("OS::Neutron::TaaS::TapFlow", "OS::Neutron::TaaS::TapService"),
    "neutron.trunk": ("OS::Neutron::Trunk",),
    "neutron.vpn": (
        "OS::Neutron::IKEPolicy",
        "OS::Neutron::IPsecPolicy",
        "OS::Neutron::IPsecSiteConnection",
        "OS::Neutron::VPNService",
    ),
    "nova.flavor": ("OS::Nova::Flavor",),
    "nova.key_pair": ("OS::Nova::KeyPair",),
    "nova.server": ("OS::Nova::Server",),
    "nova.server_group": ("OS::Nova::ServerGroup",),
    "swift.container": ("OS::Swift::Container",),
}

INDEX: Mapping[str, str] = {
    name: f"hearth.resources.{module}" for module, names in _MODULES.items() for name in names
}
"""The module of each built-in type, by the type's name."""

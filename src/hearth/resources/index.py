"""Which module declares which resource types: a type is imported when a template asks for it."""

from collections.abc import Mapping

_MODULES: Mapping[str, tuple[str, ...]] = {
    "cfn.wait_condition": (
        "AWS::CloudFormation::WaitCondition",
        "AWS::CloudFormation::WaitConditionHandle",
        "OS::Heat::UpdateWaitConditionHandle",
    ),
    "cinder.encrypted_volume_type": ("OS::Cinder::EncryptedVolumeType",),
    "cinder.qos_specs": ("OS::Cinder::QoSAssociation", "OS::Cinder::QoSSpecs"),
    "cinder.quota": ("OS::Cinder::Quota",),
    "cinder.volume": ("OS::Cinder::Volume",),
    "cinder.volume_attachment": ("OS::Cinder::VolumeAttachment",),
    "cinder.volume_type": ("OS::Cinder::VolumeType",),
    "glance.web_image": ("OS::Glance::WebImage",),
    "heat.access_policy": ("OS::Heat::AccessPolicy",),
    "heat.delay": ("OS::Heat::Delay",),
    "heat.none": ("OS::Heat::None",),
    "heat.random_string": ("OS::Heat::RandomString",),
    "heat.resource_group": ("OS::Heat::ResourceGroup",),
    "heat.stack": ("OS::Heat::Stack",),
    "heat.swift_signal": ("OS::Heat::SwiftSignal", "OS::Heat::SwiftSignalHandle"),
    "heat.template_resource": ("<template>",),
    "heat.test_resource": ("OS::Heat::TestResource",),
    "heat.value": ("OS::Heat::Value",),
    "heat.wait_condition": ("OS::Heat::WaitCondition",),
    "heat.wait_condition_handle": ("OS::Heat::WaitConditionHandle",),
    "keystone.catalogue": (
        "OS::Keystone::Endpoint",
        "OS::Keystone::Region",
        "OS::Keystone::Service",
    ),
    "keystone.people": ("OS::Keystone::Group", "OS::Keystone::User"),
    "keystone.places": ("OS::Keystone::Domain", "OS::Keystone::Project", "OS::Keystone::Role"),
    "keystone.roles": (
        "OS::Keystone::GroupRoleAssignment",
        "OS::Keystone::UserRoleAssignment",
    ),
    "neutron.floating_ip": ("OS::Neutron::FloatingIP", "OS::Neutron::FloatingIPAssociation"),
    "neutron.net": ("OS::Neutron::Net",),
    "neutron.pools": (
        "OS::Neutron::AddressScope",
        "OS::Neutron::QoSPolicy",
        "OS::Neutron::SubnetPool",
    ),
    "neutron.port": ("OS::Neutron::Port",),
    "neutron.qos_rules": (
        "OS::Neutron::QoSBandwidthLimitRule",
        "OS::Neutron::QoSDscpMarkingRule",
        "OS::Neutron::QoSMinimumBandwidthRule",
        "OS::Neutron::QoSMinimumPacketRateRule",
    ),
    "neutron.router": ("OS::Neutron::Router",),
    "neutron.router_gateway": ("OS::Neutron::RouterGateway",),
    "neutron.router_interface": ("OS::Neutron::RouterInterface",),
    "neutron.security_group": ("OS::Neutron::SecurityGroup", "OS::Neutron::SecurityGroupRule"),
    "neutron.subnet": ("OS::Neutron::Subnet",),
    "neutron.trunk": ("OS::Neutron::Trunk",),
    "nova.flavor": ("OS::Nova::Flavor",),
    "nova.floating_ip": ("OS::Nova::FloatingIP", "OS::Nova::FloatingIPAssociation"),
    "nova.host_aggregate": ("OS::Nova::HostAggregate",),
    "nova.key_pair": ("OS::Nova::KeyPair",),
    "nova.quota": ("OS::Nova::Quota",),
    "nova.server": ("OS::Nova::Server",),
    "nova.server_group": ("OS::Nova::ServerGroup",),
    "octavia.flavor": (
        "OS::Octavia::AvailabilityZone",
        "OS::Octavia::AvailabilityZoneProfile",
        "OS::Octavia::Flavor",
        "OS::Octavia::FlavorProfile",
    ),
    "octavia.l7": ("OS::Octavia::L7Policy", "OS::Octavia::L7Rule"),
    "octavia.load_balancer": ("OS::Octavia::Listener", "OS::Octavia::LoadBalancer"),
    "octavia.pool": ("OS::Octavia::HealthMonitor", "OS::Octavia::Pool", "OS::Octavia::PoolMember"),
    "octavia.quota": ("OS::Octavia::Quota",),
    "swift.container": ("OS::Swift::Container",),
}

INDEX: Mapping[str, str] = {
    name: f"hearth.resources.{module}" for module, names in _MODULES.items() for name in names
}
"""The module of each built-in type, by the type's name."""

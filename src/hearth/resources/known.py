"""The names of all resource types in Heat, and what replaces those that Hearth does not have."""

from collections.abc import Mapping

_NAMES: Mapping[str, str] = {
    "AWS::AutoScaling": "AutoScalingGroup LaunchConfiguration ScalingPolicy",
    "AWS::CloudFormation": "Stack WaitCondition WaitConditionHandle",
    "AWS::CloudWatch": "Alarm",
    "AWS::EC2": (
        "EIP EIPAssociation Instance InternetGateway NetworkInterface RouteTable "
        "SecurityGroup Subnet SubnetRouteTableAssociation VPC VPCGatewayAttachment Volume "
        "VolumeAttachment"
    ),
    "AWS::ElasticLoadBalancing": "LoadBalancer",
    "AWS::IAM": "AccessKey User",
    "AWS::RDS": "DBInstance",
    "AWS::S3": "Bucket",
    "OS::Aodh": (
        "Alarm CombinationAlarm CompositeAlarm EventAlarm "
        "GnocchiAggregationByMetricsAlarm GnocchiAggregationByResourcesAlarm "
        "GnocchiResourcesAlarm LBMemberHealthAlarm PrometheusAlarm"
    ),
    "OS::Barbican": "CertificateContainer GenericContainer Order RSAContainer Secret",
    "OS::Blazar": "Host Lease",
    "OS::Cinder": (
        "EncryptedVolumeType QoSAssociation QoSSpecs Quota Volume VolumeAttachment VolumeType"
    ),
    "OS::Designate": "Domain Record RecordSet Zone",
    "OS::Glance": "Image WebImage",
    "OS::Heat": (
        "AccessPolicy AutoScalingGroup CloudConfig Delay DeployedServer HARestarter "
        "InstanceGroup MultipartMime None RandomString ResourceChain ResourceGroup "
        "ScalingPolicy SoftwareComponent SoftwareConfig SoftwareDeployment "
        "SoftwareDeploymentGroup SoftwareDeployments Stack StructuredConfig "
        "StructuredDeployment StructuredDeploymentGroup StructuredDeployments SwiftSignal "
        "SwiftSignalHandle TestResource UpdateWaitConditionHandle Value WaitCondition "
        "WaitConditionHandle"
    ),
    "OS::Ironic": "Port",
    "OS::Keystone": (
        "Domain Endpoint Group GroupRoleAssignment Project Region Role Service User "
        "UserRoleAssignment"
    ),
    "OS::Magnum": "Bay BayModel Cluster ClusterTemplate",
    "OS::Manila": "SecurityService Share ShareNetwork ShareType",
    "OS::Mistral": "CronTrigger ExternalResource Workflow",
    "OS::Monasca": "AlarmDefinition Notification",
    "OS::Neutron": (
        "AddressScope ExtraRoute ExtraRouteSet Firewall FirewallPolicy FirewallRule "
        "FloatingIP FloatingIPAssociation FloatingIPPortForward FlowClassifier "
        "HealthMonitor IKEPolicy IPsecPolicy IPsecSiteConnection L2Gateway "
        "L2GatewayConnection LoadBalancer MeteringLabel MeteringRule Net NetworkGateway "
        "Pool PoolMember Port PortChain PortPair PortPairGroup ProviderNet "
        "QoSBandwidthLimitRule QoSDscpMarkingRule QoSMinimumBandwidthRule "
        "QoSMinimumPacketRateRule QoSPolicy Quota RBACPolicy Router RouterGateway "
        "RouterInterface SecurityGroup SecurityGroupRule Segment Subnet SubnetPool Trunk "
        "VPNService"
    ),
    "OS::Neutron::LBaaS": "HealthMonitor L7Policy L7Rule Listener LoadBalancer Pool PoolMember",
    "OS::Neutron::TaaS": "TapFlow TapService",
    "OS::Nova": (
        "Flavor FloatingIP FloatingIPAssociation HostAggregate KeyPair Quota Server ServerGroup"
    ),
    "OS::Octavia": (
        "AvailabilityZone AvailabilityZoneProfile Flavor FlavorProfile HealthMonitor "
        "L7Policy L7Rule Listener LoadBalancer Pool PoolMember Quota"
    ),
    "OS::Sahara": (
        "Cluster ClusterTemplate DataSource ImageRegistry Job JobBinary NodeGroupTemplate"
    ),
    "OS::Senlin": "Cluster Node Policy Profile Receiver",
    "OS::Swift": "Container",
    "OS::Trove": "Cluster Instance",
    "OS::Vitrage": "Template",
    "OS::Zaqar": "MistralTrigger Queue SignedQueueURL Subscription",
    "OS::Zun": "Container",
}

KNOWN = frozenset(f"{group}::{name}" for group, names in _NAMES.items() for name in names.split())
"""All resource types of Heat, by full name."""

RETIRED = frozenset(
    f"{group}::{name}"
    for group, names in {
        "OS::Aodh": "CombinationAlarm",
        "OS::Designate": "Domain Record",
        "OS::Glance": "Image",
        "OS::Heat": "HARestarter",
        "OS::Magnum": "Bay",
        "OS::Monasca": _NAMES["OS::Monasca"],
        "OS::Neutron": "HealthMonitor LoadBalancer Pool PoolMember",
        "OS::Neutron::LBaaS": _NAMES["OS::Neutron::LBaaS"],
        "OS::Sahara": _NAMES["OS::Sahara"],
        "OS::Senlin": _NAMES["OS::Senlin"],
        "OS::Vitrage": _NAMES["OS::Vitrage"],
    }.items()
    for name in names.split()
)
"""Types whose service no longer exists. A stack may contain them; they create nothing."""

REVIVED_SUFFIX = "#revived"
"""The end of a type's name in records that a revived type made, in place of a placeholder."""

INSTEAD: Mapping[str, str] = {
    "OS::Aodh::Alarm": "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    "OS::Aodh::CombinationAlarm": "OS::Aodh::CompositeAlarm",
    "OS::Designate::Domain": "OS::Designate::Zone",
    "OS::Designate::Record": "OS::Designate::RecordSet",
    "OS::Glance::Image": "OS::Glance::WebImage",
    "OS::Heat::SoftwareDeployments": "OS::Heat::SoftwareDeploymentGroup",
    "OS::Heat::StructuredDeployments": "OS::Heat::StructuredDeploymentGroup",
    "OS::Magnum::Bay": "OS::Magnum::Cluster",
    "OS::Magnum::BayModel": "OS::Magnum::ClusterTemplate",
    "OS::Neutron::HealthMonitor": "OS::Octavia::HealthMonitor",
    "OS::Neutron::LBaaS::HealthMonitor": "OS::Octavia::HealthMonitor",
    "OS::Neutron::LBaaS::L7Policy": "OS::Octavia::L7Policy",
    "OS::Neutron::LBaaS::L7Rule": "OS::Octavia::L7Rule",
    "OS::Neutron::LBaaS::Listener": "OS::Octavia::Listener",
    "OS::Neutron::LBaaS::LoadBalancer": "OS::Octavia::LoadBalancer",
    "OS::Neutron::LBaaS::Pool": "OS::Octavia::Pool",
    "OS::Neutron::LBaaS::PoolMember": "OS::Octavia::PoolMember",
    "OS::Neutron::LoadBalancer": "OS::Octavia::LoadBalancer",
    "OS::Neutron::Pool": "OS::Octavia::Pool",
    "OS::Neutron::PoolMember": "OS::Octavia::PoolMember",
    "OS::Senlin::Cluster": "OS::Heat::AutoScalingGroup",
    "OS::Senlin::Node": "OS::Nova::Server",
    "OS::Senlin::Policy": "OS::Heat::ScalingPolicy",
    "OS::Senlin::Receiver": "OS::Heat::ScalingPolicy",
}
"""The type to use instead of an unavailable one, by the unavailable type's name."""

GONE: Mapping[str, str] = {
    "OS::Heat::HARestarter": (
        "mark the failed resource unhealthy and update the stack; an OS::Aodh::EventAlarm can call "
        "an OS::Mistral::Workflow that does so"
    ),
    "OS::Monasca::AlarmDefinition": (
        "Monasca is retired; use OS::Aodh::GnocchiAggregationByResourcesAlarm"
    ),
    "OS::Monasca::Notification": (
        "Monasca is retired; use alarm_actions of OS::Aodh::GnocchiAggregationByResourcesAlarm"
    ),
    "OS::Sahara": "the data processing service Sahara is retired; no type replaces it",
    "OS::Senlin::Profile": "use resource of OS::Heat::AutoScalingGroup",
    "OS::Vitrage": "the service Vitrage is retired; no type replaces it",
}
"""Why a type, or a whole service, is no longer available, and what to use instead."""


def advice(name: str) -> str:
    """Return advice on what to use instead of an unavailable type; empty if there is none."""
    if name in INSTEAD:
        return f"use {INSTEAD[name]}"
    return GONE.get(name) or GONE.get("::".join(name.split("::")[:2])) or ""

"""The resource types that templates written for Heat may name, whether or not they exist here."""

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
"""All of them, by full name."""

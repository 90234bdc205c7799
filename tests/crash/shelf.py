"""A shelf with one of everything else."""

from __future__ import annotations

from tests.crash.story import Act, Call, Story, Wave, drop, patch, post, put

SHELF = """
heat_template_version: 2021-04-16
resources:
  flavor: {type: OS::Nova::Flavor, properties: {ram: 64, vcpus: 1, disk: 1}}
  volume_type: {type: OS::Cinder::VolumeType, properties: {name: shelf}}
  domain: {type: OS::Keystone::Domain, properties: {name: shelf, enabled: false}}
  group: {type: OS::Keystone::Group, properties: {name: shelf}}
  project: {type: OS::Keystone::Project, properties: {name: shelf}}
  role: {type: OS::Keystone::Role, properties: {name: shelf}}
  user: {type: OS::Keystone::User, properties: {name: shelf, password: pw}}
  scope: {type: OS::Neutron::AddressScope, properties: {name: shelf, ip_version: 4}}
  pool: {type: OS::Neutron::SubnetPool, properties: {name: shelf, prefixes: [10.9.0.0/16]}}
  policy: {type: OS::Neutron::QoSPolicy, properties: {name: shelf}}
  bandwidth:
    type: OS::Neutron::QoSBandwidthLimitRule
    properties: {policy: {get_resource: policy}, max_kbps: 100}
  dscp:
    type: OS::Neutron::QoSDscpMarkingRule
    properties: {policy: {get_resource: policy}, dscp_mark: 16}
  least:
    type: OS::Neutron::QoSMinimumBandwidthRule
    properties: {policy: {get_resource: policy}, min_kbps: 10}
  packets:
    type: OS::Neutron::QoSMinimumPacketRateRule
    properties: {policy: {get_resource: policy}, min_kpps: 10}
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.7.0.0/24}
  router: {type: OS::Neutron::Router}
  gateway:
    type: OS::Neutron::RouterGateway
    properties: {router_id: {get_resource: router}, network: public}
  leg:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties: {network: {get_resource: net}}
  trunk: {type: OS::Neutron::Trunk, properties: {port: {get_resource: port}}}
  wall: {type: OS::Neutron::SecurityGroup}
  hole:
    type: OS::Neutron::SecurityGroupRule
    properties: {security_group: {get_resource: wall}, protocol: icmp}
  address:
    type: OS::Neutron::FloatingIP
    depends_on: gateway
    properties: {floating_network: public}
  link:
    type: OS::Neutron::FloatingIPAssociation
    depends_on: leg
    properties: {floatingip_id: {get_resource: address}, port_id: {get_resource: port}}
  signed: {type: "AWS::CloudFormation::WaitConditionHandle"}
  anew: {type: OS::Heat::UpdateWaitConditionHandle}
  told:
    type: AWS::CloudFormation::WaitCondition
    depends_on: policy
    properties: {Handle: {get_resource: signed}, Timeout: 120}
  twins:
    type: OS::Heat::ResourceGroup
    depends_on: policy
    properties: {count: 2, resource_def: {type: OS::Neutron::Net}}
  pause:
    type: OS::Heat::Delay
    depends_on: policy
    properties: {min_wait: 2, actions: [CREATE]}
  slow:
    type: OS::Heat::TestResource
    depends_on: policy
    properties: {wait_secs: 2, value: shelf}
  word: {type: OS::Heat::RandomString, depends_on: policy}
  copy: {type: OS::Heat::Value, properties: {value: {get_resource: word}}}
  nothing: {type: OS::Heat::None, depends_on: policy}
outputs:
  word: {value: {get_attr: [word, value]}}
  copy: {value: {get_attr: [copy, value]}}
"""


BOARD = (
    SHELF.replace("shelf", "board")
    .replace("ram: 64", "ram: 128")
    .replace("kbps: 1", "kbps: 2")
    .replace("kpps: 1", "kpps: 2")
    .replace("dscp_mark: 16", "dscp_mark: 18")
    .replace("[10.9.0.0/16]", "[10.8.0.0/15]")
    .replace("count: 2", "count: 3")
)

WANTED = {
    "compute.flavors": 1,
    "volume.types": 1,
    "identity.domains": 1,
    "identity.groups": 1,
    "identity.projects": 2,
    "identity.roles": 1,
    "identity.users": 3,
    "identity.trusts": 1,
    "identity.credentials": 2,
    "network.address_scopes": 1,
    "network.subnetpools": 1,
    "network.policies": 1,
    "network.bandwidth_limit_rules": 1,
    "network.dscp_marking_rules": 1,
    "network.minimum_bandwidth_rules": 1,
    "network.minimum_packet_rate_rules": 1,
    "network.networks": 3,
    "network.subnets": 1,
    "network.routers": 1,
    "network.ports": 1,
    "network.trunks": 1,
    "network.security_groups": 1,
    "network.security_group_rules": 1,
    "network.floatingips": 1,
}

RULES = {
    "OS::Neutron::QoSBandwidthLimitRule": "bandwidth_limit_rules",
    "OS::Neutron::QoSDscpMarkingRule": "dscp_marking_rules",
    "OS::Neutron::QoSMinimumBandwidthRule": "minimum_bandwidth_rules",
    "OS::Neutron::QoSMinimumPacketRateRule": "minimum_packet_rate_rules",
}
SIGNED, ANEW = "AWS::CloudFormation::WaitConditionHandle", "OS::Heat::UpdateWaitConditionHandle"
QUIET = (
    "AWS::CloudFormation::WaitCondition",
    "OS::Heat::Delay",
    "OS::Heat::None",
    "OS::Heat::RandomString",
    "OS::Heat::TestResource",
    "OS::Heat::Value",
)

CREATE: tuple[Wave, ...] = (
    {"trust": post("identity", "OS-TRUST/trusts")},
    {
        "OS::Nova::Flavor": post("compute", "flavors"),
        "OS::Cinder::VolumeType": post("volume", "types"),
        "OS::Keystone::Domain": post("identity", "domains"),
        "OS::Keystone::Group": post("identity", "groups"),
        "OS::Keystone::Project": post("identity", "projects", "^shelf$"),
        "OS::Keystone::Role": post("identity", "roles"),
        "OS::Keystone::User": post("identity", "users", "^shelf$"),
        "OS::Neutron::AddressScope": post("network", "address-scopes"),
        "OS::Neutron::SubnetPool": post("network", "subnetpools"),
        "OS::Neutron::QoSPolicy": post("network", "qos/policies"),
        "OS::Neutron::Net": post("network", "networks", "-net-"),
        "OS::Neutron::Router": post("network", "routers"),
        "OS::Neutron::SecurityGroup": post("network", "security-groups"),
        "stack's project": post("identity", "projects", "^[0-9a-f-]{36}$"),
    },
    {
        **{kind: post("network", path) for kind, path in RULES.items()},
        "OS::Neutron::Subnet": post("network", "subnets"),
        "OS::Neutron::SecurityGroupRule": post("network", "security-group-rules"),
        "OS::Neutron::RouterGateway": put("network", "routers"),
        "OS::Heat::ResourceGroup member": post("network", "networks", "-twins-"),
        SIGNED: post("identity", "users", "-signed-"),
        ANEW: post("identity", "users", "-anew-"),
    },
    {
        f"{SIGNED} keys": post("identity", "v3/credentials", "-signed-"),
        f"{ANEW} keys": post("identity", "v3/credentials", "-anew-"),
        "OS::Neutron::RouterInterface": Call("network", "PUT", "/add_router_interface$"),
        "OS::Neutron::Port": post("network", "ports"),
    },
    {
        "OS::Neutron::Trunk": post("network", "trunks"),
        "OS::Neutron::FloatingIP": post("network", "floatingips"),
    },
    {"OS::Neutron::FloatingIPAssociation": put("network", "floatingips")},
)
UPDATE: tuple[Wave, ...] = (
    {
        "OS::Nova::Flavor replaced": post("compute", "flavors"),
        "OS::Cinder::VolumeType in place": put("volume", "types"),
        "OS::Keystone::Domain in place": patch("identity", "domains"),
        "OS::Keystone::Group in place": patch("identity", "groups"),
        "OS::Keystone::Project in place": patch("identity", "projects"),
        "OS::Keystone::Role in place": patch("identity", "roles"),
        "OS::Keystone::User in place": patch("identity", "users"),
        "OS::Neutron::AddressScope in place": put("network", "address-scopes"),
        "OS::Neutron::SubnetPool in place": put("network", "subnetpools"),
        "OS::Neutron::QoSPolicy in place": put("network", "qos/policies"),
        f"{ANEW} replaced": post("identity", "users", "-anew-"),
    },
    {
        **{f"{kind} in place": put("network", path) for kind, path in RULES.items()},
        "OS::Heat::ResourceGroup grown": post("network", "networks", "-twins-"),
    },
)
DELETE: tuple[Wave, ...] = (
    {
        **{kind: drop("network", path) for kind, path in RULES.items()},
        "OS::Neutron::Trunk": drop("network", "trunks"),
        "OS::Neutron::FloatingIPAssociation": put("network", "floatingips"),
        "OS::Neutron::SecurityGroupRule": drop("network", "security-group-rules"),
        "OS::Neutron::AddressScope": drop("network", "address-scopes"),
        "OS::Neutron::SubnetPool": drop("network", "subnetpools"),
        "OS::Nova::Flavor": drop("compute", "flavors"),
        "OS::Cinder::VolumeType": drop("volume", "types"),
        "OS::Keystone::Domain disabled": patch("identity", "domains"),
        "OS::Keystone::Group": drop("identity", "groups"),
        "OS::Keystone::Project": drop("identity", "projects"),
        "OS::Keystone::Role": drop("identity", "roles"),
        "OS::Keystone::User": drop("identity", "users", "^(shelf|board)$"),
        "OS::Heat::ResourceGroup member": drop("network", "networks", "-twins-"),
        ANEW: drop("identity", "users", "-anew-"),
        SIGNED: drop("identity", "users", "-signed-"),
    },
    {
        "OS::Keystone::Domain": drop("identity", "domains"),
        "OS::Neutron::FloatingIP": drop("network", "floatingips"),
        "OS::Neutron::Port": drop("network", "ports"),
        "OS::Neutron::SecurityGroup": drop("network", "security-groups"),
    },
    {
        "OS::Neutron::RouterGateway": put("network", "routers"),
        "OS::Neutron::RouterInterface": Call("network", "PUT", "/remove_router_interface$"),
    },
    {
        "OS::Neutron::Router": drop("network", "routers"),
        "OS::Neutron::Subnet": drop("network", "subnets"),
    },
    # this goes when it may, early or late: none of the others is waited for in one life with it
    {"OS::Neutron::QoSPolicy": drop("network", "qos/policies")},
    {"stack's project": drop("identity", "projects")},
    {"OS::Neutron::Net": drop("network", "networks", "-net-")},
    {"trust": drop("identity", "OS-TRUST/trusts")},
)

shelf = Story(
    "shelf",
    (
        Act("create", CREATE, SHELF, wanted=WANTED),
        Act("update", UPDATE, BOARD, wanted={**WANTED, "network.networks": 4}),
        Act("delete", DELETE),
    ),
    user="admin",
    handle="signed",
    waiter="told",
    signal={"UniqueId": "guest", "Status": "SUCCESS", "Data": "up", "Reason": "it is"},
    quiet={"OS::Neutron::QoSPolicy": QUIET, "OS::Keystone::Role": QUIET},
    waits={
        "pause": "OS::Heat::Delay",
        "slow": "OS::Heat::TestResource",
        "told": "AWS::CloudFormation::WaitCondition",
    },
)

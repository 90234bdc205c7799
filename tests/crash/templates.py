"""What the crash tests create: three tiers, and a shelf with one of everything else."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """The write call that makes a thing of a kind: how a knob tells it."""

    service: str
    method: str
    path: str

    def match(self) -> dict[str, object]:
        return {"service": self.service, "method": self.method, "path_regex": self.path}


@dataclass(frozen=True)
class Story:
    """A template, what it makes in the cloud, and the calls at which Hearth can die.

    `early` calls go out before the signal (or the second level), `late` ones after it.
    """

    template: str
    files: dict[str, str]
    wanted: dict[str, int]
    early: dict[str, Call]
    late: dict[str, Call]
    user: str = "demo"
    handle: str | None = None
    waiter: str | None = None
    parameters: dict[str, object] = field(default_factory=dict)


THREE_TIERS = """
heat_template_version: 2021-04-16
resources:
  network: {type: OS::Neutron::Net, properties: {name: shop}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: network}, cidr: 10.20.0.0/24}
  router:
    type: OS::Neutron::Router
    properties: {external_gateway_info: {network: public}}
  leg:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  firewall:
    type: OS::Neutron::SecurityGroup
    properties: {rules: [{protocol: tcp, port_range_min: 80, port_range_max: 80}]}
  apart: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  key: {type: OS::Nova::KeyPair, properties: {name: shop-key}}
  password: {type: OS::Heat::RandomString, properties: {length: 20}}
  box: {type: OS::Swift::Container}
  handle: {type: OS::Heat::WaitConditionHandle}
  is_up:
    type: OS::Heat::WaitCondition
    depends_on: db_plug
    properties: {handle: {get_resource: handle}, timeout: 120}
  db_port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: network}
      fixed_ips: [{subnet: {get_resource: subnet}}]
      security_groups: [{get_resource: firewall}]
  db_disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  db:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: m1.tiny
      key_name: {get_resource: key}
      networks: [{port: {get_resource: db_port}}]
      scheduler_hints: {group: {get_resource: apart}}
      user_data:
        str_replace:
          params: {$password: {get_resource: password}, $tell: {get_attr: [handle, curl_cli]}}
          template: |
            #!/bin/sh
            db-setup --password "$password"; $tell --data-binary '{}'
  db_plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: db}, volume_id: {get_resource: db_disk}}
  app:
    type: tier.yaml
    depends_on: is_up
    properties:
      network: {get_resource: network}
      subnet: {get_resource: subnet}
      firewall: {get_resource: firewall}
      group: {get_resource: apart}
  web:
    type: tier.yaml
    depends_on: app
    properties:
      network: {get_resource: network}
      subnet: {get_resource: subnet}
      firewall: {get_resource: firewall}
      group: {get_resource: apart}
  address:
    type: OS::Neutron::FloatingIP
    depends_on: leg
    properties: {floating_network: public, port_id: {get_attr: [web, port]}}
outputs:
  password: {value: {get_resource: password}}
"""
TIER = """
heat_template_version: 2021-04-16
parameters:
  network: {type: string}
  subnet: {type: string}
  firewall: {type: string}
  group: {type: string}
resources:
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_param: network}
      fixed_ips: [{subnet: {get_param: subnet}}]
      security_groups: [{get_param: firewall}]
  server:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: m1.tiny
      networks: [{port: {get_resource: port}}]
      scheduler_hints: {group: {get_param: group}}
outputs:
  port: {value: {get_resource: port}}
"""

NEUTRON = {
    "OS::Neutron::Net": "networks",
    "OS::Neutron::Router": "routers",
    "OS::Neutron::SecurityGroup": "security-groups",
    "OS::Neutron::SecurityGroup rule": "security-group-rules",
    "OS::Neutron::Subnet": "subnets",
    "OS::Neutron::Port": "ports",
}


def post(service: str, collection: str) -> Call:
    """The call that adds to a collection."""
    return Call(service, "POST", f"/{collection}$")


PORT, SERVER = post("network", "ports"), post("compute", "servers")

three_tiers = Story(
    THREE_TIERS,
    {"tier.yaml": TIER},
    {
        "compute.keypairs": 1,
        "compute.server_groups": 1,
        "compute.servers": 3,
        "network.floatingips": 1,
        "network.networks": 1,
        "network.ports": 3,
        "network.routers": 1,
        "network.security_groups": 1,
        "network.security_group_rules": 1,
        "network.subnets": 1,
        "object-store.containers": 1,
        "volume.volumes": 1,
        "identity.projects": 1,
        "identity.trusts": 1,
        "identity.users": 1,
    },
    {
        **{kind: post("network", name) for kind, name in NEUTRON.items()},
        "OS::Neutron::RouterInterface": Call("network", "PUT", "/add_router_interface$"),
        "OS::Nova::ServerGroup": post("compute", "os-server-groups"),
        "OS::Nova::KeyPair": post("compute", "os-keypairs"),
        "OS::Cinder::Volume": post("volume", "volumes"),
        "OS::Swift::Container": Call("object-store", "PUT", "/AUTH_[^/]+/[^/]+$"),
        "trust": post("identity", "OS-TRUST/trusts"),
        "stack's project": post("identity", "projects"),
        "OS::Heat::WaitConditionHandle user": post("identity", "users"),
    },
    {
        "OS::Nova::Server": SERVER,
        "OS::Cinder::VolumeAttachment": post("compute", "os-volume_attachments"),
        "OS::Neutron::Port in a nested stack": PORT,
        "OS::Nova::Server in a nested stack": SERVER,
        "OS::Neutron::FloatingIP": post("network", "floatingips"),
    },
    handle="handle",
    waiter="is_up",
)

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
"""

shelf = Story(
    SHELF,
    {},
    {
        "compute.flavors": 1,
        "volume.types": 1,
        "identity.domains": 1,
        "identity.groups": 1,
        "identity.projects": 2,
        "identity.roles": 1,
        "identity.users": 2,
        "identity.trusts": 1,
        "identity.credentials": 1,
        "network.address_scopes": 1,
        "network.subnetpools": 1,
        "network.policies": 1,
        "network.bandwidth_limit_rules": 1,
        "network.dscp_marking_rules": 1,
        "network.minimum_bandwidth_rules": 1,
        "network.minimum_packet_rate_rules": 1,
        "network.networks": 1,
        "network.subnets": 1,
        "network.routers": 1,
        "network.ports": 1,
        "network.trunks": 1,
        "network.security_groups": 1,
        "network.security_group_rules": 1,
        "network.floatingips": 1,
    },
    {
        "OS::Nova::Flavor": post("compute", "flavors"),
        "OS::Cinder::VolumeType": post("volume", "types"),
        "OS::Keystone::Domain": post("identity", "domains"),
        "OS::Keystone::Group": post("identity", "groups"),
        "OS::Keystone::Project": post("identity", "projects"),
        "OS::Keystone::Role": post("identity", "roles"),
        "OS::Keystone::User": post("identity", "users"),
        "OS::Neutron::AddressScope": post("network", "address-scopes"),
        "OS::Neutron::SubnetPool": post("network", "subnetpools"),
        "OS::Neutron::QoSPolicy": post("network", "qos/policies"),
    },
    {
        "OS::Neutron::QoSBandwidthLimitRule": post("network", "bandwidth_limit_rules"),
        "OS::Neutron::QoSDscpMarkingRule": post("network", "dscp_marking_rules"),
        "OS::Neutron::QoSMinimumBandwidthRule": post("network", "minimum_bandwidth_rules"),
        "OS::Neutron::QoSMinimumPacketRateRule": post("network", "minimum_packet_rate_rules"),
        "OS::Neutron::Trunk": post("network", "trunks"),
        "OS::Neutron::SecurityGroupRule": post("network", "security-group-rules"),
        "OS::Neutron::RouterGateway": Call("network", "PUT", "/routers/[^/]+$"),
        "OS::Neutron::FloatingIPAssociation": Call("network", "PUT", "/floatingips/[^/]+$"),
        "AWS::CloudFormation::WaitConditionHandle key pair": post("identity", "credentials/OS-EC2"),
    },
    user="admin",
)

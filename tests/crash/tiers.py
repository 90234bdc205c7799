"""Three tiers: what people make."""

from __future__ import annotations

from tests.crash.story import Act, Call, Story, Wave, drop, patch, post, put

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


MALL = (
    THREE_TIERS.replace("name: shop}", "name: mall}")
    .replace("name: shop-key", "name: mall-key")
    .replace("port_range_max: 80", "port_range_max: 88")
)
FAILING = """
  fails:
    type: OS::Heat::TestResource
    depends_on: [web, address, db_plug, leg]
    properties: {fail: true}
outputs:"""
BROKEN_MALL = MALL.replace("\noutputs:", FAILING)
TIER_MALL = TIER.replace("m1.tiny", "m1.small")

WANTED = {
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
}

ATTACHMENT = "/os-volume_attachments"

CREATE: tuple[Wave, ...] = (
    {"trust": post("identity", "OS-TRUST/trusts")},
    {
        "OS::Neutron::Net": post("network", "networks"),
        "OS::Neutron::Router": post("network", "routers"),
        "OS::Neutron::SecurityGroup": post("network", "security-groups"),
        "OS::Nova::ServerGroup": post("compute", "os-server-groups"),
        "OS::Nova::KeyPair": post("compute", "os-keypairs"),
        "OS::Cinder::Volume": post("volume", "volumes"),
        "OS::Swift::Container": Call("object-store", "PUT", "/AUTH_[^/]+/[^/]+$"),
        "stack's project": post("identity", "projects"),
    },
    {
        "OS::Neutron::Subnet": post("network", "subnets"),
        "OS::Neutron::SecurityGroup rule": post("network", "security-group-rules"),
        "OS::Heat::WaitConditionHandle": post("identity", "users"),
    },
    {
        "OS::Neutron::RouterInterface": Call("network", "PUT", "/add_router_interface$"),
        "OS::Neutron::Port": post("network", "ports"),
    },
    {"OS::Nova::Server": post("compute", "servers")},
    {"OS::Cinder::VolumeAttachment": Call("compute", "POST", f"{ATTACHMENT}$")},
    {"<template> port": post("network", "ports")},
    {"<template> server": post("compute", "servers")},
    {"OS::Neutron::FloatingIP": post("network", "floatingips")},
)
UPDATE: tuple[Wave, ...] = (
    {
        "OS::Neutron::Net in place": put("network", "networks"),
        "OS::Nova::KeyPair given up": drop("compute", "os-keypairs"),
        "OS::Neutron::SecurityGroup rule gone": drop("network", "security-group-rules"),
    },
    {
        "OS::Nova::KeyPair replaced": post("compute", "os-keypairs"),
        "OS::Neutron::SecurityGroup rule": post("network", "security-group-rules"),
    },
    {"OS::Nova::Server replaced": post("compute", "servers")},
    {"OS::Cinder::VolumeAttachment moved": Call("compute", "POST", f"{ATTACHMENT}$")},
    {"<template> server resized": Call("compute", "POST", "/servers/[^/]+/action$")},
    {"OS::Nova::Server old one": drop("compute", "servers")},
)
CHECK: tuple[Wave, ...] = (
    {
        "OS::Neutron::Net looked at": Call("network", "GET", "/networks/[^/]+$"),
        "OS::Nova::ServerGroup looked at": Call("compute", "GET", "/os-server-groups/[^/]+$"),
        "OS::Cinder::Volume looked at": Call("volume", "GET", "/volumes/[^/]+$"),
    },
)
ACTION = "/servers/[^/]+/action$"
SUSPEND: tuple[Wave, ...] = (
    {"<template> server suspended": Call("compute", "POST", ACTION)},
    {"OS::Nova::Server suspended": Call("compute", "POST", ACTION, "-db-")},
    {"OS::Heat::WaitConditionHandle suspended": patch("identity", "users")},
)
RESUME: tuple[Wave, ...] = (
    {"OS::Heat::WaitConditionHandle resumed": patch("identity", "users")},
    {"OS::Nova::Server resumed": Call("compute", "POST", ACTION, "-db-")},
    {"<template> server resumed": Call("compute", "POST", ACTION)},
)
ROLLBACK: tuple[Wave, ...] = (
    {
        "OS::Neutron::Net put back": Call("network", "PUT", "/networks/[^/]+$", nth=2),
        "OS::Nova::KeyPair made again": post("compute", "os-keypairs", "^shop-key$"),
    },
    {"<template> server put back": Call("compute", "POST", ACTION)},
)
DELETE: tuple[Wave, ...] = (
    {
        "OS::Swift::Container": drop("object-store", "AUTH_[^/]+"),
        "OS::Neutron::FloatingIP": drop("network", "floatingips"),
    },
    {
        "OS::Neutron::RouterInterface": Call("network", "PUT", "/remove_router_interface$"),
        "<template> server": drop("compute", "servers"),
    },
    {
        "OS::Neutron::Router": drop("network", "routers"),
        "<template> port": drop("network", "ports"),
    },
    {"OS::Cinder::VolumeAttachment": drop("compute", "os-volume_attachments")},
    {
        "OS::Nova::Server": drop("compute", "servers", "-db-"),
        "OS::Cinder::Volume": drop("volume", "volumes"),
    },
    {
        "OS::Nova::KeyPair": drop("compute", "os-keypairs"),
        "OS::Neutron::Port": drop("network", "ports", "-db_port-"),
        "OS::Nova::ServerGroup": drop("compute", "os-server-groups"),
        "OS::Heat::WaitConditionHandle": drop("identity", "users"),
    },
    {
        "OS::Neutron::SecurityGroup": drop("network", "security-groups"),
        "OS::Neutron::Subnet": drop("network", "subnets"),
    },
    {"OS::Neutron::Net": drop("network", "networks")},
    {"stack's project": drop("identity", "projects")},
    {"trust": drop("identity", "OS-TRUST/trusts")},
)

tiers = Story(
    "tiers",
    (
        Act("create", CREATE, THREE_TIERS, {"tier.yaml": TIER}, WANTED),
        Act("check", CHECK, wanted=WANTED),
        Act("suspend", SUSPEND, wanted=WANTED, servers="SUSPENDED"),
        Act("resume", RESUME, wanted=WANTED, servers="ACTIVE"),
        Act("rollback", ROLLBACK, BROKEN_MALL, {"tier.yaml": TIER_MALL}, WANTED),
        Act("update", UPDATE, MALL, {"tier.yaml": TIER_MALL}, WANTED),
        Act("delete", DELETE),
    ),
    handle="handle",
    waiter="is_up",
    signal={"id": "guest", "status": "SUCCESS", "data": "up"},
    signalled=6,
    quiet={
        "OS::Cinder::VolumeAttachment": ("OS::Heat::WaitCondition",),
        "OS::Neutron::FloatingIP": ("OS::Heat::WaitCondition",),
    },
    waits={"is_up": "OS::Heat::WaitCondition"},
)

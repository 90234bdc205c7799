"""Properties that do not go together are refused by a create and by `hearth lint`.

An unknown value elsewhere in the resource does not hide them.
"""

import json
from typing import Any

import pytest

from tests.authoring.test_agreement import linted, refused

LATER = {"get_attr": ["other", "value"]}
MADE = {"get_resource": "other"}
MEMBER = {"type": "OS::Heat::Value", "properties": {"value": MADE}}
NOOP = {"name": "t", "action": "std.noop", "input": {"a": LATER}}
DATABASE = {"flavor": LATER, "size": 1}
ALARM = {
    "MetricName": "CPUUtilization", "Statistic": "Average", "Period": "60", "Threshold": "1",
    "EvaluationPeriods": "1", "ComparisonOperator": "GreaterThanThreshold", "AlarmActions": [LATER],
}  # fmt: skip
RDS = {
    "AllocatedStorage": "5", "DBInstanceClass": "c", "DBName": "d", "Engine": "MySQL",
    "MasterUsername": "u", "MasterUserPassword": LATER,
}  # fmt: skip
AWS = {"AvailabilityZones": ["nova"], "MaxSize": 1, "MinSize": 1, "LaunchConfigurationName": MADE}

BESIDE_UNKNOWN: list[tuple[str, dict[str, Any], str]] = [
    ("OS::Heat::AutoScalingGroup", {"min_size": 3, "max_size": 1, "resource": MEMBER}, "max_size"),
    ("AWS::AutoScaling::AutoScalingGroup", {**AWS, "MinSize": 3}, "MaxSize"),
    ("AWS::AutoScaling::AutoScalingGroup", {**AWS, "InstanceId": LATER, "MinSize": 3}, "MaxSize"),
    (
        "AWS::AutoScaling::AutoScalingGroup",
        {**AWS, "InstanceId": MADE},
        "LaunchConfigurationName and InstanceId exclude each other",
    ),
    ("AWS::AutoScaling::LaunchConfiguration", {"ImageId": LATER}, "InstanceType"),
    (
        "OS::Heat::ScalingPolicy",
        {
            "auto_scaling_group_id": MADE,
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": 1,
            "min_adjustment_step": 2,
        },
        "min_adjustment_step is allowed only if adjustment_type is percent_change_in_capacity",
    ),
    (
        "OS::Heat::RandomString",
        {"length": 1, "salt": LATER, "character_classes": [{"class": "digits", "min": 2}]},
        "length is smaller",
    ),
    ("OS::Heat::RandomString", {"salt": LATER, "character_classes": []}, "must have an entry"),
    (
        "OS::Heat::SoftwareComponent",
        {
            "configs": [{"tool": "a", "actions": ["CREATE"]}, {"tool": "a", "actions": ["CREATE"]}],
            "inputs": [{"name": "a", "default": LATER}],
        },
        "the action CREATE may occur in one configuration only",
    ),
    (
        "OS::Mistral::Workflow",
        {"type": "direct", "tasks": [NOOP, {"name": "u"}]},
        "one of action and workflow is needed",
    ),
    ("OS::Mistral::Workflow", {"type": "direct", "tasks": [NOOP, NOOP]}, "the same name"),
    ("OS::Trove::Instance", {**DATABASE, "networks": [{"network": LATER}, {}]}, "network and port"),
    ("OS::Trove::Instance", {**DATABASE, "networks": [{"network": MADE, "port": MADE}]}, "exclude"),
    ("OS::Zaqar::Subscription", {"queue_name": MADE, "subscriber": "ftp://x"}, "must begin"),
    ("AWS::CloudWatch::Alarm", {**ALARM, "Period": "five"}, "a whole number"),
    ("AWS::RDS::DBInstance", {**RDS, "Port": "mysql"}, "a port number"),
    ("OS::Zun::Container", {"image": LATER, "command": "'"}, "cannot be split"),
    (
        "AWS::EC2::Instance",
        {
            "ImageId": MADE,
            "InstanceType": LATER,
            "BlockDeviceMappings": [{"DeviceName": MADE}],
        },
        "Ebs is needed",
    ),
    (
        "OS::Nova::Server",
        {"flavor": LATER, "block_device_mapping": [{"device_name": "vda", "volume_id": MADE}],
         "block_device_mapping_v2": [{"volume_id": MADE}]},
        "exclude each other",
    ),
]  # fmt: skip


SERVER = {"flavor": LATER, "image": MADE}
DISKS = "block_device_mapping_v2"
NET = {"network": MADE}
KEY = {"type": "key", "algorithm": "aes", "bit_length": 256}
PORT = {"network": MADE, "no_fixed_ips": True}


def server(*networks: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """A server with these entries in `networks`."""
    return "OS::Nova::Server", {**SERVER, "networks": list(networks), **more}


def booting(*devices: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """A server with these block devices."""
    return "OS::Nova::Server", {"flavor": LATER, DISKS: list(devices), **more}


def old_device(**device: Any) -> tuple[str, dict[str, Any]]:
    """A server with an image and a block device in the older format."""
    return "OS::Nova::Server", {**SERVER, "block_device_mapping": [device]}


def neutron(kind: str, **given: Any) -> tuple[str, dict[str, Any]]:
    return f"OS::Neutron::{kind}", given


def volume(**given: Any) -> tuple[str, dict[str, Any]]:
    return "OS::Cinder::Volume", given


def order(**given: Any) -> tuple[str, dict[str, Any]]:
    return "OS::Barbican::Order", given


REFUSED = [
    (*server({"port": MADE}, security_groups=[MADE]), "security_groups and a port"),
    (*server(NET, {"port": MADE}, security_groups=[LATER]), "security_groups and a port"),
    (*server({}), "network, port, subnet and allocate_network is needed"),
    (*server({"fixed_ip": "10.0.0.3"}), "network, port, subnet and allocate_network is needed"),
    (*server({"floating_ip": MADE}), "network, port, subnet and allocate_network is needed"),
    (*server({"port": MADE, "fixed_ip": "10.0.0.3"}), "fixed_ip and port exclude each other"),
    (*server({"allocate_network": "auto", **NET}), "allocate_network excludes everything else"),
    (*server({"allocate_network": "auto", "tag": "x"}), "allocate_network excludes everything"),
    (*server({"allocate_network": "auto"}, NET), "allocate_network excludes other entries"),
    (*booting({"swap_size": 1}), "an image or a bootable device is needed"),
    (*booting({"ephemeral_size": 1}), "an image or a bootable device is needed"),
    (*booting({"volume_id": MADE, "boot_index": 1}), "an image or a bootable device is needed"),
    (*booting({"boot_index": 0}), "is needed"),
    (*booting({"boot_index": 1}, image=MADE), "ephemeral_format is needed"),
    (*booting({"volume_id": MADE, "snapshot_id": MADE}), "exclude each other"),
    (*booting({"volume_id": MADE, "image_id": MADE}), "exclude each other"),
    (*booting({"volume_id": MADE, "swap_size": 1}), "exclude each other"),
    (*booting({"swap_size": 1, "ephemeral_size": 1}, image=MADE), "exclude each other"),
    (*booting({"volume_id": MADE, "boot_index": 0}, image=MADE), "first in the boot order"),
    (*booting(*[{"volume_id": MADE, "boot_index": 0}] * 2), "first in the boot order"),
    (*old_device(device_name="b"), "one of volume_id and snapshot_id is needed"),
    (*old_device(device_name="b", volume_id=MADE, snapshot_id=MADE), "exclude each other"),
    (*volume(), "size, backup_id, snapshot_id and source_volid is needed"),
    (*volume(image=MADE), "size, backup_id, snapshot_id and source_volid is needed"),
    (*neutron("Router", distributed=True, l3_agent_ids=[MADE]), "l3_agent_ids must not be given"),
    (*neutron("Router", distributed=True, l3_agent_id=MADE), "l3_agent_ids must not be given"),
    (*neutron("Router", l3_agent_ids=["a", "b"], name=LATER), "can have several"),
    (
        *neutron("Segment", network=MADE, network_type="vlan", physical_network="p"),
        "segmentation_id is required",
    ),
    (*neutron("ProviderNet", network_type="vxlan", physical_network="p"), "physical_network is"),
    (*neutron("Subnet", network=MADE), "one of subnetpool and cidr is needed"),
    (*neutron("Subnet", network=MADE, cidr="10.0.0.0/24", subnetpool=MADE), "exclude each other"),
    (*neutron("Subnet", network=LATER, cidr="10.0.0.0/24", gateway_ip="x"), "an IP address"),
    (
        *neutron("Port", **PORT, fixed_ips=[{"subnet": MADE}]),
        "where no_fixed_ips is True, fixed_ips must not be given",
    ),
    (
        *neutron("FloatingIP", floating_network=MADE, fixed_ip_address="10.0.0.3"),
        "fixed_ip_address needs port_id",
    ),
    (*order(type="key", algorithm="aes", name=MADE), "bit_length is required"),
    (*order(type="asymmetric", bit_length=2048), "algorithm is required"),
]

ACCEPTED = [
    server(NET, security_groups=[MADE]),
    server({"port": MADE}, security_groups=[]),
    server({"port": LATER}, security_groups=[MADE]),
    server({"subnet": MADE, "fixed_ip": "10.0.0.3"}),
    server({"network": LATER, "fixed_ip": "10.0.0.3"}),
    server({"port": MADE, "network": MADE, "floating_ip": MADE}),
    server({"allocate_network": "none"}),
    server(NET, deployment_swift_data={"container": "c", "object": "o"}),
    server({"allocate_network": None, **NET}, NET),
    booting({"volume_id": MADE}),
    booting({"image": LATER}),
    booting({"image_id": MADE, "volume_size": 1}),
    booting({"volume_id": MADE, "boot_index": 0}, {"volume_id": MADE, "boot_index": 1}),
    booting({"volume_id": MADE, "boot_index": 0}, {"swap_size": 1}),
    booting({"volume_id": MADE, "boot_index": -1}, image=MADE),
    booting({"volume_id": MADE, "boot_index": LATER}),
    booting({"ephemeral_size": 1, "ephemeral_format": "ext3"}, image=MADE),
    volume(size=1),
    volume(size=LATER),
    volume(size=1, image=MADE),
    volume(snapshot_id=MADE),
    volume(backup_id=MADE),
    neutron("Router", ha=True, l3_agent_ids=["a", "b"]),
    neutron("Router", ha=LATER, l3_agent_ids=["a", "b"]),
    neutron("Router", distributed=True),
    neutron("ProviderNet", network_type="vlan", physical_network="p"),
    neutron("Subnet", network=MADE, subnetpool=MADE, prefixlen=24),
    neutron("Subnet", network=MADE, cidr="10.0.0.0/24", gateway_ip=None),
    neutron("Subnet", network=MADE, cidr="10.0.0.0/24", gateway_ip=""),
    neutron("Subnet", network=MADE, cidr="fd00::/64", ip_version=6, gateway_ip="fd00::1"),
    neutron("Port", **PORT, fixed_ips=[]),
    neutron("Port", network=MADE, no_fixed_ips=LATER, fixed_ips=[{"subnet": MADE}]),
    neutron("FloatingIP", floating_network=MADE, fixed_ip_address="10.0.0.3", port_id=LATER),
    order(**KEY),
]


def template(kind: str, properties: dict[str, Any]) -> str:
    """A template with one resource, and another one to which its properties may refer."""
    resources = {
        "other": {"type": "OS::Heat::Value", "properties": {"value": "1"}},
        "one": {"type": kind, "properties": properties},
    }
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


@pytest.mark.parametrize(
    ("kind", "properties", "words"),
    [pytest.param(*one, id=f"{number}-{one[0]}") for number, one in enumerate(BESIDE_UNKNOWN)],
)
def test_what_does_not_go_together_is_refused_beside_unknown_values(kind, properties, words):
    text = template(kind, properties)
    for found in (refused(text), linted(text)):
        assert [one for one in found if words in one], found


@pytest.mark.parametrize(
    ("kind", "properties", "words"),
    [pytest.param(*one, id=f"{number}-{one[0]}") for number, one in enumerate(REFUSED)],
)
def test_what_does_not_go_together_is_refused(kind, properties, words):
    text = template(kind, properties)
    for found in (refused(text), linted(text)):
        assert [one for one in found if words in one], found


@pytest.mark.parametrize(
    ("kind", "properties"),
    [pytest.param(*one, id=f"{number}-{one[0]}") for number, one in enumerate(ACCEPTED)],
)
def test_what_goes_together_is_accepted(kind, properties):
    text = template(kind, properties)
    assert refused(text) == linted(text) == []

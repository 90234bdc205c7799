"""Security groups in AWS's words."""

import pytest

from hearth.resources.registry import builtin_types
from tests.resources.driver import drive

GROUP = "AWS::EC2::SecurityGroup"
RULES = "/v2.0/security-group-rules"


def test_its_rules_are_those_of_both_lists():
    async def story(driver):
        other = await driver.create(GROUP, {"GroupDescription": "other"}, "other")
        ssh = {"IpProtocol": "TCP", "FromPort": "22", "ToPort": "23", "CidrIp": "192.0.2.0/24"}
        given = {
            "GroupDescription": "web",
            "SecurityGroupIngress": [
                ssh,
                {"IpProtocol": "-1", "SourceSecurityGroupId": other.physical_id},
                {"IpProtocol": "udp", "SourceSecurityGroupName": "default"},
                {"IpProtocol": "icmp", "FromPort": "-1", "ToPort": "-1", "CidrIp": "::/0"},
            ],
            "SecurityGroupEgress": [{"IpProtocol": "tcp", "CidrIp": "0.0.0.0/0"}],
        }
        group = await driver.create(GROUP, given, "web")
        path = f"{RULES}?security_group_id={group.physical_id}"
        made = await driver.cloud.listing("network", path)
        await driver.update(group, {"GroupDescription": "web"})
        left_open = await driver.cloud.listing("network", path)
        body = await group.kind.show(group)
        await driver.delete_all()
        return other.physical_id, made, left_open, body["description"], driver.left()

    other, made, left_open, description, left = drive(story)
    names = ("direction", "ethertype", "protocol", "port_range_min", "remote_ip_prefix")
    rules = {tuple(rule[name] for name in names) for rule in made}
    assert rules == {
        ("ingress", "IPv4", "tcp", 22, "192.0.2.0/24"),
        ("ingress", "IPv4", None, None, None),
        ("ingress", "IPv4", "udp", None, None),
        ("ingress", "IPv6", "icmp", None, "::/0"),
        ("egress", "IPv4", "tcp", None, "0.0.0.0/0"),
    }
    assert other in {rule["remote_group_id"] for rule in made}
    assert {(rule["direction"], rule["protocol"]) for rule in left_open} == {("egress", None)}
    assert description == "web"
    assert left == {}


@pytest.mark.parametrize("port", ["ssh", "1e3", "999999"])
def test_a_port_is_a_number(port):
    rule = {"IpProtocol": "tcp", "FromPort": port}
    given = {"GroupDescription": "web", "SecurityGroupIngress": [rule]}
    (wrong,) = builtin_types()[GROUP].conflicts(given)
    assert wrong.path == ("SecurityGroupIngress", 0, "FromPort")

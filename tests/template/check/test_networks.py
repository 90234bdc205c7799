"""Mistakes with networks: what lint warns about, and what it leaves alone."""

from pathlib import Path

import pytest

from hearth.authoring.lint import lint

HEAD = """heat_template_version: 2021-04-16
parameters:
  range: {type: string, default: 10.0.0.0/16}
  flag: {type: boolean, default: true}
conditions:
  here: {get_param: flag}
  there: {not: {get_param: flag}}
outputs:
  used: {value: {get_param: range}, condition: here}
resources:
  net: {type: OS::Neutron::Net}
  other: {type: OS::Neutron::Net}
  own: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
"""


def subnet(properties: str, more: str = "") -> str:
    return f"  two: {{type: OS::Neutron::Subnet{more}, properties: {{{properties}}}}}\n"


def port(name: str, network: str, more: str = "") -> str:
    properties = f"{{network: {network}, fixed_ips: [{{ip_address: 10.0.0.9}}]}}"
    return f"  {name}: {{type: OS::Neutron::Port{more}, properties: {properties}}}\n"


def server(network: str) -> str:
    properties = f"{{flavor: a, image: b, networks: [{{network: {network}}}]}}"
    return f"  server: {{type: OS::Nova::Server, properties: {properties}}}\n"


def rule(low: int, high: int, protocol: str) -> str:
    ports = f"protocol: {protocol}, port_range_min: {low}, port_range_max: {high}"
    return f"  rules: {{type: OS::Neutron::SecurityGroup, properties: {{rules: [{{{ports}}}]}}}}\n"


NET, OTHER = "{get_resource: net}", "{get_resource: other}"
CASES = {
    "a subnet in a subnet": (subnet(f"network: {NET}, cidr: 10.0.0.128/25"), ["subnets-overlap"]),
    "beside it": (subnet(f"network: {NET}, cidr: 10.0.1.0/24"), []),
    "of another network": (subnet(f"network: {OTHER}, cidr: 10.0.0.0/24"), []),
    "of another version": (subnet(f"network: {NET}, cidr: 'fd00::/64', ip_version: 6"), []),
    "with a condition": (subnet(f"network: {NET}, cidr: 10.0.0.0/24", ", condition: here"), []),
    "from a parameter": (subnet(f"network: {NET}, cidr: {{get_param: range}}"), []),
    "from a pool": (subnet(f"network: {NET}, subnetpool: pool"), []),
    "twins": (port("p", NET) + port("q", NET), ["address-taken"]),
    "named twins": (port("p", "lan") + port("q", "lan"), ["address-taken"]),
    "apart": (port("p", NET) + port("q", OTHER), []),
    "one or the other": (
        port("p", NET, ", condition: here") + port("q", NET, ", condition: there"), [],
    ),
    "a server without an address": (server(OTHER), ["network-without-subnet"]),
    "a server with one": (server(NET), []),
    "a server on an existing network": (server("private"), []),
    "a subnet by another type": (
        server(OTHER) + f"  made: {{type: OS::Heat::Value, properties: {{value: {OTHER}}}}}\n", [],
    ),
    "reversed": (rule(443, 80, "tcp"), ["ports-reversed"]),
    "one port": (rule(80, 80, "tcp"), []),
    "ICMP": (rule(8, 0, "icmp"), []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_a_warning_and_what_may_work_is_none(tmp_path: Path, case: str):
    text, codes = CASES[case]
    path = tmp_path / "t.yaml"
    path.write_text(HEAD + text)
    found = [one for one in lint(path) if not one.code.startswith("unused-")]
    assert [one.code for one in found if one.severity.value == "error"] == []
    assert [one.code for one in found if one.severity.value == "warning"] == codes

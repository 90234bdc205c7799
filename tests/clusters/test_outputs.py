"""From a stack back to its cluster."""

import pytest
from msgspec.structs import replace

from hearth.clusters.outputs import read_back
from tests.clusters.examples import CLUSTER, MASTERS, WORKERS

OUTPUTS = {
    "api_address": "172.24.4.9",
    "registry_address": "localhost:5000",
    "kube_masters": ["172.24.4.10"],
    "kube_masters_private": ["10.0.0.5"],
    "kube_minions": ["172.24.4.11", None],
    "kube_minions_private": ["10.0.0.6", "10.0.0.7"],
}
PARAMETERS = {
    "number_of_masters": "3",
    "number_of_minions": "2",
    "kube_version": "v1.31.4",
    "tls_disabled": "False",
}
SECURE = replace(CLUSTER, ca_cert_ref="a-key")
GROUPS = (MASTERS, WORKERS)


def test_a_stack_fills_its_cluster_and_groups():
    found = read_back(OUTPUTS, PARAMETERS, SECURE, GROUPS)
    assert found.cluster == {
        "api_address": "https://172.24.4.9:6443",
        "coe_version": "v1.31.4",
    }
    assert found.groups == {
        MASTERS.uuid: {"node_addresses": ["10.0.0.5"], "node_count": 3},
        WORKERS.uuid: {"node_addresses": ["10.0.0.6", "10.0.0.7"]},
    }


def test_nodes_with_floating_ips_show_those():
    public = replace(CLUSTER, floating_ip_enabled=True)
    found = read_back(OUTPUTS, PARAMETERS, public, GROUPS)
    assert found.groups[MASTERS.uuid]["node_addresses"] == ["172.24.4.10"]
    assert found.groups[WORKERS.uuid]["node_addresses"] == ["172.24.4.11"]


@pytest.mark.parametrize("disabled", ["True", "False", ""])
def test_the_cluster_decides_about_tls_and_not_its_stack(disabled: str):
    given = {**PARAMETERS, "tls_disabled": disabled}
    addresses = [
        read_back(OUTPUTS, given, one, ()).cluster["api_address"] for one in (CLUSTER, SECURE)
    ]
    assert addresses == ["http://172.24.4.9:8080", "https://172.24.4.9:6443"]


def test_an_address_of_version_6_has_brackets():
    found = read_back({"api_address": "fd00::1"}, {}, SECURE, ())
    assert found.cluster["api_address"] == "https://[fd00::1]:6443"


def test_missing_and_null_outputs_change_nothing():
    for outputs in ({}, dict.fromkeys(OUTPUTS)):
        found = read_back(outputs, {}, CLUSTER, GROUPS)
        assert (found.cluster, found.groups) == ({}, {})


def test_what_is_known_already_is_no_change():
    cluster = replace(SECURE, api_address="https://172.24.4.9:6443", coe_version="v1.31.4")
    masters = replace(MASTERS, node_addresses=("10.0.0.5",), node_count=3)
    found = read_back(OUTPUTS, PARAMETERS, cluster, [masters])
    assert (found.cluster, found.groups) == ({}, {})


def test_the_count_of_an_extra_group_is_that_of_its_stack():
    extra = replace(WORKERS, uuid="x", is_default=False, role="gpu", node_count=5)
    found = read_back({}, PARAMETERS, CLUSTER, [extra])
    assert found.groups == {"x": {"node_count": 2}}

"""The choice of environment files."""

import pytest

from hearth.clusters.environments import Balancer, FeatureChoice, choices, chosen, environment_files

PLAIN = {
    "private_network": True,
    "etcd_volume": False,
    "volume": False,
    "balancer": Balancer.OCTAVIA,
    "floating_ip": False,
    "balancer_floating_ip": False,
}


def test_there_are_64_choices():
    assert len(list(choices())) == 64
    assert len({environment_files(choice) for choice in choices()}) == 64


def test_all_13_files_are_used():
    assert len({name for choice in choices() for name in environment_files(choice)}) == 13


def test_the_files_have_a_fixed_order():
    assert environment_files(chosen(**PLAIN)) == (
        "with_private_network.yaml",
        "no_etcd_volume.yaml",
        "no_volume.yaml",
        "with_master_lb_octavia.yaml",
        "disable_floating_ip.yaml",
        "disable_lb_floating_ip.yaml",
    )


def test_floating_ips_of_nodes_imply_one_of_the_balancer():
    found = chosen(**{**PLAIN, "floating_ip": True})
    assert found.balancer_floating_ip
    assert environment_files(found)[-1] == "enable_lb_floating_ip.yaml"


def test_a_cluster_without_balancer_has_no_floating_ip_of_one():
    given = {**PLAIN, "balancer": Balancer.NONE, "balancer_floating_ip": True}
    assert not chosen(**given).balancer_floating_ip
    with pytest.raises(ValueError, match="there is no load balancer"):
        FeatureChoice(**given)

"""Labels that a cluster cannot have."""

import pytest

from hearth.clusters.config import ClusterConfig
from hearth.clusters.labels import label_problems, number, truth

CONFIG = ClusterConfig()
NO_TRUST = ClusterConfig(identity="trust")


def test_a_cluster_without_labels_is_fine():
    assert label_problems({}, CONFIG) == []
    assert label_problems({}, NO_TRUST, volume_driver="cinder", load_balancers=False) == []


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("boot_volume_size", "ten", 'expected a whole number, got "ten"'),
        ("boot_volume_size", "-1", "a whole number"),
        ("octavia_lb_healthcheck", "maybe", "true or false"),
        ("fixed_subnet_cidr", "10.0.0.0", "a network"),
        ("master_lb_allowed_cidrs", "10.0.0.0/8,x", "networks"),
        ("octavia_lb_algorithm", "RANDOM", "one of ROUND_ROBIN"),
        ("ingress_controller", "caddy", "one of octavia, nginx, traefik"),
    ],
)
def test_a_wrong_value_is_named(label: str, value: str, expected: str):
    (problem,) = label_problems({label: value}, CONFIG)
    assert problem.startswith(f"Label {label}: ")
    assert expected in problem


@pytest.mark.parametrize(
    "labels",
    [
        {"boot_volume_size": "", "kube_tag": "v1", "unknown": "x"},
        {"octavia_lb_healthcheck": "True", "ingress_controller": "Octavia"},
        {"master_lb_allowed_cidrs": "10.0.0.0/8, 192.0.2.1/32", "fixed_subnet_cidr": "fd00::/64"},
    ],
)
def test_good_values_pass(labels: dict[str, str]):
    assert label_problems(labels, CONFIG) == []


def test_limits_must_not_cross():
    labels = {"min_node_count": "3", "max_node_count": "2"}
    assert "more than max_node_count" in label_problems(labels, CONFIG)[0]
    assert label_problems({"min_node_count": "3"}, CONFIG) == []


def test_an_octavia_ingress_needs_a_load_balancer_service():
    labels = {"ingress_controller": "octavia"}
    (problem,) = label_problems(labels, CONFIG, load_balancers=False)
    assert "no load balancer service" in problem


def test_a_cloud_provider_needs_nodes_that_may_call_the_cloud():
    labels = {"cloud_provider_enabled": "true"}
    assert label_problems(labels, CONFIG) == []
    assert "cluster_user_trust" in label_problems(labels, NO_TRUST)[0]
    trusted = ClusterConfig(identity="trust", cluster_user_trust=True)
    assert label_problems(labels, trusted) == []


def test_cinder_volumes_need_the_cloud_provider():
    labels = {"cloud_provider_enabled": "false"}
    assert label_problems(labels, CONFIG) == []
    assert "cinder" in label_problems(labels, CONFIG, volume_driver="cinder")[0]


def test_reading_labels():
    assert truth({"x": "True"}, "x", default=False)
    assert not truth({"x": "False"}, "x", default=True)
    assert truth({"x": "?"}, "x", default=True)
    assert number({"x": "5"}, "x", 1) == 5
    assert number({"x": "²"}, "x", 1) == 1

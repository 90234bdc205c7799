"""Labels of clusters and templates: conversion to Python values, and validation.

Magnum detects most of these errors only after it has accepted the request. Source:
tests/facts/magnum/labels.json; docs/spec/clusters.md, 9.
"""

import ipaddress
from collections.abc import Callable, Mapping

from hearth.clusters.config import ClusterConfig

TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE = frozenset({"false", "f", "no", "n", "off", "0"})
# fmt: off
NUMBERS = (
    "boot_volume_size", "etcd_volume_size", "min_node_count", "max_node_count",
    "flannel_network_subnetlen", "monitoring_interval_seconds", "monitoring_retention_days",
    "monitoring_retention_size", "system_pods_initial_delay", "system_pods_timeout",
)
BOOLEANS = (
    "auto_healing_enabled", "auto_scaling_enabled", "cert_manager_api", "cinder_csi_enabled",
    "cloud_provider_enabled", "heapster_enabled", "influx_grafana_dashboard_enabled",
    "keystone_auth_enabled", "kube_dashboard_enabled", "master_lb_floating_ip_enabled",
    "metrics_server_enabled", "monitoring_enabled", "monitoring_ingress_enabled", "npd_enabled",
    "octavia_lb_healthcheck", "prometheus_adapter_enabled", "prometheus_monitoring", "use_podman",
)
NETWORKS = (
    "calico_ipv4pool", "fixed_subnet_cidr", "flannel_network_cidr", "service_cluster_ip_range",
)
VALUES = {
    "calico_ipv4pool_ipip": ("Always", "CrossSubnet", "Never", "Off"),
    "container_runtime": ("", "containerd", "host-docker"),
    "flannel_backend": ("udp", "vxlan", "host-gw"),
    "ingress_controller": ("", "octavia", "nginx", "traefik"),
    "octavia_lb_algorithm": (
        "ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT",
    ),
    "selinux_mode": ("enforcing", "permissive", "disabled"),
}
# fmt: on
_LOWER_CASE = frozenset({"ingress_controller"})  # labels whose values may have any case


def truth(labels: Mapping[str, str], name: str, default: bool) -> bool:
    """Return the label `name` as a boolean; `default` if it is missing or not a boolean."""
    text = labels.get(name, "").lower()
    return text in TRUE or (default and text not in FALSE)


def number(labels: Mapping[str, str], name: str, default: int) -> int:
    """Return the label `name` as an integer; `default` if it is missing or not a number."""
    text = labels.get(name, "")
    return int(text) if _is_number(text) else default


def networks(text: str) -> tuple[str, ...]:
    """Split a list of networks, which are separated by commas. The networks are not checked."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def label_problems(
    labels: Mapping[str, str],
    config: ClusterConfig,
    *,
    volume_driver: str | None = None,
    load_balancers: bool = True,
) -> list[str]:
    """Return an error message for each error in the labels of a cluster or template.

    `config` are the operator's settings. `volume_driver` is the volume driver of the template, if
    any. `load_balancers` is false if the cloud has no load balancer service.
    """
    return [
        *_wrong(labels, NUMBERS, _is_number, "a whole number"),
        *_wrong(labels, BOOLEANS, lambda text: text.lower() in TRUE | FALSE, "true or false"),
        *_wrong(labels, NETWORKS, _is_network, "a network such as 10.0.0.0/24"),
        *_wrong(
            labels, ("master_lb_allowed_cidrs",), _are_networks, "networks separated by commas"
        ),
        *_not_among(labels),
        *_together(labels, config, volume_driver, load_balancers),
    ]


def _wrong(
    labels: Mapping[str, str], names: tuple[str, ...], good: Callable[[str], bool], expected: str
) -> list[str]:
    """Return an error message for each label in `names` that is set but not `good`."""
    return [
        f'Label {name}: expected {expected}, got "{labels[name]}".'
        for name in names
        if labels.get(name) and not good(labels[name])
    ]


def _not_among(labels: Mapping[str, str]) -> list[str]:
    problems = []
    for name, values in VALUES.items():
        value = labels.get(name)
        text = value.lower() if value and name in _LOWER_CASE else value
        if text is not None and text not in values:
            choices = ", ".join(word for word in values if word)
            problems.append(f'Label {name}: expected one of {choices}, got "{value}".')
    return problems


def _together(
    labels: Mapping[str, str], config: ClusterConfig, volume_driver: str | None, balancers: bool
) -> list[str]:
    """Return an error message for each label that conflicts with another label, the configuration,
    the volume driver or the cloud.

    `balancers` is false if the cloud has no load balancer service.
    """
    problems = []
    minimum, maximum = (number(labels, f"{end}_node_count", -1) for end in ("min", "max"))
    if minimum > maximum >= 0:
        problems.append(f"Label min_node_count is {minimum}, more than max_node_count, {maximum}.")
    if labels.get("ingress_controller", "").lower() == "octavia" and not balancers:
        problems.append("Label ingress_controller: this cloud has no load balancer service.")
    nodes_may_call = config.identity == "application_credential" or config.cluster_user_trust
    provider = truth(labels, "cloud_provider_enabled", nodes_may_call)
    if provider and not nodes_may_call:
        problems.append(
            "Label cloud_provider_enabled: nodes have no access to the cloud here; the "
            "administrator can change that with cluster_user_trust."
        )
    if not provider and volume_driver == "cinder" and "cloud_provider_enabled" in labels:
        problems.append(
            "Label cloud_provider_enabled: volume driver cinder needs the cloud provider."
        )
    return problems


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _are_networks(text: str) -> bool:
    return all(map(_is_network, networks(text)))

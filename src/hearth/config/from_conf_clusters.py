"""Reads the settings of the cluster service from a configuration in the format of magnum.conf."""

from typing import Any

from hearth.clusters.config import X509, ClusterConfig, Network
from hearth.clusters.drivers import Drivers
from hearth.config.wrong import WrongSetting


def cluster_config(conf: Any, url: str, networks: tuple[Network, ...]) -> ClusterConfig:
    """Return the settings of the cluster service. Raises WrongSetting.

    `url` is the URL of its API, which clients get unless the configuration names another.
    `networks` are the networks in the option `cluster_networks`.
    """
    _check_drivers(conf.drivers)
    hearth, certificates = conf.hearth, conf.x509
    base = (hearth.cluster_public_url or url).rstrip("/").removesuffix("/v1")
    return ClusterConfig(
        url=f"{base}/v1",
        limit_max=conf.api.max_limit,
        version_max=hearth.cluster_version_max,
        owner_only_certificates=hearth.cluster_owner_only_certificates,
        forced_common_name=hearth.cluster_forced_common_name,
        rename=hearth.cluster_rename,
        identity=hearth.cluster_identity,
        clusters_per_project=conf.quotas.max_clusters_per_project,
        default_boot_volume_size=conf.cinder.default_boot_volume_size,
        default_boot_volume_type=conf.cinder.default_boot_volume_type,
        default_docker_volume_type=conf.cinder.default_docker_volume_type,
        default_etcd_volume_type=conf.cinder.default_etcd_volume_type,
        create_timeout_min=conf.cluster_heat.create_timeout,
        pre_delete_lb_timeout_s=float(conf.cluster.pre_delete_lb_timeout),
        network_drivers=tuple(conf.cluster_template.kubernetes_allowed_network_drivers),
        network_driver=conf.cluster_template.kubernetes_default_network_driver,
        networks=networks,
        health_every_s=float(conf.kubernetes.health_polling_interval),
        disabled_drivers=tuple(conf.drivers.disabled_drivers),
        default_driver=conf.drivers.default_driver,
        nodes_affinity_policy=conf.cluster.nodes_affinity_policy,
        cert_manager=conf.certificates.cert_manager_type,
        trust_roles=tuple(conf.trust.roles),
        cluster_user_trust=conf.trust.cluster_user_trust,
        x509=X509(
            key_bits=certificates.rsa_key_size,
            valid_days=certificates.term_of_validity,
            worker_days=hearth.cluster_worker_certificate_days,
            allowed_extensions=tuple(certificates.allowed_extensions),
            allowed_key_usage=tuple(certificates.allowed_key_usage),
            allow_ca=certificates.allow_ca,
        ),
    )


def _check_drivers(drivers: Any) -> None:
    try:
        Drivers(disabled=drivers.disabled_drivers, default=drivers.default_driver)
    except ValueError as problem:
        raise WrongSetting(f"[drivers]: {problem}") from None

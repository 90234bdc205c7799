"""The options of the cluster service.

Source: tests/facts/magnum/config.json; docs/spec/clusters.md, 13.
"""

from ipaddress import IPv4Network, IPv6Network

from msgspec import Struct, field

Network = IPv4Network | IPv6Network

NETWORK_DRIVERS = ("flannel", "calico")


class X509(Struct, frozen=True):
    """Settings for certificates: keys, validity, and the extensions that are copied from a
    request.
    """

    key_bits: int = 2048
    valid_days: int = 1825
    worker_days: int = 14  # of certificates of workers, which workers renew
    allowed_extensions: tuple[str, ...] = (
        "keyUsage",
        "extendedKeyUsage",
        "subjectAltName",
        "basicConstraints",
        "subjectKeyIdentifier",
    )
    allowed_key_usage: tuple[str, ...] = (
        "Digital Signature",
        "Key Encipherment",
        "Non Repudiation",
    )
    allow_ca: bool = False


class ClusterConfig(Struct, frozen=True):
    """The operator's settings of the cluster service."""

    url: str = ""  # of this API for clients and nodes, with /v1
    limit_max: int = 1000  # members of one page
    forwards_url: str = ""  # lists local ports that lead to floating IPs; of the embedded cloud
    version_max: str = "1.14"
    stack_id_after_13: bool = True  # answers have `stack_id` beside `cluster_id` from 1.13 on
    header_service: str = "container-infrastructure-management"
    owner_only_certificates: bool = False  # as in Magnum; else each member of the project
    forced_common_name: bool = False  # signed certificates get the caller's name as common name
    rename: bool = False  # PATCH may change the name of a cluster, which Magnum refuses
    plain_group_limits: bool = False  # lists of node groups show default limits, as Magnum
    identity: str = "application_credential"  # or "trust", or "none" for clouds without nodes
    clusters_per_project: int = 20
    down_after_s: float = 180.0  # without a heartbeat, a conductor counts as down
    default_boot_volume_size: int = 0
    default_boot_volume_type: str = ""
    default_docker_volume_type: str = ""
    default_etcd_volume_type: str = ""
    create_timeout_min: int = 60
    pre_delete_lb_timeout_s: float = 60.0
    network_drivers: tuple[str, ...] = NETWORK_DRIVERS
    network_driver: str = "flannel"
    health_every_s: float = 60.0
    networks: tuple[Network, ...] = ()  # of APIs of clusters, besides public addresses
    sync_every_s: float = 1.0  # between two looks for work
    disabled_drivers: tuple[str, ...] = ()
    default_driver: str = ""
    nodes_affinity_policy: str = "soft-anti-affinity"
    cert_manager: str = "x509keypair"  # or "barbican"
    trust_roles: tuple[str, ...] = ()
    cluster_user_trust: bool = False
    x509: X509 = field(default_factory=X509)

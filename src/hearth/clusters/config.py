"""The options of the cluster service.

Source: tests/facts/magnum/config.json; docs/spec/clusters.md, 13.
"""

from functools import partial
from typing import Annotated

from msgspec import Struct, field

from hearth.model.option import Network, Option, networks_of

NETWORK_DRIVERS = ("flannel", "calico")

_live = partial(Option, live=True)
_hearth = partial(Option, group="hearth", hearth_only=True, live=True)
_cinder = partial(Option, group="cinder", live=True)
_x509 = partial(Option, group="x509", live=True)


# fmt: off
class X509(Struct, frozen=True):
    """Settings for certificates: keys, validity, and the extensions that are copied from a
    request.
    """

    rsa_key_size: Annotated[int, _x509("Size of new RSA keys of certificate authorities in bits.", minimum=2048, maximum=8192)] = 2048
    term_of_validity_days: Annotated[int, _x509("Days for which new certificates are valid.", name="term_of_validity", minimum=1)] = 1825
    worker_certificate_days: Annotated[int, _hearth("Days for which new certificates of workers are valid; workers renew them after half of that time.", name="cluster_worker_certificate_days", minimum=1)] = 14
    allowed_extensions: Annotated[tuple[str, ...], _x509("Extensions that are copied from a certificate signing request to the certificate.")] = ("keyUsage", "extendedKeyUsage", "subjectAltName", "basicConstraints", "subjectKeyIdentifier")
    allowed_key_usage: Annotated[tuple[str, ...], _x509("Key usages that are copied from a certificate signing request to the certificate.")] = ("Digital Signature", "Key Encipherment", "Non Repudiation")
    allow_ca: Annotated[bool, _x509("true: users can request certificates of certificate authorities.")] = False


class ClusterConfig(Struct, frozen=True):
    """The operator's settings of the cluster service."""

    url: str = ""  # of this API for clients and nodes, with /v1
    forwards_url: str = ""  # lists local ports that lead to floating IPs; of the embedded cloud
    stack_id_after_13: bool = True  # answers have `stack_id` beside `cluster_id` from 1.13 on
    header_service: str = "container-infrastructure-management"
    plain_group_limits: bool = False  # lists of node groups show default limits, as Magnum
    down_after_s: float = 180.0  # without a heartbeat, a conductor counts as down
    sync_every_s: float = 1.0  # between two looks for work
    max_limit: Annotated[int, _live("Maximum and default number of items on a page of a list of clusters, templates or node groups.", group="api", minimum=1)] = 1000
    cert_manager_type: Annotated[str, _live("Where certificates of clusters are stored: in the database of Hearth, encrypted, or in Barbican.", group="certificates", choices=("x509keypair", "barbican"), differs="barbican, the default of Magnum, needs another service")] = "x509keypair"
    default_boot_volume_size: Annotated[int, _cinder("Size of the boot volume of nodes in GB, without label boot_volume_size; 0: no volume.", minimum=0)] = 0
    default_boot_volume_type: Annotated[str, _cinder("Type of the boot volumes of nodes.")] = ""
    default_docker_volume_type: Annotated[str, _cinder("Type of volumes for containers.")] = ""
    default_etcd_volume_type: Annotated[str, _cinder("Type of volumes for etcd.")] = ""
    nodes_affinity_policy: Annotated[str, _live("Scheduling policy of the server groups of nodes.", group="cluster", choices=("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"))] = "soft-anti-affinity"
    pre_delete_lb_timeout_s: Annotated[int, _live("Time limit in seconds for the delete of load balancers that software in a cluster created.", group="cluster", name="pre_delete_lb_timeout", minimum=0)] = 60
    create_timeout_min: Annotated[int, _live("Time limit of the stack of a cluster in minutes, if the cluster has none.", group="cluster_heat", name="create_timeout", minimum=1)] = 60
    kubernetes_allowed_network_drivers: Annotated[tuple[str, ...], _live("Allowed network drivers of templates.", group="cluster_template")] = NETWORK_DRIVERS
    kubernetes_default_network_driver: Annotated[str, _live("Network driver of templates that name none.", group="cluster_template")] = "flannel"
    default_driver: Annotated[str, _live("Driver of a template if neither the template nor its image names one.", group="drivers")] = ""
    disabled_drivers: Annotated[tuple[str, ...], _live("Drivers that users cannot choose.", group="drivers")] = ()
    health_polling_interval_s: Annotated[int, _live("Seconds between two checks of the health of a cluster; negative: no checks.", group="kubernetes", name="health_polling_interval")] = 60
    max_clusters_per_project: Annotated[int, _live("Maximum number of clusters of a project without a quota of its own.", group="quotas", minimum=0)] = 20
    cluster_user_trust: Annotated[bool, _live("true: nodes of clusters get access to the cloud, with identity trust.", group="trust")] = False
    trust_roles: Annotated[tuple[str, ...], _live("Roles that the nodes of a cluster get; empty: all roles of its creator.", group="trust", name="roles")] = ()
    version_max: Annotated[str, _hearth("Highest microversion that the API of clusters announces. 1.12 helps tools that read stack_id of clusters.", name="cluster_version_max", choices=("1.9", "1.10", "1.11", "1.12", "1.13", "1.14"), live=False)] = "1.14"
    networks: Annotated[tuple[Network, ...], _hearth("Non-public networks in which Hearth may call the Kubernetes API of clusters, for health and drains; in a private cloud, those of the floating IPs.", name="cluster_networks", convert=networks_of)] = ()
    identity: Annotated[str, _hearth("Credential with which the nodes of clusters access the cloud.", name="cluster_identity", choices=("application_credential", "trust", "none"))] = "application_credential"
    owner_only_certificates: Annotated[bool, _hearth("true: only the creator of a cluster can use its certificates, as in Magnum; false: each member of the project can.", name="cluster_owner_only_certificates")] = False
    forced_common_name: Annotated[bool, _hearth("true: a certificate that a user requests gets the name of the user as common name.", name="cluster_forced_common_name")] = False
    rename: Annotated[bool, _hearth("true: the name of a cluster can be changed; its stack keeps the old one.", name="cluster_rename")] = False
    x509: X509 = field(default_factory=X509)
# fmt: on

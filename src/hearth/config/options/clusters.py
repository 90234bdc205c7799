"""The options of the cluster service, with the names of magnum.conf."""

from functools import partial

from hearth.config.options.option import Option

_live = partial(Option, live=True)

# fmt: off
CLUSTERS = (
    Option("api", "host", str, "127.0.0.1", "Address where the API of clusters listens."),
    Option("api", "port", int, 9511, "Port of the API of clusters.", minimum=0, maximum=65535),
    _live("api", "max_limit", int, 1000, "Maximum and default number of items on a page of a list of clusters, templates or node groups.", minimum=1),
    _live("certificates", "cert_manager_type", str, "x509keypair", "Where certificates of clusters are stored: in the database of Hearth, encrypted, or in Barbican.", choices=("x509keypair", "barbican"),
        differs="barbican, the default of Magnum, needs another service"),
    _live("cinder", "default_boot_volume_size", int, 0, "Size of the boot volume of nodes in GB, without label boot_volume_size; 0: no volume.", minimum=0),
    _live("cinder", "default_boot_volume_type", str, "", "Type of the boot volumes of nodes."),
    _live("cinder", "default_docker_volume_type", str, "", "Type of volumes for containers."),
    _live("cinder", "default_etcd_volume_type", str, "", "Type of volumes for etcd."),
    _live("cluster", "nodes_affinity_policy", str, "soft-anti-affinity", "Scheduling policy of the server groups of nodes.", choices=("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")),
    _live("cluster", "pre_delete_lb_timeout", int, 60, "Time limit in seconds for the delete of load balancers that software in a cluster created.", minimum=0),
    _live("cluster_heat", "create_timeout", int, 60, "Time limit of the stack of a cluster in minutes, if the cluster has none.", minimum=1),
    _live("cluster_template", "kubernetes_allowed_network_drivers", list, ["flannel", "calico"], "Allowed network drivers of templates."),
    _live("cluster_template", "kubernetes_default_network_driver", str, "flannel", "Network driver of templates that name none."),
    _live("drivers", "default_driver", str, "", "Driver of a template if neither the template nor its image names one."),
    _live("drivers", "disabled_drivers", list, [], "Drivers that users cannot choose."),
    _live("kubernetes", "health_polling_interval", int, 60, "Seconds between two checks of the health of a cluster; negative: no checks."),
    _live("quotas", "max_clusters_per_project", int, 20, "Maximum number of clusters of a project without a quota of its own.", minimum=0),
    _live("trust", "cluster_user_trust", bool, False, "true: nodes of clusters get access to the cloud, with identity trust."),
    _live("trust", "roles", list, [], "Roles that the nodes of a cluster get; empty: all roles of its creator."),
    _live("x509", "allow_ca", bool, False, "true: users can request certificates of certificate authorities."),
    _live("x509", "allowed_extensions", list, ["keyUsage", "extendedKeyUsage", "subjectAltName", "basicConstraints", "subjectKeyIdentifier"], "Extensions that are copied from a certificate signing request to the certificate."),
    _live("x509", "allowed_key_usage", list, ["Digital Signature", "Key Encipherment", "Non Repudiation"], "Key usages that are copied from a certificate signing request to the certificate."),
    _live("x509", "rsa_key_size", int, 2048, "Size of new RSA keys of certificate authorities in bits.", minimum=2048, maximum=8192),
    _live("x509", "term_of_validity", int, 1825, "Days for which new certificates are valid.", minimum=1),
    Option("hearth", "clusters", bool, False, "true: `hearth serve --role all` also serves clusters.", hearth_only=True),
    Option("hearth", "cluster_public_url", str, "", "Address of the API of clusters for users and nodes, without /v1. Default: the address where it listens.", hearth_only=True),
    Option("hearth", "cluster_version_max", str, "1.14", "Highest microversion that the API of clusters announces. 1.12 helps tools that read stack_id of clusters.", hearth_only=True, choices=("1.9", "1.10", "1.11", "1.12", "1.13", "1.14")),
    _live("hearth", "cluster_networks", list, [], "Non-public networks in which Hearth may call the Kubernetes API of clusters, for health and drains; in a private cloud, those of the floating IPs.", hearth_only=True),
    _live("hearth", "cluster_identity", str, "application_credential", "Credential with which the nodes of clusters access the cloud.", hearth_only=True, choices=("application_credential", "trust", "none")),
    _live("hearth", "cluster_owner_only_certificates", bool, False, "true: only the creator of a cluster can use its certificates, as in Magnum; false: each member of the project can.", hearth_only=True),
    _live("hearth", "cluster_forced_common_name", bool, False, "true: a certificate that a user requests gets the name of the user as common name.", hearth_only=True),
    _live("hearth", "cluster_worker_certificate_days", int, 14, "Days for which new certificates of workers are valid; workers renew them after half of that time.", hearth_only=True, minimum=1),
    _live("hearth", "cluster_rename", bool, False, "true: the name of a cluster can be changed; its stack keeps the old one.", hearth_only=True),
)
# fmt: on

OPTIONS = CLUSTERS

"""The fields that request bodies may contain, for each type of object.

Source: tests/facts/magnum/objects.json.
"""

from hearth.api.clusters.types import (
    Field,
    addresses,
    anything,
    fields,
    flag,
    integer,
    labels,
    text,
    text_map,
    text_maps,
    texts,
    uuid,
    word,
)
from hearth.clusters.states import STATUSES

NAME = text(1, 255)
OBJECT_NAME = text(1, 242, r"[a-zA-Z][a-zA-Z0-9_.-]*")
HEALTH = ("HEALTHY", "UNHEALTHY", "UNKNOWN")
SINCE_TAINTS = (1, 14)


def _read_only(*names: str) -> list[Field]:
    return [Field(name, anything, read_only=True) for name in names]


def _unused(*names: str) -> list[Field]:
    """Return fields that a request may contain but that have no effect.

    Clients copy them from responses.
    """
    return [Field(name, anything, unused=True) for name in names]


_TIMES = _read_only("created_at", "updated_at")
_DIFFERENCES = _unused("labels_overridden", "labels_added", "labels_skipped")

CLUSTER = fields(
    Field("uuid", uuid, unused=True),
    Field("name", OBJECT_NAME, "name; without one, it gets a name of random words"),
    Field("cluster_template_id", text(), "UUID or name of the template", required=True),
    Field("keypair", NAME, "key pair of Nova for the nodes; default: that of the template"),
    Field("node_count", integer(), "number of workers", default=1),
    Field("master_count", integer(1), "number of masters, an odd number", default=1),
    Field(
        "docker_volume_size",
        integer(1),
        "size of the volume for containers in GB; without it there is none",
    ),
    Field("labels", labels, "labels, instead of those of the template"),
    Field("master_flavor_id", NAME, "flavor of the masters; default: that of the template"),
    Field("flavor_id", NAME, "flavor of the workers; default: that of the template"),
    Field(
        "create_timeout",
        integer(),
        "minutes that creating it may take; 0: as the operator has set",
        default=60,
    ),
    *_read_only("links", "stack_id", "cluster_id", "api_address", "coe_version"),
    *_read_only("container_version", "project_id", "user_id", "node_addresses", "master_addresses"),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("health_status", word(*HEALTH), unused=True),
    Field("health_status_reason", text_map, unused=True),
    Field("discovery_url", text(), "stored; has no effect"),
    *_unused("faults"),
    Field(
        "fixed_network",
        NAME,
        "existing network for the nodes; default: that of the template, or a new one",
    ),
    Field("fixed_subnet", NAME, "existing subnet for the nodes"),
    Field(
        "floating_ip_enabled", flag, "whether nodes get floating IPs; default: as in the template"
    ),
    Field(
        "merge_labels", flag, "whether the labels are added to those of the template", default=False
    ),
    *_DIFFERENCES,
    Field(
        "master_lb_enabled",
        flag,
        "whether a load balancer is in front of the masters; default: as in the template",
    ),
    *_TIMES,
)

TEMPLATE = fields(
    Field("uuid", uuid, unused=True),
    Field("name", NAME, "name"),
    Field("coe", word("kubernetes"), "kind of the clusters", required=True),
    Field("image_id", NAME, "image of the nodes, by id or name", required=True),
    Field("flavor_id", NAME, "flavor of the workers"),
    Field("master_flavor_id", NAME, "flavor of the masters"),
    Field("dns_nameserver", addresses, "name servers of a new network"),
    Field("keypair_id", NAME, "key pair of Nova for the nodes"),
    Field("external_network_id", NAME, "network of the floating IPs, by id or name"),
    Field(
        "fixed_network",
        NAME,
        "existing network for the nodes; without one, each cluster gets a new network",
    ),
    Field("fixed_subnet", NAME, "existing subnet for the nodes"),
    Field("network_driver", NAME, "driver of the network of pods"),
    Field("apiserver_port", integer(1024, 65_535), "stored; has no effect"),
    Field(
        "docker_volume_size",
        integer(1),
        "size of the volume for containers in GB; without it there is none",
    ),
    Field("cluster_distro", NAME, "distribution of the image; default: its property `os_distro`"),
    *_read_only("links"),
    Field("http_proxy", NAME, "proxy of the nodes for HTTP"),
    Field("https_proxy", NAME, "proxy of the nodes for HTTPS"),
    Field("no_proxy", NAME, "hosts that the nodes reach without a proxy, separated by commas"),
    Field("volume_driver", NAME, "driver of volumes in Kubernetes; `cinder` is the one that works"),
    Field("registry_enabled", flag, "stored; has no effect", default=False),
    Field("labels", labels, "labels of the clusters", default={}),
    Field("tls_disabled", flag, "whether the API of Kubernetes uses no TLS", default=False),
    Field(
        "public",
        flag,
        "whether all projects can use the template; only administrators may set it",
        default=False,
    ),
    Field("server_type", word("bm", "vm"), "virtual machines or bare metal", default="vm"),
    Field("insecure_registry", NAME, "registry from which images are loaded without TLS"),
    Field(
        "docker_storage_driver",
        NAME,
        "stored; only its combination with `docker_volume_size` is checked",
    ),
    Field(
        "master_lb_enabled",
        flag,
        "whether a load balancer is in front of the masters",
        default=False,
    ),
    Field("floating_ip_enabled", flag, "whether nodes get floating IPs", default=True),
    *_read_only("project_id", "user_id"),
    Field(
        "hidden",
        flag,
        "whether lists leave the template out; only administrators may set it",
        default=False,
    ),
    Field("tags", text(0, 255), "tags, separated by commas"),
    Field("driver", NAME, "name of the driver; default: the one for the image"),
    *_TIMES,
)

NODE_GROUP = fields(
    Field("id", integer(1), unused=True),
    Field("uuid", uuid, unused=True),
    Field("name", NAME, "name"),
    Field("cluster_id", uuid, unused=True),
    *_read_only("project_id", "links", "node_addresses", "stack_id"),
    Field(
        "docker_volume_size",
        integer(1),
        "size of the volume for containers in GB; default: that of the cluster",
    ),
    Field("labels", labels, "labels, instead of those of the cluster"),
    Field("flavor_id", NAME, "flavor; default: that of the cluster"),
    Field("image_id", NAME, "image; default: that of the template"),
    Field("node_count", integer(), "number of nodes", default=1),
    Field("role", NAME, "role of the nodes, also as a label in Kubernetes", default="worker"),
    Field("min_node_count", integer(), "smallest number of nodes", default=0),
    Field("max_node_count", integer(), "largest number of nodes"),
    Field("is_default", flag, unused=True),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("version", text(), unused=True),
    Field(
        "merge_labels", flag, "whether the labels are added to those of the cluster", default=False
    ),
    *_DIFFERENCES,
    Field(
        "node_labels", text_map, "labels of the nodes in Kubernetes", default={}, since=SINCE_TAINTS
    ),
    Field(
        "node_taints",
        text_maps,
        "taints of the nodes in Kubernetes: `key`, `value`, `effect`",
        default=[],
        since=SINCE_TAINTS,
    ),
    *_TIMES,
)

RESIZE = fields(
    Field("node_count", integer(), "new number of nodes", required=True),
    Field(
        "nodes_to_remove", texts, "nodes that go first: index, server id or id of the nested stack"
    ),
    Field("nodegroup", NAME, "UUID or name of the group; default: the default workers"),
    *_TIMES,
)

UPGRADE = fields(
    Field("max_batch_size", integer(1), "number of nodes that are replaced at the same time"),
    Field("nodegroup", NAME, "UUID or name of a group; default: all groups"),
    Field("cluster_template", NAME, "UUID or name of the new template", required=True),
    *_TIMES,
)

CERTIFICATE = fields(
    Field("cluster_uuid", text(1), "UUID or name of the cluster", required=True),
    *_read_only("links"),
    Field("csr", text(1), "certificate signing request, in PEM format", required=True),
    Field("pem", text(), unused=True),
    Field(
        "ca_cert_type",
        text(),
        "authority that signs: `etcd`, `front-proxy`, or anything else for the main one",
    ),
    *_TIMES,
)

QUOTA = fields(
    Field("id", integer(1), unused=True),
    Field("hard_limit", integer(), "largest number of clusters"),
    Field("project_id", NAME, "id of the project"),
    Field("resource", word("Cluster"), "what is limited"),
    *_TIMES,
)

FEDERATION = fields(
    Field("uuid", uuid, unused=True),
    Field("name", OBJECT_NAME, "name"),
    Field(
        "hostcluster_id",
        NAME,
        "UUID or name of the cluster that hosts the federation",
        required=True,
    ),
    Field("member_ids", texts, "UUIDs of the member clusters", default=[]),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("properties", text_map, "properties; `dns-zone` is mandatory", default={}),
    *_read_only("links"),
    *_TIMES,
)

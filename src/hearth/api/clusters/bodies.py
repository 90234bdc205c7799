"""The fields that request bodies may contain, for each type of object.

Source: facts/magnum/objects.json.
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
    Field("name", OBJECT_NAME),
    Field("cluster_template_id", text(), required=True),
    Field("keypair", NAME),
    Field("node_count", integer(), default=1),
    Field("master_count", integer(1), default=1),
    Field("docker_volume_size", integer(1)),
    Field("labels", labels),
    Field("master_flavor_id", NAME),
    Field("flavor_id", NAME),
    Field("create_timeout", integer(), default=60),
    *_read_only("links", "stack_id", "cluster_id", "api_address", "coe_version"),
    *_read_only("container_version", "project_id", "user_id", "node_addresses", "master_addresses"),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("health_status", word(*HEALTH), unused=True),
    Field("health_status_reason", text_map, unused=True),
    Field("discovery_url", text()),
    *_unused("faults"),
    Field("fixed_network", NAME),
    Field("fixed_subnet", NAME),
    Field("floating_ip_enabled", flag),
    Field("merge_labels", flag, default=False),
    *_DIFFERENCES,
    Field("master_lb_enabled", flag),
    *_TIMES,
)

TEMPLATE = fields(
    Field("uuid", uuid, unused=True),
    Field("name", NAME),
    Field("coe", word("kubernetes"), required=True),
    Field("image_id", NAME, required=True),
    Field("flavor_id", NAME),
    Field("master_flavor_id", NAME),
    Field("dns_nameserver", addresses),
    Field("keypair_id", NAME),
    Field("external_network_id", NAME),
    Field("fixed_network", NAME),
    Field("fixed_subnet", NAME),
    Field("network_driver", NAME),
    Field("apiserver_port", integer(1024, 65_535)),
    Field("docker_volume_size", integer(1)),
    Field("cluster_distro", NAME),
    *_read_only("links"),
    Field("http_proxy", NAME),
    Field("https_proxy", NAME),
    Field("no_proxy", NAME),
    Field("volume_driver", NAME),
    Field("registry_enabled", flag, default=False),
    Field("labels", labels, default={}),
    Field("tls_disabled", flag, default=False),
    Field("public", flag, default=False),
    Field("server_type", word("bm", "vm"), default="vm"),
    Field("insecure_registry", NAME),
    Field("docker_storage_driver", NAME),
    Field("master_lb_enabled", flag, default=False),
    Field("floating_ip_enabled", flag, default=True),
    *_read_only("project_id", "user_id"),
    Field("hidden", flag, default=False),
    Field("tags", text(0, 255)),
    Field("driver", NAME),
    *_TIMES,
)

NODE_GROUP = fields(
    Field("id", integer(1), unused=True),
    Field("uuid", uuid, unused=True),
    Field("name", NAME),
    Field("cluster_id", uuid, unused=True),
    *_read_only("project_id", "links", "node_addresses", "stack_id"),
    Field("docker_volume_size", integer(1)),
    Field("labels", labels),
    Field("flavor_id", NAME),
    Field("image_id", NAME),
    Field("node_count", integer(), default=1),
    Field("role", NAME, default="worker"),
    Field("min_node_count", integer(), default=0),
    Field("max_node_count", integer()),
    Field("is_default", flag, unused=True),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("version", text(), unused=True),
    Field("merge_labels", flag, default=False),
    *_DIFFERENCES,
    Field("node_labels", text_map, default={}, since=SINCE_TAINTS),
    Field("node_taints", text_maps, default=[], since=SINCE_TAINTS),
    *_TIMES,
)

RESIZE = fields(
    Field("node_count", integer(), required=True),
    Field("nodes_to_remove", texts),
    Field("nodegroup", NAME),
    *_TIMES,
)

UPGRADE = fields(
    Field("max_batch_size", integer(1)),
    Field("nodegroup", NAME),
    Field("cluster_template", NAME, required=True),
    *_TIMES,
)

CERTIFICATE = fields(
    Field("cluster_uuid", text(1), required=True),
    *_read_only("links"),
    Field("csr", text(1), required=True),
    Field("pem", text(), unused=True),
    Field("ca_cert_type", text()),
    *_TIMES,
)

QUOTA = fields(
    Field("id", integer(1), unused=True),
    Field("hard_limit", integer()),
    Field("project_id", NAME),
    Field("resource", word("Cluster")),
    *_TIMES,
)

FEDERATION = fields(
    Field("uuid", uuid, unused=True),
    Field("name", OBJECT_NAME),
    Field("hostcluster_id", NAME, required=True),
    Field("member_ids", texts, default=[]),
    Field("status", word(*STATUSES), unused=True),
    Field("status_reason", text(), unused=True),
    Field("properties", text_map, default={}),
    *_read_only("links"),
    *_TIMES,
)

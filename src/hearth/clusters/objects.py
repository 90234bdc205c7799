"""Clusters, cluster templates and node groups as immutable values.

The field names are those of the REST API and of the tables. `id` is the number of the row, by which
lists are sorted; 0 means that the object is not stored yet. Times are seconds since 1970, UTC.
Source: tests/facts/magnum/objects.json.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MASTER = "master"
WORKER = "worker"
DEFAULT_MASTER = "default-master"
DEFAULT_WORKER = "default-worker"

Labels = Mapping[str, str]
_NOTHING: Mapping[str, Any] = {}


class TemplateFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a cluster template that its user sets."""

    coe: str
    image_id: str
    flavor_id: str | None = None
    master_flavor_id: str | None = None
    dns_nameserver: str | None = None
    keypair_id: str | None = None
    external_network_id: str | None = None
    fixed_network: str | None = None
    fixed_subnet: str | None = None
    network_driver: str | None = None
    volume_driver: str | None = None
    apiserver_port: int | None = None
    docker_volume_size: int | None = None
    docker_storage_driver: str | None = None
    cluster_distro: str | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    registry_enabled: bool = False
    labels: Labels = _NOTHING
    tls_disabled: bool = False
    public: bool = False
    server_type: str = "vm"
    insecure_registry: str | None = None
    master_lb_enabled: bool = False
    floating_ip_enabled: bool = True
    hidden: bool = False
    tags: str | None = None
    driver: str | None = None


class ClusterTemplate(TemplateFields, frozen=True, kw_only=True):
    """A template from which clusters are created. Most fields cannot change while a cluster uses
    it.
    """

    uuid: str
    name: str
    project_id: str
    user_id: str
    id: int = 0
    created_at: float = 0.0
    updated_at: float | None = None


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster. Its node counts and node addresses are not stored here but in its node groups.

    `conditions` is a list of {type, status, reason, message, since}. `ca_cert_ref`,
    `etcd_ca_cert_ref`, `front_proxy_ca_cert_ref` and `magnum_cert_ref` identify stored key pairs,
    `identity_id` the stored credential of the nodes. `initiator` is the user who requested the last
    operation: {user_id, project_id, domain_id}.
    """

    uuid: str
    name: str
    project_id: str
    user_id: str
    cluster_template_id: str
    id: int = 0
    keypair: str | None = None
    docker_volume_size: int | None = None
    labels: Labels = _NOTHING
    master_flavor_id: str | None = None
    flavor_id: str | None = None
    stack_id: str | None = None
    api_address: str | None = None
    status: str | None = None
    status_reason: str | None = None
    health_status: str | None = None
    health_status_reason: Mapping[str, str] = _NOTHING
    create_timeout: int | None = 60
    discovery_url: str | None = None
    coe_version: str | None = None
    container_version: str | None = None
    ca_cert_ref: str | None = None
    magnum_cert_ref: str | None = None
    etcd_ca_cert_ref: str | None = None
    front_proxy_ca_cert_ref: str | None = None
    identity_id: str | None = None
    fixed_network: str | None = None
    fixed_subnet: str | None = None
    floating_ip_enabled: bool = True
    master_lb_enabled: bool = False
    conditions: Sequence[Mapping[str, Any]] = ()
    initiator: Mapping[str, str | None] = _NOTHING
    created_at: float = 0.0
    updated_at: float | None = None


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of equal nodes. The two default groups (masters, workers) share the cluster's
    stack.
    """

    uuid: str
    name: str
    cluster_id: str  # the uuid of the cluster
    project_id: str
    id: int = 0
    docker_volume_size: int | None = None
    labels: Labels = _NOTHING
    flavor_id: str | None = None
    image_id: str | None = None
    node_addresses: Sequence[str] = ()
    node_count: int = 1
    role: str = WORKER
    min_node_count: int = 0
    max_node_count: int | None = None
    is_default: bool = False
    stack_id: str | None = None
    status: str | None = None
    status_reason: str | None = None
    version: str | None = None
    node_labels: Labels = _NOTHING
    node_taints: Sequence[Mapping[str, str]] = ()
    created_at: float = 0.0
    updated_at: float | None = None


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum number of clusters that a project may have."""

    project_id: str
    resource: str = "Cluster"
    hard_limit: int = 1
    id: int = 0
    created_at: float = 0.0
    updated_at: float | None = None


class Federation(msgspec.Struct, frozen=True, kw_only=True):
    """A federation of clusters. No driver implements it, so its status never becomes complete."""

    uuid: str
    name: str
    project_id: str
    hostcluster_id: str
    id: int = 0
    member_ids: Sequence[str] = ()
    status: str | None = None
    status_reason: str | None = None
    properties: Mapping[str, str] = _NOTHING
    created_at: float = 0.0
    updated_at: float | None = None

"""The requests to the cluster service that its users send, as the API has parsed them.

The field names are those of the REST API. None stands for a value that the template or the cluster
decides.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from hearth.clusters.objects import WORKER, Labels, TemplateFields

_NOTHING: Mapping[str, Any] = {}


class ClusterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Create a cluster from the template with the UUID or name `cluster_template_id`.

    If `merge_labels` is true, the labels are added to those of the template. `create_timeout` is in
    minutes.
    """

    cluster_template_id: str
    name: str | None = None
    keypair: str | None = None
    node_count: int = 1
    master_count: int = 1
    docker_volume_size: int | None = None
    labels: Labels | None = None
    master_flavor_id: str | None = None
    flavor_id: str | None = None
    create_timeout: int = 60
    discovery_url: str | None = None
    fixed_network: str | None = None
    fixed_subnet: str | None = None
    floating_ip_enabled: bool | None = None
    merge_labels: bool = False
    master_lb_enabled: bool | None = None


class TemplateRequest(TemplateFields, frozen=True, kw_only=True):
    """Create a cluster template. Without a name, it gets a name of random words."""

    name: str | None = None


class GroupRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Create a node group. If `merge_labels` is true, the labels are added to those of the
    cluster.
    """

    name: str | None = None
    docker_volume_size: int | None = None
    labels: Labels | None = None
    flavor_id: str | None = None
    image_id: str | None = None
    node_count: int = 1
    role: str = WORKER
    min_node_count: int = 0
    max_node_count: int | None = None
    merge_labels: bool = False
    node_labels: Labels = _NOTHING
    node_taints: Sequence[Mapping[str, str]] = ()


class ResizeRequest(msgspec.Struct, frozen=True):
    """Change the number of nodes of a group.

    `nodes_to_remove` are indexes, server ids or nested stack ids of members. If `node_count` is the
    current number of nodes, they are replaced. `nodegroup` is a name or UUID, by default the
    default worker group. If `rollback` is true, the stack is rolled back if the resize fails.
    """

    node_count: int
    nodes_to_remove: tuple[str, ...] = ()
    nodegroup: str | None = None
    rollback: bool = False


class UpgradeRequest(msgspec.Struct, frozen=True):
    """Upgrade a cluster to the template with the UUID or name `cluster_template`.

    `max_batch_size` is the number of nodes replaced at the same time. If `nodegroup` names an
    additional group, only that group is upgraded, and the template must be that of the cluster. If
    it names a default group, both default groups are upgraded. By default all groups are, except
    those that could not be created or are being deleted.
    """

    cluster_template: str
    max_batch_size: int = 1
    nodegroup: str | None = None


class CertificateRequest(msgspec.Struct, frozen=True):
    """Sign the certificate signing request `csr`, in PEM format, for a cluster.

    `ca_cert_type` names the authority that signs.
    """

    cluster_uuid: str
    csr: str
    ca_cert_type: str | None = None


class QuotaRequest(msgspec.Struct, frozen=True):
    """Limit the number of clusters of a project."""

    project_id: str | None = None
    hard_limit: int | None = None
    resource: str = "Cluster"


class FederationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Store a federation. `hostcluster_id` and `member_ids` are UUIDs or names of clusters."""

    hostcluster_id: str
    name: str | None = None
    member_ids: tuple[str, ...] = ()
    properties: Mapping[str, str] = _NOTHING


class ClusterChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Change fields of a cluster. Fields that are UNSET stay as they are."""

    name: str | UnsetType = UNSET
    node_count: int | UnsetType = UNSET
    health_status: str | UnsetType | None = UNSET
    health_status_reason: Mapping[str, str] | UnsetType = UNSET


class GroupChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Change fields of a node group. Fields that are UNSET stay as they are."""

    min_node_count: int | UnsetType = UNSET
    max_node_count: int | UnsetType | None = UNSET
    node_labels: Labels | UnsetType = UNSET
    node_taints: Sequence[Mapping[str, str]] | UnsetType = UNSET


def set_fields(changes: ClusterChanges | GroupChanges) -> dict[str, Any]:
    """Return the fields to change, with their new values."""
    values = msgspec.structs.asdict(changes)
    return {name: value for name, value in values.items() if value is not UNSET}

"""The bodies of responses, field by field as clients expect them.

Source: facts/magnum/objects.json; facts/magnum/http_observed.json.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from hearth.api.clusters.bodies import SINCE_TAINTS
from hearth.api.clusters.context import base, services_of, version_of
from hearth.clusters.conditions import Condition, conditions
from hearth.clusters.label_table import label_warnings
from hearth.clusters.merging import difference
from hearth.clusters.objects import (
    MASTER,
    Cluster,
    ClusterTemplate,
    Federation,
    Labels,
    NodeGroup,
    Quota,
)
from hearth.clusters.states import FAILED
from hearth.service.clusters.preview import CheckResult, Preview
from hearth.service.stacks.prediction import StackPrediction
from hearth.service.stacks.preview import created_items, created_outputs
from hearth.store.clusters.quotas import Size
from hearth.template.describe import parameter_texts

Body = dict[str, Any]

CLUSTER_ID_SINCE = (1, 13)
_TEMPLATE = (
    "uuid", "name", "coe", "image_id", "flavor_id", "master_flavor_id", "dns_nameserver",
    "keypair_id", "external_network_id", "fixed_network", "fixed_subnet", "network_driver",
    "apiserver_port", "docker_volume_size", "cluster_distro", "http_proxy", "https_proxy",
    "no_proxy", "volume_driver", "registry_enabled", "labels", "tls_disabled", "public",
    "server_type", "insecure_registry", "docker_storage_driver", "master_lb_enabled",
    "floating_ip_enabled", "project_id", "user_id", "hidden", "tags", "driver",
)  # fmt: skip
_CLUSTER_SHORT = (
    "uuid", "name", "cluster_template_id", "keypair", "docker_volume_size", "labels",
    "master_flavor_id", "flavor_id", "create_timeout", "status", "health_status",
)  # fmt: skip
_CLUSTER_MORE = (
    "status_reason", "health_status_reason", "discovery_url", "api_address", "coe_version",
    "container_version", "project_id", "user_id", "fixed_network", "fixed_subnet",
    "floating_ip_enabled", "master_lb_enabled",
)  # fmt: skip
_OF_STORED = frozenset({"uuid", "id", "links", "stack_id", "cluster_id", "conditions"})
_CONDITION = ("type", "status", "reason", "message")
_GROUP_SHORT = (
    "uuid", "name", "flavor_id", "node_count", "role", "is_default", "image_id", "status",
    "stack_id", "min_node_count", "max_node_count",
)  # fmt: skip
_GROUP_MORE = (
    "id", "cluster_id", "project_id", "docker_volume_size", "labels", "node_addresses",
    "status_reason", "version",
)  # fmt: skip
_GROUP_ACCEPTED = (
    "uuid", "name", "cluster_id", "project_id", "labels", "flavor_id", "image_id", "node_count",
    "role", "min_node_count", "max_node_count",
)  # fmt: skip
_GROUP_ACCEPTED_IF_SET = ("docker_volume_size",)
_TAINTS = ("node_labels", "node_taints")
_FEDERATION_SHORT = (
    "uuid", "name", "hostcluster_id", "member_ids", "status", "properties",
)  # fmt: skip


def time(seconds: float | None) -> str | None:
    """Return a time as text with microseconds and the UTC offset; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def links(request: Request, *path: str) -> list[Body]:
    """Return the links of an object; the URL of the second link has no version.

    `path` are the segments of its path, which become percent-encoded.
    """
    way = "/".join(quote(part, safe="") for part in path)
    return [
        {"href": f"{base(request)}/v1/{way}", "rel": "self"},
        {"href": f"{base(request)}/{way}", "rel": "bookmark"},
    ]


def _of(one: Any, names: Sequence[str]) -> Body:
    return {name: getattr(one, name) for name in names}


def _times(one: Any) -> Body:
    return {"created_at": time(one.created_at), "updated_at": time(one.updated_at)}


def template(request: Request, one: ClusterTemplate) -> Body:
    """Return the body for a cluster template."""
    its_links = links(request, "clustertemplates", one.uuid)
    return {**_of(one, _TEMPLATE), "links": its_links, **_times(one), **_warnings(one)}


def cluster_short(request: Request, one: Cluster, size: Size) -> Body:
    """Return the body for a cluster in a list; `size` has its numbers of nodes and masters."""
    return {
        **_of(one, _CLUSTER_SHORT),
        "node_count": size.nodes,
        "master_count": size.masters,
        "links": links(request, "clusters", one.uuid),
        **_stack(request, one),
        "merge_labels": False,
    }


def cluster(
    request: Request,
    one: Cluster,
    groups: Sequence[NodeGroup],
    template: ClusterTemplate | None,
    *,
    faults: bool = False,
) -> Body:
    """Return the body for a cluster with all attributes.

    If `template` is None, all labels count as added by the cluster. If `faults` is true, a failed
    cluster also has the reasons of its failed groups.
    """
    size = Size()
    for group in groups:
        size = size.plus(group.role, group.node_count)
    found = {
        **cluster_short(request, one, size),
        **_of(one, _CLUSTER_MORE),
        "node_addresses": _addresses(group for group in groups if group.role != MASTER),
        "master_addresses": _addresses(group for group in groups if group.role == MASTER),
        **_differences({} if template is None else template.labels, one.labels),
        **_times(one),
    }
    found |= _warnings(one)
    found["conditions"] = [_condition(each) for each in conditions(one)]
    if faults and one.status in FAILED:
        found["faults"] = {
            group.name: group.status_reason for group in groups if group.status in FAILED
        }
    return found


def accepted(one: Cluster) -> Body:
    """Return the body for an accepted operation on a cluster."""
    return {"uuid": one.uuid, **_warnings(one)}


def _warnings(one: Cluster | ClusterTemplate | NodeGroup) -> Body:
    """Return the warnings about the labels of an object; without warnings the key is missing."""
    found = label_warnings(one.labels)
    return {"warnings": found} if found else {}


def _condition(one: Condition) -> Body:
    found: Body = {**_of(one, _CONDITION), "since": time(one.since)}
    if one.retry_at is not None:
        found |= {"retry_at": time(one.retry_at), "attempts": one.attempts}
    return found


def preview(request: Request, found: Preview) -> Body:
    """Return the body for a preview, without ids and links, because the objects do not exist.

    `found` is the result of the preview. A part that could not be predicted is null.
    """
    body: Body = {
        "accepted": all(one.passed for one in found.checks),
        "checks": [_check(one) for one in found.checks],
        "cluster": None,
        "nodegroups": None,
        "stack": None if found.stack is None else _stack_preview(found.stack),
    }
    if (draft := found.draft) is not None:
        of_cluster = cluster(request, draft.cluster, draft.groups, draft.template)
        of_groups = [group(request, one, draft.cluster) for one in draft.groups]
        body["cluster"] = _unborn(of_cluster)
        body["nodegroups"] = [_unborn(one) for one in of_groups]
    return body


def _check(one: CheckResult) -> Body:
    problems = [{"status": status, "message": words} for status, words in one.problems]
    return {"name": one.name, "passed": one.passed, "problems": problems}


def _unborn(body: Body) -> Body:
    """Return a body without the attributes that only stored objects have."""
    return {name: value for name, value in body.items() if name not in _OF_STORED}


def _stack_preview(found: StackPrediction) -> Body:
    """Return the preview of a stack in the form of the Orchestration API; hidden values are
    masked.
    """
    row, program = found.desired.row, found.desired.program
    return {
        "stack_name": row.name,
        "description": program.description,
        "parameters": parameter_texts(program),
        "timeout_mins": row.timeout_mins,
        "disable_rollback": row.disable_rollback,
        "resources": created_items(found),
        "outputs": [
            {"output_key": one.key, "description": one.description, "output_value": one.value}
            for one in created_outputs(found)
        ],
    }


def _stack(request: Request, one: Cluster) -> Body:
    """Return the id of the cluster's stack, under the key that the request's microversion uses."""
    if version_of(request) < CLUSTER_ID_SINCE:
        return {"stack_id": one.stack_id}
    if services_of(request).clusters.stack_id_after_13:
        return {"cluster_id": one.stack_id, "stack_id": one.stack_id}
    return {"cluster_id": one.stack_id}


def _addresses(groups: Any) -> list[str]:
    return [address for group in groups for address in group.node_addresses]


def _differences(base_labels: Labels, own: Labels) -> Body:
    found = difference(base_labels, own)
    return {
        "labels_overridden": found.overridden,
        "labels_added": found.added,
        "labels_skipped": found.skipped,
    }


def group_short(request: Request, one: NodeGroup) -> Body:
    """Return the body for a node group in a list."""
    found = {**_of(one, _GROUP_SHORT), "merge_labels": False}
    if services_of(request).clusters.plain_group_limits:
        found |= {"min_node_count": 0, "max_node_count": None}
    return found


def group(
    request: Request, one: NodeGroup, its_cluster: Cluster, members: Sequence[Body] | None = None
) -> Body:
    """Return the body for a node group of the cluster `its_cluster` with all attributes.

    `members` are the bodies of its nodes; if it is None, the body has no members.
    """
    found = {**_of(one, _GROUP_SHORT), **_of(one, _GROUP_MORE), "merge_labels": False}
    if version_of(request) >= SINCE_TAINTS:
        found |= _of(one, _TAINTS)
    if members is not None:
        found["members"] = members
    rest = _group_rest(request, one, its_cluster)
    return {**found, **rest, **_times(one), **_warnings(one)}


def group_accepted(request: Request, one: NodeGroup, its_cluster: Cluster) -> Body:
    """Return the body for a new node group.

    It has no attributes that the group gets only with its stack, such as the addresses of its
    nodes.
    """
    found = _of(one, _GROUP_ACCEPTED)
    optional: tuple[str, ...] = _GROUP_ACCEPTED_IF_SET
    if version_of(request) >= SINCE_TAINTS:
        optional += _TAINTS
    found |= {name: value for name in optional if (value := getattr(one, name))}
    rest = _group_rest(request, one, its_cluster)
    return {**found, "merge_labels": False, **rest, **_warnings(one)}


def _group_rest(request: Request, one: NodeGroup, its_cluster: Cluster) -> Body:
    way = ("clusters", one.cluster_id, "nodegroups", one.uuid)
    return {
        "links": links(request, *way),
        **_differences(its_cluster.labels, one.labels),
    }


def certificate(
    request: Request,
    its_cluster: Cluster,
    pem: str,
    csr: str | None = None,
    authority: str | None = None,
) -> Body:
    """Return the body for certificates of the cluster `its_cluster` in PEM format.

    `csr` is the request that was signed; None if the certificates are those of an authority.
    `authority` is the `ca_cert_type` in the request, if any.
    """
    found: Body = {
        "cluster_uuid": its_cluster.uuid,
        "links": links(request, "certificates", its_cluster.uuid),
    }
    if csr is not None:
        found["csr"] = csr
    if authority is not None:
        found["ca_cert_type"] = authority
    return {**found, "pem": pem}


def quota(one: Quota) -> Body:
    """Return the body for a quota.

    The default quota is not stored, so it has no `id` and no times.
    """
    found = _of(one, ("project_id", "resource", "hard_limit"))
    return found if one.id == 0 else {"id": one.id, **found, **_times(one)}


def conductor(one: Mapping[str, Any]) -> Body:
    """Return the body for a conductor; `one` is its row, with `up` for whether it is alive."""
    names = ("id", "host", "binary", "disabled", "disabled_reason", "report_count")
    return {
        **{name: one[name] for name in names},
        "state": "up" if one["up"] else "down",
        "created_at": time(one["created_at"]),
        "updated_at": time(one["updated_at"]),
    }


def federation_short(request: Request, one: Federation) -> Body:
    """Return the body for a federation in a list."""
    its_links = links(request, "federations", one.uuid)
    return {**_of(one, _FEDERATION_SHORT), "links": its_links}


def federation(request: Request, one: Federation) -> Body:
    """Return the body for a federation with all attributes."""
    more = {"status_reason": one.status_reason, **_times(one)}
    return {**federation_short(request, one), **more}

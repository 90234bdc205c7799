"""The bodies of responses, field by field as clients expect them.

Source: tests/facts/magnum/objects.json; tests/facts/magnum/http_observed.json.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from hearth.api.clusters.bodies import SINCE_TAINTS
from hearth.api.clusters.context import base, services_of, version_of
from hearth.api.clusters.fault import status_of
from hearth.api.clusters.versions import Version
from hearth.cloud.fault import CloudFault
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
from hearth.clusters.problems import ClusterProblem
from hearth.clusters.states import FAILED
from hearth.model.problem import Problem
from hearth.service.clusters.preview import CheckResult, Preview
from hearth.service.stacks.prediction import StackPrediction
from hearth.service.stacks.preview import created_items, created_outputs
from hearth.store.clusters.quotas import Size
from hearth.template.describe import parameter_texts

Body = dict[str, Any]

CLUSTER_ID_SINCE = (1, 13)
# fmt: off
_TEMPLATE = (
    "uuid", "name", "coe", "image_id", "flavor_id", "master_flavor_id", "dns_nameserver",
    "keypair_id", "external_network_id", "fixed_network", "fixed_subnet", "network_driver",
    "apiserver_port", "docker_volume_size", "cluster_distro", "http_proxy", "https_proxy",
    "no_proxy", "volume_driver", "registry_enabled", "labels", "tls_disabled", "public",
    "server_type", "insecure_registry", "docker_storage_driver", "master_lb_enabled",
    "floating_ip_enabled", "project_id", "user_id", "hidden", "tags", "driver",
)
_CLUSTER_SHORT = (
    "uuid", "name", "cluster_template_id", "keypair", "docker_volume_size", "labels",
    "master_flavor_id", "flavor_id", "create_timeout", "status", "health_status",
)
_CLUSTER_MORE = (
    "status_reason", "health_status_reason", "discovery_url", "api_address", "coe_version",
    "container_version", "project_id", "user_id", "fixed_network", "fixed_subnet",
    "floating_ip_enabled", "master_lb_enabled",
)
_OF_STORED = frozenset({"uuid", "id", "links", "stack_id", "cluster_id", "conditions"})
_CONDITION = ("type", "status", "reason", "message")
_GROUP_SHORT = (
    "uuid", "name", "flavor_id", "node_count", "role", "is_default", "image_id", "status",
    "stack_id", "min_node_count", "max_node_count",
)
_GROUP_MORE = (
    "id", "cluster_id", "project_id", "docker_volume_size", "labels", "node_addresses",
    "status_reason", "version",
)
_GROUP_ACCEPTED = (
    "uuid", "name", "cluster_id", "project_id", "labels", "flavor_id", "image_id", "node_count",
    "role", "min_node_count", "max_node_count",
)
_GROUP_ACCEPTED_IF_SET = ("docker_volume_size",)
_TAINTS = ("node_labels", "node_taints")
_FEDERATION_SHORT = (
    "uuid", "name", "hostcluster_id", "member_ids", "status", "properties",
)
# fmt: on


def time(seconds: float | None) -> str | None:
    """Return a time as text with microseconds and the UTC offset; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def links(request: Request, *path: str) -> list[Body]:
    """Return the links of an object; the URL of the second link has no version.

    `path` are the segments of its path, which become percent-encoded.
    """
    segments = "/".join(quote(part, safe="") for part in path)
    return [
        {"href": f"{base(request)}/v1/{segments}", "rel": "self"},
        {"href": f"{base(request)}/{segments}", "rel": "bookmark"},
    ]


def _of(row: Any, names: Sequence[str]) -> Body:
    return {name: getattr(row, name) for name in names}


def _times(row: Any) -> Body:
    return {"created_at": time(row.created_at), "updated_at": time(row.updated_at)}


def template(request: Request, template: ClusterTemplate) -> Body:
    """Return the body for a cluster template."""
    its_links = links(request, "clustertemplates", template.uuid)
    return {
        **_of(template, _TEMPLATE),
        "links": its_links,
        **_times(template),
        **_warnings(template),
    }


def cluster_short(request: Request, cluster: Cluster, size: Size) -> Body:
    """Return the body for a cluster in a list; `size` has its numbers of nodes and masters."""
    return {
        **_of(cluster, _CLUSTER_SHORT),
        "node_count": size.nodes,
        "master_count": size.masters,
        "links": links(request, "clusters", cluster.uuid),
        **_stack(request, cluster),
        "merge_labels": False,
    }


def cluster(
    request: Request,
    cluster: Cluster,
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
    body = {
        **cluster_short(request, cluster, size),
        **_of(cluster, _CLUSTER_MORE),
        "node_addresses": _addresses(group for group in groups if group.role != MASTER),
        "master_addresses": _addresses(group for group in groups if group.role == MASTER),
        **_differences({} if template is None else template.labels, cluster.labels),
        **_times(cluster),
    }
    body |= _warnings(cluster)
    body["conditions"] = [_condition(each) for each in conditions(cluster)]
    if faults and cluster.status in FAILED:
        body["faults"] = {
            group.name: group.status_reason for group in groups if group.status in FAILED
        }
    return body


def accepted(cluster: Cluster) -> Body:
    """Return the body for an accepted operation on a cluster."""
    return {"uuid": cluster.uuid, **_warnings(cluster)}


def _warnings(row: Cluster | ClusterTemplate | NodeGroup) -> Body:
    """Return the warnings about the labels of an object; without warnings the key is missing."""
    warnings = label_warnings(row.labels)
    return {"warnings": warnings} if warnings else {}


def _condition(condition: Condition) -> Body:
    body: Body = {**_of(condition, _CONDITION), "since": time(condition.since)}
    if condition.retry_at is not None:
        body |= {"retry_at": time(condition.retry_at), "attempts": condition.attempts}
    return body


async def preview(request: Request, preview: Preview) -> Body:
    """Return the body for a preview, without ids and links, because the objects do not exist.

    `preview` is the result of the preview. A part that could not be predicted is null.
    """
    body: Body = {
        "accepted": all(check.passed for check in preview.checks),
        "checks": [_check(check, version_of(request)) for check in preview.checks],
        "cluster": None,
        "nodegroups": None,
        "stack": None if preview.stack is None else await _stack_preview(preview.stack),
    }
    if (draft := preview.draft) is not None:
        of_cluster = cluster(request, draft.cluster, draft.groups, draft.template)
        of_groups = [group(request, node_group, draft.cluster) for node_group in draft.groups]
        body["cluster"] = _unborn(of_cluster)
        body["nodegroups"] = [_unborn(group_body) for group_body in of_groups]
    return body


def _check(check: CheckResult, version: Version) -> Body:
    problems = [
        {"status": _status(problem, version), "message": problem.message}
        for problem in check.problems
    ]
    return {"name": check.name, "passed": check.passed, "problems": problems}


def _status(problem: Problem | CloudFault, version: Version) -> int:
    if isinstance(problem, CloudFault):
        return problem.status or 503
    return status_of(problem, version) if isinstance(problem, ClusterProblem) else 400


def _unborn(body: Body) -> Body:
    """Return a body without the attributes that only stored objects have."""
    return {name: value for name, value in body.items() if name not in _OF_STORED}


async def _stack_preview(prediction: StackPrediction) -> Body:
    """Return the preview of a stack in the form of the Orchestration API; hidden values are
    masked.
    """
    row, program = prediction.desired.row, prediction.desired.program
    return {
        "stack_name": row.name,
        "description": program.description,
        "parameters": parameter_texts(program),
        "timeout_mins": row.timeout_mins,
        "disable_rollback": row.disable_rollback,
        "resources": await created_items(prediction),
        "outputs": [
            {
                "output_key": output.key,
                "description": output.description,
                "output_value": output.value,
            }
            for output in created_outputs(prediction)
        ],
    }


def _stack(request: Request, cluster: Cluster) -> Body:
    """Return the id of the cluster's stack, under the key that the request's microversion uses."""
    if version_of(request) < CLUSTER_ID_SINCE:
        return {"stack_id": cluster.stack_id}
    if services_of(request).clusters.stack_id_after_13:
        return {"cluster_id": cluster.stack_id, "stack_id": cluster.stack_id}
    return {"cluster_id": cluster.stack_id}


def _addresses(groups: Any) -> list[str]:
    return [address for group in groups for address in group.node_addresses]


def _differences(base_labels: Labels, labels: Labels) -> Body:
    differences = difference(base_labels, labels)
    return {
        "labels_overridden": differences.overridden,
        "labels_added": differences.added,
        "labels_skipped": differences.skipped,
    }


def group_short(request: Request, group: NodeGroup) -> Body:
    """Return the body for a node group in a list."""
    body = {**_of(group, _GROUP_SHORT), "merge_labels": False}
    if services_of(request).clusters.plain_group_limits:
        body |= {"min_node_count": 0, "max_node_count": None}
    return body


def group(
    request: Request, group: NodeGroup, its_cluster: Cluster, members: Sequence[Body] | None = None
) -> Body:
    """Return the body for a node group of the cluster `its_cluster` with all attributes.

    `members` are the bodies of its nodes; if it is None, the body has no members.
    """
    body = {**_of(group, _GROUP_SHORT), **_of(group, _GROUP_MORE), "merge_labels": False}
    if version_of(request) >= SINCE_TAINTS:
        body |= _of(group, _TAINTS)
    if members is not None:
        body["members"] = members
    links_and_labels = _group_rest(request, group, its_cluster)
    return {**body, **links_and_labels, **_times(group), **_warnings(group)}


def group_accepted(request: Request, group: NodeGroup, its_cluster: Cluster) -> Body:
    """Return the body for a new node group.

    It has no attributes that the group gets only with its stack, such as the addresses of its
    nodes.
    """
    body = _of(group, _GROUP_ACCEPTED)
    optional: tuple[str, ...] = _GROUP_ACCEPTED_IF_SET
    if version_of(request) >= SINCE_TAINTS:
        optional += _TAINTS
    body |= {name: value for name in optional if (value := getattr(group, name))}
    links_and_labels = _group_rest(request, group, its_cluster)
    return {**body, "merge_labels": False, **links_and_labels, **_warnings(group)}


def _group_rest(request: Request, group: NodeGroup, its_cluster: Cluster) -> Body:
    path = ("clusters", group.cluster_id, "nodegroups", group.uuid)
    return {
        "links": links(request, *path),
        **_differences(its_cluster.labels, group.labels),
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
    body: Body = {
        "cluster_uuid": its_cluster.uuid,
        "links": links(request, "certificates", its_cluster.uuid),
    }
    if csr is not None:
        body["csr"] = csr
    if authority is not None:
        body["ca_cert_type"] = authority
    return {**body, "pem": pem}


def quota(quota: Quota) -> Body:
    """Return the body for a quota.

    The default quota is not stored, so it has no `id` and no times.
    """
    body = _of(quota, ("project_id", "resource", "hard_limit"))
    return body if quota.id == 0 else {"id": quota.id, **body, **_times(quota)}


def conductor(row: Mapping[str, Any]) -> Body:
    """Return the body for a conductor; `up` in its row tells whether it is alive."""
    names = ("id", "host", "binary", "disabled", "disabled_reason", "report_count")
    return {
        **{name: row[name] for name in names},
        "state": "up" if row["up"] else "down",
        "created_at": time(row["created_at"]),
        "updated_at": time(row["updated_at"]),
    }


def federation_short(request: Request, federation: Federation) -> Body:
    """Return the body for a federation in a list."""
    its_links = links(request, "federations", federation.uuid)
    return {**_of(federation, _FEDERATION_SHORT), "links": its_links}


def federation(request: Request, federation: Federation) -> Body:
    """Return the body for a federation with all attributes."""
    details = {"status_reason": federation.status_reason, **_times(federation)}
    return {**federation_short(request, federation), **details}

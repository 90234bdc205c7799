"""Notifications about clusters, node groups and certificates: their content and when they are sent.

An operation has the outcome `pending` when it is accepted, then `success` or `failure`. The
notifications are sent as audit events in the CADF format. Source:
tests/facts/magnum/notifications.json.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hearth.clusters.objects import MASTER, Cluster, Labels, NodeGroup
from hearth.clusters.states import BUSY, FAILED

CLUSTER, GROUP, CERTIFICATE = "cluster", "nodegroup", "certificate"
CREATE, UPDATE, DELETE = "create", "update", "delete"
PENDING, SUCCESS, FAILURE = "pending", "success", "failure"
MASK = "******"
SECRET_LABELS = ("passw", "secret", "token")
"""If a label's name contains one of these texts, its value is secret and is masked."""
_CLUSTER_FIELDS = (
    "status", "status_reason", "project_id", "created_at", "updated_at", "cluster_template_id",
    "keypair", "master_flavor_id", "flavor_id", "stack_id", "health_status", "create_timeout",
    "api_address", "discovery_url",
)  # fmt: skip
_GROUP_FIELDS = (
    "cluster_id", "status", "status_reason", "project_id", "created_at", "updated_at", "role",
    "node_count", "min_node_count", "max_node_count", "flavor_id", "image_id", "stack_id",
    "docker_volume_size",
)  # fmt: skip


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A notification to send.

    `about` is the type of the object, `target_id` its UUID, `content` its fields at this moment.
    `initiator` is the user who requested the operation: {user_id, project_id, domain_id}.
    """

    about: str
    action: str
    outcome: str
    target_id: str
    name: str
    content: Mapping[str, Any]
    initiator: Mapping[str, str | None]


def of_cluster(
    action: str, outcome: str, cluster: Cluster, groups: Sequence[NodeGroup]
) -> Notification:
    """Return a notification about an action on a cluster; `groups` are all its node groups.

    `action` is "create", "update" or "delete", and `outcome` is "pending", "success" or "failure".
    """
    masters = [group for group in groups if group.role == MASTER]
    workers = [group for group in groups if group.role != MASTER]
    content = {
        **{name: getattr(cluster, name) for name in _CLUSTER_FIELDS},
        "docker_volume_size:": cluster.docker_volume_size,  # with the colon, as in Magnum
        "labels": _labels(cluster.labels),
        "node_addresses": _addresses(workers),
        "master_addresses": _addresses(masters),
        "node_count": sum(group.node_count for group in workers),
        "master_count": sum(group.node_count for group in masters),
    }
    return Notification(
        about=CLUSTER,
        action=action,
        outcome=outcome,
        target_id=cluster.uuid,
        name=cluster.name,
        content=content,
        initiator=cluster.initiator,
    )


def of_group(action: str, outcome: str, group: NodeGroup, cluster: Cluster) -> Notification:
    """Return a notification about an additional node group, which has its own stack.

    `cluster` is the cluster of the group; `action` and `outcome` are as in `of_cluster`.
    """
    content = {
        **{name: getattr(group, name) for name in _GROUP_FIELDS},
        "labels": _labels(group.labels),
        "node_addresses": list(group.node_addresses),
    }
    return Notification(
        about=GROUP,
        action=action,
        outcome=outcome,
        target_id=group.uuid,
        name=group.name,
        content=content,
        initiator=cluster.initiator,
    )


def of_certificate(
    action: str,
    outcome: str,
    cluster: Cluster,
    initiator: Mapping[str, str | None],
    **facts: Any,
) -> Notification:
    """Return a notification about the certificates of a cluster.

    `action` is "create" for a signed certificate and "update" for a rotation. `initiator` is the
    user who requested it. `facts` are added to the content.
    """
    return Notification(
        about=CERTIFICATE,
        action=action,
        outcome=outcome,
        target_id=cluster.uuid,
        name=cluster.name,
        content={"cluster_id": cluster.uuid, "project_id": cluster.project_id, **facts},
        initiator=initiator,
    )


def of_change(
    before: Cluster,
    groups_before: Iterable[NodeGroup],
    after: Cluster,
    groups_after: Iterable[NodeGroup],
) -> list[Notification]:
    """Return a notification for each status that became final by a change of a cluster and its
    groups.

    `before` and `groups_before` are the states before the change, `after` and `groups_after` those
    after it; `groups_after` may contain only the changed groups. There are no separate
    notifications about the default groups, because they are parts of the cluster.
    """
    earlier = {group.uuid: group for group in groups_before}
    later = {group.uuid: group for group in groups_after}
    notifications = []
    for uuid, group in later.items():
        outcome = outcome_of(earlier[uuid].status if uuid in earlier else None, group.status)
        if outcome is not None and not group.is_default:
            notifications.append(of_group(action_of(group.status), outcome, group, after))
    if (outcome := outcome_of(before.status, after.status)) is not None:
        groups = list({**earlier, **later}.values())
        notifications.append(of_cluster(action_of(after.status), outcome, after, groups))
    return notifications


def outcome_of(before: str | None, after: str | None) -> str | None:
    """Return "success" or "failure" if the status `after` is final and differs from `before`, else
    None.
    """
    if after is None or after == before or after in BUSY:
        return None
    return FAILURE if after in FAILED else SUCCESS


def action_of(status: str | None) -> str:
    """Return the action to which a status belongs; "update" for any but a create or delete."""
    action = (status or "").partition("_")[0].lower()
    return action if action in (CREATE, DELETE) else UPDATE


def _labels(labels: Labels) -> dict[str, str]:
    return {
        name: MASK if any(part in name.lower() for part in SECRET_LABELS) else value
        for name, value in labels.items()
    }


def _addresses(groups: Iterable[NodeGroup]) -> list[str]:
    return [address for group in groups for address in group.node_addresses]

"""Create, change and delete node groups in addition to the two default groups.

Source: docs/spec/clusters.md, section 5.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from sqlalchemy.exc import IntegrityError

from hearth.clusters.merging import merged
from hearth.clusters.objects import MASTER, Cluster, NodeGroup
from hearth.clusters.problems import bad_request, conflict, not_found
from hearth.clusters.requests import GroupChanges, GroupRequest, set_fields
from hearth.clusters.states import (
    CREATE_IN_PROGRESS,
    DELETE_IN_PROGRESS,
    RESIZABLE,
    UPDATE_IN_PROGRESS,
)
from hearth.clusters.task_content import CreateGroup, DeleteGroup
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin, demand_state, locked
from hearth.service.clusters.cloud_checks import check_group
from hearth.service.services import Services
from hearth.store.clusters import clusters, rows
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

LABEL_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
LABEL_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
RESERVED = ("kubernetes.io", "k8s.io")  # a node may not set these labels for itself
EFFECTS = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


async def create_group(
    services: Services, caller: Caller, cluster: Cluster, request: GroupRequest
) -> NodeGroup:
    """Begin to create a node group and return it; its cluster is then in UPDATE_IN_PROGRESS.

    Raises Rejected, CloudFault.
    """
    if request.role == MASTER:
        raise bad_request("A node group with the role master cannot be added. Use another role.")
    if cluster.api_address is None:
        raise conflict(f"Cluster {cluster.name} has no api_address yet. Wait until it is created.")
    await check_group(services, caller, request)
    inserted: list[NodeGroup] = []

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, CreateGroup]:
        demand_state(full.cluster, RESIZABLE, "Creating a node group")
        group = _group(services, full, request)
        _check(group)
        if any(existing.name == group.name for existing in full.groups):
            raise conflict(f"Node group {group.name} already exists. Use another name.")
        try:
            inserted[:] = [rows.insert(tx, group)]
        except IntegrityError:
            raise conflict(f"Node group {group.name} already exists. Use another name.") from None
        after = clusters.at(full.cluster, status=UPDATE_IN_PROGRESS, status_reason=None)
        return (after, []), CreateGroup(group.uuid)

    await begin(services, caller, cluster, CreateGroup, change)
    return inserted[0]


def _group(services: Services, full: FullCluster, request: GroupRequest) -> NodeGroup:
    cluster, worker = full.cluster, full.defaults[-1]
    number = 1 + sum(1 for group in full.groups if not group.is_default)
    return NodeGroup(
        uuid=services.new_id(),
        name=request.name or f"group-{number}",
        cluster_id=cluster.uuid,
        project_id=cluster.project_id,
        docker_volume_size=request.docker_volume_size or cluster.docker_volume_size,
        labels=merged(cluster.labels, request.labels, merge=request.merge_labels),
        flavor_id=request.flavor_id or cluster.flavor_id,
        image_id=request.image_id or worker.image_id,
        node_count=request.node_count,
        role=request.role,
        min_node_count=request.min_node_count,
        max_node_count=request.max_node_count,
        node_labels=request.node_labels,
        node_taints=request.node_taints,
        status=CREATE_IN_PROGRESS,
        created_at=services.clock.now(),
    )


async def change_group(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    group: NodeGroup,
    changes: GroupChanges,
) -> NodeGroup:
    """Change the limits, labels or taints of a group and return it.

    The stack of the cluster stays unchanged. Raises Rejected.
    """
    now, values = services.clock.now(), set_fields(changes)

    def transaction(tx: Tx) -> NodeGroup:
        full = locked(tx, cluster)
        current = _current(full, group)
        if current.status not in RESIZABLE:
            raise bad_request(
                f"Update is not supported in this state. Group {group.name} is in {current.status}."
            )
        after = replace(current, **values, updated_at=now)
        _check(after)
        clusters.save(tx, full, full.cluster, [after], now=now)
        body = {"group": group.name, "by": caller.user_id, **values}
        clusters.put_event(tx, cluster.uuid, "nodegroup.update", body, now)
        return after

    return await services.store.run_once(transaction)


async def delete_group(
    services: Services, caller: Caller, cluster: Cluster, group: NodeGroup
) -> None:
    """Begin the delete of a node group.

    Raises Rejected if it is a default group or no longer exists.
    """
    if group.is_default:
        raise bad_request(f"A default group cannot be deleted. {group.name} is a default group.")

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, DeleteGroup]:
        current = _current(full, group)
        leaving = replace(current, status=DELETE_IN_PROGRESS, status_reason=None)
        after = full.cluster
        if after.status != DELETE_IN_PROGRESS:
            after = clusters.at(after, status=UPDATE_IN_PROGRESS, status_reason=None)
        return (after, [leaving]), DeleteGroup(group.uuid)

    await begin(services, caller, cluster, DeleteGroup, change)


def _current(full: FullCluster, group: NodeGroup) -> NodeGroup:
    for candidate in full.groups:
        if candidate.uuid == group.uuid:
            return candidate
    raise not_found("node group", group.name)


def _check(group: NodeGroup) -> None:
    """Raise Rejected if node counts contradict each other, or if a label or a taint is invalid."""
    minimum, maximum, count = group.min_node_count, group.max_node_count, group.node_count
    if count < minimum:
        raise conflict(f"node_count {count} is below min_node_count {minimum}.")
    if maximum is not None and maximum < minimum:
        raise conflict(f"max_node_count {maximum} is below min_node_count {minimum}.")
    if maximum is not None and count > maximum:
        raise conflict(f"node_count {count} is above max_node_count {maximum}.")
    for key, value in group.node_labels.items():
        _check_key("node_labels", key)
        _check_value("node_labels", key, str(value))
    _check_taints(group.node_taints)


def _check_taints(taints: Sequence[Mapping[str, str]]) -> None:
    for taint in taints:
        if unknown := taint.keys() - {"key", "value", "effect"}:
            message = f"node_taints: unknown field {sorted(unknown)[0]} in a taint."
            raise conflict(f"{message} Expected key, value and effect.")
        _check_key("node_taints", taint.get("key", ""))
        _check_value("node_taints", taint.get("key", ""), taint.get("value") or "")
        if taint.get("effect") not in EFFECTS:
            raise conflict(
                f"The effect of taint {taint.get('key')} is {taint.get('effect') or 'missing'}. "
                f"Expected one of: {', '.join(sorted(EFFECTS))}."
            )


def _check_key(field: str, key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if not LABEL_PART.fullmatch(name) or (slash and not LABEL_PREFIX.fullmatch(prefix)):
        raise conflict(f'{field}: "{key}" is not a valid key. Example: example.com/team.')
    if any(prefix == reserved or prefix.endswith(f".{reserved}") for reserved in RESERVED):
        raise conflict(f"{field}: the prefix of {key} is reserved. Choose another prefix.")


def _check_value(field: str, key: str, value: str) -> None:
    if value and not LABEL_PART.fullmatch(value):
        raise conflict(
            f'{field}: {key} has the invalid value "{value}". '
            'Use letters, digits, "-", "_" and ".".'
        )

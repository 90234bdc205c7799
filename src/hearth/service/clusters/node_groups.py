"""Create, change and delete node groups in addition to the two default groups.

Source: spec/clusters.md, section 5.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy.exc import IntegrityError

from hearth.clusters.merging import merged
from hearth.clusters.objects import MASTER, WORKER, Cluster, NodeGroup
from hearth.clusters.problems import bad_request, conflict, not_found
from hearth.clusters.states import (
    CREATE_IN_PROGRESS,
    DELETE_IN_PROGRESS,
    RESIZABLE,
    UPDATE_IN_PROGRESS,
)
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin, demand_state, locked
from hearth.service.clusters.cloud_checks import check_group
from hearth.service.clusters.tasks import GROUP_CREATE, GROUP_DELETE
from hearth.service.services import Services
from hearth.store.clusters import clusters, rows
from hearth.store.clusters.clusters import Whole
from hearth.store.database import Tx

LABEL_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
LABEL_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
RESERVED = ("kubernetes.io", "k8s.io")  # a node may not set these labels for itself
EFFECTS = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


async def create_group(
    services: Services, caller: Caller, cluster: Cluster, wanted: Mapping[str, Any]
) -> NodeGroup:
    """Begin to create a node group and return it; its cluster is then in UPDATE_IN_PROGRESS.

    `wanted` are the fields of the request. Raises Rejected, CloudFault.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if given.get("role", WORKER) == MASTER:
        raise bad_request("A node group with the role master cannot be added. Use another role.")
    if cluster.api_address is None:
        raise conflict(f"Cluster {cluster.name} has no api_address yet. Wait until it is created.")
    await check_group(services, caller, given)
    made: list[NodeGroup] = []

    def change(found: Whole, tx: Tx) -> tuple[Changed, Mapping[str, Any]]:
        demand_state(found.cluster, RESIZABLE, "Creating a node group")
        group = _group(services, found, given)
        _check(group)
        if any(one.name == group.name for one in found.groups):
            raise conflict(f"Node group {group.name} already exists. Use another name.")
        try:
            made[:] = [rows.insert(tx, group)]
        except IntegrityError:
            raise conflict(f"Node group {group.name} already exists. Use another name.") from None
        after = clusters.at(found.cluster, status=UPDATE_IN_PROGRESS, status_reason=None)
        return (after, []), {"group": group.uuid}

    await begin(services, caller, cluster, GROUP_CREATE, change)
    return made[0]


def _group(services: Services, found: Whole, given: Mapping[str, Any]) -> NodeGroup:
    cluster, worker = found.cluster, found.defaults[-1]
    number = 1 + sum(1 for one in found.groups if not one.is_default)
    return NodeGroup(
        uuid=services.new_id(),
        name=given.get("name") or f"group-{number}",
        cluster_id=cluster.uuid,
        project_id=cluster.project_id,
        docker_volume_size=given.get("docker_volume_size", cluster.docker_volume_size),
        labels=merged(cluster.labels, given.get("labels"), merge=bool(given.get("merge_labels"))),
        flavor_id=given.get("flavor_id", cluster.flavor_id),
        image_id=given.get("image_id", worker.image_id),
        node_count=given.get("node_count", 1),
        role=given.get("role", WORKER),
        min_node_count=given.get("min_node_count", 0),
        max_node_count=given.get("max_node_count"),
        node_labels=given.get("node_labels", {}),
        node_taints=given.get("node_taints", ()),
        status=CREATE_IN_PROGRESS,
        created_at=services.clock.now(),
    )


async def change_group(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    group: NodeGroup,
    changed: Mapping[str, Any],
) -> NodeGroup:
    """Change the limits, labels or taints of a group and return it.

    `changed` maps fields to their new values; None stands for the default value. The stack of the
    cluster stays unchanged. Raises Rejected.
    """
    now = services.clock.now()

    def transaction(tx: Tx) -> NodeGroup:
        found = locked(tx, cluster)
        current = _current(found, group)
        if current.status not in RESIZABLE:
            raise bad_request(
                f"Update is not supported in this state. Group {group.name} is in {current.status}."
            )
        after = replace(current, **_reset(changed), updated_at=now)
        _check(after)
        clusters.save(tx, found, found.cluster, [after], now=now)
        body = {"group": group.name, "by": caller.user_id, **changed}
        clusters.put_event(tx, cluster.uuid, "nodegroup.update", body, now)
        return after

    return await services.store.run_once(transaction)


def _reset(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes, in which each removed field has its default value."""
    defaults: Mapping[str, Any] = {"min_node_count": 0, "node_labels": {}, "node_taints": ()}
    return {name: defaults.get(name) if value is None else value for name, value in changed.items()}


async def delete_group(
    services: Services, caller: Caller, cluster: Cluster, group: NodeGroup
) -> None:
    """Begin the delete of a node group.

    Raises Rejected if it is a default group or no longer exists.
    """
    if group.is_default:
        raise bad_request(f"A default group cannot be deleted. {group.name} is a default group.")

    def change(found: Whole, tx: Tx) -> tuple[Changed, Mapping[str, Any]]:
        current = _current(found, group)
        gone = replace(current, status=DELETE_IN_PROGRESS, status_reason=None)
        after = found.cluster
        if after.status != DELETE_IN_PROGRESS:
            after = clusters.at(after, status=UPDATE_IN_PROGRESS, status_reason=None)
        return (after, [gone]), {"group": group.uuid}

    await begin(services, caller, cluster, GROUP_DELETE, change)


def _current(found: Whole, group: NodeGroup) -> NodeGroup:
    for one in found.groups:
        if one.uuid == group.uuid:
            return one
    raise not_found("node group", group.name)


def _check(group: NodeGroup) -> None:
    """Raise Rejected if node counts contradict each other, or if a label or a taint is invalid."""
    least, most, count = group.min_node_count, group.max_node_count, group.node_count
    if count < least:
        raise conflict(f"node_count {count} is below min_node_count {least}.")
    if most is not None and most < least:
        raise conflict(f"max_node_count {most} is below min_node_count {least}.")
    if most is not None and count > most:
        raise conflict(f"node_count {count} is above max_node_count {most}.")
    for key, value in group.node_labels.items():
        _check_key("node_labels", key)
        _check_value("node_labels", key, str(value))
    _check_taints(group.node_taints)


def _check_taints(taints: Sequence[Mapping[str, str]]) -> None:
    for taint in taints:
        if unknown := taint.keys() - {"key", "value", "effect"}:
            words = f"node_taints: unknown field {sorted(unknown)[0]} in a taint."
            raise conflict(f"{words} Expected key, value and effect.")
        _check_key("node_taints", taint.get("key", ""))
        _check_value("node_taints", taint.get("key", ""), taint.get("value") or "")
        if taint.get("effect") not in EFFECTS:
            raise conflict(
                f"The effect of taint {taint.get('key')} is {taint.get('effect') or 'missing'}. "
                f"Expected one of: {', '.join(sorted(EFFECTS))}."
            )


def _check_key(what: str, key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if not LABEL_PART.fullmatch(name) or (slash and not LABEL_PREFIX.fullmatch(prefix)):
        raise conflict(f'{what}: "{key}" is not a valid key. Example: example.com/team.')
    if any(prefix == one or prefix.endswith(f".{one}") for one in RESERVED):
        raise conflict(f"{what}: the prefix of {key} is reserved. Choose another prefix.")


def _check_value(what: str, key: str, value: str) -> None:
    if value and not LABEL_PART.fullmatch(value):
        raise conflict(
            f'{what}: {key} has the invalid value "{value}". Use letters, digits, "-", "_" and ".".'
        )

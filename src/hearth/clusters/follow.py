"""Computes the status and the fields of a cluster from the state of its stacks.

Source: docs/spec/clusters.md, section 6; tests/facts/magnum/statuses.json.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.outputs import read_back
from hearth.clusters.states import (
    BUSY,
    CREATE_COMPLETE,
    CREATE_FAILED,
    CREATE_IN_PROGRESS,
    DELETE_COMPLETE,
    DELETE_FAILED,
    DELETE_IN_PROGRESS,
    FAILED,
    UPDATE_COMPLETE,
    UPDATE_FAILED,
    UPDATE_IN_PROGRESS,
    combined,
)


class StackState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a stack as the synchronisation read it.

    `mark` identifies this state; it is stored in `nodegroup.seen`. `causes` are the reasons of a
    failed operation. `outputs` and `parameters` are empty unless a create has ended or an update
    has completed.
    """

    id: str
    status: str
    mark: str
    reason: str = ""
    causes: Sequence[str] = ()
    outputs: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] = {}


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a synchronisation: the cluster and its groups.

    `removed_groups` are the additional groups whose stacks have been deleted.
    """

    cluster: Cluster
    groups: Sequence[NodeGroup]
    removed_groups: Sequence[NodeGroup] = ()

    @property
    def deleted(self) -> bool:
        """True if all stacks are deleted, so that only the database rows remain."""
        return self.cluster.status == DELETE_COMPLETE


def followed(
    cluster: Cluster,
    groups: Sequence[NodeGroup],
    stacks: Mapping[str, StackState],
    *,
    working: bool,
    up_to_date: Collection[str] = (),
) -> Followed:
    """Return the cluster and its groups as they follow from the states of the stacks.

    `stacks` is {stack id: state}; a stack that it does not contain no longer exists. If `working`
    is true, a task has further steps, so the cluster stays in progress, also beside failed groups,
    and a group without a stack may still get one. `up_to_date` has the UUIDs of groups whose status
    already includes the state of their stack; they keep it.
    """
    after = cluster
    members = [g if g.uuid in up_to_date else _state(g, stacks, working=working) for g in groups]
    for state in stacks.values():
        if state.outputs or state.parameters:
            after, members = _with_outputs(after, members, state)
    removed_groups = [g for g in members if not g.is_default and g.status == DELETE_COMPLETE]
    remaining = [g for g in members if g not in removed_groups]
    if members and all(g.status == DELETE_COMPLETE for g in members):
        return Followed(
            cluster=replace(after, status=DELETE_COMPLETE),
            groups=remaining,
            removed_groups=removed_groups,
        )
    status, reason = combined(cluster.status, remaining)
    after = _with_status(after, status, _reason(reason, remaining), working=working)
    return Followed(cluster=after, groups=remaining, removed_groups=removed_groups)


def _state(group: NodeGroup, stacks: Mapping[str, StackState], *, working: bool) -> NodeGroup:
    """Return a group with the status of its stack.

    If `working` is true, a task may still create the stack of a group without one, so that group
    stays unchanged. A group in DELETE_IN_PROGRESS stays in it until its stack is deleted or the
    delete has failed: the stack may have been read before the delete reached it.
    """
    if group.stack_id is None:
        return group if working else _without_stack(group)
    state = stacks.get(group.stack_id)
    if state is None:
        return replace(
            group, status=_status_if_missing(group), status_reason=_reason_if_missing(group)
        )
    status = state.status
    if group.status == DELETE_IN_PROGRESS and not status.startswith("DELETE_"):
        return group
    if group.status == CREATE_IN_PROGRESS and status.startswith("UPDATE_"):
        status = "CREATE_" + status.removeprefix("UPDATE_")  # one of several attempts
    elif status == UPDATE_COMPLETE and group.status == CREATE_COMPLETE:
        status = CREATE_COMPLETE
    return replace(group, status=status, status_reason=state.reason or None)


def _without_stack(group: NodeGroup) -> NodeGroup:
    """Return a group that will never have a stack; its operation in progress has ended."""
    if group.status not in BUSY:
        return group
    return replace(group, status=_status_if_missing(group), status_reason=_reason_if_missing(group))


def _status_if_missing(group: NodeGroup) -> str:
    """Return the status of a group whose stack does not exist."""
    if group.status in (DELETE_IN_PROGRESS, DELETE_COMPLETE):
        return DELETE_COMPLETE
    return CREATE_FAILED if group.status in (CREATE_IN_PROGRESS, CREATE_FAILED) else UPDATE_FAILED


def _reason_if_missing(group: NodeGroup) -> str | None:
    if group.status in (DELETE_IN_PROGRESS, DELETE_COMPLETE):
        return None
    if group.stack_id is None:
        return never_created(group)
    return f"The stack {group.stack_id} no longer exists."


def never_created(group: NodeGroup) -> str:
    """Return the error message for an operation on a group whose stack was never created."""
    message = f"Node group {group.name} has no stack, because it could not be created."
    return f"{message} Delete the group and create it again."


def _with_outputs(
    cluster: Cluster, groups: Sequence[NodeGroup], state: StackState
) -> tuple[Cluster, list[NodeGroup]]:
    """Return the cluster and the groups with the values in the outputs and parameters of a
    stack.
    """
    own_groups = [group for group in groups if group.stack_id == state.id]
    changes = read_back(state.outputs, state.parameters, cluster, own_groups)
    after = cluster
    if any(group.is_default for group in own_groups):  # others say nothing about the cluster
        after = replace(cluster, **changes.cluster)
    return after, [replace(group, **changes.groups.get(group.uuid, {})) for group in groups]


def _with_status(
    cluster: Cluster, status: str | None, reason: str | None, *, working: bool
) -> Cluster:
    """Return the cluster with the combined status of its groups, corrected for a running
    operation.
    """
    if status is None:
        return cluster
    before = cluster.status or ""
    if working and before.endswith("_IN_PROGRESS"):  # a failed group may be an older one
        status, reason = before, cluster.status_reason
    if before == DELETE_IN_PROGRESS and not status.startswith("DELETE"):
        status, reason = before, cluster.status_reason  # the delete has not reached it yet
    if status == before == DELETE_IN_PROGRESS:
        reason = cluster.status_reason  # it names what a forced delete has left behind
    if before == UPDATE_IN_PROGRESS and status == CREATE_COMPLETE:
        status = UPDATE_COMPLETE
    return replace(cluster, status=status, status_reason=reason)


def _reason(summary: str | None, groups: Sequence[NodeGroup]) -> str | None:
    """Return `summary`, which names the failed groups, followed by the reasons of these groups."""
    if summary is None:
        return None
    causes = [g.status_reason for g in groups if g.status in FAILED and g.status_reason]
    details = "; ".join(dict.fromkeys(causes))
    return f"{summary}: {details}" if details else summary


def begun(
    cluster: Cluster, groups: Sequence[NodeGroup], status: str
) -> tuple[Cluster, list[NodeGroup]]:
    """Return copies of the cluster and the groups with `status`, for the start of an operation.

    Their status reasons are removed. Groups that the operation cannot change keep both: all but a
    delete need a stack that is not being deleted.
    """
    after = replace(cluster, status=status, status_reason=None)
    return after, [
        replace(group, status=status, status_reason=None)
        if status == DELETE_IN_PROGRESS or changeable(group)
        else group
        for group in groups
    ]


def changeable(group: NodeGroup) -> bool:
    """Return whether the group has a stack, and no delete of the group is in progress."""
    return group.stack_id is not None and group.status != DELETE_IN_PROGRESS


def failed(
    cluster: Cluster, groups: Sequence[NodeGroup], reason: str
) -> tuple[Cluster, list[NodeGroup]]:
    """Return copies of the cluster and the groups, each with the failed status of its operation.

    `reason` becomes their status reason. A group whose creation failed earlier keeps its status and
    reason.
    """
    after = replace(cluster, status=_failed(cluster.status), status_reason=reason)
    return after, [
        group
        if group.stack_id is None and group.status in FAILED
        else replace(group, status=_failed(group.status), status_reason=reason)
        for group in groups
    ]


def _failed(status: str | None) -> str:
    ends = {CREATE_IN_PROGRESS: CREATE_FAILED, DELETE_IN_PROGRESS: DELETE_FAILED}
    return ends.get(status or "", UPDATE_FAILED)

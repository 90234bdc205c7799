"""Computes the status and the fields of a cluster from the state of its stacks.

Source: spec/clusters.md, section 6; facts/magnum/statuses.json.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.outputs import read_back
from hearth.clusters.states import (
    CREATE_COMPLETE,
    CREATE_FAILED,
    CREATE_IN_PROGRESS,
    DELETE_COMPLETE,
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

    `gone` are the additional groups whose stacks have been deleted.
    """

    cluster: Cluster
    groups: Sequence[NodeGroup]
    gone: Sequence[NodeGroup] = ()

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
    known: Collection[str] = (),
) -> Followed:
    """Return the cluster and its groups as they follow from the states of the stacks.

    `stacks` is {stack id: state}; a stack that it does not contain no longer exists. If `working`
    is true, a task has further steps, so the cluster stays in progress unless it has failed.
    `known` has the UUIDs of groups whose status already includes the state of their stack; they
    keep it.
    """
    after = cluster
    members = [g if g.uuid in known else _state(cluster, g, stacks) for g in groups]
    for state in stacks.values():
        if state.outputs or state.parameters:
            after, members = _read(after, members, state)
    gone = [g for g in members if not g.is_default and g.status == DELETE_COMPLETE]
    left = [g for g in members if g not in gone]
    if members and all(g.status == DELETE_COMPLETE for g in members):
        return Followed(cluster=replace(after, status=DELETE_COMPLETE), groups=left, gone=gone)
    status, reason = combined(cluster.status, left)
    after = _with_status(after, status, _reason(reason, left), working=working)
    return Followed(cluster=after, groups=left, gone=gone)


def _state(cluster: Cluster, group: NodeGroup, stacks: Mapping[str, StackState]) -> NodeGroup:
    """Return a group with the status of its stack; a group without a stack stays unchanged."""
    if group.stack_id is None:
        return group
    found = stacks.get(group.stack_id)
    if found is None:
        return replace(group, status=_missing(group), status_reason=_words_gone(group))
    status = found.status
    if group.status == CREATE_IN_PROGRESS and status.startswith("UPDATE_"):
        status = "CREATE_" + status.removeprefix("UPDATE_")  # one of several attempts
    elif status == UPDATE_COMPLETE and group.status == CREATE_COMPLETE:
        status = CREATE_COMPLETE
    return replace(group, status=status, status_reason=found.reason or None)


def _missing(group: NodeGroup) -> str:
    """Return the status of a group whose stack no longer exists."""
    if group.status in (DELETE_IN_PROGRESS, DELETE_COMPLETE):
        return DELETE_COMPLETE
    return CREATE_FAILED if group.status in (CREATE_IN_PROGRESS, CREATE_FAILED) else UPDATE_FAILED


def _words_gone(group: NodeGroup) -> str | None:
    if group.status in (DELETE_IN_PROGRESS, DELETE_COMPLETE):
        return None
    return f"The stack {group.stack_id} no longer exists."


def _read(
    cluster: Cluster, groups: Sequence[NodeGroup], state: StackState
) -> tuple[Cluster, list[NodeGroup]]:
    """Return the cluster and the groups with the values in the outputs and parameters of a
    stack.
    """
    mine = [group for group in groups if group.stack_id == state.id]
    found = read_back(state.outputs, state.parameters, cluster, mine)
    after = cluster
    if any(group.is_default for group in mine):  # others say nothing about the cluster
        after = replace(cluster, **found.cluster)
    return after, [replace(group, **found.groups.get(group.uuid, {})) for group in groups]


def _with_status(
    cluster: Cluster, status: str | None, reason: str | None, *, working: bool
) -> Cluster:
    """Return the cluster with the combined status of its groups, corrected for a running
    operation.
    """
    if status is None:
        return cluster
    before = cluster.status or ""
    going_on = status not in FAILED or before == DELETE_IN_PROGRESS  # its stacks come last
    if working and going_on and before.endswith("_IN_PROGRESS"):
        status = before
    if before == DELETE_IN_PROGRESS and not status.startswith("DELETE"):
        status, reason = before, cluster.status_reason  # the delete has not reached it yet
    if status == before == DELETE_IN_PROGRESS:
        reason = cluster.status_reason  # it names what a forced delete has left behind
    if before == UPDATE_IN_PROGRESS and status == CREATE_COMPLETE:
        status = UPDATE_COMPLETE
    return replace(cluster, status=status, status_reason=reason)


def _reason(words: str | None, groups: Sequence[NodeGroup]) -> str | None:
    """Return `words`, which name the failed groups, followed by the reasons of these groups."""
    if words is None:
        return None
    causes = [g.status_reason for g in groups if g.status in FAILED and g.status_reason]
    details = "; ".join(dict.fromkeys(causes))
    return f"{words}: {details}" if details else words


def begun(cluster: Cluster, groups: Sequence[NodeGroup], status: str) -> tuple[
    Cluster, list[NodeGroup]
]:  # fmt: skip
    """Return copies of the cluster and the groups with `status`, for the start of an operation.

    Their status reasons are removed.
    """
    after = replace(cluster, status=status, status_reason=None)
    return after, [replace(group, status=status, status_reason=None) for group in groups]


def failed(
    cluster: Cluster, groups: Sequence[NodeGroup], reason: str
) -> tuple[Cluster, list[NodeGroup]]:
    """Return copies of the cluster and the groups with the failed status of the current operation.

    `reason` becomes their status reason.
    """
    status = {CREATE_IN_PROGRESS: CREATE_FAILED, DELETE_IN_PROGRESS: "DELETE_FAILED"}.get(
        cluster.status or "", UPDATE_FAILED
    )
    after = replace(cluster, status=status, status_reason=reason)
    return after, [replace(group, status=status, status_reason=reason) for group in groups]

"""What a cluster and its groups become by the states of their stacks."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from hearth.clusters.follow import Followed, StackState, begun, failed, followed
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.states import DELETE_IN_PROGRESS, STATUSES, UPDATE_IN_PROGRESS
from tests.clusters.examples import CLUSTER, MASTERS, WORKERS, group

DEFAULTS = [replace(one, stack_id="s-1") for one in (MASTERS, WORKERS)]
EXTRA = group("big", "worker", is_default=False)


def stack(status: str, ident: str = "s-1") -> StackState:
    return StackState(id=ident, status=status, mark=status)


def all_in(status: str, **more: Any) -> tuple[Cluster, list[NodeGroup]]:
    """Return a cluster and its groups in this status; the additional group has no stack."""
    groups = [replace(one, status=status) for one in DEFAULTS]
    return replace(CLUSTER, status=status), [*groups, replace(EXTRA, status=status, **more)]


def follow(
    found: tuple[Cluster, list[NodeGroup]],
    *states: StackState,
    working: bool = False,
) -> Followed:
    return followed(*found, {one.id: one for one in states}, working=working)


def statuses(found: Followed) -> Mapping[str, str | None]:
    return {one.name: one.status for one in found.groups}


def test_a_group_without_a_stack_does_not_hold_up_the_delete_of_its_cluster() -> None:
    deleting = all_in(DELETE_IN_PROGRESS)
    assert not follow(deleting, stack(DELETE_IN_PROGRESS)).deleted  # the default groups are left
    assert follow(deleting).deleted
    assert follow(deleting, stack("DELETE_FAILED")).cluster.status == "DELETE_FAILED"


def test_a_group_without_a_stack_stays_while_a_task_may_create_it() -> None:
    for status in {*STATUSES} - {"DELETE_COMPLETE"}:
        found = follow(all_in(status), stack("UPDATE_COMPLETE"), working=True)
        assert statuses(found)["big"] == status


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CREATE_IN_PROGRESS", "CREATE_FAILED"),
        ("UPDATE_IN_PROGRESS", "UPDATE_FAILED"),
        ("CREATE_FAILED", "CREATE_FAILED"),
        ("DELETE_FAILED", "DELETE_FAILED"),
    ],
)
def test_a_group_that_will_never_have_a_stack_is_not_in_progress(before: str, after: str) -> None:
    found = follow(all_in(before, status_reason="key not found"), stack("UPDATE_COMPLETE"))
    big = next(one for one in found.groups if one.name == "big")
    assert big.status == after
    ended = "Node group big has no stack, because it could not be created. "
    ended += "Delete the group and create it again."
    assert big.status_reason == ("key not found" if before == after else ended)
    assert found.cluster.status == "UPDATE_FAILED"


@pytest.mark.parametrize("status", [one for one in STATUSES if not one.startswith("DELETE_")])
def test_a_delete_survives_a_look_before_it_reached_the_stack(status: str) -> None:
    """A delete that ends before the next look must not appear as the loss of a stack."""
    for working in (True, False):
        first = follow(all_in(DELETE_IN_PROGRESS), stack(status), working=working)
        assert statuses(first)["default-master"] == DELETE_IN_PROGRESS
        assert follow((first.cluster, [*first.groups])).deleted


@pytest.mark.parametrize("status", ["CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS"])
def test_a_cluster_stays_in_progress_while_its_task_has_further_steps(status: str) -> None:
    """Also beside a group that failed before, or the next operation would be accepted."""
    cluster, groups = all_in(status)
    groups[-1] = replace(EXTRA, status="CREATE_FAILED", status_reason="key not found")
    for state in ("UPDATE_COMPLETE", "UPDATE_FAILED"):
        between = follow((cluster, groups), stack(state), working=True).cluster
        assert (between.status, between.status_reason) == (status, cluster.status_reason)
        ended = follow((cluster, groups), stack(state)).cluster
        assert ended.status == "UPDATE_FAILED"
        assert "big failed" in (ended.status_reason or "")


def test_an_operation_leaves_groups_alone_that_it_cannot_change() -> None:
    lost = replace(EXTRA, status="CREATE_FAILED", status_reason="key not found")
    going = replace(EXTRA, stack_id="s-2", status=DELETE_IN_PROGRESS)
    cluster, groups = begun(CLUSTER, [*DEFAULTS, lost, going], UPDATE_IN_PROGRESS)
    assert [one.status for one in groups[:2]] == [UPDATE_IN_PROGRESS] * 2
    assert groups[2:] == [lost, going]
    after, ended = failed(cluster, groups, "the rotation stopped")
    assert after.status == "UPDATE_FAILED"
    assert [one.status for one in ended] == [
        "UPDATE_FAILED", "UPDATE_FAILED", "CREATE_FAILED", "DELETE_FAILED",
    ]  # fmt: skip
    assert ended[2] == lost
    _, groups = begun(CLUSTER, [*DEFAULTS, lost, going], DELETE_IN_PROGRESS)
    assert {one.status for one in groups} == {DELETE_IN_PROGRESS}

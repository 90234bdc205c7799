"""Which changes of a cluster are reported."""

import pytest
from msgspec.structs import replace

from hearth.clusters.notifications import action_of, of_change, outcome_of
from hearth.clusters.objects import Cluster, NodeGroup

CLUSTER = Cluster(
    uuid="c", name="farm", project_id="p", user_id="u", cluster_template_id="t",
    status="UPDATE_IN_PROGRESS",
)  # fmt: skip
GROUP = NodeGroup(
    uuid="g", name="gpu", cluster_id="c", project_id="p", node_count=2, status="CREATE_IN_PROGRESS"
)


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ("CREATE_IN_PROGRESS", "CREATE_COMPLETE", "success"),
        ("CREATE_IN_PROGRESS", "CREATE_FAILED", "failure"),
        ("UPDATE_COMPLETE", "UPDATE_FAILED", "failure"),
        ("CREATE_COMPLETE", "UPDATE_COMPLETE", "success"),
        ("UPDATE_IN_PROGRESS", "ROLLBACK_COMPLETE", "success"),
        ("UPDATE_COMPLETE", "UPDATE_COMPLETE", None),
        ("UPDATE_FAILED", "UPDATE_FAILED", None),
        ("UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", None),
        (None, None, None),
    ],
)
def test_only_a_new_final_status_is_reported(before: str, after: str, outcome: str | None):
    assert outcome_of(before, after) == outcome


@pytest.mark.parametrize(
    ("status", "action"),
    [
        ("CREATE_FAILED", "create"),
        ("DELETE_COMPLETE", "delete"),
        ("ROLLBACK_FAILED", "update"),
        ("RESUME_COMPLETE", "update"),
    ],
)
def test_a_status_belongs_to_an_action(status: str, action: str):
    assert action_of(status) == action


def test_a_group_is_reported_before_its_cluster_and_a_default_group_not_at_all():
    after = replace(CLUSTER, status="UPDATE_COMPLETE")
    made = replace(GROUP, status="CREATE_COMPLETE")
    default = replace(made, uuid="d", is_default=True)
    found = of_change(CLUSTER, [GROUP, replace(GROUP, uuid="d")], after, [made, default])
    assert [(one.about, one.action, one.outcome) for one in found] == [
        ("nodegroup", "create", "success"),
        ("cluster", "update", "success"),
    ]
    assert found[1].content["node_count"] == 4
    assert of_change(after, [made], after, []) == []

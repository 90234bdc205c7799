"""What the conditions of a cluster say, and how long they have said so."""

from typing import Any

import pytest
from msgspec.structs import replace

from hearth.clusters.conditions import (
    BLOCKED,
    IN_SYNC,
    NODES_HEALTHY,
    PROGRESSING,
    READY,
    begun_at,
    blocked,
    condition,
    observed,
    restarted,
    retrying,
)
from hearth.clusters.health import REASONS_MAX
from hearth.clusters.objects import MASTER, Cluster, NodeGroup
from hearth.clusters.obstacles import CAPACITY, QUOTA, delay_s, obstacle


def cluster(**more: Any) -> Cluster:
    about = {"name": "c", "project_id": "p", "user_id": "u", "cluster_template_id": "t"}
    return Cluster(uuid="c", **{**about, "status": "CREATE_IN_PROGRESS", "created_at": 5.0, **more})


def group(uuid: str, **more: Any) -> NodeGroup:
    return NodeGroup(uuid=uuid, name=uuid, cluster_id="c", project_id="p", **more)


GROUPS = [group("masters", role=MASTER), group("workers", node_count=2)]


def of(one: Cluster, kind: str) -> tuple[str, str]:
    found = condition(one, kind)
    assert found is not None
    return found.status, found.reason


def since(one: Cluster, kind: str) -> float:
    found = condition(one, kind)
    assert found is not None
    return found.since


def nodes(*ready: str) -> dict[str, str]:
    return {"api": "ok", **{f"n{number}.Ready": value for number, value in enumerate(ready)}}


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = observed(None, cluster(), GROUPS, 10.0)
    same = observed(first, replace(first, coe_version="v1"), GROUPS, 20.0)
    done = observed(same, replace(same, status="CREATE_COMPLETE"), GROUPS, 30.0)
    for kind in (READY, PROGRESSING, IN_SYNC):
        assert (since(first, kind), since(same, kind)) == (10.0, 10.0)
        # whether it is in sync is unknown as before
        assert since(done, kind) == (10.0 if kind == IN_SYNC else 30.0)
    assert of(done, READY) == ("True", "CreateComplete")
    assert of(done, PROGRESSING) == ("False", "CreateComplete")


@pytest.mark.parametrize(
    ("more", "gone", "wanted"),
    [
        ({"status": "UPDATE_IN_PROGRESS"}, (), ("Unknown", "InProgress")),
        ({"status": "UPDATE_COMPLETE"}, (), ("Unknown", "NodesNotExamined")),
        ({"health_status_reason": nodes("True", "True", "True")}, (), ("True", "AsWanted")),
        ({"health_status_reason": nodes("True", "True", "False")}, (), ("True", "AsWanted")),
        ({"health_status_reason": nodes("True", "True")}, (), ("False", "NodesDiffer")),
        ({"health_status_reason": nodes("True", "True")}, ("workers",), ("False", "StackDeleted")),
        ({"status": "UPDATE_FAILED"}, ("workers",), ("False", "StackDeleted")),
    ],
)
def test_what_the_cloud_has_is_compared_with_what_is_wanted(
    more: dict[str, Any], gone: tuple[str, ...], wanted: tuple[str, str]
) -> None:
    before = cluster(status="CREATE_COMPLETE")
    after = observed(before, replace(before, **more), GROUPS, 1.0, lost_uuids=gone)
    assert of(after, IN_SYNC) == wanted


def test_health_is_a_condition() -> None:
    sick = cluster(health_status="UNHEALTHY", health_status_reason=nodes("True", "False"))
    after = observed(None, sick, GROUPS, 1.0)
    found = condition(after, NODES_HEALTHY)
    assert found is not None
    assert (found.status, found.message) == ("False", "n1.Ready is False")
    assert of(observed(None, cluster(), GROUPS, 1.0), NODES_HEALTHY)[0] == "Unknown"


def test_a_bounded_list_of_nodes_is_not_taken_for_all_nodes() -> None:
    listed = nodes(*["False"] * REASONS_MAX)
    large = [*GROUPS[:-1], replace(GROUPS[-1], node_count=REASONS_MAX + 5)]
    full = cluster(status="CREATE_COMPLETE", health_status="UNHEALTHY", health_status_reason=listed)
    after = observed(None, full, large, 1.0)
    assert of(after, IN_SYNC) == ("Unknown", "NodesNotExamined")
    assert of(observed(None, full, GROUPS, 1.0), IN_SYNC) == ("False", "NodesDiffer")
    found = condition(after, NODES_HEALTHY)
    assert found is not None
    assert found.message.endswith(" and 950 more")


def test_attempts_are_counted_until_the_operation_ends_or_another_begins() -> None:
    one = observed(None, cluster(), GROUPS, 1.0)
    for attempt in (1, 2):
        waiting = observed(one, blocked(one, QUOTA, "full", retry_at=9.0), GROUPS, 2.0)
        found = condition(waiting, BLOCKED)
        assert found is not None
        assert (found.status, found.reason, found.attempts) == ("True", QUOTA, attempt)
        one = observed(waiting, retrying(waiting), GROUPS, 3.0)
        assert of(one, BLOCKED) == ("False", "Retrying")
    for after in (replace(one, status="CREATE_COMPLETE"), restarted(one)):
        ended = condition(observed(one, after, GROUPS, 4.0), BLOCKED)
        assert ended is not None
        assert (ended.status, ended.reason, ended.attempts) == ("False", "NotBlocked", 0)


def test_the_time_limit_counts_from_the_beginning_of_the_operation() -> None:
    one = observed(None, cluster(create_timeout=1), GROUPS, 5.0)
    assert begun_at(one) == 5.0
    assert delay_s(one, 5.0) == 30.0
    assert delay_s(one, 55.0) == 10.0
    assert delay_s(one, 65.0) is None
    assert delay_s(replace(one, create_timeout=None), 1e9) == 30.0
    again = observed(one, restarted(one), GROUPS, 100.0)
    assert begun_at(again) == 100.0
    later = one
    for _ in range(3):
        later = blocked(later, QUOTA, "full", retry_at=9.0)
    assert delay_s(replace(later, create_timeout=60), 5.0) == 240.0


@pytest.mark.parametrize(
    ("causes", "wanted"),
    [
        (["Quota exceeded for cores, instances: Requested 4, but already used 18 of 20"], QUOTA),
        (["Quota exceeded for resources: ['port']."], QUOTA),
        (["VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded"], QUOTA),
        (["Quota has been met for resources: Load Balancer"], QUOTA),
        (["No valid host was found. There are not enough hosts available."], CAPACITY),
        (["Exceeded maximum number of retries. Exhausted all hosts"], CAPACITY),
        (["No more IP addresses available on network 7f3."], CAPACITY),
        (["Quota exceeded", "No valid host was found."], QUOTA),
        (["Quota exceeded", "the script ended with 1"], None),
        (["Image ubuntu is unacceptable"], None),
        ([], None),
    ],
)
def test_only_failures_that_can_go_away_are_waited_for(
    causes: list[str], wanted: str | None
) -> None:
    assert obstacle(causes) == wanted

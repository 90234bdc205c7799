"""Alarms on meters of Ceilometer: refused as by a current Aodh, unless the cloud has them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.devcloud.aodh.room import ALARMS, body, make, tell
from tests.devcloud.running import Served

METER: dict[str, Any] = {"meter_name": "cpu_util", "threshold": 50.0, "comparison_operator": "gt"}
OF_GROUP = {"field": "metadata.user_metadata.group", "op": "eq", "value": "web", "type": ""}


@pytest.fixture
def old(served: Served) -> Iterator[Served]:
    """The cloud with an Aodh of before Queens."""
    switch(served, on=True)
    yield served
    switch(served, on=False)


def switch(served: Served, *, on: bool) -> None:
    assert served.call("POST", "/devcloud/knobs", {"threshold_alarms": on}).ok
    assert served.call("GET", "/devcloud/knobs").json()["threshold_alarms"] is on


def test_a_current_aodh_refuses_them(served: Served) -> None:
    answer = served.call("POST", ALARMS, body("threshold", METER))
    assert answer.status_code == 400
    words = answer.json()["error_message"]["faultstring"]
    assert "Unknown attribute for argument data: threshold_rule" in words


def test_an_old_one_makes_them_for_samples_of_the_project_only(old: Served) -> None:
    made = make(old, "threshold", {**METER, "query": [OF_GROUP]})
    rule = made["threshold_rule"]
    shown = {name: rule[name] for name in ("period", "statistic", "evaluation_periods")}
    assert shown == {"period": 60, "statistic": "avg", "evaluation_periods": 1}
    own = {"field": "project_id", "op": "eq", "value": made["project_id"], "type": ""}
    assert rule["query"] == [OF_GROUP, own]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"meter_name": None}, "meter_name"),
        ({"statistic": "mean"}, "statistic"),
        ({"period": 0}, "period"),
        ({"granularity": 60}, "granularity"),
        ({"query": [{"field": "timestamp", "value": "2026-01-01"}]}, "unrecognized field"),
    ],
)
def test_a_rule_with_a_mistake_is_refused(old: Served, wrong: dict, words: str) -> None:
    answer = old.call("POST", ALARMS, body("threshold", {**METER, **wrong}))
    assert answer.status_code == 400
    assert words in answer.json()["error_message"]["faultstring"]


def test_a_value_of_the_meter_raises_it_and_one_of_another_resource_does_not(old: Served) -> None:
    about = {"field": "resource_id", "value": "server-1"}
    made = make(old, "threshold", {**METER, "query": [about]})
    told = {"alarm": made["alarm_id"], "metric": "cpu_util", "values": [90]}
    assert tell(old, **{**told, "metric": "memory"}) == []
    assert tell(old, **told, resource_id="server-2") == []
    (done,) = tell(old, **told, resource_id="server-1")
    assert (done["previous"], done["current"]) == ("insufficient data", "alarm")


def test_the_rules_stay_when_faults_are_removed_and_alarms_outlive_them(old: Served) -> None:
    where = f"{ALARMS}/{make(old, 'threshold', METER)['alarm_id']}"
    assert old.call("DELETE", "/devcloud/knobs").ok
    assert old.call("GET", "/devcloud/knobs").json()["threshold_alarms"] is True
    switch(old, on=False)
    assert old.call("GET", where).json()["type"] == "threshold"
    assert old.call("DELETE", where).status_code == 204


def test_the_switch_is_a_boolean(served: Served) -> None:
    answer = served.call("POST", "/devcloud/knobs", {"threshold_alarms": "yes"})
    assert answer.status_code == 400
    assert "threshold_alarms must be true or false" in answer.text

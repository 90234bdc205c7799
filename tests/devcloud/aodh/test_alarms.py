"""The API of alarms: what is taken, what is refused, who sees what."""

import json

import pytest

from tests.devcloud.aodh.room import ALARMS, CPU, THRESHOLD, body, make
from tests.devcloud.running import Served

EVENT = {"event_type": "compute.instance.*"}
METRICS = {"metrics": ["m-1"], "aggregation_method": "mean", "threshold": 1}
LEAF = {"type": "gnocchi_aggregation_by_metrics_threshold", **METRICS}
BY_RESOURCES = {**CPU, "query": '{"=": {"server_group": "one"}}'}
BY_RESOURCES.pop("resource_id")
MEMBERS = {"pool_id": "p", "stack_id": "s", "autoscaling_group_id": "g"}
RULES = {
    "composite": {"or": [LEAF, {"and": [LEAF, LEAF]}]},
    "event": EVENT,
    "gnocchi_aggregation_by_metrics_threshold": METRICS,
    "gnocchi_aggregation_by_resources_threshold": BY_RESOURCES,
    "gnocchi_resources_threshold": CPU,
    "loadbalancer_member_health": MEMBERS,
    "prometheus": {"query": "up", "threshold": 1},
}


@pytest.mark.parametrize("kind", RULES)
def test_every_type_is_made_shown_and_deleted(served: Served, kind: str) -> None:
    made = make(served, kind, RULES[kind])
    where = f"{ALARMS}/{made['alarm_id']}"
    assert served.call("GET", where).json() == made
    assert served.call("DELETE", where).status_code == 204
    gone = served.call("GET", where)
    assert gone.status_code == 404
    assert made["alarm_id"] in gone.json()["error_message"]["faultstring"]


def test_what_is_not_said_has_its_default(served: Served) -> None:
    made = make(served)
    told = {n: made[n] for n in ("enabled", "severity", "state", "repeat_actions", "ok_actions")}
    assert told == {
        "enabled": True,
        "severity": "low",
        "state": "insufficient data",
        "repeat_actions": False,
        "ok_actions": [],
    }
    rule = made[f"{THRESHOLD}_rule"]
    assert (rule["evaluation_periods"], rule["granularity"]) == (1, 60)
    assert made["timestamp"] == made["state_timestamp"]
    assert not [name for name in made if name.endswith("_rule") and name != f"{THRESHOLD}_rule"]


TIME = {"name": "night", "start": "0 22 * * *", "duration": 60}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"type": "threshold"}, "Value: 'threshold'. Value should be one of: composite, event"),
        ({"colour": "red"}, "Unknown attribute for argument data: colour"),
        ({"name": None}, "name"),
        ({"severity": "high"}, "severity"),
        ({"state": "fine"}, "state"),
        ({"alarm_actions": ["ftp://x"]}, "Unsupported action ftp://x"),
        ({"alarm_actions": "http://x"}, "alarm_actions"),
        ({"event_rule": EVENT}, "cannot be set at the same time"),
        ({f"{THRESHOLD}_rule": None}, f"{THRESHOLD}_rule must be set"),
        ({f"{THRESHOLD}_rule": {**CPU, "period": 1}}, "period"),
        ({f"{THRESHOLD}_rule": {**CPU, "threshold": "much"}}, "threshold"),
        ({f"{THRESHOLD}_rule": {**CPU, "evaluation_periods": 0}}, "evaluation_periods"),
        ({f"{THRESHOLD}_rule": {**CPU, "comparison_operator": ">"}}, "comparison_operator"),
        ({f"{THRESHOLD}_rule": {**CPU, "aggregation_method": "avg"}}, "aggregation_method"),
        ({f"{THRESHOLD}_rule": {"threshold": 1}}, "Missing fields: aggregation_method"),
        ({"time_constraints": [{**TIME, "start": "soon"}]}, "cron"),
        ({"time_constraints": [{**TIME, "start": "61 * * * *"}]}, "out of range"),
        ({"time_constraints": [{**TIME, "timezone": "Nowhere/City"}]}, "Nowhere/City"),
        ({"time_constraints": [{**TIME, "duration": -1}]}, "duration"),
        ({"time_constraints": [TIME, TIME]}, "unique"),
    ],
)
def test_a_body_with_a_mistake_is_refused(served: Served, wrong: dict, words: str) -> None:
    answer = served.call("POST", ALARMS, {**body(), **wrong})
    assert answer.status_code == 400
    assert words in answer.json()["error_message"]["faultstring"]


@pytest.mark.parametrize(
    ("kind", "rule", "words"),
    [
        ("composite", {"or": [LEAF]}, "two rules"),
        ("composite", {"xor": [LEAF, LEAF]}, '"and" or "or"'),
        ("composite", {"or": [LEAF, {"type": "event", "event_type": "*"}]}, "sub-rule type: event"),
        ("composite", {"or": [LEAF, {**LEAF, "metrics": 1}]}, "metrics"),
        (
            "event",
            {"query": [{"field": "a", "value": "x", "type": "integer"}]},
            "data type integer",
        ),
        ("event", {"query": [{"field": "a", "value": "x", "op": "like"}]}, "op"),
        ("event", {"query": [{"field": "a"}]}, "value"),
        ("gnocchi_aggregation_by_resources_threshold", {**BY_RESOURCES, "query": "{"}, "JSON"),
        ("loadbalancer_member_health", {"pool_id": "p"}, "stack_id"),
        ("prometheus", {"threshold": 1}, "query"),
    ],
)
def test_a_rule_with_a_mistake_is_refused(
    served: Served, kind: str, rule: dict, words: str
) -> None:
    answer = served.call("POST", ALARMS, body(kind, rule))
    assert answer.status_code == 400
    assert words in answer.json()["error_message"]["faultstring"]


def test_alarms_are_found_by_what_they_are(served: Served) -> None:
    made = [make(served, name="one of two", enabled=enabled) for enabled in (True, False)]

    def found(*questions: tuple[str, str], user: str = "demo") -> list[str]:
        query = "&".join(f"q.field={field}&q.op=eq&q.value={value}" for field, value in questions)
        answer = served.call("GET", f"{ALARMS}?{query}", user=user)
        assert answer.status_code == 200, answer.text
        return [one["alarm_id"] for one in answer.json()]

    both = [one["alarm_id"] for one in made]
    name = ("name", "one of two")
    assert found(name) == both
    assert found(name, ("enabled", "false")) == both[1:]
    assert found(name, user="admin") == []
    assert found(name, ("all_projects", "true"), user="admin") == both
    assert found(name, ("project_id", made[0]["project_id"]), user="admin") == both
    assert served.call("GET", f"{ALARMS}?q.field=colour&q.value=red").status_code == 400
    assert served.call("GET", f"{ALARMS}?q.field=all_projects&q.value=1").status_code == 403
    assert served.call("GET", f"{ALARMS}?limit=1").json()[0]["alarm_id"] not in both[1:]


def test_another_projects_alarm_is_not_there(served: Served) -> None:
    answer = served.call("POST", ALARMS, body(), user="admin")
    where = f"{ALARMS}/{answer.json()['alarm_id']}"
    assert served.call("GET", where).status_code == 404
    assert served.call("DELETE", where).status_code == 404
    theirs = {**body(), "project_id": answer.json()["project_id"]}
    assert served.call("POST", ALARMS, theirs).status_code == 401


def test_a_change_is_of_the_whole_alarm(served: Served) -> None:
    made = make(served, severity="critical", description="was")
    where = f"{ALARMS}/{made['alarm_id']}"
    changed = served.call("PUT", where, body(rule={"threshold": 90}, description="is")).json()
    assert (changed["severity"], changed["description"]) == ("low", "is")
    assert changed[f"{THRESHOLD}_rule"]["threshold"] == 90
    assert served.call("PUT", where, {"description": "only"}).status_code == 400
    entries = served.call("GET", f"{where}/history").json()
    assert [entry["type"] for entry in entries] == ["rule change", "creation"]
    assert json.loads(entries[0]["detail"])["severity"] == "low"
    assert len(served.call("GET", f"{where}/history?limit=1").json()) == 1


def test_a_member_asks_for_measures_of_its_own_project_only(served: Served) -> None:
    kind = "gnocchi_aggregation_by_resources_threshold"
    made = make(served, kind, BY_RESOURCES)
    own = {"=": {"created_by_project_id": made["project_id"]}}
    asked = {"and": [own, {"=": {"server_group": "one"}}]}
    assert json.loads(made[f"{kind}_rule"]["query"]) == asked
    made[f"{kind}_rule"]["threshold"] = 81
    again = served.call("PUT", f"{ALARMS}/{made['alarm_id']}", made).json()
    assert json.loads(again[f"{kind}_rule"]["query"]) == asked


def test_a_url_that_needs_a_trust_gets_one_that_ends_with_the_alarm(served: Served) -> None:
    def trusts() -> int:
        return len(served.cloud.store.table("identity.trusts"))

    before = trusts()
    needs = ["trust+https://host/path?a=1", "trust+zaqar://?queue_name=q"]
    made = make(served, alarm_actions=needs, ok_actions=["trust+http://x:y@host/"])
    assert trusts() == before + 1
    trust = made["alarm_actions"][0].removeprefix("trust+https://").partition(":")[0]
    assert made["alarm_actions"] == [
        f"trust+https://{trust}:delete@host/path?a=1",
        f"trust+zaqar://{trust}:delete@?queue_name=q",
    ]
    assert made["ok_actions"] == ["trust+http://x:y@host/"]
    where = f"{ALARMS}/{made['alarm_id']}"
    assert (
        served.call("PUT", where, {**made, "alarm_actions": needs}).json()["alarm_actions"]
        == (made["alarm_actions"])
    )
    assert trusts() == before + 1
    assert served.call("PUT", where, {**made, "alarm_actions": []}).status_code == 200
    assert trusts() == before
    served.call("PUT", where, {**made, "alarm_actions": needs})
    assert trusts() == before + 1
    served.call("DELETE", where)
    assert trusts() == before


def test_a_project_has_no_more_than_it_may(fresh: Served) -> None:
    mine = fresh.call("GET", "/alarming/v2/quotas").json()
    assert mine["quotas"] == [{"resource": "alarms", "limit": -1}]
    mine["quotas"][0]["limit"] = 1
    assert fresh.call("POST", "/alarming/v2/quotas", mine).status_code == 403
    assert fresh.call("POST", "/alarming/v2/quotas", mine, user="admin").json() == mine
    make(fresh)
    assert fresh.call("POST", ALARMS, body()).status_code == 403
    where = f"/alarming/v2/quotas/{mine['project_id']}"
    assert fresh.call("DELETE", where, user="admin").status_code == 204
    make(fresh)


def test_the_service_says_what_it_can_do(served: Served) -> None:
    told = served.call("GET", "/alarming/v2/capabilities").json()["api"]
    assert told["alarms:query:simple"] is True
    assert served.session.get(f"{served.url}/alarming/").status_code == 200
    assert served.session.get(f"{served.url}/alarming/v2/alarms").status_code == 401

"""What alarms make of news, and whom they tell of it."""

import time
import uuid
from collections.abc import Iterator

import pytest

from tests.devcloud.aodh.room import ALARMS, THRESHOLD, make, state, tell
from tests.devcloud.listener import Listener, listening
from tests.devcloud.running import Served

CLIENT = {"Client-ID": str(uuid.uuid4())}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as somebody:
        yield somebody


@pytest.fixture(autouse=True)
def clean(served: Served) -> Iterator[None]:
    yield
    served.call("DELETE", "/devcloud/knobs")
    for alarm in served.call("GET", ALARMS).json():
        served.call("DELETE", f"{ALARMS}/{alarm['alarm_id']}")


def test_a_value_over_the_threshold_is_told_once(served: Served, listener: Listener) -> None:
    made = make(served, severity="critical", alarm_actions=[f"{listener.url}/up"])
    (done,) = tell(served, metric="cpu_util", values=[90], resource_id="server-1")
    assert (done["previous"], done["current"]) == ("insufficient data", "alarm")
    assert done["notices"] == [{"url": f"{listener.url}/up", "status": 200}]
    (one,) = listener.heard
    path, headers, said = one.path, one.headers, one.body
    assert path == "/up"
    assert headers["content-type"] == "application/json"
    assert said == {
        "alarm_id": made["alarm_id"],
        "alarm_name": "busy",
        "severity": "critical",
        "previous": "insufficient data",
        "current": "alarm",
        "reason": "Transition to alarm due to 1 samples outside threshold, most recent: 90.0",
        "reason_data": {
            "type": "threshold",
            "count": 1,
            "disposition": "outside",
            "most_recent": 90.0,
        },
    }
    (again,) = tell(served, metric="cpu_util", values=[95])
    assert again["reason"].startswith("Remaining as alarm")
    assert again["notices"] == []
    assert len(listener.heard) == 1
    entries = served.call("GET", f"{ALARMS}/{made['alarm_id']}/history").json()
    assert [entry["type"] for entry in entries] == ["state transition", "creation"]


def test_repeated_actions_are_called_each_time(served: Served, listener: Listener) -> None:
    make(served, repeat_actions=True, alarm_actions=[listener.url])
    for value in (90, 91):
        tell(served, metric="cpu_util", values=[value])
    assert [body["previous"] for body in listener.bodies] == ["insufficient data", "alarm"]


def test_each_state_has_its_own_actions(served: Served, listener: Listener) -> None:
    names = ("alarm", "ok", "insufficient_data")
    make(served, **{f"{name}_actions": [f"{listener.url}/{name}"] for name in names})
    for values in ([90], [70], [None]):
        tell(served, metric="cpu_util", values=values)
    assert [one.path for one in listener.heard] == ["/alarm", "/ok", "/insufficient_data"]


def test_as_many_periods_as_the_rule_says_decide(served: Served) -> None:
    alarm = make(served, rule={"evaluation_periods": 2})
    seen = []
    for values in ([90], [90], [70], [70], [90], [None, 90]):
        tell(served, metric="cpu_util", values=values)
        seen.append(state(served, alarm))
    assert seen == ["insufficient data", "alarm", "alarm", "ok", "ok", "insufficient data"]


@pytest.mark.parametrize(
    ("word", "fires"),
    [("lt", 79), ("le", 80), ("eq", 80), ("ne", 81), ("ge", 80), ("gt", 81)],
)
def test_every_comparison(served: Served, word: str, fires: float) -> None:
    alarm = make(served, rule={"comparison_operator": word})
    quiet = {"lt": 80, "le": 81, "eq": 81, "ne": 80, "ge": 79, "gt": 80}[word]
    tell(served, metric="cpu_util", values=[quiet])
    assert state(served, alarm) == "ok"
    tell(served, metric="cpu_util", values=[fires])
    assert state(served, alarm) == "alarm"


def test_only_alarms_about_what_was_measured_are_evaluated(served: Served) -> None:
    alarm = make(served, name="mine")
    assert tell(served, metric="memory", values=[90]) == []
    assert tell(served, metric="cpu_util", values=[90], resource_id="server-2") == []
    assert tell(served, metric="cpu_util", values=[90], project_id="another") == []
    assert [one["name"] for one in tell(served, alarm="mine", values=[90])] == ["mine"]
    assert state(served, alarm) == "alarm"


def test_other_rules_with_thresholds(served: Served) -> None:
    rule = {"aggregation_method": "mean", "threshold": 1, "comparison_operator": "gt"}
    metrics = make(served, "gnocchi_aggregation_by_metrics_threshold", {**rule, "metrics": ["a"]})
    query = {"query": "sum(up)", "threshold": 1, "comparison_operator": "lt"}
    prometheus = make(served, "prometheus", query)
    tell(served, metric="a", values=[2])
    tell(served, metric="sum(up)", values=[0])
    assert [state(served, one) for one in (metrics, prometheus)] == ["alarm", "alarm"]


def test_a_composite_rule_is_judged_as_a_whole(served: Served) -> None:
    def leaf(metric: str) -> dict:
        kind = "gnocchi_aggregation_by_metrics_threshold"
        more = {"aggregation_method": "mean", "threshold": 1, "comparison_operator": "gt"}
        return {"type": kind, "metrics": [metric], **more}

    alarm = make(served, "composite", {"or": [leaf("a"), {"and": [leaf("b"), leaf("c")]}]})
    seen = []
    for metric, value in (("b", 2), ("c", 2), ("c", 0), ("a", 0), ("a", 2)):
        (done,) = tell(served, metric=metric, values=[value])
        seen.append(state(served, alarm))
    assert seen == ["insufficient data", "alarm", "insufficient data", "ok", "alarm"]
    assert "(rule1 or (rule2 and rule3)) transition to alarm, due to rules: rule1" in done["reason"]


def test_an_event_that_meets_the_query_raises_the_alarm(served: Served, listener: Listener) -> None:
    query = [
        {"field": "traits.instance_id", "op": "eq", "value": "server-1", "type": "string"},
        {"field": "traits.state", "op": "ne", "value": "active"},
        {"field": "traits.tries", "op": "ge", "value": "3", "type": "integer"},
    ]
    rule = {"event_type": "compute.instance.*", "query": query}
    make(served, "event", rule, alarm_actions=[listener.url])
    fits = {"instance_id": "server-1", "state": "stopped", "tries": 3}
    for event_type, traits in (
        ("compute.instance.update", {**fits, "instance_id": "server-2"}),
        ("compute.instance.update", {**fits, "state": "active"}),
        ("compute.instance.update", {**fits, "tries": 2}),
        ("compute.instance.update", {**fits, "project_id": "another"}),
        ("compute.instance.update", {"instance_id": "server-1"}),
        ("volume.update", fits),
    ):
        assert tell(served, event={"event_type": event_type, "traits": traits}) == []
    for _ in range(2):
        tell(served, event={"event_type": "compute.instance.update", "traits": fits})
    (said,) = listener.bodies
    assert said["reason_data"]["type"] == "event"
    assert said["reason_data"]["event"]["event_type"] == "compute.instance.update"
    assert said["reason_data"]["event"]["traits"] == [
        ["instance_id", 1, "server-1"],
        ["state", 1, "stopped"],
        ["tries", 2, 3],
    ]


def test_unhealthy_members_raise_the_alarm(served: Served) -> None:
    rule = {"pool_id": "p", "stack_id": "s", "autoscaling_group_id": "g"}
    alarm = make(served, "loadbalancer_member_health", rule)
    assert tell(served, pool="another", unhealthy=["m-1"]) == []
    (done,) = tell(served, pool="p", unhealthy=["m-1"])
    assert (done["current"], state(served, alarm)) == ("alarm", "alarm")
    tell(served, pool="p", unhealthy=[])
    assert state(served, alarm) == "ok"


def test_a_state_by_the_api_calls_nobody(served: Served, listener: Listener) -> None:
    alarm = make(served, alarm_actions=[listener.url])
    where = f"{ALARMS}/{alarm['alarm_id']}/state"
    assert served.call("PUT", where, "alarm").json() == "alarm"
    assert served.call("PUT", where, "angry").status_code == 400
    assert listener.heard == []
    tell(served, alarm="busy", state="ok")
    tell(served, alarm="busy", state="alarm", reason="because")
    assert [body["reason"] for body in listener.bodies] == ["because"]


def test_what_is_disabled_is_not_evaluated(served: Served) -> None:
    alarm = make(served, enabled=False)
    assert tell(served, metric="cpu_util", values=[90]) == []
    assert state(served, alarm) == "insufficient data"


def test_an_alarm_sleeps_outside_its_times(served: Served) -> None:
    def constraint(hour: int, duration: int) -> list[dict]:
        return [{"name": "t", "start": f"0 {hour} * * *", "duration": duration, "timezone": "UTC"}]

    hour = time.gmtime(served.cloud.store.time).tm_hour
    make(served, name="now", time_constraints=constraint(hour, 7200))
    make(served, name="later", time_constraints=constraint((hour + 12) % 24, 60))
    found = tell(served, metric="cpu_util", values=[90])
    assert [one["name"] for one in found] == ["now"]


def test_a_trusted_url_is_called_with_a_token_of_the_trust(
    served: Served, listener: Listener
) -> None:
    url = listener.url.replace("http://", "trust+http://")
    alarm = make(served, alarm_actions=[f"{url}/signal"])
    tell(served, metric="cpu_util", values=[90])
    (one,) = listener.heard
    path, headers = one.path, one.headers
    assert path == "/signal"
    token = headers["x-auth-token"]
    shown = served.call(
        "GET", "/identity/v3/auth/tokens", headers={"X-Subject-Token": token}, user="admin"
    ).json()["token"]
    assert shown["project"]["name"] == "demo"
    assert shown["user"]["name"] == "demo"
    assert shown["OS-TRUST:trust"]["id"] in alarm["alarm_actions"][0]
    served.cloud.store.remove(
        served.cloud.store.table("identity.trusts")[shown["OS-TRUST:trust"]["id"]]
    )
    tell(served, metric="cpu_util", values=[70])
    (done,) = tell(served, metric="cpu_util", values=[90])
    assert done["notices"][0]["status"] == 401
    assert len(listener.heard) == 1


@pytest.mark.parametrize("scheme", ["zaqar", "trust+zaqar"])
def test_a_queue_of_the_project_gets_a_message(served: Served, scheme: str) -> None:
    name = f"q-{scheme.replace('+', '-')}"
    make(served, alarm_actions=[f"{scheme}://?queue_name={name}"])
    (done,) = tell(served, metric="cpu_util", values=[90])
    assert done["notices"][0]["status"] == 201
    place = f"/messaging/v2/queues/{name}/messages"
    (message,) = served.call("GET", place, headers=CLIENT).json()["messages"]
    assert message["body"]["current"] == "alarm"


def test_nobody_at_the_other_end_is_no_matter(served: Served) -> None:
    with listening() as gone:
        url = gone.url
    alarm = make(served, alarm_actions=[url])
    (done,) = tell(served, metric="cpu_util", values=[90])
    assert "error" in done["notices"][0]
    assert state(served, alarm) == "alarm"


@pytest.mark.parametrize(
    "news",
    [
        {},
        {"metric": "m"},
        {"values": [1]},
        {"alarm": "a", "state": "odd"},
        {"state": "ok"},
        {"metric": "m", "values": ["x"]},
        {"event": {}},
        {"event": {"event_type": "e", "traits": [["a"]]}},
        {"pool": "p"},
    ],
)
def test_news_without_sense_are_refused(served: Served, news: dict) -> None:
    assert served.call("POST", "/devcloud/alarms", news).status_code == 400


def test_servers_tell_of_themselves_while_events_are_on(served: Served, listener: Listener) -> None:
    for event_type in ("compute.instance.update", "compute.instance.delete.start"):
        query = [{"field": "traits.state", "value": "error"}] if "update" in event_type else []
        rule = {"event_type": event_type, "query": query}
        make(served, "event", rule, alarm_actions=[f"{listener.url}/{event_type}"])

    def server() -> str:
        given = {"name": "s", "flavorRef": "1", "imageRef": image, "networks": "none"}
        answer = served.call("POST", "/compute/v2.1/servers", {"server": given}, headers=version)
        return f"/compute/v2.1/servers/{answer.json()['server']['id']}"

    version = {"OpenStack-API-Version": "compute 2.37"}
    image = served.call("GET", "/image/v2/images").json()["images"][0]["id"]
    served.call("DELETE", server())
    assert served.call("GET", "/devcloud/knobs").json()["events"] is False
    assert served.call("POST", "/devcloud/knobs", {"events": True}).status_code == 200
    assert served.call("POST", "/devcloud/knobs", {"events": "yes"}).status_code == 400
    one = server()
    served.call("GET", one)
    reset = {"os-resetState": {"state": "error"}}
    assert served.call("POST", f"{one}/action", reset, user="admin").status_code == 202
    served.call("DELETE", one)
    deadline = time.monotonic() + 5
    while len(listener.heard) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    heard = {one.path: one.body["reason_data"]["event"] for one in listener.heard}
    assert set(heard) == {"/compute.instance.update", "/compute.instance.delete.start"}
    for event in heard.values():
        traits = {name: value for name, _, value in event["traits"]}
        assert traits["instance_id"] == one.rpartition("/")[2]


def test_samples_are_counted_anew_when_the_rule_changes(served: Served) -> None:
    alarm = make(served, rule={"evaluation_periods": 2})
    tell(served, metric="cpu_util", values=[90])
    alarm[f"{THRESHOLD}_rule"]["threshold"] = 50
    assert served.call("PUT", f"{ALARMS}/{alarm['alarm_id']}", alarm).status_code == 200
    tell(served, metric="cpu_util", values=[90])
    assert state(served, alarm) == "insufficient data"

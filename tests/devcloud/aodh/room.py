"""Alarms of one cloud, and who listens to what they say."""

from collections.abc import Mapping
from typing import Any

from tests.devcloud.running import Served

ALARMS = "/alarming/v2/alarms"
CPU: Mapping[str, Any] = {
    "metric": "cpu_util",
    "resource_id": "server-1",
    "resource_type": "instance",
    "aggregation_method": "mean",
    "comparison_operator": "gt",
    "threshold": 80,
}
THRESHOLD = "gnocchi_resources_threshold"


def body(kind: str = THRESHOLD, rule: Any = None, **more: Any) -> dict[str, Any]:
    """A create call's body."""
    rule = {**CPU, **(rule or {})} if kind == THRESHOLD else rule
    return {"name": "busy", "type": kind, f"{kind}_rule": rule, **more}


def make(served: Served, kind: str = THRESHOLD, rule: Any = None, **more: Any) -> Any:
    """A new alarm."""
    answer = served.call("POST", ALARMS, body(kind, rule, **more))
    assert answer.status_code == 201, answer.text
    return answer.json()


def tell(served: Served, **news: Any) -> Any:
    """What the alarms make of news."""
    answer = served.call("POST", "/devcloud/alarms", news)
    assert answer.status_code == 200, answer.text
    return answer.json()["alarms"]


def state(served: Served, alarm: Mapping[str, Any]) -> str:
    found: str = served.call("GET", f"{ALARMS}/{alarm['alarm_id']}/state").json()
    return found

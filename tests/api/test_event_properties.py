"""An event shows the properties that its resource had then; hidden values stay hidden."""

from typing import Any

from tests.api.conftest import Caller

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: first}
  password: {type: string, hidden: true, default: s3cret}
resources:
  plain: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  hidden: {type: OS::Heat::TestResource, properties: {value: {get_param: password}}}
  made: {type: OS::Heat::RandomString, properties: {length: 7}}
"""


def shown(api: Caller, path: str, resource: str) -> dict[str, dict[str, Any]]:
    """By state, the properties that each event of a resource shows."""
    events = api.call("GET", f"{path}/resources/{resource}/events").json()["events"]
    found = {}
    for one in events:
        assert "resource_properties" not in one
        where = f"{path}/resources/{resource}/events/{one['id']}"
        full = api.call("GET", where).json()["event"]
        found[one["resource_status"]] = full["resource_properties"]
    return found


def test_an_event_shows_the_properties_of_its_time(api: Caller) -> None:
    path = api.create("with-properties", TEMPLATE)
    body = {"template": TEMPLATE, "parameters": {"word": "second", "password": "0ther"}}
    assert api.call("PUT", path, body).status_code == 202
    api.until(path, "UPDATE_COMPLETE")
    plain = {state: one["value"] for state, one in shown(api, path, "plain").items()}
    assert plain == {
        "CREATE_IN_PROGRESS": "first",
        "CREATE_COMPLETE": "first",
        "UPDATE_IN_PROGRESS": "second",
        "UPDATE_COMPLETE": "second",
    }
    hidden = {one["value"] for one in shown(api, path, "hidden").values()}
    assert hidden == {"******"}
    assert shown(api, path, "made")["CREATE_COMPLETE"]["length"] == 7
    assert set(map(str, shown(api, path, "with-properties").values())) == {"{}"}
    assert api.call("POST", f"{path}/actions", {"check": None}).ok
    api.until(path, "CHECK_COMPLETE")
    checked = shown(api, path, "plain")
    assert {one["value"] for state, one in checked.items() if "CHECK" in state} == {"second"}
    assert shown(api, path, "hidden")["CHECK_COMPLETE"] == {"value": "******"} | {
        name: value for name, value in checked["CHECK_COMPLETE"].items() if name != "value"
    }

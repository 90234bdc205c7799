"""Workflows: definitions, and what becomes of their executions."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import openstack
import pytest

from hearth_devcloud.settings import Settings
from tests.devcloud.listener import Listener, listening
from tests.devcloud.running import Served

BASE = "/workflow/v2"
TEXT = {"Content-Type": "text/plain"}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as found:
        yield found


def define(served: Served, text: str, method: str = "POST", query: str = "") -> Any:
    data = "version: '2.0'\n" + dedent(text)
    return served.call(method, f"{BASE}/workflows{query}", data=data, headers=TEXT)


def start(served: Served, name: str, **more: Any) -> Any:
    answer = served.call("POST", f"{BASE}/executions", {"workflow_name": name, **more})
    assert answer.status_code == 201, answer.text
    assert answer.json()["state"] == "RUNNING"
    return answer.json()


def ended(served: Served, execution: Any, *states: str) -> Any:
    """The execution once it is in one of the states."""
    wanted = states or ("SUCCESS", "ERROR")
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        found = served.call("GET", f"{BASE}/executions/{execution['id']}").json()
        if found["state"] in wanted:
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def run(served: Served, text: str, **more: Any) -> Any:
    """Define a workflow, start it, and see its end."""
    made = define(served, text)
    assert made.status_code == 201, made.text
    return ended(served, start(served, made.json()["workflows"][0]["name"], **more))


def tasks(served: Served, execution: Any) -> dict[str, Any]:
    rows = served.call("GET", f"{BASE}/executions/{execution['id']}/tasks").json()["tasks"]
    return {row["name"]: row for row in rows}


def test_a_definition_is_made_shown_changed_and_deleted(served: Served) -> None:
    text = "one: {input: [a, {b: 2}], tags: [x], tasks: {t: {action: std.noop}}}"
    made = define(served, text)
    assert made.status_code == 201
    (workflow,) = made.json()["workflows"]
    assert (workflow["name"], workflow["input"], workflow["tags"]) == ("one", "a, b=2", ["x"])
    assert workflow["definition"].endswith(text)
    assert define(served, text).status_code == 409
    assert define(served, text, query="?namespace=other").status_code == 201
    for ident in ("one", workflow["id"]):
        assert served.call("GET", f"{BASE}/workflows/{ident}").json() == workflow
    names = [row["name"] for row in served.call("GET", f"{BASE}/workflows").json()["workflows"]]
    assert "one" in names
    changed = define(served, "one: {tasks: {t: {action: std.noop}}}", "PUT")
    assert (changed.json()["workflows"][0]["id"], changed.status_code) == (workflow["id"], 200)
    assert served.call("GET", f"{BASE}/workflows/one").json()["input"] == ""
    assert served.call("GET", f"{BASE}/workflows/one", user="admin").status_code == 404
    assert served.call("DELETE", f"{BASE}/workflows/one").status_code == 204
    assert served.call("GET", f"{BASE}/workflows/one").status_code == 404
    assert define(served, "none: {tasks: {t: {action: std.noop}}}", "PUT").status_code == 404


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("w: {tasks: {}}", "no tasks"),
        ("w: {colour: red, tasks: {t: {}}}", "colour"),
        ("w: {tasks: {t: {actoin: std.noop}}}", "actoin"),
        ("w: {tasks: {t: {action: std.noop, on-success: [nobody]}}}", "nobody"),
        ("w: {type: reverse, tasks: {t: {requires: [nobody]}}}", "nobody"),
        ("w: {type: sideways, tasks: {t: {}}}", "direct or reverse"),
        ("w: {tasks: {t: {action: 'std.echo output=<% $.a. %>'}}}", "Parse error"),
        ("w: {tasks: {t: {action: std.noop, workflow: other}}}", "both"),
        ("w: [", "parsed"),
        ("w: " + "[" * 3000, "parsed"),
        ("w: &w {tasks: *w}", "parsed"),
        ("w: {? [a] : b}", "parsed"),
        ("w: 2001-99-99", "parsed"),
        ("w: !!int ''", "parsed"),
    ],
)
def test_a_wrong_definition_is_refused_with_the_reason(
    served: Served, text: str, words: str
) -> None:
    refused = define(served, text)
    assert refused.status_code == 400
    assert refused.json()["faultcode"] == "Client"
    assert words in refused.json()["faultstring"]
    data = f"version: '2.0'\n{text}"
    looked = served.call("POST", f"{BASE}/workflows/validate", data=data, headers=TEXT)
    assert words in looked.json()["error"]
    wrong_kind = {"Content-Type": "application/json"}
    assert served.call(
        "POST", f"{BASE}/workflows", data=data, headers=wrong_kind
    ).status_code == 415  # fmt: skip


def test_values_go_from_input_through_tasks_to_the_output(served: Served) -> None:
    found = run(
        served,
        """
        values:
          input: [name, {greeting: hello}]
          vars: {both: <% $.greeting + ' ' + $.name %>}
          output: {said: <% $.said %>, from: <% env().place %>, first: <% $.list.first() %>}
          tasks:
            say:
              action: std.echo output='<% $.both %>!'
              publish: {said: <% task().result %>, list: '<% [3, 1] %>'}
        """,
        input={"name": "you"},
        params={"env": {"place": "here"}},
    )
    assert found["state"] == "SUCCESS", found
    assert json.loads(found["output"]) == {"said": "hello you!", "from": "here", "first": 3}
    assert json.loads(found["input"]) == {"name": "you", "greeting": "hello"}
    say = tasks(served, found)["say"]
    assert (say["state"], json.loads(say["result"])) == ("SUCCESS", "hello you!")
    (action,) = served.call("GET", f"{BASE}/tasks/{say['id']}/action_executions").json()[
        "action_executions"
    ]
    assert json.loads(action["output"]) == {"result": "hello you!"}


def test_inputs_must_fit(served: Served) -> None:
    define(served, "fits: {input: [a], tasks: {t: {action: std.noop}}}")
    refused = served.call(
        "POST", f"{BASE}/executions", {"workflow_name": "fits", "input": {"b": 1}}
    )
    assert refused.status_code == 400
    assert "unexpected=['b'], missing=['a']" in refused.json()["faultstring"]
    unknown = served.call("POST", f"{BASE}/executions", {"workflow_id": "nobody"})
    assert unknown.status_code == 404
    odd = served.call("POST", f"{BASE}/executions", {"workflow_name": "fits", "colour": "red"})
    assert odd.status_code == 400


def test_an_error_leads_on_or_ends_the_execution(served: Served) -> None:
    failed = run(served, "fails: {tasks: {t: {action: std.fail}, u: {action: std.noop}}}")
    assert failed["state"] == "ERROR"
    assert failed["state_info"].startswith("Failure caused by error in tasks: t\n")
    assert "Fail action expected exception" in tasks(served, failed)["t"]["state_info"]
    dealt = run(
        served,
        """
        deals:
          output: {why: <% $.why %>}
          tasks:
            t:
              action: std.fail error_data=bad
              publish-on-error: {why: <% task(t).result %>}
              on-success: [never]
              on-error: [mend]
              on-complete: [after]
            mend: {action: std.noop}
            after: {action: std.noop}
            never: {action: std.fail}
        """,
    )
    assert (dealt["state"], json.loads(dealt["output"])) == ("SUCCESS", {"why": "bad"})
    assert set(tasks(served, dealt)) == {"t", "mend", "after"}
    unknown = run(served, "unknown: {tasks: {t: {action: std.nothing}}}")
    assert "Failed to find action [action_name=std.nothing]" in unknown["state_info"]
    wrong = run(served, "wrong: {tasks: {t: {action: 'std.echo output=<% $.nobody %>'}}}")
    assert (wrong["state"], "Can not evaluate" in wrong["state_info"]) == ("ERROR", True)


def test_conditions_commands_and_joins_choose_the_way(served: Served) -> None:
    found = run(
        served,
        """
        ways:
          input: [n]
          output: {sum: <% $.a + $.b %>}
          tasks:
            left: {action: std.echo output=1, publish: {a: <% task().result %>}, on-success: meet}
            right: {action: std.echo output=2, publish: {b: <% task().result %>}, on-success: meet}
            meet:
              join: all
              action: std.noop
              on-success:
                - fail: <% $.n > 5 %>
                - more: <% $.n > 3 %>
            more: {action: std.noop}
        """,
        input={"n": 4},
    )
    assert (found["state"], json.loads(found["output"])) == ("SUCCESS", {"sum": 3})
    assert set(tasks(served, found)) == {"left", "right", "meet", "more"}
    other = ended(served, start(served, "ways", input={"n": 6}))
    assert (other["state"], "more" in tasks(served, other)) == ("ERROR", False)


def test_a_join_that_too_few_lead_to_is_an_error(served: Served) -> None:
    found = run(
        served,
        """
        lonely:
          tasks:
            a: {action: std.noop, on-success: [meet]}
            b: {action: std.noop, on-error: [meet]}
            meet: {join: all, action: std.noop}
        """,
    )
    assert (found["state"], "join" in found["state_info"]) == ("ERROR", True)


def test_a_reverse_workflow_does_what_its_task_requires(served: Served) -> None:
    text = """
    backwards:
      type: reverse
      output: {all: <% $.a + $.b %>}
      tasks:
        a: {action: std.echo output=1, publish: {a: <% task().result %>}}
        b: {action: std.echo output=<% $.a + 1 %>, publish: {b: <% task().result %>}, requires: a}
        c: {action: std.noop, requires: [b]}
        other: {action: std.fail}
    """
    found = run(served, text, params={"task_name": "c"})
    assert (found["state"], json.loads(found["output"])) == ("SUCCESS", {"all": 3})
    assert list(tasks(served, found)) == ["a", "b", "c"]
    refused = served.call("POST", f"{BASE}/executions", {"workflow_name": "backwards"})
    assert refused.status_code == 400


def test_items_are_done_each_and_workflows_call_workflows(served: Served) -> None:
    define(
        served,
        """
        double:
          input: [n]
          output: {twice: <% $.m %>}
          tasks: {t: {action: std.echo output=<% $.n * 2 %>, publish: {m: <% task().result %>}}}
        """,
    )
    found = run(
        served,
        """
        many:
          output: {all: <% $.all %>}
          tasks:
            t:
              with-items: i in <% [1, 2, 3] %>
              concurrency: 1
              workflow: double n=<% $.i %>
              publish: {all: <% task().result.select($.twice) %>}
        """,
    )
    assert json.loads(found["output"]) == {"all": [2, 4, 6]}
    part = tasks(served, found)["t"]["id"]
    rows = served.call("GET", f"{BASE}/executions?task_execution_id={part}").json()["executions"]
    assert {row["root_execution_id"] for row in rows} == {found["id"]}
    assert len(rows) == 3


def test_http_actions_call_and_are_tried_again(served: Served, listener: Listener) -> None:
    listener.statuses = [503, 500]
    found = run(
        served,
        f"""
        calls:
          output: {{got: <% $.got %>}}
          tasks:
            t:
              action: std.http
              retry: {{count: 3, delay: 0}}
              input:
                url: {listener.url}/door
                method: PUT
                params: {{a: 1}}
                headers: {{X-Me: you}}
                body: {{k: [1]}}
              publish: {{got: <% task().result.content.heard %>}}
        """,
    )
    assert (found["state"], json.loads(found["output"])) == ("SUCCESS", {"got": 3}), found
    heard = listener.heard[-1]
    assert (heard.method, heard.path, heard.body) == ("PUT", "/door?a=1", {"k": [1]})
    assert heard.headers["x-me"] == "you"
    listener.statuses = [404]
    lost = run(served, f"lost: {{tasks: {{t: {{action: std.http url={listener.url}}}}}}}")
    assert (lost["state"], "404" in lost["state_info"]) == ("ERROR", True)
    nowhere = run(served, "nowhere: {tasks: {t: {action: std.http url=http://127.0.0.1:1/}}}")
    assert "Failed to send HTTP request" in nowhere["state_info"]


def test_pauses_waits_and_time_limits(served: Served) -> None:
    define(
        served,
        """
        waits:
          tasks:
            a: {action: std.noop, wait-before: 0.05, wait-after: 0.05, on-success: [b]}
            b: {action: std.noop, pause-before: true}
        """,
    )
    began = time.monotonic()
    execution = start(served, "waits")
    paused = ended(served, execution, "PAUSED")
    assert time.monotonic() - began >= 0.1
    assert {name: one["state"] for name, one in tasks(served, paused).items()} == {
        "a": "SUCCESS",
        "b": "IDLE",
    }
    place = f"{BASE}/executions/{execution['id']}"
    assert served.call("DELETE", place).status_code == 403
    assert served.call("PUT", place, {"state": "RUNNING"}).status_code == 200
    ended(served, execution, "SUCCESS")
    assert served.call("PUT", place, {"state": "PAUSED"}).status_code == 400
    assert served.call("DELETE", place).status_code == 204
    assert served.call("GET", place).status_code == 404


def test_a_task_may_take_so_long_only(served: Served) -> None:
    with listening() as slow, slow.came:  # it answers nobody as long as this is held
        found = run(
            served, f"late: {{tasks: {{t: {{action: std.http url={slow.url}, timeout: 0.05}}}}}}"
        )
    assert (found["state"], "timed out" in found["state_info"]) == ("ERROR", True)


def test_an_endless_loop_ends(served: Served) -> None:
    found = run(
        served,
        """
        endless:
          tasks:
            begin: {action: std.noop, on-success: [a]}
            a: {action: std.noop, on-success: [b]}
            b: {action: std.noop, on-success: [a]}
        """,
    )
    assert (found["state"], "more than 1000 tasks" in found["state_info"]) == ("ERROR", True)


def test_an_execution_is_started_once_under_its_id(served: Served) -> None:
    define(served, "once: {tasks: {t: {action: std.noop}}}")
    ident = served.cloud.store.new_id()
    first = start(served, "once", id=ident, description="mine")
    ended(served, first)
    second = served.call("POST", f"{BASE}/executions", {"workflow_name": "once", "id": ident})
    assert (second.status_code, second.json()["state"]) == (201, "SUCCESS")
    rows = served.call("GET", f"{BASE}/executions?workflow_name=once").json()["executions"]
    assert [row["description"] for row in rows] == ["mine"]


def test_an_action_runs_alone(served: Served) -> None:
    wanted = {"name": "std.echo", "input": json.dumps({"output": {"a": 1}})}
    made = served.call("POST", f"{BASE}/action_executions", wanted)
    assert made.status_code == 201
    assert json.loads(made.json()["output"]) == {"result": {"a": 1}}
    place = f"{BASE}/action_executions/{made.json()['id']}"
    assert served.call("GET", place).json() == made.json()
    assert served.call("DELETE", place).status_code == 204


def test_the_heat_actions_call_the_orchestration_api_of_the_catalogue(
    listener: Listener,
) -> None:
    with Served(Settings(orchestration_url=f"{listener.url}/v1/$(project_id)s")) as served:
        project = served.call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
        found = run(
            served,
            """
            heals:
              input: [stack]
              tasks:
                mark:
                  action: >
                    heat.resources_mark_unhealthy stack_id=<% $.stack %>
                    resource_name=<% env().notification.body.traits.where($[0] = 'i').select($[2])
                    .first() %> mark_unhealthy=true resource_status_reason='Marked by alarm'
                  on-success: [update]
                update: heat.stacks_update stack_id=<% $.stack %> existing=true
            """.replace("update: heat", "update:\n                  action: heat"),
            input={"stack": "web/123"},
            params={
                "env": {"notification": {"body": {"traits": [["n", 1, "x"], ["i", 1, "s/1"]]}}}
            },
        )
        assert found["state"] == "SUCCESS", found["state_info"]
        mark, update = listener.heard
        assert (mark.method, mark.path) == (
            "PATCH", f"/v1/{project}/stacks/web/123/resources/s%2F1",
        )  # fmt: skip
        assert mark.body == {
            "mark_unhealthy": True,
            "resource_status_reason": "Marked by alarm",
        }
        assert (update.method, update.path) == ("PATCH", f"/v1/{project}/stacks/web/123")
        assert update.body == {}
        assert mark.headers["x-auth-token"] == served.token()
        listener.statuses = [404]
        gone = run(served, "gone: {tasks: {t: {action: heat.stacks_get stack_id=a/b}}}")
        assert (gone["state"], "HTTP 404" in gone["state_info"]) == ("ERROR", True)


def test_without_orchestration_its_actions_fail(served: Served) -> None:
    found = run(served, "nobody: {tasks: {t: {action: heat.stacks_list}}}")
    assert "no orchestration service" in found["state_info"]


def at_once(served: Served, act: Callable[[], None]) -> None:
    """Do something where the cloud does its own things."""

    async def there() -> None:
        act()

    asyncio.run_coroutine_threadsafe(there(), served._loop).result(10)


@pytest.fixture
def fresh() -> Iterator[Served]:
    """A cloud whose tokens hold for weeks."""
    with Served(Settings(token_life_s=1e7)) as served:
        yield served


def test_a_cron_trigger_starts_its_workflow_as_often_as_it_may(fresh: Served) -> None:
    define(fresh, "ticks: {input: [n], tasks: {t: {action: std.noop}}}")
    hour = (time.gmtime().tm_hour + 12) % 24  # in this one it may have begun
    wanted = {
        "name": "tick", "workflow_name": "ticks", "workflow_input": {"n": 1},
        "pattern": f"*/5 {hour} * * 1-5", "remaining_executions": 2,
    }  # fmt: skip
    place = f"{BASE}/cron_triggers"
    made = fresh.call("POST", place, wanted)
    assert made.status_code == 201, made.text
    assert made.json()["next_execution_time"][11:] == f"{hour:02}:00:00"
    assert fresh.call("POST", place, wanted).status_code == 409
    assert (
        fresh.call("POST", place, {**wanted, "name": "x", "pattern": "61 * * * *"}).status_code
        == 400
    )
    assert fresh.call("DELETE", f"{BASE}/workflows/ticks").status_code == 403
    store = fresh.cloud.store
    for left in (1, None):
        trigger = next(iter(store.all("workflow.cron_triggers")))
        at_once(
            fresh, lambda due=trigger.hidden["due"]: store.settle(due + 1, fresh.cloud.carry_out)
        )
        shown = fresh.call("GET", f"{place}/tick")
        assert (shown.status_code, shown.json().get("remaining_executions")) == (
            (200, left) if left else (404, None)
        )
    rows = fresh.call("GET", f"{BASE}/executions").json()["executions"]
    assert [json.loads(row["input"]) for row in rows] == [{"n": 1}] * 2
    assert fresh.call("POST", place, {**wanted, "remaining_executions": 1}).status_code == 201
    assert fresh.call("DELETE", f"{place}/tick").status_code == 204


def test_a_cron_trigger_ends_with_the_years_of_its_pattern(fresh: Served) -> None:
    define(fresh, "ticks: {tasks: {t: {action: std.noop}}}")
    year = time.gmtime().tm_year + 1
    wanted = {"name": "tick", "workflow_name": "ticks", "pattern": f"0 0 1 1 * 0 {year}"}
    assert fresh.call("POST", f"{BASE}/cron_triggers", wanted).status_code == 201
    store = fresh.cloud.store
    due = next(iter(store.all("workflow.cron_triggers"))).hidden["due"]
    at_once(fresh, lambda: store.settle(due + 1, fresh.cloud.carry_out))
    assert list(store.all("workflow.cron_triggers")) == []


def test_what_was_under_way_goes_on_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "cloud"
    with listening() as listener:
        text = f"""
        goes:
          tasks:
            a: {{action: std.noop, wait-before: 0.3, on-success: [b]}}
            b: {{action: std.http url={listener.url}}}
        """
        with Served(data=data) as served:
            assert define(served, text).status_code == 201
            execution = start(served, "goes")
        assert listener.heard == []
        with Served(data=data) as served:
            assert ended(served, execution)["state"] == "SUCCESS"
        assert len(listener.heard) == 1


def test_the_sdk_makes_workflows_and_executions(served: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connection = openstack.connect(**served.client_config(), load_yaml_config=False)
        workflow = connection.workflow.create_workflow(
            definition="version: '2.0'\nby-sdk: {tasks: {t: {action: std.noop}}}", scope="private"
        )
        assert workflow is not None
        assert "by-sdk" in [one.name for one in connection.workflow.workflows()]
        execution = connection.workflow.create_execution(workflow_name="by-sdk")
        assert ended(served, {"id": execution.id})["state"] == "SUCCESS"
        assert connection.workflow.get_execution(execution.id).status == "SUCCESS"
        connection.workflow.delete_execution(execution.id)

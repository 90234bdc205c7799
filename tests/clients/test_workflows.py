"""Messages in a queue start workflows, which call orchestration back: stacks heal themselves."""

import json
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, settled, wait_for
from tests.devcloud.listener import listening

pytestmark = pytest.mark.slow

TELLING = """
heat_template_version: 2021-04-16
parameters:
  url: {type: string}
resources:
  queue: {type: OS::Zaqar::Queue}
  workflow:
    type: OS::Mistral::Workflow
    properties:
      type: direct
      input: {url: null, who: nobody}
      tasks:
        - name: tell
          action: std.http
          input:
            url: <% $.url %>
            method: POST
            body: {who: <% $.who %>, said: <% env().notification.body %>, at: <% env().place %>}
  trigger:
    type: OS::Zaqar::MistralTrigger
    properties:
      queue_name: {get_resource: queue}
      workflow_id: {get_resource: workflow}
      input: {url: {get_param: url}, who: you}
      params: {env: {place: here}}
outputs:
  queue: {value: {get_resource: queue}}
  workflow: {value: {get_resource: workflow}}
  alarm_url: {value: {get_attr: [workflow, alarm_url]}}
  executions: {value: {get_attr: [workflow, executions]}}
"""

HEALING = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  queue: {type: OS::Zaqar::Queue}
  trigger:
    type: OS::Zaqar::MistralTrigger
    properties:
      queue_name: {get_resource: queue}
      workflow_id: {get_resource: heal}
      input: {stack_id: {get_param: "OS::stack_id"}}
  heal:
    type: OS::Mistral::Workflow
    properties:
      input: {stack_id: null}
      type: direct
      tasks:
        - name: resources_mark_unhealthy
          action:
            list_join:
              - ' '
              - - heat.resources_mark_unhealthy
                - stack_id=<% $.stack_id %>
                - >-
                  resource_name=<% env().notification.body.reason_data.event.traits
                  .where($[0] = 'instance_id').select($[2]).first() %>
                - mark_unhealthy=true
                - resource_status_reason='Marked by alarm'
          on_success: [stacks_update]
        - name: stacks_update
          action: heat.stacks_update stack_id=<% $.stack_id %> existing=true
outputs:
  queue: {value: {get_resource: queue}}
  workflow: {value: {get_resource: heal}}
  net: {value: {get_resource: net}}
"""


def outputs(stack: Any) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in stack.outputs}


def made(heat: Any, name: str, template: str, **parameters: str) -> Any:
    """A stack once it is there."""
    stack = heat.stacks.create(stack_name=name, template=template, parameters=parameters)["stack"]
    done = settled(heat, stack["id"], "CREATE")
    assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
    return heat.stacks.get(stack["id"])


def executions(connection: Any, workflow: str) -> list[Any]:
    return [one for one in connection.workflow.executions() if one.workflow_name == workflow]


def test_a_message_starts_one_execution_that_knows_it(dev: Dev) -> None:
    with dev.heat() as heat, dev.sdk() as connection, listening() as listener:
        stack = made(heat, "tells", TELLING, url=listener.url)
        there = outputs(stack)
        message = {"ttl": 300, "body": {"colour": "red"}}
        connection.message.post_message(there["queue"], [message])
        heard = listener.wait(1)[0]
        assert heard.body == {"who": "you", "said": {"colour": "red"}, "at": "here"}

        def ended(count: int) -> list[Any] | None:
            found = executions(connection, there["workflow"])
            done = len(found) == count and {one.status for one in found} == {"SUCCESS"}
            return found if done else None

        (only,) = wait_for(lambda: ended(1), "one execution")
        assert json.loads(only.params)["env"]["notification"]["Message_Type"] == "Notification"
        assert there["executions"] == []
        signalled = {"input": {"who": "signal"}, "params": {"env": {
            "notification": {"body": 1}, "place": "there"}}}  # fmt: skip
        signalled["input"]["url"] = listener.url
        answer = requests.post(there["alarm_url"], json=signalled, timeout=20)
        assert answer.status_code == 200, answer.text
        heard = listener.wait(2)[1]
        assert heard.body == {"who": "signal", "said": 1, "at": "there"}
        wait_for(lambda: ended(2), "the execution of the signal")
        (shown,) = outputs(heat.stacks.get(stack.id))["executions"]
        assert (shown["state"], shown["id"] != only.id) == ("SUCCESS", True)
        unfit = requests.post(there["alarm_url"], json={"input": {"colour": 1}}, timeout=20)
        assert (unfit.status_code, "Unknown input colour" in unfit.text) == (400, True)
        unknown = {"params": {"env": 7}, "input": {"url": listener.url}}
        assert requests.post(there["alarm_url"], json=unknown, timeout=20).status_code == 400
        assert len(executions(connection, there["workflow"])) == 2
        heat.stacks.delete(stack.id)
        wait_for(lambda: gone(heat, stack.id), "the end of the stack")
        assert there["queue"] not in [queue.name for queue in connection.message.queues()]


def gone(heat: Any, stack_id: str) -> bool | None:
    return True if heat.stacks.get(stack_id).stack_status == "DELETE_COMPLETE" else None


def test_a_stack_heals_itself(dev: Dev) -> None:
    with dev.heat() as heat, dev.sdk() as connection:
        stack = made(heat, "heals", HEALING)
        there = outputs(stack)
        traits = [["service", 1, "network"], ["instance_id", 1, there["net"]]]
        body = {"reason_data": {"event": {"traits": traits}}}
        connection.message.post_message(there["queue"], [{"ttl": 300, "body": body}])

        def healed() -> dict[str, Any] | None:
            now = heat.stacks.get(stack.id)
            if now.stack_status == "UPDATE_COMPLETE":
                return outputs(now)
            states = [one.status_info for one in executions(connection, there["workflow"])]
            assert now.stack_status != "UPDATE_FAILED", now.stack_status_reason
            assert not any(states), states
            return None

        after = wait_for(healed, "the update")
        assert after["net"] != there["net"]
        assert after["queue"] == there["queue"]
        events = heat.events.list(stack.id, resource_name="net")
        reasons = [(one.resource_status, one.resource_status_reason) for one in events]
        assert ("CHECK_FAILED", "Marked by alarm") in reasons
        assert connection.network.find_network(there["net"]) is None
        heat.stacks.delete(stack.id)
        wait_for(lambda: gone(heat, stack.id), "the end of the stack")

"""An alarm of a stack, from its template to the URL that it calls."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, settled
from tests.devcloud.listener import listening

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  url: {type: string}
  repeat: {type: boolean, default: false}
resources:
  alarm:
    type: OS::Aodh::GnocchiResourcesAlarm
    properties:
      metric: cpu_util
      resource_id: server-1
      resource_type: instance
      aggregation_method: mean
      comparison_operator: gt
      threshold: 80
      repeat_actions: {get_param: repeat}
      alarm_actions: [{get_param: url}]
outputs:
  state: {value: {get_attr: [alarm, show, state]}}
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


def measured(dev: Dev, value: float) -> Any:
    """The alarms learn of a value; what came of it."""
    news = {"metric": "cpu_util", "values": [value], "resource_id": "server-1"}
    answer = requests.post(f"{dev.cloud_url}/devcloud/alarms", json=news, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()["alarms"]


def test_the_url_is_called_once_unless_it_is_to_be_repeated(dev: Dev) -> None:
    with dev.heat() as heat, listening() as listener:
        given = {"url": f"{listener.url}/busy"}
        made = heat.stacks.create(stack_name="alarmed", template=TEMPLATE, parameters=given)
        stack_id = made["stack"]["id"]

        def done(action: str) -> Any:
            stack = settled(heat, stack_id, action)
            assert stack.stack_status == f"{action}_COMPLETE", stack.stack_status_reason

        done("CREATE")
        measured(dev, 70)
        assert listener.heard == []
        measured(dev, 90)
        measured(dev, 95)
        (said,) = listener.bodies
        assert (said["previous"], said["current"]) == ("ok", "alarm")
        assert listener.heard[0].path == "/busy"
        (output,) = heat.stacks.get(stack_id).outputs
        assert output["output_value"] == "alarm"

        given["repeat"] = True
        heat.stacks.update(stack_id, template=TEMPLATE, parameters=given)
        done("UPDATE")
        measured(dev, 95)
        assert len(listener.heard) == 2

        heat.actions.suspend(stack_id)
        done("SUSPEND")
        assert measured(dev, 99) == []
        heat.actions.resume(stack_id)
        done("RESUME")
        measured(dev, 99)
        assert len(listener.heard) == 3
        heat.stacks.delete(stack_id)
        settled_away(heat, stack_id)
        assert measured(dev, 99) == []


def settled_away(heat: Any, stack_id: str) -> None:
    """Wait until the stack is deleted."""
    assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"

"""Our agent in a server that runs: user data bring it along, and a script runs there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hearth.resources.heat.agent_text import agent_text
from tests.clients.dev import Dev, hearth_dev, settled
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import need_namespaces
from tests.guests.booted import missing_in_servers
from tests.guests.story import tell
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  colour: {type: string, default: red}
  image: {type: string, default: host}
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: {get_param: image}
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: SOFTWARE_CONFIG
      software_config_transport: %s
      user_data: {get_file: agent.sh}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: colour}]
      outputs: [{name: result}]
      config: |
        #!/bin/sh
        echo "$deploy_action on $(hostname)"
        printf %%s "$colour" > "$heat_outputs_path.result"
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      actions: [CREATE, UPDATE, DELETE]
      config: {get_resource: config}
      server: {get_resource: server}
      input_values: {colour: {get_param: colour}}
outputs:
  name: {value: {get_attr: [server, name]}}
  result: {value: {get_attr: [deployment, result]}}
  stdout: {value: {get_attr: [deployment, deploy_stdout]}}
"""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    need_namespaces()
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--servers", "sandbox") as running:
        yield running


@pytest.mark.parametrize("transport", ["POLL_SERVER_CFN", "POLL_SERVER_HEAT"])
def test_a_script_runs_on_a_server_that_boots(dev: Dev, transport: str):
    check_deployment(dev, transport)


def test_the_agent_of_others_works_on_a_server_that_boots(dev: Dev, tmp_path: Path):
    if lacks := missing_in_servers("os-collect-config"):
        lacking(lacks)
    combination = ("os-collect-config", "POLL_SERVER_CFN", "HEAT_SIGNAL")
    story = tell(dev, *combination, tmp_path, boots=True)
    assert story.wrong == ""
    assert story.actions == ["CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE"]


def check_deployment(dev: Dev, transport: str, **given: str) -> None:
    """Run the agent on a server that boots, and a script by it when the stack changes."""
    with dev.heat() as heat:
        stack = {
            "template": yaml.safe_load(TEMPLATE % transport),
            "files": {"agent.sh": agent_text(user_data=True)},
            "parameters": given,
        }
        name = transport.lower().replace("_", "-")
        stack_id = heat.stacks.create(stack_name=name, **stack)["stack"]["id"]
        for action, colour in (("CREATE", "red"), ("UPDATE", "blue")):
            if action == "UPDATE":
                stack["parameters"] = {**given, "colour": colour}
                heat.stacks.update(stack_id, **stack)
            state = settled(heat, stack_id, action)
            assert state.stack_status == f"{action}_COMPLETE", state.stack_status_reason
            shown = heat.stacks.get(stack_id).outputs
            outputs = {one["output_key"]: one["output_value"] for one in shown}
            assert outputs["result"] == colour
            assert outputs["stdout"].startswith(f"{action} on {outputs['name']}")
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"

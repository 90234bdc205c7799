"""A server that is deployed to: the unmodified agent polls, and answers as the hooks do."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from heatclient.common import deployment_utils
from swiftclient.client import Connection

from tests.clients.agent import Agent
from tests.clients.covered import runs
from tests.clients.dev import Dev, settled, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
    properties: {signal_transport: CFN_SIGNAL}
  server:
    type: OS::Nova::Server
    metadata: {role: web, odd: "<&>\\u00e9", signal: {get_attr: [handle, signal]}}
    properties:
      image: cirros
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: SOFTWARE_CONFIG
      software_config_transport: %s
  wait:
    type: OS::Heat::WaitCondition
    depends_on: server
    properties: {handle: {get_resource: handle}, timeout: 60}
outputs: {told: {value: {get_attr: [wait, data]}}}
"""
TRANSPORTS = {"cfn": "POLL_SERVER_CFN", "heat": "POLL_SERVER_HEAT", "request": "POLL_TEMP_URL"}


def server_of(heat: Any, stack_id: str) -> tuple[str, dict[str, Any]]:
    """The id of the server and its metadata, once it is there."""

    def look() -> tuple[str, dict[str, Any]] | None:
        wanted = {"name": "server", "status": "COMPLETE", "action": "CREATE"}
        for found in heat.resources.list(stack_id, filters=wanted):
            return found.physical_resource_id, heat.resources.metadata(stack_id, "server")
        return None

    return wait_for(look, "the server")


def deployed(dev: Dev, heat: Any, server: str, name: str, **values: str) -> Any:
    """A deployment as the command makes it, which itself cannot with TEMP_URL_SIGNAL."""
    source = {"inputs": [{"name": "colour"}], "group": "script", "config": "echo $colour"}
    with dev.sdk() as cloud:
        account = cloud.session.get_endpoint(service_type="object-store")
        swift = Connection(preauthurl=account, preauthtoken=cloud.auth_token, auth_version="3")
        url = deployment_utils.create_temp_url(swift, name, 60)
    derived = deployment_utils.build_derived_config_params(
        "CREATE", source, name, values, server, "TEMP_URL_SIGNAL", signal_id=url
    )
    config = heat.software_configs.create(**derived)
    return heat.software_deployments.create(
        config_id=config.id, server_id=server, action="CREATE", status="IN_PROGRESS"
    )


def answer(config: dict[str, Any], sent: dict[str, Any]) -> None:
    """What heat-config-notify does with the results of a hook."""
    inputs = {one["name"]: one["value"] for one in config["inputs"]}
    verb = inputs["deploy_signal_verb"]
    told = requests.request(verb, inputs["deploy_signal_id"], json=sent, timeout=10)
    assert told.ok, told.text


@runs("software deployment show", "software deployment delete")
@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_server_is_deployed_to_answers_and_the_stack_goes_on(dev: Dev, tmp_path: Path, kind: str):
    name = f"agent-{kind}"
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name=name, template=TEMPLATE % TRANSPORTS[kind])
        stack_id = made["stack"]["id"]
        server, metadata = server_of(heat, stack_id)
        section = metadata["os-collect-config"]
        assert section["collectors"] == ["ec2", kind, "local"]
        agent = Agent(tmp_path, kind, section[kind])
        assert agent.collected() == {kind: metadata}
        assert (metadata["role"], metadata["odd"]) == ("web", "<&>é")
        assert metadata["deployments"] == []

        assert agent.changed() == [kind]
        assert agent.changed() == []  # nothing is new
        first = deployed(dev, heat, server, "010-first", colour="red")
        assert agent.changed() == [kind]
        (config,) = agent.cached()["deployments"]
        assert (config["id"], config["name"], config["group"]) == (
            first.config_id, "010-first", "script",
        )  # fmt: skip
        assert config["config"] == "echo $colour"
        colour = config["inputs"][0]
        assert (colour["name"], colour["type"], colour["value"]) == ("colour", "String", "red")
        answer(config, {"deploy_stdout": "red\n", "deploy_stderr": "", "deploy_status_code": 0})
        shown = dev.json("software", "deployment", "show", "--long", first.id)
        assert (shown["status"], shown["output_values"]["deploy_stdout"]) == ("COMPLETE", "red\n")

        second = deployed(dev, heat, server, "020-second")
        assert agent.changed() == [kind]
        names = [one["name"] for one in agent.cached()["deployments"]]
        assert names == ["010-first", "020-second"]
        answer(agent.cached()["deployments"][1], {"deploy_stderr": "no", "deploy_status_code": 3})
        shown = dev.json("software", "deployment", "show", "--long", second.id)
        assert shown["status"] == "FAILED"
        dev.shell("software", "deployment", "delete", second.id)
        dev.shell("software", "deployment", "delete", first.id)
        assert agent.changed() == [kind]
        assert agent.cached()["deployments"] == []

        assert heat.stacks.get(stack_id).stack_status == "CREATE_IN_PROGRESS"
        url = json.loads(agent.cached()["signal"])["alarm_url"]
        data = {"status": "SUCCESS", "id": "me", "data": "configured"}
        assert requests.put(url, json=data, timeout=10).status_code == 200
        assert settled(heat, stack_id, "CREATE").stack_status == "CREATE_COMPLETE"
        (told,) = heat.stacks.get(stack_id).outputs
        assert json.loads(told["output_value"]) == {"me": "configured"}
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"


def test_what_lies_in_the_server_is_collected_beside_it(dev: Dev, tmp_path: Path):
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name="both", template=TEMPLATE % "POLL_SERVER_CFN")
        stack_id = made["stack"]["id"]
        _, metadata = server_of(heat, stack_id)
        agent = Agent(tmp_path, "cfn", metadata["os-collect-config"]["cfn"])
        local = tmp_path / "local" / "mine"
        local.write_text('{"local": true}')
        local.chmod(0o600)
        assert agent.changed() == ["cfn", "mine"]
        heat.stacks.delete(stack_id)
        settled(heat, stack_id, "DELETE")


def test_an_agent_of_a_server_that_is_gone_finds_nothing(dev: Dev, tmp_path: Path):
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name="gone", template=TEMPLATE % "POLL_SERVER_HEAT")
        stack_id = made["stack"]["id"]
        _, metadata = server_of(heat, stack_id)
        agent = Agent(tmp_path, "heat", metadata["os-collect-config"]["heat"])
        assert agent.collected()["heat"]["role"] == "web"
        heat.stacks.delete(stack_id)
        settled(heat, stack_id, "DELETE")
        assert agent.collected() == {}

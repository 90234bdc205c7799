"""Software of resources that are being replaced: each call is for the resource that issued it.

During a replacement two resources have one name. The software of the old one still reads its
metadata, runs its DELETE and reports it, with the user that was created for the old one.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from tests.api.cfn.test_served import key_pair, secret_of
from tests.api.conftest import Caller
from tests.clients.dev import wait_for
from tests.clients.signing import Signer

pytestmark = pytest.mark.slow

SIGNALS = ("HEAT_SIGNAL", "CFN_SIGNAL")
LIMIT_S = 60.0
DEPLOYED = """
heat_template_version: 2021-04-16
parameters:
  signal: {type: string}
  server: {type: string, default: first}
  word: {type: string, default: a}
  version: {type: string, default: "1"}
conditions:
  first: {equals: [{get_param: server}, first]}
resources:
  first: &server
    type: OS::Heat::DeployedServer
    properties: {software_config_transport: POLL_SERVER_HEAT}
  second: *server
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: word}, {name: version, replace_on_change: true}]
  dep:
    type: OS::Heat::SoftwareDeployment
    properties:
      actions: [CREATE, UPDATE, DELETE]
      config: {get_resource: config}
      server: {if: [first, {get_resource: first}, {get_resource: second}]}
      signal_transport: {get_param: signal}
      input_values: {word: {get_param: word}, version: {get_param: version}}
"""


def user_token(api: Caller, user_id: str, password: str, project_id: str) -> str:
    """Return a token of a user of a stack."""
    body = {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"id": user_id, "password": password}},
        },
        "scope": {"project": {"id": project_id}},
    }
    reply = requests.post(f"{api.dev.auth_url}/auth/tokens", json={"auth": body}, timeout=10)
    assert reply.status_code == 201, reply.text
    return reply.headers["X-Subject-Token"]


def inputs_of(deployment: dict[str, Any]) -> dict[str, Any]:
    return {given["name"]: given["value"] for given in deployment["inputs"]}


def action_of(deployment: dict[str, Any]) -> str:
    return str(inputs_of(deployment)["deploy_action"])


@dataclass
class Agent:
    """The software of one server: it polls with the credentials that the server was given."""

    api: Caller
    collect: dict[str, Any]  # the section `heat` of os-collect-config
    answered: dict[str, str] = field(default_factory=dict)  # action by id of the configuration

    def deployments(self) -> list[dict[str, Any]]:
        """Return what the metadata of the server lists; nothing when the server is gone."""
        facts = self.collect
        try:
            token = user_token(self.api, facts["user_id"], facts["password"], facts["project_id"])
        except AssertionError:
            return []
        name, ident = facts["resource_name"], facts["stack_id"]
        url = f"{self.api.dev.url}/v1/{facts['project_id']}/stacks/{ident}/resources/{name}"
        reply = requests.get(f"{url}/metadata", headers={"X-Auth-Token": token}, timeout=10)
        if reply.status_code in (401, 403, 404):  # deleted meanwhile; 403: its name has another one
            return []
        assert reply.status_code == 200, reply.text
        found: list[dict[str, Any]] = reply.json()["metadata"].get("deployments", [])
        return found

    def run(self, fails: Callable[[str], bool], shown: list[dict[str, Any]] | None = None) -> None:
        """Run each new deployment of those `shown` and report it, as an agent does."""
        for one in self.deployments() if shown is None else shown:
            if one["id"] not in self.answered:
                inputs, action = inputs_of(one), action_of(one)
                self.answered[one["id"]] = action
                code = 3 if fails(action) else 0
                reply = self.signal(inputs, {"deploy_status_code": code})
                assert reply.status_code == 200, (action, reply.text)

    def signal(self, inputs: dict[str, Any], results: dict[str, Any]) -> requests.Response:
        if url := inputs.get("deploy_signal_id"):
            reply = requests.request(inputs["deploy_signal_verb"], url, json=results, timeout=10)
            reply.status_code = 200 if reply.status_code == 201 else reply.status_code  # of Swift
            return reply
        project_id = inputs["deploy_project_id"]
        token = user_token(
            self.api, inputs["deploy_user_id"], inputs["deploy_password"], project_id
        )
        where = f"{inputs['deploy_stack_id']}/resources/{inputs['deploy_resource_name']}"
        url = f"{self.api.dev.url}/v1/{project_id}/stacks/{where}/signal"
        return requests.post(url, headers={"X-Auth-Token": token}, json=results, timeout=10)


@dataclass
class Deployed:
    """A stack with two servers and a deployment, whose agents are this test."""

    api: Caller
    path: str
    signal: str
    agents: list[Agent] = field(default_factory=list)

    @property
    def users_wanted(self) -> int:
        return int(self.signal in SIGNALS)

    def meet(self) -> None:
        """Start an agent for each server that has none yet, that of the first one first."""
        for name in ("first", "second"):
            reply = self.api.call("GET", f"{self.path}/resources/{name}")
            shown = reply.json().get("resource", {}) if reply.status_code == 200 else {}
            section = (shown.get("attributes") or {}).get("os_collect_config") or {}
            collect = section.get("heat")
            if collect and all(one.collect != collect for one in self.agents):
                self.agents.append(Agent(self.api, collect))
            if not self.agents:
                return  # the second server was quicker, and `actions` has them in order

    def until(self, *states: str, fails: Callable[[str], bool] = lambda action: False) -> str:
        """Let the agents work until the stack is in one of these states; return the state."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            self.meet()
            for agent in self.agents:
                agent.run(fails)
            reply = self.api.call("GET", self.path)
            state = "DELETE_COMPLETE"
            if reply.status_code == 200:
                state = reply.json()["stack"]["stack_status"]
            if state in states:
                return state
            assert time.monotonic() < deadline, (state, self.actions())
            assert state.endswith("_IN_PROGRESS"), reply.json()["stack"]["stack_status_reason"]
            time.sleep(0.2)

    def update(self, **more: Any) -> None:
        body = {"template": DEPLOYED, "existing": True, "timeout_mins": 2, **more}
        reply = self.api.call("PATCH", self.path, body)
        assert reply.status_code == 202, reply.text

    def actions(self) -> list[list[str]]:
        """Return the actions that each agent has run."""
        return [list(one.answered.values()) for one in self.agents]

    def users(self) -> list[str]:
        """Return the names of the users in Keystone that were created for the deployment.

        A temporary URL needs none.
        """
        headers = {"X-Auth-Token": self.api.login("admin")[0]}
        found = requests.get(f"{self.api.dev.auth_url}/users", headers=headers, timeout=10).json()
        name = self.path.split("/")[2]
        return [one["name"] for one in found["users"] if one["name"].startswith(f"{name}-dep-")]


@pytest.fixture(params=[*SIGNALS, "TEMP_URL_SIGNAL"])
def deployed(api: Caller, request: pytest.FixtureRequest) -> Iterator[Deployed]:
    name = f"agents-{request.param[:4].lower()}-{time.monotonic_ns()}"
    parameters = {"signal": request.param}
    body = {"stack_name": name, "template": DEPLOYED, "parameters": parameters, "timeout_mins": 2}
    made = api.call("POST", "/stacks", body)
    assert made.status_code == 201, made.text
    found = Deployed(api, f"/stacks/{name}/{made.json()['stack']['id']}", request.param)
    found.until("CREATE_COMPLETE")
    assert len(found.users()) == found.users_wanted
    yield found
    if api.call("GET", found.path).status_code == 200:
        api.call("DELETE", found.path)
        found.until("DELETE_COMPLETE")
    assert found.users() == []


def test_a_failed_deployment_is_repaired(deployed: Deployed) -> None:
    deployed.update(parameters={"word": "b"})
    deployed.until("UPDATE_FAILED", fails=lambda action: action == "UPDATE")
    deployed.update(parameters={"word": "c"})
    deployed.until("UPDATE_COMPLETE")
    assert len(deployed.users()) == deployed.users_wanted


def test_a_replaced_deployment_ends_with_its_own_delete(deployed: Deployed) -> None:
    before = deployed.users()
    deployed.update(parameters={"version": "2"})
    deployed.until("UPDATE_COMPLETE")
    assert deployed.actions() == [["CREATE", "CREATE", "DELETE"], []]
    after = deployed.users()
    assert len(after) == deployed.users_wanted
    assert not {*after} & {*before}


def test_the_deployment_moves_to_another_server(deployed: Deployed) -> None:
    deployed.update(parameters={"server": "second"})
    deployed.until("UPDATE_COMPLETE")
    assert deployed.actions() == [["CREATE", "DELETE"], ["CREATE"]]


def test_the_server_of_the_deployment_is_replaced(deployed: Deployed) -> None:
    """The agent of the old server still finds its DELETE in its own metadata."""
    mark = {"mark_unhealthy": True}
    assert deployed.api.call("PATCH", f"{deployed.path}/resources/first", mark).status_code == 200
    deployed.update()
    deployed.until("UPDATE_COMPLETE")
    assert deployed.actions() == [["CREATE", "DELETE"], [], ["CREATE"]]


def test_a_replacement_is_rolled_back(deployed: Deployed) -> None:
    deployed.update(parameters={"version": "2"}, disable_rollback=False)
    new = [False]

    def fails(action: str) -> bool:
        new[0] = new[0] or action == "CREATE"
        return action == "CREATE"

    deployed.until("ROLLBACK_COMPLETE", fails=fails)
    assert new[0]
    assert "DELETE" in deployed.actions()[0]
    assert len(deployed.users()) == deployed.users_wanted


def test_a_stack_is_deleted_while_an_old_deployment_ends(deployed: Deployed) -> None:
    deployed.update(parameters={"version": "2"})
    agent = deployed.agents[0]

    def old_one_waits() -> bool | None:
        """Answer the new deployment, and return True when the DELETE of the old one waits."""
        shown = agent.deployments()
        if any(action_of(one) == "DELETE" for one in shown):
            return True
        agent.run(lambda action: False, shown)
        return None

    wait_for(old_one_waits, "the DELETE of the old deployment")
    assert deployed.api.call("DELETE", deployed.path).status_code == 204
    deployed.until("DELETE_COMPLETE")
    assert deployed.actions() == [["CREATE", "CREATE", "DELETE", "DELETE"], []]


HELD = """
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
    properties: {signal_transport: %s}
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 0, max_size: 3, resource: {type: OS::Heat::RandomString}}
  policy:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: group}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
  open: {type: OS::Heat::RandomString, metadata: {colour: green}}
  access: {type: OS::Heat::AccessPolicy, properties: {AllowedResources: [open]}}
  reader: {type: AWS::IAM::User, properties: {Policies: [{get_resource: access}]}}
  key: {type: AWS::IAM::AccessKey, properties: {UserName: {get_resource: reader}}}
  condition:  # until it is complete, what it needed before stays
    type: OS::Heat::WaitCondition
    depends_on: [policy, key]
    properties: {handle: {get_resource: handle}, timeout: 60}
outputs:
  signal: {value: {get_attr: [handle, signal]}}
  endpoint: {value: {get_attr: [handle, endpoint]}}
  token: {value: {get_attr: [handle, token]}}
  policy: {value: {get_attr: [policy, alarm_url]}}
  key: {value: [{get_resource: key}, {get_attr: [key, SecretAccessKey]}]}
"""


@dataclass
class Held:
    """A stack whose condition waits for a signal of its handle."""

    api: Caller
    name: str
    path: str

    def waits(self) -> bool:
        """Return whether a condition is being created, so that all it needs is complete."""
        shown = self.shown("condition")
        return shown.get("resource_status") == "CREATE_IN_PROGRESS" and bool(
            shown["physical_resource_id"]
        )

    def shown(self, name: str) -> dict[str, Any]:
        """Return what the API shows of a resource; nothing if it is not there yet."""
        reply = self.api.call("GET", f"{self.path}/resources/{name}")
        return reply.json()["resource"] if reply.status_code == 200 else {}

    def outputs(self) -> dict[str, Any]:
        """Return the outputs once the condition waits."""
        wait_for(lambda: self.waits() or None, "the condition")
        shown = self.api.call("GET", self.path).json()["stack"]
        return {one["output_key"]: one["output_value"] for one in shown["outputs"]}

    def metadata(self) -> Any:
        """Return the metadata of the handle that is in charge."""
        return self.api.call("GET", f"{self.path}/resources/handle/metadata").json()["metadata"]

    def replace(self, *names: str) -> dict[str, Any]:
        """Begin an update that replaces these resources; return the new outputs."""
        for name in names:
            body = {"mark_unhealthy": True}
            reply = self.api.call("PATCH", f"{self.path}/resources/{name}", body)
            assert reply.status_code == 200, reply.text
        body = {"existing": True, "timeout_mins": 2}
        assert self.api.call("PATCH", self.path, body).status_code == 202
        return self.outputs()


def held(api: Caller, transport: str) -> tuple[Held, dict[str, Any]]:
    """Create such a stack with one signal; return it with its outputs."""
    name = f"held-{transport[:4].lower()}-{time.monotonic_ns()}"
    made = api.call("POST", "/stacks", {"stack_name": name, "template": HELD % transport})
    found = Held(api, name, f"/stacks/{name}/{made.json()['stack']['id']}")
    outputs = found.outputs()
    assert send(api, outputs, "created").status_code == 200
    api.until(found.path, "CREATE_COMPLETE")
    return found, outputs


def send(api: Caller, given: dict[str, Any], ident: str) -> requests.Response:
    """Signal a handle with what its outputs give to a client."""
    signal = json.loads(given["signal"])
    body = {"id": ident}
    if signal is None:  # TOKEN_SIGNAL
        headers = {"X-Auth-Token": given["token"]}
        return requests.post(given["endpoint"], json=body, headers=headers, timeout=10)
    if "password" not in signal:
        return requests.put(signal["alarm_url"], json=body, timeout=10)
    token = user_token(api, signal["user_id"], signal["password"], signal["project_id"])
    headers = {"X-Auth-Token": token}
    return requests.post(signal["alarm_url"], json=body, headers=headers, timeout=10)


@pytest.mark.parametrize("transport", [*SIGNALS, "TOKEN_SIGNAL"])
def test_signals_to_a_replaced_handle_are_its_own(api: Caller, transport: str) -> None:
    stack, old = held(api, transport)
    before = stack.shown("handle")["physical_resource_id"]
    new = stack.replace("handle")
    assert stack.shown("handle")["physical_resource_id"] != before
    for ident in ("late", "later"):
        assert send(api, old, ident).status_code == 200
    assert stack.metadata() == {}
    assert stack.waits()
    assert send(api, new, "new").status_code == 200
    api.until(stack.path, "UPDATE_COMPLETE")
    assert [*stack.metadata()] == ["new"]
    api.call("DELETE", stack.path)


def test_urls_and_keys_work_until_what_they_belong_to_is_deleted(api: Caller) -> None:
    stack, old = held(api, "CFN_SIGNAL")
    new = stack.replace("handle", "policy", "reader", "key")
    reader = Signer(f"{api.dev.url}/cfn/v1/", *old["key"])

    def read(name: str) -> int:
        asked = {"StackName": stack.name, "LogicalResourceId": name}
        return reader.ask("DescribeStackResource", **asked).status_code

    assert (read("open"), read("policy")) == (200, 403)
    for url in (old["policy"], new["policy"]):
        assert requests.post(url, timeout=10).status_code == 200
    assert send(api, new, "new").status_code == 200
    api.until(stack.path, "UPDATE_COMPLETE")
    assert read("open") >= 400
    assert requests.post(old["policy"], timeout=10).status_code >= 400
    assert requests.post(new["policy"], timeout=10).status_code == 200
    api.call("DELETE", stack.path)


def test_a_poll_is_never_answered_for_the_new_resource(api: Caller) -> None:
    """The answers are those of the old one, also those from the cache."""
    stack, old = held(api, "CFN_SIGNAL")
    access = re.search("AWSAccessKeyId=([^&]+)", json.loads(old["signal"])["alarm_url"])
    assert access is not None
    guest = Signer(key_pair(api).url, access[1], secret_of(api, access[1]))

    def polled() -> dict[str, Any]:
        asked = {"StackName": stack.name, "LogicalResourceId": "handle", "ContentType": "JSON"}
        reply = guest.ask("DescribeStackResource", **asked)
        assert reply.status_code == 200, reply.text
        detail = reply.json()["DescribeStackResourceResponse"]["DescribeStackResourceResult"]
        found: dict[str, Any] = detail["StackResourceDetail"]["Metadata"]
        return found

    assert [[*polled()] for _ in range(3)] == [["created"]] * 3
    new = stack.replace("handle")
    assert [[*polled()] for _ in range(3)] == [["created"]] * 3
    assert send(api, old, "late").status_code == 200
    assert [[*polled()] for _ in range(3)] == [["created", "late"]] * 3
    assert send(api, new, "new").status_code == 200
    api.until(stack.path, "UPDATE_COMPLETE")
    asked = {"StackName": stack.name, "LogicalResourceId": "handle", "ContentType": "JSON"}
    assert guest.ask("DescribeStackResource", **asked).status_code in (400, 403)
    api.call("DELETE", stack.path)

"""Signals and polls that reach a command with --serve; no cloud is needed."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import requests

from hearth.agent.agent import signature
from hearth.cli.apply.local import local_api
from hearth.cli.apply.runs import outputs_of
from hearth.cli.apply.stack import StackClient
from hearth.cli.apply.state import StateFile
from tests.cli.apply.test_commands import CHANGES, Shell
from tests.clients.dev import Dev, wait_for
from tests.crash.processes import free_port
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

HEAD = "heat_template_version: 2021-04-16\nresources:\n"
WAIT = (
    HEAD
    + """\
  handle: {type: AWS::CloudFormation::WaitConditionHandle}
  wait:
    type: AWS::CloudFormation::WaitCondition
    properties: {Handle: {get_resource: handle}, Timeout: 120}
  other: {type: AWS::CloudFormation::WaitConditionHandle}
outputs:
  url: {value: {get_resource: handle}}
  other: {value: {get_resource: other}}
  data: {value: {get_attr: [wait, Data]}}
"""
)
TOKEN = (
    HEAD
    + """\
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 120}}
outputs:
  token: {value: {get_attr: [handle, token]}}
  endpoint: {value: {get_attr: [handle, endpoint]}}
"""
)
DEPLOY = (
    HEAD
    + """\
  server: {type: OS::Heat::DeployedServer}
  config: {type: OS::Heat::SoftwareConfig, properties: {config: "true", outputs: [{name: out}]}}
  deploy:
    type: OS::Heat::SoftwareDeployment
    properties: {server: {get_resource: server}, config: {get_resource: config}}
outputs:
  access: {value: {get_attr: [server, os_collect_config, cfn]}}
  out: {value: {get_attr: [deploy, out]}}
"""
)
GROUP = (
    HEAD
    + """\
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: OS::Heat::RandomString}}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: group}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
  handle: {type: AWS::CloudFormation::WaitConditionHandle}
  wait:
    type: AWS::CloudFormation::WaitCondition
    properties: {Handle: {get_resource: handle}, Timeout: 120}
outputs:
  alarm: {value: {get_attr: [up, alarm_url]}}
  size: {value: {get_attr: [group, current_size]}}
  url: {value: {get_resource: handle}}
"""
)
SERVER = "OS::Heat::DeployedServer"
SIGNAL = {"Status": "SUCCESS", "Reason": "ready", "UniqueId": "1", "Data": "here"}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, cast(Dev, SimpleNamespace(environment={})), {"OS_CLOUD": ""})


class Applying:
    """A `hearth apply --serve` in progress, and the URL that it prints."""

    def __init__(self, shell: Shell, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["type"] == "endpoint"
        self.url = first["url"]
        self.process = process
        self._shell = shell

    def output(self, name: str) -> Any:
        """The value of an output, once it has one."""

        def look() -> Any:
            with self._shell.begin("output", "w", "--json") as reading:
                found = json.loads(reading.communicate(timeout=60)[0])
            return found.get(name)

        return wait_for(look, f"the output {name}")

    def ended(self) -> Any:
        """The last line, of a command that succeeds."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, (out, err)
        return json.loads(out.splitlines()[-1])


@contextmanager
def applying(shell: Shell, template: str, *more: str) -> Iterator[Applying]:
    shell.write("w.yaml", template)
    with shell.begin("apply", "w.yaml", "-y", "--json", *(more or ("--serve",))) as process:
        try:
            yield Applying(shell, process)
        finally:
            process.kill()


def put(url: str, **more: Any) -> int:
    return requests.put(url, json=SIGNAL, timeout=10, **more).status_code


def closed(url: str) -> bool:
    place = urlsplit(url)
    with socket.socket() as other:
        return other.connect_ex((place.hostname, place.port)) != 0


def poll(access: dict[str, str], **changed: str) -> requests.Response:
    """What a server's agent asks, signed with the keys in its configuration."""
    params = {
        "Action": "DescribeStackResource", "StackName": access["stack_name"],
        "LogicalResourceId": "server", "AWSAccessKeyId": access["access_key_id"],
        "SignatureVersion": "2", "SignatureMethod": "HmacSHA256", "ContentType": "JSON",
        **changed,
    }  # fmt: skip
    url = access["metadata_url"]
    params["Signature"] = signature("GET", url, params, access["secret_access_key"])
    return requests.get(url, params=params, timeout=10)


def test_a_wait_condition_is_signalled_while_the_command_runs(shell: Shell):
    with applying(shell, WAIT) as apply:
        url = apply.output("url")
        assert url.startswith(f"{apply.url}/cfn/v1/waitcondition/")
        assert put(url) == 200
        assert json.loads(apply.ended()["outputs"]["data"]) == {"1": "here"}
    assert closed(apply.url)
    for more in ((), ("--serve",)):
        assert "No changes" in shell.run("plan", "w.yaml", *more)
    assert "DELETE_COMPLETE" in shell.run("destroy", "-y")


def test_only_a_signature_for_the_same_request_is_accepted(shell: Shell):
    with applying(shell, WAIT) as apply:
        url, other = apply.output("url"), apply.output("other")
        bare, _, query = url.partition("?")
        foreign = f"{bare}?{other.partition('?')[2]}"
        known = dict(pair.split("=", 1) for pair in query.split("&"))
        no_signature = query.replace(known["Signature"], "")
        forged = query.replace(known["Signature"], "AAAA")
        for bad in (bare, foreign, f"{bare}?{no_signature}", f"{bare}?{forged}"):
            assert put(bad) in (400, 403), bad
        stranger = url.replace(known["AWSAccessKeyId"], "no-such-key")
        assert put(stranger) == 403
        assert put(url.replace("handle?", "other?")) == 403
        assert requests.post(url.replace("waitcondition", "signal"), timeout=10).status_code == 403
        for path in ("/v1/local/stacks", "/v1/local/stacks/w", "/v1/local/resource_types"):
            for token in ({}, {"X-Auth-Token": "x"}, {"X-Auth-Token": known["AWSAccessKeyId"]}):
                answer = requests.get(apply.url + path, headers=token, timeout=10)
                assert answer.status_code == 401, (path, token)
        large = {**SIGNAL, "Data": "x" * 2 * 1024 * 1024}
        refused = requests.put(url, json=large, timeout=10)
        assert refused.status_code == 400
        assert "exceeds the maximum of 1048576 bytes" in refused.text
        assert shell.run("output", "w", "data").strip() in ("", "null", "{}")
        assert put(url) == 200
        apply.ended()


def test_a_token_is_good_for_the_signals_of_one_resource(shell: Shell):
    with applying(shell, TOKEN) as apply:
        token, endpoint = apply.output("token"), apply.output("endpoint")

        def status(url: str, token: str, method: str = "POST") -> int:
            headers = {"X-Auth-Token": token}
            return requests.request(method, url, headers=headers, timeout=10).status_code

        assert status(endpoint, f"{token}x") == 401
        assert status(endpoint, token.partition(".")[0]) == 401
        assert status(endpoint.replace("/handle/", "/wait/"), token) == 403
        stack = endpoint.partition("/resources/")[0]
        assert status(stack, token, "DELETE") == 403
        assert status(f"{apply.url}/v1/local/stacks", token, "GET") == 403
        assert status(endpoint, token) == 200
        apply.ended()
    assert "DELETE_COMPLETE" in shell.run("destroy", "-y")


def test_a_server_polls_and_its_deployment_reports_results(shell: Shell):
    with applying(shell, DEPLOY) as apply:
        access = apply.output("access")
        old, new = "2020-01-01T00:00:00Z", {"Timestamp": "2999-01-01T00:00:00Z"}
        assert poll({**access, "secret_access_key": "x"}).status_code == 403
        assert poll(access, Timestamp=old).status_code == 403
        assert poll(access, **new).status_code in (400, 403)

        def deployments() -> Any:
            answer = poll(access)
            assert answer.status_code == 200, answer.text
            found = answer.json()["DescribeStackResourceResponse"]["DescribeStackResourceResult"]
            return found["StackResourceDetail"]["Metadata"]["deployments"] or None

        (one,) = wait_for(deployments, "the deployment")
        inputs = {value["name"]: value["value"] for value in one["inputs"]}
        assert inputs["deploy_signal_id"].startswith(f"{apply.url}/cfn/v1/signal/")
        results = {"out": "said", "deploy_status_code": 0}
        assert (
            requests.post(inputs["deploy_signal_id"], json=results, timeout=10).status_code == 200
        )
        assert apply.ended()["outputs"]["out"] == "said"
    shell.run("destroy", "-y")


def test_an_alarm_changes_the_size_of_a_group(shell: Shell):
    with applying(shell, GROUP) as apply:
        assert requests.post(apply.output("alarm"), timeout=10).status_code == 200
        wait_for(lambda: True if apply.output("size") == 2 else None, "a second member")
        assert put(apply.output("url")) == 200
        assert apply.ended()["outputs"]["size"] == 2
    shell.run("destroy", "-y")


def test_the_user_of_a_suspended_resource_is_refused_and_the_endpoint_is_closed(tmp_path: Path):
    template = (
        f"{HEAD}  one: {{type: AWS::CloudFormation::WaitConditionHandle}}\n"
        "outputs:\n  url: {value: {get_resource: one}}\n"
    )

    async def story() -> list[int]:
        state = StateFile(tmp_path / "w.db", "w")
        async with local_api(state, None, work=True, create=True, serve=0) as api:
            stack = await StackClient(api, "w").find()
            await stack.apply({"template": template, "disable_rollback": True})
            found = []
            for action in (None, "suspend", "resume"):
                if action is not None:
                    await api.call("POST", f"{stack.path}/actions", {action: None})
                while (await stack.demand()).in_progress:
                    await asyncio.sleep(0.05)
                url = outputs_of(stack.details or {})["url"]
                found.append(await asyncio.to_thread(put, url))
        assert closed(url)
        return found

    assert asyncio.run(story()) == [200, 403, 200]


def test_a_killed_apply_is_resumed_and_takes_the_old_signal(shell: Shell):
    port = f"--serve-port={free_port()}"
    with applying(shell, WAIT, port) as apply:
        url = apply.output("url")
        apply.process.send_signal(signal.SIGKILL)
        apply.process.wait(10)
    assert closed(url)
    with applying(shell, WAIT, port) as apply:
        assert put(url) == 200
        assert json.loads(apply.ended()["outputs"]["data"]) == {"1": "here"}
        assert shell.run("output", "w", "url").strip() == url
    shell.run("destroy", "-y")


def test_ctrl_c_closes_the_endpoint_whoever_is_connected(shell: Shell):
    with applying(shell, WAIT) as apply:
        apply.output("url")
        place = urlsplit(apply.url)
        with socket.create_connection((str(place.hostname), place.port)) as slow:
            slow.sendall(b"GET /v1 HT")
            apply.process.send_signal(signal.SIGINT)
            assert apply.process.wait(8) == 130
    assert closed(apply.url)


@pytest.mark.parametrize(
    ("resource", "instead"),
    [
        ("OS::Heat::WaitConditionHandle, {signal_transport: HEAT_SIGNAL}", "CFN_SIGNAL"),
        ("OS::Heat::WaitConditionHandle, {signal_transport: ZAQAR_SIGNAL}", "CFN_SIGNAL"),
        (f"{SERVER}, {{software_config_transport: POLL_SERVER_HEAT}}", "POLL_SERVER_CFN"),
        (f"{SERVER}, {{software_config_transport: ZAQAR_MESSAGE}}", "POLL_SERVER_CFN"),
        ("AWS::IAM::User, {}", "a service"),
    ],
)  # fmt: skip
def test_what_needs_a_user_in_keystone_is_refused_by_name(
    shell: Shell, resource: str, instead: str
):
    name, _, properties = resource.partition(", ")
    shell.write("w.yaml", f"{HEAD}  one: {{type: {name}, properties: {properties}}}\n")
    said = shell.run("plan", "w.yaml", "--serve", status=1)
    assert f"w.yaml:3:3: resources.one: {name}: " in said
    assert "a user in Keystone, which only a service creates" in said
    assert instead in said


def test_plan_and_apply_agree(shell: Shell):
    shell.write("w.yaml", WAIT)
    (plan,) = shell.rows("plan", "w.yaml", "--serve", "-o", "w.plan", status=CHANGES)
    assert "use --serve" in shell.run("apply", "w.plan", "-y", "--name", "w", status=1)
    with shell.begin("apply", "w.plan", "-y", "--name", "w", "--json", "--serve") as process:
        apply = Applying(shell, process)
        put(apply.output("url"))
        out, _ = process.communicate(timeout=60)
    assert json.loads(out.splitlines()[0])["hash"] == plan["hash"]
    shell.run("destroy", "-y")


def test_a_port_in_use_is_refused(shell: Shell):
    shell.write("w.yaml", WAIT)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
        said = shell.run("apply", "w.yaml", "-y", "--serve-port", port, status=1)
    assert f"port {port} on 127.0.0.1 cannot be used" in said
    assert "exclude each other" in shell.run("plan", "w.yaml", "--serve", "--service", status=2)


NOT_FOR_A_PLAN = ("uvicorn", "aiohttp", "hearth.api.cfn", "hearth.api.auth")


@pytest.mark.parametrize("more", [(), ("--serve",)], ids=["", "serve"])
def test_a_plan_imports_no_server(shell: Shell, more: tuple[str, ...]):
    shell.write("v.yaml", f"{HEAD}  v: {{type: OS::Heat::Value, properties: {{value: 1}}}}\n")
    code = (
        "import sys\nfrom hearth.cli.main import cli\n"
        f"try: cli(['plan', 'v.yaml', *{more!r}])\nexcept SystemExit: pass\n"
        f"print([one for one in {NOT_FOR_A_PLAN} if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shell.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"

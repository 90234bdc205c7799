"""kill -9 of a command at every write call to the cloud; the next command finishes its work."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.cli.apply.test_commands import Shell
from tests.clients.dev import Dev, hearth_dev, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties: {network: {get_resource: net}}
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
"""
OBJECTS = 4
WRITES = {"path_regex": "(?<!/auth/tokens)$"}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


def knobs(dev: Dev, method: str, path: str = "", body: Any = None) -> Any:
    answer = requests.request(
        method, f"{dev.cloud_url}/devcloud/knobs{path}", json=body, timeout=30
    )
    assert answer.ok, answer.text
    return answer.json() if answer.text else None


def kill_at(shell: Shell, verb: str, number: int, effect: str, *arguments: str) -> None:
    """Kill a command while its nth write call is held, or has no answer."""
    rule = {"match": {"method": verb, "nth": number, **WRITES}, "effect": {effect: True}}
    knobs(shell.dev, "POST", body={"rules": [rule]})
    with shell.begin(*arguments) as process:
        wait_for(lambda: knobs(shell.dev, "GET")["waiting"] or None, "the call")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    knobs(shell.dev, "POST", "/release?discard=1" if effect == "hold" else "/release")
    knobs(shell.dev, "DELETE")


@pytest.mark.parametrize("effect", ["hold", "withhold"])
@pytest.mark.parametrize("number", range(1, OBJECTS + 1))
def test_a_command_that_is_killed_doubles_and_loses_nothing(
    dev: Dev, tmp_path: Path, number: int, effect: str
):
    dev.mark()
    shell = Shell(tmp_path, dev)
    shell.write("web.yaml", TEMPLATE)
    kill_at(shell, "POST", number, effect, "apply", "web.yaml", "-y")
    shell.run("apply", "web.yaml", "-y")
    made = [one["collection"] for one in dev.ledger()]
    assert sorted(made) == ["networks", "ports", "subnets", "volumes"]
    kill_at(shell, "DELETE", number, effect, "destroy", "-y")
    shell.run("destroy", "-y")
    assert dev.left_over() == []

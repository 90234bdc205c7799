"""The life of a deployment: each action of the stack runs a script, whose outputs it shows."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.dev import Dev, settled, wait_for
from tests.guests.booted import BootedServer
from tests.guests.guests import IMPOSSIBLE, running

TRANSPORTS = ("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")
SIGNALS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL", "NO_SIGNAL")
WAIT_S = 90.0
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  colour: {type: string, default: red}
  transport: {type: string}
  signal: {type: string}
  place: {type: string}
resources:
  server:
    type: OS::Heat::DeployedServer
    properties: {software_config_transport: {get_param: transport}}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: colour}, {name: place}]
      outputs: [{name: result}]
      config: |
        #!/bin/sh
        echo "$deploy_action $colour" >> "$place"
        echo "painted $colour"
        echo "in $deploy_action" >&2
        printf %s "$colour by $deploy_action" > "$heat_outputs_path.result"
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      actions: [CREATE, UPDATE, SUSPEND, RESUME, DELETE]
      config: {get_resource: config}
      server: {get_resource: server}
      signal_transport: {get_param: signal}
      input_values: {colour: {get_param: colour}, place: {get_param: place}}
outputs:
  result: {value: {get_attr: [deployment, result]}}
  stdout: {value: {get_attr: [deployment, deploy_stdout]}}
  stderr: {value: {get_attr: [deployment, deploy_stderr]}}
  status: {value: {get_attr: [deployment, deploy_status_code]}}
"""
ON_BOOTED = re.sub(
    r"  server:\n.*?\n  config:",
    "  config:",
    TEMPLATE.replace("parameters:", "parameters:\n  server: {type: string}").replace(
        "{get_resource: server}", "{get_param: server}"
    ),
    flags=re.DOTALL,
)
"""The same for a server of another stack."""


@dataclass
class Story:
    """What happened with one agent, transport and signal; `wrong` is empty if all went well."""

    agent: str
    transport: str
    signal: str
    wrong: str = ""
    impossible: str = ""
    seconds: float = 0.0
    actions: list[str] = field(default_factory=list)


def tell(
    dev: Dev, agent: str, transport: str, signal: str, folder: Path, *, boots: bool = False
) -> Story:
    """Run a stack through its life with an agent.

    `boots`: in a server that boots. Otherwise all that the agent writes is in `folder`.
    """
    story = Story(agent, transport, signal, impossible=IMPOSSIBLE.get((agent, signal), ""))
    if story.impossible:
        return story
    began = time.monotonic()
    try:
        with (
            dev.heat() as heat,
            _booted(dev, heat, story) if boots else _process(heat, story, folder) as guest,
        ):
            _live(heat, story, guest)
    except Exception as problem:  # a result, as the others are
        story.wrong = f"after {', '.join(story.actions) or 'nothing'}: {problem!r}"
    story.seconds = round(time.monotonic() - began, 1)
    return story


def section_of(heat: Any, stack_id: str) -> dict[str, Any]:
    """Return what a stack's server wants to be put on the machine, once it is there."""

    def look() -> Any:
        for one in heat.resources.list(stack_id, filters={"name": "server"}):
            if one.resource_status == "CREATE_COMPLETE":
                shown = heat.resources.get(stack_id, "server").attributes
                return shown["os_collect_config"]
        return None

    found: dict[str, Any] = wait_for(look, "the server", WAIT_S)
    return found


@dataclass
class Guest:
    """Where the scripts of a story run: `start` is called once the stack is being created."""

    template: str
    parameters: dict[str, str]
    start: Callable[[str], None]
    painted: Callable[[], list[str]]


@contextmanager
def _process(heat: Any, story: Story, folder: Path) -> Iterator[Guest]:
    """An agent that is a process of this machine."""
    place = folder / "painted"
    with ExitStack() as stack:
        yield Guest(
            TEMPLATE,
            {"place": str(place)},
            lambda stack_id: stack.enter_context(
                running(story.agent, folder / "server", section_of(heat, stack_id))
            ),
            lambda: place.read_text().splitlines() if place.exists() else [],
        )


@contextmanager
def _booted(dev: Dev, heat: Any, story: Story) -> Iterator[Guest]:
    """An agent in a server that boots."""
    server = BootedServer(dev, heat, _name(story), story.agent, story.transport)
    given = {"server": server.id, "place": "/dev/console"}
    try:
        yield Guest(ON_BOOTED, given, lambda stack_id: None, server.painted)
    finally:
        server.delete()


def _name(story: Story) -> str:
    return f"t-{story.agent}-{story.transport}-{story.signal}".replace("_", "-").lower()


def _live(heat: Any, story: Story, guest: Guest) -> None:
    given = {"transport": story.transport, "signal": story.signal, **guest.parameters}
    stack = {"template": guest.template, "parameters": {**given, "colour": "red"}}
    stack_id = heat.stacks.create(stack_name=_name(story), **stack)["stack"]["id"]
    stack["parameters"] = {**given, "colour": "blue"}
    steps: list[tuple[str, str, Callable[[], Any]]] = [
        ("CREATE", "red", lambda: guest.start(stack_id)),
        ("UPDATE", "blue", lambda: heat.stacks.update(stack_id, **stack)),
        ("SUSPEND", "blue", lambda: heat.actions.suspend(stack_id)),
        ("RESUME", "blue", lambda: heat.actions.resume(stack_id)),
        ("DELETE", "blue", lambda: heat.stacks.delete(stack_id)),
    ]
    expected: list[str] = []
    for action, colour, begin in steps:
        begin()
        state = settled(heat, stack_id, action)
        reason = state.stack_status_reason
        assert state.stack_status == f"{action}_COMPLETE", reason
        late = story.signal == "NO_SIGNAL"  # nobody waits for the guest
        if not late or action not in ("SUSPEND", "DELETE"):  # then it may read it never
            expected.append(f"{action} {colour}")
        if late:
            _wait_for(guest.painted, expected)
        else:
            assert guest.painted() == expected
        if not late and action in ("CREATE", "UPDATE"):  # the others leave the outputs
            _check_outputs(heat, stack_id, action, colour)
        story.actions.append(action)


def _wait_for(painted: Callable[[], list[str]], expected: list[str]) -> None:
    """Wait until a script ran for an action; those that nobody waits for may be left out."""
    wait_for(lambda: set(expected) <= set(painted()) or None, expected[-1], WAIT_S)


def _check_outputs(heat: Any, stack_id: str, action: str, colour: str) -> None:
    shown = heat.stacks.get(stack_id).outputs
    outputs = {one["output_key"]: one["output_value"] for one in shown}
    assert str(outputs.pop("status")) == "0"
    assert outputs == {
        "result": f"{colour} by {action}",
        "stdout": f"painted {colour}\n",
        "stderr": f"in {action}\n",
    }

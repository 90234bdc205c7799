"""A small part of `make guests`, and what a server's agent does when its transport changes."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import dev as dev
from tests.clients.dev import Dev, settled, wait_for
from tests.guests.guests import need, running
from tests.guests.run import as_json, table
from tests.guests.story import SIGNALS, TEMPLATE, TRANSPORTS, Story, section_of, tell
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
PART = [
    ("hearth", "POLL_SERVER_CFN", "HEAT_SIGNAL"),
    ("hearth", "POLL_SERVER_HEAT", "CFN_SIGNAL"),
    ("hearth", "ZAQAR_MESSAGE", "NO_SIGNAL"),
    ("hearth", "POLL_TEMP_URL", "ZAQAR_SIGNAL"),
    ("os-collect-config", "POLL_SERVER_HEAT", "CFN_SIGNAL"),
]


@pytest.mark.parametrize(("agent", "transport", "signal"), PART)
def test_a_deployment_lives_and_dies(
    dev: Dev, tmp_path: Path, agent: str, transport: str, signal: str
):
    need(agent)
    story = tell(dev, agent, transport, signal, tmp_path)
    assert story.wrong == ""
    assert story.actions == ["CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE"]


def test_our_agent_follows_the_transport(dev: Dev, tmp_path: Path):
    place = tmp_path / "painted"
    given: dict[str, Any] = {"signal": "CFN_SIGNAL", "place": str(place)}
    order = (*TRANSPORTS, *TRANSPORTS[::-1][1:])
    with dev.heat() as heat:

        def stack(colour: str, transport: str) -> dict[str, Any]:
            parameters = {**given, "colour": colour, "transport": transport}
            return {"template": TEMPLATE, "parameters": parameters}

        made = heat.stacks.create(stack_name="moves", **stack("0", order[0]))
        stack_id = made["stack"]["id"]
        with running("hearth", tmp_path / "server", section_of(heat, stack_id)):
            assert settled(heat, stack_id, "CREATE").stack_status == "CREATE_COMPLETE"
            for number, transport in enumerate(order[1:], start=1):
                heat.stacks.update(stack_id, **stack(str(number), transport))
                state = settled(heat, stack_id, "UPDATE")
                assert state.stack_status == "UPDATE_COMPLETE", state.stack_status_reason
            heat.stacks.delete(stack_id)
            assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
    lines = place.read_text().splitlines()
    assert lines[0] == "CREATE 0"
    assert lines[1:-1] == [f"UPDATE {number}" for number in range(1, len(order))]
    said = (tmp_path / "server" / "agent.log").read_text()
    assert said.count("the metadata now comes from") == len(order) - 1


def test_a_failed_script_fails_the_stack_with_its_words(dev: Dev, tmp_path: Path):
    broken = TEMPLATE.replace('echo "painted $colour"', "echo much; exit 3")
    given = {"signal": "CFN_SIGNAL", "place": str(tmp_path / "p"), "transport": TRANSPORTS[0]}
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name="broken", template=broken, parameters=given)
        stack_id = made["stack"]["id"]
        with running("hearth", tmp_path / "server", section_of(heat, stack_id)):
            state = settled(heat, stack_id, "CREATE")
            assert state.stack_status == "CREATE_FAILED"
            assert "non-zero status code: 3" in state.stack_status_reason
            heat.stacks.delete(stack_id)
            wait_for(lambda: heat.stacks.get(stack_id).stack_status != "CREATE_FAILED", "a delete")
            settled(heat, stack_id, "DELETE")


def test_the_table_names_what_went_wrong():
    found = [Story("hearth", TRANSPORTS[0], one) for one in SIGNALS]
    found[1].wrong, found[2].impossible = "no answer", "too old"
    lines = table(found).splitlines()
    assert lines[1].split()[:4] == ["hearth", "POLL_SERVER_CFN", "ok", "0.0"]
    assert (lines[1].count("WRONG"), lines[1].count("impossible")) == (1, 1)
    assert lines[2:] == [
        "hearth POLL_SERVER_CFN TEMP_URL_SIGNAL: no answer",
        "hearth HEAT_SIGNAL: too old",
    ]
    assert as_json(found, {}, boots=True)["wrong"] == 1

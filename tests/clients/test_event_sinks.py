"""The events of a stack in a queue, as the original's own functional test looks for them."""

import pytest
from heatclient.exc import HTTPBadRequest

from tests.clients.dev import Dev, settled, wait_for

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2014-10-16
resources:
  test_resource: {type: OS::Heat::TestResource, properties: {value: ok}}
"""


def test_a_stack_tells_its_events_to_a_queue_until_it_is_gone(dev: Dev) -> None:
    sink = {"type": "zaqar-queue", "target": "told", "ttl": 120}
    with dev.heat() as heat, dev.sdk() as connection:
        made = heat.stacks.create(
            stack_name="telling", template=TEMPLATE, environment={"event_sinks": [sink]}
        )
        stack_id = made["stack"]["id"]
        settled(heat, stack_id, "CREATE")

        def told(count: int) -> list[dict[str, str]] | None:
            found = list(connection.message.messages("told", limit=20))
            assert {message.ttl for message in found} <= {120}
            assert {message.body["type"] for message in found} <= {"os.heat.event"}
            payloads = [message.body["payload"] for message in found]
            return payloads if len(payloads) == count else None

        payloads = wait_for(lambda: told(4), "the events of the create", 20)
        assert {payload["stack_id"] for payload in payloads} == {stack_id}
        states = [(p["resource_name"], p["resource_status"]) for p in payloads]
        assert states == [
            ("telling", "IN_PROGRESS"),
            ("test_resource", "IN_PROGRESS"),
            ("test_resource", "COMPLETE"),
            ("telling", "COMPLETE"),
        ]
        heat.stacks.delete(stack_id)
        last = wait_for(lambda: told(8), "the events of the delete", 20)[-1]
        assert (last["resource_action"], last["resource_status"]) == ("DELETE", "COMPLETE")
        assert last["resource_name"] == "telling"


def test_a_sink_that_nobody_knows_is_refused_with_its_place(dev: Dev) -> None:
    environment = "event_sinks: [{type: pigeon, target: roof}]"
    with dev.heat() as heat, pytest.raises(HTTPBadRequest) as refused:
        heat.stacks.create(stack_name="no", template=TEMPLATE, environment=environment)
    assert "event_sinks[0]" in str(refused.value)
    assert "zaqar-queue, not pigeon" in str(refused.value)

"""The form of notifications, and where they go."""

import json

import pytest

from hearth.bus.notification import Notifications, addresses, message_of

STATE = {
    "id": "6f9619ff-8b86-4011-b42d-00c04fc964ff", "time": 1700000000.25, "action": "CREATE",
    "status": "IN_PROGRESS", "reason": "Stack CREATE started", "stack_id": "s1",
    "stack_name": "web", "project_id": "p1", "user_id": "u1", "user_name": "demo",
    "tags": ["blue"], "created_at": 1700000000.0, "updated_at": None, "revision": 1,
}  # fmt: skip


def opened(**more: object) -> tuple[tuple[str, ...], dict[str, object]]:
    """The queues and the inner message of a state."""
    to = Notifications("rabbit://h", publisher_id="orchestration.host")
    message = message_of({**STATE, **more}, "a web", to)
    outer = json.loads(message.body)
    assert outer["oslo.version"] == "2.0"
    return message.routing_keys, json.loads(outer["oslo.message"])


def test_a_state_is_told_as_consumers_know_it() -> None:
    keys, told = opened()
    assert keys == ("notifications.info",)
    assert told["event_type"] == "orchestration.stack.create.start"
    assert told["priority"] == "INFO"
    assert told["publisher_id"] == "orchestration.host"
    assert told["timestamp"] == "2023-11-14 22:13:20.250000"
    assert told["message_id"] == STATE["id"]
    assert told["payload"] == {
        "tenant_id": "p1", "user_id": "demo", "user_identity": "u1", "username": "demo",
        "stack_identity": "s1", "stack_name": "web", "state": "CREATE_IN_PROGRESS",
        "state_reason": "Stack CREATE started", "create_at": "2023-11-14T22:13:20Z",
        "updated_at": None, "description": "a web", "tags": ["blue"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "suffix", "key"),
    [("COMPLETE", "end", "notifications.info"), ("FAILED", "error", "notifications.error")],
)
def test_ends_and_errors_have_their_own_words(status: str, suffix: str, key: str) -> None:
    keys, told = opened(action="ROLLBACK", status=status)
    assert keys == (key,)
    assert told["event_type"] == f"orchestration.stack.rollback.{suffix}"
    assert told["priority"] == key.rpartition(".")[2].upper()


def test_the_older_driver_has_no_envelope() -> None:
    to = Notifications("rabbit://h", topics=("a", "b"), level="warn", envelope=False)
    message = message_of(STATE, "", to)
    assert message.routing_keys == ("a.warn", "b.warn")
    assert json.loads(message.body)["payload"]["stack_name"] == "web"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("rabbit://guest:s%40cret@mq:5673/", ["amqp://guest:s%40cret@mq:5673"]),
        ("rabbit://mq//", ["amqp://mq:5672/%2F"]),
        ("rabbit://u:p@a,u:p@b:1/nova", ["amqp://u:p@a:5672/nova", "amqp://u:p@b:1/nova"]),
        ("rabbit://[::1]:5672/x?ssl=0", ["amqp://[::1]:5672/x"]),
    ],
)
def test_a_transport_url_names_brokers(url: str, found: list[str]) -> None:
    assert list(addresses(url)) == found


@pytest.mark.parametrize("url", ["kafka://host/", "host:5672", "rabbit:///vhost"])
def test_another_transport_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="transport_url"):
        addresses(url)

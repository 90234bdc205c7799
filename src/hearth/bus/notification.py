"""Notifications as oslo.messaging puts them on the wire, envelope version 2.0."""

import json
import logging
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

LOGGER = "oslo.messaging.notification"
SERVICE = "orchestration"
ERROR = "ERROR"
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "CRITICAL")
SUFFIXES: Mapping[str, str] = {"IN_PROGRESS": "start", "COMPLETE": "end", "FAILED": "error"}
SCHEMES = ("rabbit", "amqp", "kombu+amqp", "kombu+rabbit")
PORT = 5672


@dataclass(frozen=True)
class Notifications:
    """Topics and publisher of notifications; the fields have the names of heat.conf."""

    transport_url: str = field(repr=False)
    topics: tuple[str, ...] = ("notifications",)
    level: str = "INFO"
    publisher_id: str = f"{SERVICE}.{socket.gethostname()}"
    cluster_publisher_id: str = f"magnum.{socket.gethostname()}"
    exchange: str = "heat"
    envelope: bool = True  # the driver messagingv2; without it messaging
    logged: bool = False  # the driver log, beside the others; alone where there is no transport_url


@dataclass(frozen=True, slots=True)
class Message:
    """A notification that is ready to be sent: the names of its queues and its bytes."""

    id: str
    routing_keys: tuple[str, ...]
    body: bytes


def message_of(state: Mapping[str, Any], description: str, to: Notifications) -> Message:
    """Return the notification of a stack's new state, which is a row of the outbox."""
    scaling = state.get("scaling")
    status = scaling["status"] if scaling else state["status"]
    failed = status == "FAILED"
    what = "autoscaling" if scaling else f"stack.{state['action'].lower()}"
    priority = ERROR if failed else to.level.upper()
    return wrapped(
        state["id"],
        state["time"],
        f"{SERVICE}.{what}.{SUFFIXES[status]}",
        priority,
        {**payload(state, description), **(scaling["facts"] if scaling else {})},
        by=(state["user_id"], state["project_id"]),
        publisher_id=to.publisher_id,
        to=to,
    )


def wrapped(
    ident: str,
    time: float,
    event_type: str,
    priority: str,
    payload: Mapping[str, Any],
    *,
    by: tuple[str | None, str | None],
    publisher_id: str,
    to: Notifications,
) -> Message:
    """Return a message with a payload. `by` are the ids of a user and a project."""
    user_id, project_id = by
    inner = {
        "message_id": ident,
        "publisher_id": publisher_id,
        "event_type": event_type,
        "priority": priority,
        "payload": payload,
        "timestamp": at(time).strftime("%Y-%m-%d %H:%M:%S.%f"),
        "_unique_id": uuid.uuid5(uuid.NAMESPACE_OID, ident).hex,
        "_context_project_id": project_id,
        "_context_user_id": user_id,
    }
    outer: Any = inner
    if to.envelope:
        outer = {"oslo.version": "2.0", "oslo.message": json.dumps(inner)}
    keys = tuple(f"{topic}.{priority.lower()}" for topic in to.topics)
    return Message(ident, keys, json.dumps(outer).encode())


def log_message(message: Message) -> None:
    """Write a notification to the log, as the `log` driver of oslo.messaging does."""
    outer = json.loads(message.body)
    inner = json.loads(outer["oslo.message"]) if "oslo.message" in outer else outer
    level = logging.getLevelNamesMapping()[inner["priority"]]
    logging.getLogger(f"{LOGGER}.{inner['event_type']}").log(level, "%s", json.dumps(inner))


def payload(state: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return the payload about a stack.

    `user_id` is the user's name: existing consumers expect it.
    """
    return {
        "tenant_id": state["project_id"],
        "user_id": state["user_name"],
        "user_identity": state["user_id"],
        "username": state["user_name"],
        "stack_identity": state["stack_id"],
        "stack_name": state["stack_name"],
        "state": f"{state['action']}_{state['status']}",
        "state_reason": state["reason"],
        "create_at": _iso(state["created_at"]),
        "updated_at": _iso(state["updated_at"]),
        "description": description,
        "tags": state["tags"],
    }


def addresses(transport_url: str) -> Sequence[str]:
    """Return the brokers in the URL of oslo.messaging as AMQP URLs, in the same order. Raises
    ValueError.

    `rabbit://user:password@host:port,user:password@host2:port/virtual-host`
    """
    scheme, colon, rest = transport_url.partition("://")
    if not colon or scheme not in SCHEMES:
        raise ValueError(f"a transport_url begins with rabbit://, not {scheme}")
    hosts, _, virtual = rest.partition("?")[0].partition("/")
    found = []
    for host in hosts.split(","):
        parts = urlsplit(f"amqp://{host}")
        if not parts.hostname:
            raise ValueError("the transport_url has no host")
        user = f"{parts.username}:{parts.password or ''}@" if parts.username else ""
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        place = "/" + virtual.replace("/", "%2F") if virtual else ""
        found.append(f"amqp://{user}{name}:{parts.port or PORT}{place}")
    return found


def at(seconds: float) -> datetime:
    """Return a time in seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")

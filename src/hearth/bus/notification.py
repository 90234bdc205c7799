"""Notifications in the wire format of oslo.messaging, envelope version 2.0."""

import json
import logging
import socket
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Struct

from hearth.model.discreet import Discreet
from hearth.model.option import Option

LOGGER = "oslo.messaging.notification"
SERVICE = "orchestration"
ERROR = "ERROR"
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "CRITICAL")
SUFFIXES: Mapping[str, str] = {"IN_PROGRESS": "start", "COMPLETE": "end", "FAILED": "error"}
SCHEMES = ("rabbit", "amqp", "kombu+amqp", "kombu+rabbit")
PORT = 5672


def level_of(name: str) -> str:
    """Return the name of a level in upper case. Raises ValueError if there is no such level."""
    if name.upper() not in LEVELS:
        raise ValueError(f"expected one of {', '.join(LEVELS)}; got {name.upper()}")
    return name.upper()


class Notifications(Discreet, frozen=True):
    """The settings of notifications: broker, topics, publisher ids and drivers."""

    hidden = frozenset({"transport_url"})

    transport_url: str
    topics: Annotated[
        tuple[str, ...],
        Option(
            "Topics of notifications.",
            group="oslo_messaging_notifications",
            formerly=(("DEFAULT", "notification_topics"),),
        ),
    ] = ("notifications",)
    level: Annotated[
        str,
        Option("Priority of notifications.", name="default_notification_level", convert=level_of),
    ] = "INFO"
    publisher_id: str = f"{SERVICE}.{socket.gethostname()}"
    cluster_publisher_id: str = f"magnum.{socket.gethostname()}"
    control_exchange: Annotated[str, Option("Exchange for notifications.")] = "heat"
    envelope: bool = True  # the driver messagingv2; without it messaging
    logged: bool = False  # also use the driver log; without a transport_url only this one


class BrokerMessage(Struct, frozen=True):
    """A notification ready to be sent: an id, one routing key per topic, and the JSON body."""

    id: str
    routing_keys: tuple[str, ...]
    body: bytes


def message_of(state: Mapping[str, Any], description: str, to: Notifications) -> BrokerMessage:
    """Return the notification about a new state of a stack, or about its scaling.

    `state` is the content of an outbox row. `description` is the description in the stack's
    template. `to` are the settings of the notifications.
    """
    scaling = state.get("scaling")
    status = scaling["status"] if scaling else state["status"]
    failed = status == "FAILED"
    event = "autoscaling" if scaling else f"stack.{state['action'].lower()}"
    priority = ERROR if failed else to.level.upper()
    return wrapped(
        state["id"],
        state["time"],
        f"{SERVICE}.{event}.{SUFFIXES[status]}",
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
) -> BrokerMessage:
    """Return a message with `payload` in the envelope of oslo.messaging.

    `ident` is the message id, `time` is in seconds since 1970, `priority` is one of LEVELS, and
    `by` contains the ids of the user and the project that caused the event. `to` are the settings
    of the notifications; without the driver messagingv2 the message has no envelope.
    """
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
    return BrokerMessage(ident, keys, json.dumps(outer).encode())


def log_message(message: BrokerMessage) -> None:
    """Write a notification to the log, as the `log` driver of oslo.messaging does."""
    outer = json.loads(message.body)
    inner = json.loads(outer["oslo.message"]) if "oslo.message" in outer else outer
    level = logging.getLevelNamesMapping()[inner["priority"]]
    logging.getLogger(f"{LOGGER}.{inner['event_type']}").log(level, "%s", json.dumps(inner))


def payload(state: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return the payload of a stack notification, with the same fields as Heat's.

    `state` is the content of an outbox row, and `description` that of the stack's template. The
    field `user_id` contains the user's name, because existing consumers expect it.
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
    """Return one AMQP URL per broker in a transport URL of oslo.messaging, in the same order.

    The format is `rabbit://user:password@host:port,user:password@host2:port/virtual-host`. Raises
    ValueError for another scheme, a missing host or an invalid port.
    """
    scheme, colon, address = transport_url.partition("://")
    if not colon or scheme not in SCHEMES:
        raise ValueError(f'transport_url must begin with "rabbit://", got the scheme "{scheme}"')
    hosts, _, virtual = address.partition("?")[0].partition("/")
    urls = []
    for host in hosts.split(","):
        parts = urlsplit(f"amqp://{host}")
        if not parts.hostname:
            raise ValueError("transport_url names no host; expected rabbit://user:password@host")
        user = f"{parts.username}:{parts.password or ''}@" if parts.username else ""
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        vhost = "/" + virtual.replace("/", "%2F") if virtual else ""
        urls.append(f"amqp://{user}{name}:{parts.port or PORT}{vhost}")
    return urls


def at(seconds: float) -> datetime:
    """Return the UTC datetime for a time in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")

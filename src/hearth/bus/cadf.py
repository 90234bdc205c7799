"""Notifications about Magnum clusters: audit events in the CADF format.

Source: tests/facts/magnum/notifications.json.
"""

from collections.abc import Mapping
from typing import Any

from hearth.bus.notification import ERROR, BrokerMessage, Notifications, at, wrapped

EVENT = "http://schemas.dmtf.org/cloud/audit/1.0/event"
USER = "service/security/account/user"
SERVICE = "magnum"
OBSERVER = f"service/{SERVICE}/cluster"
FAILURE = "failure"
TIMES = ("created_at", "updated_at")


def cluster_message(body: Mapping[str, Any], to: Notifications) -> BrokerMessage:
    """Return the notification for an outbox row about a cluster, a node group or a certificate.

    `body` is the content of the row; `to` are the settings of the notifications.
    """
    initiator = body["initiator"]
    return wrapped(
        body["id"],
        body["time"],
        f"{SERVICE}.{body['about']}.{body['action']}",
        ERROR if body["outcome"] == FAILURE else "INFO",
        _event(body, to.cluster_publisher_id),
        by=(initiator.get("user_id"), initiator.get("project_id")),
        publisher_id=to.cluster_publisher_id,
        to=to,
    )


def _event(body: Mapping[str, Any], observer: str) -> dict[str, Any]:
    initiator, about = body["initiator"], body["about"]
    kind = f"service/{SERVICE}/{about}"
    snapshot = {"typeURI": kind, "name": f"{about}_data", "content": _content(body["content"])}
    return {
        "typeURI": EVENT,
        "eventType": "activity",
        "id": body["id"],
        "eventTime": at(body["time"]).strftime("%Y-%m-%dT%H:%M:%S.%f+0000"),
        "action": body["action"],
        "outcome": body["outcome"],
        "initiator": {"typeURI": USER, "id": initiator.get("user_id"), **initiator},
        "target": {
            "typeURI": kind,
            "id": body["target_id"],
            "name": body["name"],
            "attachments": [snapshot],
        },
        "observer": {"typeURI": OBSERVER, "id": observer},
    }


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, with times (seconds since 1970) as ISO 8601 text."""
    times = {name: content[name] for name in TIMES if content.get(name) is not None}
    return {
        **content,
        **{name: at(seconds).isoformat(timespec="microseconds") for name, seconds in times.items()},
    }

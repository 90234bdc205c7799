"""The notifications that alarms send to the action URLs of their state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from hearth_devcloud import tables
from hearth_devcloud.aodh import trusts
from hearth_devcloud.aodh.alarms import ACTIONS
from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.keystone import tokens
from hearth_devcloud.keystone.role_grants import expanded
from hearth_devcloud.notice import Notice
from hearth_devcloud.store import Resource


def send(
    cloud: Cloud, alarm: Resource, previous: str, reason: str, data: Mapping[str, Any]
) -> list[Body]:
    """Send notifications to all action URLs of the alarm's current state.

    `previous` is the former state. Return one map per URL, which contains `url` and receives
    `status` or `error` when the notification has been sent.
    """
    body: Body = {
        "alarm_id": alarm.id,
        "alarm_name": alarm.body["name"],
        "severity": alarm.body["severity"],
        "previous": previous,
        "current": alarm.body["state"],
        "reason": reason,
        "reason_data": dict(data),
    }
    return [_one(cloud, alarm, url, body) for url in alarm.body[ACTIONS[alarm.body["state"]]]]


def _one(cloud: Cloud, alarm: Resource, url: str, body: Body) -> Body:
    outcome: Body = {"url": url}
    parts = trusts.without(url)
    try:
        token = None
        if url.startswith(trusts.TRUSTED):
            token = trusts.token(cloud, parts.username or "")
        match parts.scheme:
            case "http" | "https":
                headers = {"Content-Type": "application/json"}
                headers["x-openstack-request-id"] = f"req-{cloud.store.new_id()}"
                if token:
                    headers["X-Auth-Token"] = token
                    parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
                cloud.outbox.append(Notice(parts.geturl(), headers, body, outcome))
            case "zaqar":
                token = token or _token(cloud, alarm)
                outcome["status"] = _post(cloud, token, parse_qs(parts.query), body)
            case "heat":
                outcome["error"] = "the embedded cloud does not heal members"
    except Refusal as refused:
        outcome.update(status=refused.status, error=refused.message)
    return outcome


def _post(cloud: Cloud, token: str, query: Mapping[str, list[str]], body: Body) -> int:
    name = query.get("queue_name", [alarm_queue(body)])[0]
    path = f"/messaging/v2/queues/{name}/messages"
    headers = {"X-Auth-Token": token, "Client-ID": cloud.store.new_id()}
    content = json.dumps({"messages": [{"body": body}]}).encode()
    reply = cloud.request("POST", path, headers, content)
    if reply.status >= 400:
        raise Refusal(reply.status, message=str(reply.body))
    return reply.status


def alarm_queue(body: Body) -> str:
    """Return the default Zaqar queue for an alarm; `body` is a notification of the alarm."""
    return f"alarm-{body['alarm_id']}"


def _token(cloud: Cloud, alarm: Resource) -> str:
    """Return a token of the alarm service that is scoped to the alarm's project."""
    store = cloud.store
    roles = store.where(tables.ROLES, name="service")
    issued = tokens.issue(
        cloud,
        user=store.where(tables.USERS, name=trusts.USER)[0],
        methods=["password"],
        roles=expanded(store, [role.id for role in roles]),
        project_id=alarm.project_id,
    )
    return issued.id

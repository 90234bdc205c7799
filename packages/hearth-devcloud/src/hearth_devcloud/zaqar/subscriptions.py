"""The API of subscriptions, by which a queue sends its new messages to a URL."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hearth_devcloud import jobs
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.keystone import delegation
from hearth_devcloud.store import Resource
from hearth_devcloud.zaqar.queues import SUBSCRIPTIONS, key_of, opened
from hearth_devcloud.zaqar.rest import PAGE_DEFAULT, bad, bad_body, document, following, number

SCHEMES = ("http", "https", "mailto", "trust+http", "trust+https")
FIELDS = {"subscriber", "ttl", "options"}
TTL_DEFAULT, TTL_MIN, TTL_MAX = 3600, 60, 220367260800
TRUST = "trust+"
MESSAGE = '"$zaqar_message$"'
TRIES = 3
PAUSE_S = 1.0
SERVICE_USER = "zaqar"


def create(call: Call) -> Reply:
    """Handle POST of a subscription; reply with status 201 and its id.

    Reply with status 409 if the queue already has this subscriber.
    """
    attributes = _checked(document(call))
    if "subscriber" not in attributes:
        raise bad_body('Missing "subscriber" field.')
    queue, store = opened(call), call.cloud.store
    _must_be_new(call, attributes["subscriber"])
    body: Body = {"queue": queue.id, "subscriber": attributes["subscriber"]}
    body["ttl"] = attributes.get("ttl", TTL_DEFAULT)
    body["options"] = _with_trust(call, attributes["subscriber"], attributes.get("options") or {})
    subscription = Resource(store.new_hex()[:24], SUBSCRIPTIONS, call.caller.project_id, body)
    _begin(call.cloud, store.insert(subscription))
    headers = {"Location": f"{call.path}/{subscription.id}"}
    return Reply(201, {"subscription_id": subscription.id}, headers)


def _begin(cloud: Cloud, subscription: Resource) -> None:
    now = cloud.store.time
    subscription.hidden.update(since=now, ends=now + subscription.body["ttl"])
    cloud.store.later(subscription.body["ttl"], subscription, "messaging.unsubscribe")


def _checked(attributes: Body) -> Body:
    if unknown := sorted(attributes.keys() - FIELDS):
        raise bad_body(f"Unknown fields: {', '.join(unknown)}.")
    subscriber = attributes.get("subscriber", "http:")
    scheme = urlsplit(subscriber).scheme if isinstance(subscriber, str) else ""
    if scheme not in SCHEMES:
        raise bad(f"The subscriber type of subscription must be supported in the list {SCHEMES}.")
    if not isinstance(attributes.get("options", {}), dict):
        raise bad("Options must be a dict.")
    ttl = attributes.get("ttl", TTL_DEFAULT)
    if type(ttl) is not int:
        raise bad("TTL must be an integer.")
    if not TTL_MIN <= ttl <= TTL_MAX:
        raise bad(f"The TTL for a subscription must be from {TTL_MIN} to {TTL_MAX} seconds.")
    return attributes


def _must_be_new(call: Call, subscriber: str) -> None:
    if call.cloud.store.where(SUBSCRIPTIONS, queue=key_of(call), subscriber=subscriber):
        message = (
            "Such subscription already exists. "
            "Subscriptions are unique by project + queue + subscriber URI."
        )
        raise Refusal(409, "Unable to create subscription", message)


def _with_trust(call: Call, subscriber: str, options: Body) -> Body:
    """Return the options of a subscription, with the id of a trust if it needs one.

    This is the case if the URL of the subscriber begins with `trust+`. A trust in the options or
    the URL is used; otherwise a new one is created. Raises Refusal 403 for a trust of another user.
    """
    if not subscriber.startswith(TRUST):
        return options
    trust_id = options.get("trust_id") or urlsplit(subscriber).username
    if trust_id is None:
        trust = delegation.entrust(call.cloud, call.caller, SERVICE_USER)
        return {**options, "trust_id": trust.id}
    if not delegation.gave(call.cloud, call.caller, SERVICE_USER, trust_id):
        message = f"The trust {trust_id} is not a trust from you to the messaging service."
        raise Refusal(403, "Forbidden", message)
    return {**options, "trust_id": trust_id}


def _view(call: Call, subscription: Resource) -> Body:
    body, age = subscription.body, int(call.cloud.store.time - subscription.hidden["since"])
    return {
        "id": subscription.id,
        "source": call.ids[0],
        "subscriber": body["subscriber"],
        "ttl": body["ttl"],
        "age": age,
        "options": body["options"],
        "confirmed": True,
    }


def _find(call: Call) -> Resource:
    subscription = call.cloud.store.get(SUBSCRIPTIONS, call.ids[1])
    if subscription is None or subscription.body["queue"] != key_of(call):
        message = f"Subscription {call.ids[1]} for queue {call.ids[0]} does not exist"
        raise Refusal(404, "Not found", message)
    return subscription


def subscriptions(call: Call) -> Reply:
    """Handle GET of the subscriptions of a queue."""
    limit, marker = number(call, "limit") or PAGE_DEFAULT, call.argument("marker") or ""
    own_subscriptions = call.cloud.store.where(SUBSCRIPTIONS, queue=key_of(call))
    page = sorted(
        (candidate for candidate in own_subscriptions if candidate.id > marker),
        key=lambda subscription: subscription.id,
    )[:limit]
    links = following(call, page[-1].id) if page else []
    return Reply(
        200, {"subscriptions": [_view(call, subscription) for subscription in page], "links": links}
    )


def show(call: Call) -> Reply:
    """Handle GET of a subscription."""
    return Reply(200, _view(call, _find(call)))


def patch(call: Call) -> Reply:
    """Handle PATCH of a subscription; reply with status 204."""
    attributes, subscription = _checked(document(call)), _find(call)
    if not attributes:
        raise bad_body("Only subscriber, ttl and options can be changed.")
    values = {**subscription.body, **attributes}
    if values["subscriber"] != subscription.body["subscriber"]:
        _must_be_new(call, values["subscriber"])
    options = dict(values["options"] or {})
    if values["subscriber"].startswith(TRUST) and (
        trust_id := subscription.body["options"].get("trust_id")
    ):
        options.setdefault("trust_id", trust_id)
    subscription.body.update(values, options=_with_trust(call, values["subscriber"], options))
    if "ttl" in attributes:
        _begin(call.cloud, subscription)
    return Reply(204)


def delete(call: Call) -> Reply:
    """Handle DELETE of a subscription; reply with status 204, even if it does not exist."""
    subscription = call.cloud.store.get(SUBSCRIPTIONS, call.ids[1])
    if subscription is not None and subscription.body["queue"] == key_of(call):
        drop(call.cloud, subscription)
    return Reply(204)


def drop(cloud: Cloud, subscription: Resource) -> None:
    """Delete a subscription, and the trust that was created for it."""
    delegation.end(cloud, subscription.body["options"].get("trust_id"))
    cloud.store.remove(subscription)


def expire(cloud: Cloud, subscription: Resource) -> None:
    """Delete a subscription at the end of its lifetime, unless it was extended."""
    if subscription.hidden["ends"] <= cloud.store.time:
        drop(cloud, subscription)


def notify(cloud: Cloud, queue: Resource, message: Resource) -> None:
    """Send a new message to all subscribers of its queue."""
    hidden = message.hidden
    document: Body = {
        "id": message.id,
        "body": hidden["body"],
        "ttl": hidden["ttl"],
        "delay": hidden["delay"],
        "claim_count": 0,
        "queue_name": queue.body["name"],
        "Message_Type": "Notification",
    }
    for subscription in cloud.store.where(SUBSCRIPTIONS, queue=queue.id):
        if not subscription.body["subscriber"].startswith("mailto:"):
            _send(cloud, subscription, document)


def _send(cloud: Cloud, subscription: Resource, document: Body) -> None:
    options, url = subscription.body["options"], subscription.body["subscriber"]
    headers: dict[str, Any] = {"Content-Type": "application/json"}
    headers |= options.get("post_headers") or {}
    if url.startswith(TRUST):
        token = delegation.token(cloud, SERVICE_USER, options["trust_id"])
        if token is None:  # the trust or its trustor does not exist any more
            return
        headers["X-Auth-Token"] = token
        url = _plain(url)
    text = json.dumps(document)
    data = str(options["post_data"]).replace(MESSAGE, text) if options.get("post_data") else text
    headers = {name: str(value) for name, value in headers.items()}
    jobs.order(
        cloud,
        "messaging.sent",
        subscription.id,
        method="POST",
        url=url,
        headers=headers,
        data=data,
        tries=1,
    )


def _plain(url: str) -> str:
    """Return the URL of a subscriber without the prefix `trust+` and the id of the trust."""
    parts = urlsplit(url.removeprefix(TRUST))
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def sent(cloud: Cloud, job: Resource) -> None:
    """Handle the response of a subscriber: send the message again after a server error.

    There are at most TRIES attempts.
    """
    hidden = job.hidden
    status, subscription = (
        hidden["answer"]["status"],
        cloud.store.get(SUBSCRIPTIONS, hidden["about"]),
    )
    if subscription is None or 0 < status < 500 or hidden["tries"] >= TRIES:
        return
    hidden["tries"] += 1
    jobs.again(cloud, job, PAUSE_S)


ROUTES: list[Route] = [
    ("POST", "/v2/queues/{}/subscriptions", create),
    ("GET", "/v2/queues/{}/subscriptions", subscriptions),
    ("GET", "/v2/queues/{}/subscriptions/{}", show),
    ("PATCH", "/v2/queues/{}/subscriptions/{}", patch),
    ("DELETE", "/v2/queues/{}/subscriptions/{}", delete),
]

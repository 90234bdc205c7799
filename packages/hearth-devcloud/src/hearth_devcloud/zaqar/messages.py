"""The API of messages: post, list and delete them."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.zaqar.queues import (
    DELAY_MAX,
    MESSAGES,
    POST_MAX,
    TTL_MAX,
    TTL_MIN,
    key_of,
    messages_of,
    opened,
    setting,
)
from hearth_devcloud.zaqar.rest import (
    PAGE_DEFAULT,
    PAGE_MAX,
    bad,
    bad_body,
    document,
    following,
    number,
    whole,
    within,
    yes,
)
from hearth_devcloud.zaqar.subscriptions import notify


def post(call: Call) -> Reply:
    """Handle POST of messages to a queue, which is created if it does not exist.

    Reply with status 201 and the URLs of the messages.
    """
    store, queue = call.cloud.store, opened(call)
    size_max = min(setting(queue, "_max_messages_post_size"), POST_MAX)
    if len(call.raw) > size_max:
        raise bad(f"Message collection size is too large. Max size {size_max}")
    request = document(call)
    if "messages" not in request:
        raise bad("No messages were found in the request body.")
    if not isinstance(request["messages"], list):
        raise bad_body("Document type not supported.")
    entries = [_checked(queue, entry) for entry in request["messages"]]
    if not entries:
        raise bad("No messages to enqueue.")
    ids = []
    for draft in entries:
        hidden: Body = {
            **draft,
            "client": str(call.headers.get("Client-ID")).lower(),
            "created": store.time,
            "visible": store.time + draft["delay"],
            "expires": store.time + draft["ttl"],
            "claim": None,
            "claims": 0,
            "serial": store.new_serial(queue.id),
        }
        body = {"queue": queue.id}
        message = Resource(store.new_hex()[:24], MESSAGES, queue.project_id, body, hidden)
        store.later(draft["ttl"], store.insert(message), "messaging.expire")
        notify(call.cloud, queue, message)
        ids.append(message.id)
    hrefs = [f"{call.path}/{message_id}" for message_id in ids]
    headers = {"Location": f"{call.path}?ids={','.join(ids)}"}
    return Reply(201, {"resources": hrefs}, headers)


def _checked(queue: Resource, entry: Any) -> Body:
    if not isinstance(entry, dict):
        raise bad_body("Document type not supported.")
    if "body" not in entry:
        raise bad_body('Missing "body" field.')
    ttl = whole(entry, "ttl", setting(queue, "_default_message_ttl"))
    delay = whole(entry, "delay", setting(queue, "_default_message_delay"))
    within(ttl, TTL_MIN, TTL_MAX, "The TTL for a message")
    within(delay, 0, DELAY_MAX, "The delay of a message")
    return {"ttl": ttl, "delay": delay, "body": entry["body"]}


def expire(cloud: Cloud, message: Resource) -> None:
    """Delete a message at the end of its lifetime, which a claim may have extended."""
    left_s = message.hidden["expires"] - cloud.store.time
    if left_s > 0:
        cloud.store.later(left_s, message, "messaging.expire")
    else:
        cloud.store.remove(message)


def plain(call: Call, message: Resource) -> Body:
    """Return a message in the format of the API, without its URL."""
    hidden = message.hidden
    return {
        "id": message.id,
        "ttl": hidden["ttl"],
        "age": int(call.cloud.store.time - hidden["created"]),
        "body": hidden["body"],
        "claim_count": hidden["claims"],
    }


def view(call: Call, message: Resource) -> Body:
    """Return a message in the format of the API. If it is claimed, its URL contains the claim."""
    href = f"/v2/queues/{call.ids[0]}/messages/{message.id}"
    claim = message.hidden["claim"]
    return {**plain(call, message), "href": f"{href}?claim_id={claim}" if claim else href}


def free(call: Call) -> list[Resource]:
    """Return the messages of a queue that are visible and not claimed, oldest first."""
    messages = messages_of(call.cloud.store, key_of(call))
    now = call.cloud.store.time
    return [
        message
        for message in messages
        if not message.hidden["claim"] and message.hidden["visible"] <= now
    ]


def _named(call: Call) -> list[str] | None:
    """Return the message ids in the query, or None. Raises Refusal 400 if there are too many."""
    message_ids = [
        message_id
        for part in call.query.get("ids", [])
        for message_id in part.split(",")
        if message_id
    ]
    if not message_ids:
        return None
    if len(message_ids) > PAGE_MAX:
        raise bad(f"ids parameter should have at least 1 and not greater than {PAGE_MAX} values.")
    return message_ids


def _of(call: Call, ids: list[str]) -> list[Resource]:
    key, store = key_of(call), call.cloud.store
    messages = [store.get(MESSAGES, message_id) for message_id in ids]
    return [message for message in messages if message is not None and message.body["queue"] == key]


def messages(call: Call) -> Reply:
    """Handle GET of messages: those with the ids in the query, or a page of all messages.

    A page omits claimed messages, delayed messages, and messages that the calling client has
    posted, unless the query asks for them.
    """
    ids = _named(call)
    if ids is not None:
        chosen = _of(call, ids)
        if not chosen:
            raise Refusal(404, "Not found", f"No messages with IDs: {ids} found in the queue")
        return Reply(200, {"messages": [view(call, message) for message in chosen]})
    limit, marker = number(call, "limit") or PAGE_DEFAULT, call.argument("marker") or "0"
    echo, claimed = yes(call, "echo"), yes(call, "include_claimed")
    delayed = yes(call, "include_delayed")
    client, now = str(call.headers.get("Client-ID")).lower(), call.cloud.store.time
    visible = [
        message
        for message in messages_of(call.cloud.store, key_of(call))
        if marker.isdecimal()
        and message.hidden["serial"] > int(marker)
        and (echo or message.hidden["client"] != client)
        and (claimed or not message.hidden["claim"])
        and (delayed or message.hidden["visible"] <= now)
    ][:limit]
    links = following(call, str(visible[-1].hidden["serial"])) if visible else []
    return Reply(200, {"messages": [view(call, message) for message in visible], "links": links})


def show(call: Call) -> Reply:
    """Handle GET of a message."""
    messages = _of(call, [call.ids[1]])
    if not messages:
        raise Refusal(404, "Not found", f"Message {call.ids[1]} does not exist")
    return Reply(200, view(call, messages[0]))


def delete(call: Call) -> Reply:
    """Handle DELETE of a message; reply with status 204, even if it does not exist.

    If the message is claimed, the query must contain the id of the claim.
    """
    claim = call.argument("claim_id")
    for message in _of(call, [call.ids[1]]):
        claim_id = message.hidden["claim"]
        if claim and not claim_id:
            text = "A claim was specified, but the message is not currently claimed."
            raise Refusal(400, "Unable to delete", text)
        if claim_id != (claim or None):
            text = "This message is claimed; it cannot be deleted without a valid claim ID."
            raise Refusal(403, "Unable to delete", text)
        call.cloud.store.remove(message)
    return Reply(204)


def delete_many(call: Call) -> Reply:
    """Handle DELETE of the messages with given ids, or of the oldest free ones (`pop`).

    The reply to `pop` contains the deleted messages.
    """
    ids, count = _named(call), number(call, "pop")
    if (ids is None) == (count is None):
        raise bad('The request should have either "ids" or "pop" parameter.')
    messages = _of(call, ids) if ids is not None else free(call)[:count]
    for message in messages:
        call.cloud.store.remove(message)
    if ids is not None:
        return Reply(204)
    return Reply(
        200, {"messages": [{**plain(call, message), "claim_id": None} for message in messages]}
    )


ROUTES: list[Route] = [
    ("POST", "/v2/queues/{}/messages", post),
    ("GET", "/v2/queues/{}/messages", messages),
    ("DELETE", "/v2/queues/{}/messages", delete_many),
    ("GET", "/v2/queues/{}/messages/{}", show),
    ("DELETE", "/v2/queues/{}/messages/{}", delete),
]

"""The API of messages: post, list and delete them."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Thing
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
    given = document(call)
    if "messages" not in given:
        raise bad("No messages were found in the request body.")
    if not isinstance(given["messages"], list):
        raise bad_body("Document type not supported.")
    wanted = [_checked(queue, one) for one in given["messages"]]
    if not wanted:
        raise bad("No messages to enqueue.")
    ids = []
    for one in wanted:
        hidden: Body = {
            **one,
            "client": str(call.headers.get("Client-ID")).lower(),
            "created": store.time,
            "visible": store.time + one["delay"],
            "expires": store.time + one["ttl"],
            "claim": None,
            "claims": 0,
            "serial": store.new_serial(queue.id),
        }
        body = {"queue": queue.id}
        made = Thing(store.new_hex()[:24], MESSAGES, queue.project_id, body, hidden)
        store.later(one["ttl"], store.insert(made), "messaging.expire")
        notify(call.cloud, queue, made)
        ids.append(made.id)
    hrefs = [f"{call.path}/{message_id}" for message_id in ids]
    place = {"Location": f"{call.path}?ids={','.join(ids)}"}
    return Reply(201, {"resources": hrefs}, place)


def _checked(queue: Thing, one: Any) -> Body:
    if not isinstance(one, dict):
        raise bad_body("Document type not supported.")
    if "body" not in one:
        raise bad_body('Missing "body" field.')
    ttl = whole(one, "ttl", setting(queue, "_default_message_ttl"))
    delay = whole(one, "delay", setting(queue, "_default_message_delay"))
    within(ttl, TTL_MIN, TTL_MAX, "The TTL for a message")
    within(delay, 0, DELAY_MAX, "The delay of a message")
    return {"ttl": ttl, "delay": delay, "body": one["body"]}


def expire(cloud: Cloud, message: Thing) -> None:
    """Delete a message at the end of its lifetime, which a claim may have extended."""
    left_s = message.hidden["expires"] - cloud.store.time
    if left_s > 0:
        cloud.store.later(left_s, message, "messaging.expire")
    else:
        cloud.store.remove(message)


def plain(call: Call, message: Thing) -> Body:
    """Return a message in the format of the API, without its URL."""
    hidden = message.hidden
    return {
        "id": message.id,
        "ttl": hidden["ttl"],
        "age": int(call.cloud.store.time - hidden["created"]),
        "body": hidden["body"],
        "claim_count": hidden["claims"],
    }


def view(call: Call, message: Thing) -> Body:
    """Return a message in the format of the API. If it is claimed, its URL contains the claim."""
    href = f"/v2/queues/{call.ids[0]}/messages/{message.id}"
    claim = message.hidden["claim"]
    return {**plain(call, message), "href": f"{href}?claim_id={claim}" if claim else href}


def free(call: Call) -> list[Thing]:
    """Return the messages of a queue that are visible and not claimed, oldest first."""
    found = messages_of(call.cloud.store, key_of(call))
    now = call.cloud.store.time
    return [one for one in found if not one.hidden["claim"] and one.hidden["visible"] <= now]


def _named(call: Call) -> list[str] | None:
    """Return the message ids in the query, or None. Raises Refusal 400 if there are too many."""
    given = [one for part in call.query.get("ids", []) for one in part.split(",") if one]
    if not given:
        return None
    if len(given) > PAGE_MAX:
        raise bad(f"ids parameter should have at least 1 and not greater than {PAGE_MAX} values.")
    return given


def _of(call: Call, ids: list[str]) -> list[Thing]:
    key, store = key_of(call), call.cloud.store
    found = [store.get(MESSAGES, message_id) for message_id in ids]
    return [one for one in found if one is not None and one.body["queue"] == key]


def messages(call: Call) -> Reply:
    """Handle GET of messages: those with the ids in the query, or a page of all messages.

    A page omits claimed messages, delayed messages, and messages that the calling client has
    posted, unless the query asks for them.
    """
    ids = _named(call)
    if ids is not None:
        named = _of(call, ids)
        if not named:
            raise Refusal(404, "Not found", f"No messages with IDs: {ids} found in the queue")
        return Reply(200, {"messages": [view(call, one) for one in named]})
    limit, marker = number(call, "limit") or PAGE_DEFAULT, call.argument("marker") or "0"
    echo, claimed = yes(call, "echo"), yes(call, "include_claimed")
    delayed = yes(call, "include_delayed")
    client, now = str(call.headers.get("Client-ID")).lower(), call.cloud.store.time
    found = [
        one
        for one in messages_of(call.cloud.store, key_of(call))
        if marker.isdecimal()
        and one.hidden["serial"] > int(marker)
        and (echo or one.hidden["client"] != client)
        and (claimed or not one.hidden["claim"])
        and (delayed or one.hidden["visible"] <= now)
    ][:limit]
    links = following(call, str(found[-1].hidden["serial"])) if found else []
    return Reply(200, {"messages": [view(call, one) for one in found], "links": links})


def show(call: Call) -> Reply:
    """Handle GET of a message."""
    found = _of(call, [call.ids[1]])
    if not found:
        raise Refusal(404, "Not found", f"Message {call.ids[1]} does not exist")
    return Reply(200, view(call, found[0]))


def delete(call: Call) -> Reply:
    """Handle DELETE of a message; reply with status 204, even if it does not exist.

    If the message is claimed, the query must contain the id of the claim.
    """
    claim = call.argument("claim_id")
    for one in _of(call, [call.ids[1]]):
        held = one.hidden["claim"]
        if claim and not held:
            words = "A claim was specified, but the message is not currently claimed."
            raise Refusal(400, "Unable to delete", words)
        if held != (claim or None):
            words = "This message is claimed; it cannot be deleted without a valid claim ID."
            raise Refusal(403, "Unable to delete", words)
        call.cloud.store.remove(one)
    return Reply(204)


def delete_many(call: Call) -> Reply:
    """Handle DELETE of the messages with given ids, or of the oldest free ones (`pop`).

    The reply to `pop` contains the deleted messages.
    """
    ids, count = _named(call), number(call, "pop")
    if (ids is None) == (count is None):
        raise bad('The request should have either "ids" or "pop" parameter.')
    gone = _of(call, ids) if ids is not None else free(call)[:count]
    for one in gone:
        call.cloud.store.remove(one)
    if ids is not None:
        return Reply(204)
    return Reply(200, {"messages": [{**plain(call, one), "claim_id": None} for one in gone]})


ROUTES: list[Route] = [
    ("POST", "/v2/queues/{}/messages", post),
    ("GET", "/v2/queues/{}/messages", messages),
    ("DELETE", "/v2/queues/{}/messages", delete_many),
    ("GET", "/v2/queues/{}/messages/{}", show),
    ("DELETE", "/v2/queues/{}/messages/{}", delete),
]

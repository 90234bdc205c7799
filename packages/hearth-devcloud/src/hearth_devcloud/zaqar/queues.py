"""The API of queues, their metadata and statistics."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource, Store, stamp_z
from hearth_devcloud.zaqar.rest import (
    PAGE_DEFAULT,
    bad,
    bad_body,
    document,
    following,
    number,
    within,
    yes,
)

QUEUES = "messaging.queues"
MESSAGES = "messaging.messages"
CLAIMS = "messaging.claims"
SUBSCRIPTIONS = "messaging.subscriptions"
METADATA_MAX = 64 * 1024  # bytes, as are posts
POST_MAX = 256 * 1024
TTL_MIN, TTL_DEFAULT, TTL_MAX = 60, 3600, 1_209_600
DELAY_MAX = 900
PATCH_TYPE = "application/openstack-messaging-v2.0-json-patch"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESERVED: Body = {
    "_max_messages_post_size": POST_MAX,
    "_default_message_ttl": TTL_DEFAULT,
    "_default_message_delay": 0,
    "_dead_letter_queue": None,
    "_dead_letter_queue_messages_ttl": None,
    "_max_claim_count": None,
    "_enable_encrypt_messages": False,
}
_BOUNDS = {
    "_max_messages_post_size": (1, POST_MAX),
    "_default_message_ttl": (TTL_MIN, TTL_MAX),
    "_default_message_delay": (0, DELAY_MAX),
    "_dead_letter_queue_messages_ttl": (TTL_MIN, TTL_MAX),
    "_max_claim_count": (0, 2**31),
}


def check_name(name: str) -> None:
    """Raise Refusal 400 if a queue name is invalid."""
    if not _NAME.fullmatch(name):
        message = "The format of the submitted queue name or project id is not valid."
        raise Refusal(400, "Invalid queue identification", message)


def key_of(call: Call) -> str:
    """Return the internal id of the queue that the path of a call names."""
    return f"{call.caller.project_id}/{call.ids[0]}"


def opened(call: Call) -> Resource:
    """Return the queue that the path of a call names; create it if it does not exist."""
    return call.cloud.store.get(QUEUES, key_of(call)) or _new(call, {}, implicit=True)


def setting(queue: Resource, name: str) -> Any:
    """Return the value of a setting in the metadata of a queue, or its default."""
    return queue.body["metadata"].get(name) or _RESERVED[name]


def messages_of(store: Store, key: str) -> list[Resource]:
    """Return the messages of the queue with the internal id `key`, oldest first."""
    return store.where(MESSAGES, queue=key)


def _new(call: Call, metadata: Body, *, implicit: bool) -> Resource:
    body: Body = {"name": call.ids[0], "metadata": metadata}
    queue = Resource(key_of(call), QUEUES, call.caller.project_id, body)
    return call.cloud.store.insert(queue, implicit=implicit)


def _find(call: Call) -> Resource:
    queue = call.cloud.store.get(QUEUES, key_of(call))
    if queue is None:
        message = f"Queue {call.ids[0]} does not exist for project {call.caller.project_id}"
        raise Refusal(404, "Not found", message)
    return queue


def _view(metadata: Body) -> Body:
    fields = {name: value for name, value in metadata.items() if value or name not in _RESERVED}
    return {**_RESERVED, **fields}


def _checked(metadata: Body) -> Body:
    for name, (low, high) in _BOUNDS.items():
        value = metadata.get(name)
        if not value:
            continue
        if type(value) is not int:
            raise bad(f"{name} must be integer.")
        within(value, low, high, name)
    return metadata


def put(call: Call) -> Reply:
    """Handle PUT of a queue: create it; reply with status 201.

    If the queue exists, it stays unchanged, and the status is 204.
    """
    if len(call.raw) > METADATA_MAX:
        raise bad(f"Queue metadata is too large. Max size: {METADATA_MAX}")
    metadata = _checked(document(call) if call.raw else {})
    headers = {"Location": call.path}
    if call.cloud.store.get(QUEUES, key_of(call)) is not None:
        return Reply(204, None, headers)
    _new(call, metadata, implicit=False)
    return Reply(201, None, headers)


def show(call: Call) -> Reply:
    """Handle GET of a queue's metadata."""
    return Reply(200, _view(_find(call).body["metadata"]))


def patch(call: Call) -> Reply:
    """Handle PATCH of a queue's metadata with a JSON patch."""
    if call.headers.get("Content-Type") != PATCH_TYPE:
        raise Refusal(415, "Unsupported media type", f"Accepted media type: {PATCH_TYPE}.")
    if not call.raw:
        raise bad_body("PATCH body could not be empty for update.")
    changes = call.json()
    if not isinstance(changes, list):
        raise bad_body("Request body must be a JSON array of operation objects.")
    metadata = dict(_find(call).body["metadata"])
    for change in changes:
        _change(metadata, change)
    _find(call).body["metadata"] = _checked(metadata)
    return Reply(200, _view(metadata))


def _change(metadata: Body, change: Any) -> None:
    if not isinstance(change, dict) or change.get("op") not in ("add", "replace", "remove"):
        raise bad_body('Operations must be objects whose "op" is add, replace or remove.')
    path = str(change.get("path", "")).split("/")
    if len(path) != 3 or path[0] or path[1].lower() != "metadata":
        raise bad_body("Invalid JSON pointer for this resource, e.g /metadata/key")
    op, name = change["op"], path[2].replace("~1", "/").replace("~0", "~")
    exists = name in metadata or name in _RESERVED
    if op != "add" and not exists:
        raise Refusal(409, "Resource conflict", f"Can't {op} non-existent object {name}.")
    if op == "remove":
        metadata.pop(name, None)
    elif "value" not in change:
        raise bad_body(f'Operation "{op}" requires a member named "value".')
    else:
        metadata[name] = change["value"]


def delete(call: Call) -> Reply:
    """Handle DELETE of a queue with its messages; reply with status 204.

    The status is the same if the queue does not exist.
    """
    store, key = call.cloud.store, key_of(call)
    queue = store.get(QUEUES, key)
    if queue is not None:
        for table in (MESSAGES, CLAIMS, SUBSCRIPTIONS):
            for part in store.where(table, queue=key):
                store.remove(part)
        store.remove(queue)
    return Reply(204)


def queues(call: Call) -> Reply:
    """Handle GET of the project's queues, sorted by name."""
    limit, marker = number(call, "limit") or PAGE_DEFAULT, call.argument("marker") or ""
    detailed = yes(call, "detailed")
    own_queues = [q for q in call.cloud.store.all(QUEUES) if q.project_id == call.caller.project_id]
    names = sorted(
        (q for q in own_queues if q.body["name"] > marker), key=lambda q: str(q.body["name"])
    )
    rows: list[Body] = []
    for queue in names[:limit]:
        row: Body = {"name": queue.body["name"], "href": f"{call.path}/{queue.body['name']}"}
        if detailed:
            row["metadata"] = _view(queue.body["metadata"])
        rows.append(row)
    body: Body = {"queues": rows, "links": following(call, rows[-1]["name"]) if rows else []}
    if yes(call, "with_count"):
        body["count"] = len(own_queues)
    return Reply(200, body)


def stats(call: Call) -> Reply:
    """Handle GET of a queue's statistics: the numbers of its messages (0 if it does not exist)."""
    messages = messages_of(call.cloud.store, key_of(call))
    claimed = sum(1 for message in messages if message.hidden["claim"])
    counts: Body = {"claimed": claimed, "free": len(messages) - claimed, "total": len(messages)}
    base = call.path.removesuffix("stats") + "messages"
    for name, message in (
        {"oldest": messages[0], "newest": messages[-1]}.items() if messages else ()
    ):
        created = message.hidden["created"]
        age = int(call.cloud.store.time - created)
        href = f"{base}/{message.id}"
        counts[name] = {"age": age, "created": stamp_z(created), "href": href}
    return Reply(200, {"messages": counts})


ROUTES: list[Route] = [
    ("GET", "/v2/queues", queues),
    ("PUT", "/v2/queues/{}", put),
    ("GET", "/v2/queues/{}", show),
    ("PATCH", "/v2/queues/{}", patch),
    ("DELETE", "/v2/queues/{}", delete),
    ("GET", "/v2/queues/{}/stats", stats),
]

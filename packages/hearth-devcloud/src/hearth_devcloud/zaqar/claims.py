"""The API of claims. A claim reserves messages for a reader.

A message is reserved until the reader deletes it or the claim expires.
"""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource, Store
from hearth_devcloud.zaqar.messages import free, view
from hearth_devcloud.zaqar.queues import CLAIMS, key_of, messages_of
from hearth_devcloud.zaqar.rest import PAGE_DEFAULT, document, number, whole, within

TTL_DEFAULT, GRACE_DEFAULT = 300, 60
BOUNDS = (60, 43200)


def create(call: Call) -> Reply:
    """Handle POST of a claim: reserve the oldest free messages.

    Reply with status 201 and these messages, or 204 if there are none.
    """
    limit = number(call, "limit") or PAGE_DEFAULT
    request = document(call) if call.raw else {}
    ttl, grace = whole(request, "ttl", TTL_DEFAULT), whole(request, "grace", GRACE_DEFAULT)
    within(ttl, *BOUNDS, "The TTL for a claim")
    within(grace, *BOUNDS, "The grace for a claim")
    messages = free(call)[:limit]
    if not messages:
        return Reply(204)
    store = call.cloud.store
    claim = Resource(store.new_hex()[:24], CLAIMS, call.caller.project_id, {"queue": key_of(call)})
    _hold(store, store.insert(claim), messages, ttl, grace)
    for message in messages:
        message.hidden["claims"] += 1
    headers = {"Location": f"{call.path}/{claim.id}"}
    return Reply(201, {"messages": [view(call, message) for message in messages]}, headers)


def _hold(store: Store, claim: Resource, messages: list[Resource], ttl: int, grace: int) -> None:
    """Reserve messages for a claim of `ttl` seconds, from now on.

    Messages that would expire earlier live for `grace` seconds after the end of the claim.
    """
    ends = store.time + ttl
    claim.hidden.update(ttl=ttl, since=store.time, ends=ends)
    store.later(ttl, claim, "messaging.release")
    for message in messages:
        message.hidden["claim"] = claim.id
        if message.hidden["expires"] < ends:
            message.hidden.update(ttl=ttl + grace, expires=ends + grace)


def _held(store: Store, claim: Resource) -> list[Resource]:
    messages = messages_of(store, claim.body["queue"])
    return [message for message in messages if message.hidden["claim"] == claim.id]


def _release(store: Store, claim: Resource) -> None:
    for message in _held(store, claim):
        message.hidden["claim"] = None
    store.remove(claim)


def expire(cloud: Cloud, claim: Resource) -> None:
    """End a claim whose time is over, unless it has been renewed."""
    if claim.hidden["ends"] <= cloud.store.time:
        _release(cloud.store, claim)


def _find(call: Call) -> Resource:
    claim = call.cloud.store.get(CLAIMS, call.ids[1])
    if claim is None or claim.body["queue"] != key_of(call) or not _held(call.cloud.store, claim):
        raise Refusal(404, "Not found", f"Claim {call.ids[1]} does not exist")
    return claim


def show(call: Call) -> Reply:
    """Handle GET of a claim with its messages; reply with 404 if it has no messages any more."""
    claim = _find(call)
    messages = [view(call, message) for message in _held(call.cloud.store, claim)]
    age = int(call.cloud.store.time - claim.hidden["since"])
    body: Body = {"age": age, "ttl": claim.hidden["ttl"], "messages": messages, "href": call.path}
    return Reply(200, body)


def renew(call: Call) -> Reply:
    """Handle PATCH of a claim: renew it; reply with status 204."""
    request = document(call)
    ttl, grace = whole(request, "ttl", TTL_DEFAULT), whole(request, "grace", GRACE_DEFAULT)
    within(ttl, *BOUNDS, "The TTL for a claim")
    claim = _find(call)
    _hold(call.cloud.store, claim, _held(call.cloud.store, claim), ttl, grace)
    return Reply(204)


def release(call: Call) -> Reply:
    """Handle DELETE of a claim: release its messages.

    Reply with status 204, even if the claim does not exist.
    """
    claim = call.cloud.store.get(CLAIMS, call.ids[1])
    if claim is not None and claim.body["queue"] == key_of(call):
        _release(call.cloud.store, claim)
    return Reply(204)


ROUTES: list[Route] = [
    ("POST", "/v2/queues/{}/claims", create),
    ("GET", "/v2/queues/{}/claims/{}", show),
    ("PATCH", "/v2/queues/{}/claims/{}", renew),
    ("DELETE", "/v2/queues/{}/claims/{}", release),
]

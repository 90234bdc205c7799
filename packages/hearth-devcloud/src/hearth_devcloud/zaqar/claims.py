"""The API of claims. A claim reserves messages for a reader.

A message is reserved until the reader deletes it or the claim expires.
"""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Store, Thing
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
    given = document(call) if call.raw else {}
    ttl, grace = whole(given, "ttl", TTL_DEFAULT), whole(given, "grace", GRACE_DEFAULT)
    within(ttl, *BOUNDS, "The TTL for a claim")
    within(grace, *BOUNDS, "The grace for a claim")
    found = free(call)[:limit]
    if not found:
        return Reply(204)
    store = call.cloud.store
    claim = Thing(store.new_hex()[:24], CLAIMS, call.caller.project_id, {"queue": key_of(call)})
    _hold(store, store.insert(claim), found, ttl, grace)
    for one in found:
        one.hidden["claims"] += 1
    place = {"Location": f"{call.path}/{claim.id}"}
    return Reply(201, {"messages": [view(call, one) for one in found]}, place)


def _hold(store: Store, claim: Thing, held: list[Thing], ttl: int, grace: int) -> None:
    """Reserve messages for a claim of `ttl` seconds, from now on.

    Messages that would expire earlier live for `grace` seconds after the end of the claim.
    """
    ends = store.time + ttl
    claim.hidden.update(ttl=ttl, since=store.time, ends=ends)
    store.later(ttl, claim, "messaging.release")
    for one in held:
        one.hidden["claim"] = claim.id
        if one.hidden["expires"] < ends:
            one.hidden.update(ttl=ttl + grace, expires=ends + grace)


def _held(store: Store, claim: Thing) -> list[Thing]:
    found = messages_of(store, claim.body["queue"])
    return [one for one in found if one.hidden["claim"] == claim.id]


def _release(store: Store, claim: Thing) -> None:
    for one in _held(store, claim):
        one.hidden["claim"] = None
    store.remove(claim)


def expire(cloud: Cloud, claim: Thing) -> None:
    """End a claim whose time is over, unless it has been renewed."""
    if claim.hidden["ends"] <= cloud.store.time:
        _release(cloud.store, claim)


def _find(call: Call) -> Thing:
    claim = call.cloud.store.get(CLAIMS, call.ids[1])
    if claim is None or claim.body["queue"] != key_of(call) or not _held(call.cloud.store, claim):
        raise Refusal(404, "Not found", f"Claim {call.ids[1]} does not exist")
    return claim


def show(call: Call) -> Reply:
    """Handle GET of a claim with its messages; reply with 404 if it has no messages any more."""
    claim = _find(call)
    held = [view(call, one) for one in _held(call.cloud.store, claim)]
    age = int(call.cloud.store.time - claim.hidden["since"])
    body: Body = {"age": age, "ttl": claim.hidden["ttl"], "messages": held, "href": call.path}
    return Reply(200, body)


def renew(call: Call) -> Reply:
    """Handle PATCH of a claim: renew it; reply with status 204."""
    given = document(call)
    ttl, grace = whole(given, "ttl", TTL_DEFAULT), whole(given, "grace", GRACE_DEFAULT)
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

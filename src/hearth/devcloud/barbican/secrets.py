"""Secrets, containers of them, orders for them."""

from __future__ import annotations

import base64

from hearth.devcloud.collection import Collection, Field, Invalid, integer, nullable, text
from hearth.devcloud.http import Body, Call, Refusal, Reply, Route
from hearth.devcloud.keystone.tokens import parse_time
from hearth.devcloud.listing import filtered, page
from hearth.devcloud.store import Thing, stamp_z

_TYPES = ("text/plain", "text/plain;charset=utf-8", "application/octet-stream")
_CONTAINERS = ("generic", "rsa", "certificate")
_ORDERS = ("key", "asymmetric", "certificate")

SECRETS = Collection(
    "key-manager",
    "secrets",
    "secret",
    {
        "name": Field(nullable(text())),
        "payload": Field(nullable(text(20000))),
        "payload_content_type": Field(nullable(text())),
        "payload_content_encoding": Field(nullable(text())),
        "secret_type": Field(nullable(text()), default="opaque"),
        "expiration": Field(nullable(text())),
        "algorithm": Field(nullable(text())),
        "bit_length": Field(integer(1, null=True)),
        "mode": Field(nullable(text())),
    },
)


def _bad(message: str) -> Refusal:
    return Refusal(400, message=message)


def _stamp(call: Call) -> str:
    return stamp_z(call.cloud.store.time).rstrip("Z")


def _new(call: Call, plural: str, body: Body, hidden: Body) -> Thing:
    caller, now = call.caller, _stamp(call)
    body = {"created": now, "updated": now, "status": "ACTIVE", **body}
    body["creator_id"] = caller.user_id
    table = f"key-manager.{plural}"
    return call.cloud.store.insert(
        Thing(call.cloud.store.new_id(), table, caller.project_id, body, hidden)
    )


def _ref(call: Call, thing: Thing) -> Body:
    plural = thing.table.partition(".")[2]
    return {f"{plural[:-1]}_ref": f"{call.base}/key-manager/v1/{plural}/{thing.id}"}


def _view(call: Call, thing: Thing) -> Body:
    shown = {**thing.body, **_ref(call, thing)}
    if thing.table == SECRETS.table and thing.hidden["payload"] is not None:
        shown["content_types"] = {"default": thing.hidden["type"]}
    return shown


def _find(call: Call, plural: str) -> Thing:
    thing = call.cloud.store.get(f"key-manager.{plural}", call.ids[0])
    caller = call.caller
    if thing is None or not (caller.is_admin or thing.project_id == caller.project_id):
        raise Refusal(404, message=f"{plural[:-1].capitalize()} not found.")
    return thing


def create(call: Call) -> Reply:
    """POST of a secret: 201 with its address."""
    given = call.json()
    try:
        values = SECRETS.for_create(given if isinstance(given, dict) else {})
    except Invalid as error:
        raise _bad(error.message) from None
    payload, kind = values.pop("payload"), values.pop("payload_content_type")
    encoding = values.pop("payload_content_encoding")
    if payload is not None and kind is None:
        raise _bad("payload_content_type must be supplied with a payload")
    if kind is not None and kind.replace(" ", "").lower() not in _TYPES:
        raise _bad(f"payload_content_type {kind} is not supported")
    if values["expiration"]:
        try:
            late = parse_time(values["expiration"]) <= call.cloud.store.time
        except ValueError:
            late = True
        if late:
            raise _bad("expiration is in the past or no time")
    data: bytes | None = None
    if payload is not None:
        data = base64.b64decode(payload) if encoding == "base64" else payload.encode()
    thing = _new(call, "secrets", values, {"payload": data, "type": kind})
    return Reply(201, _ref(call, thing))


def _listed(call: Call, plural: str) -> Reply:
    caller = call.caller
    things = call.cloud.store.all(f"key-manager.{plural}")
    found = filtered([t for t in things if t.project_id == caller.project_id], call.query)
    shown, _ = page(found, call)
    return Reply(200, {plural: [_view(call, thing) for thing in shown], "total": len(found)})


def secrets(call: Call) -> Reply:
    """GET of the secrets."""
    return _listed(call, "secrets")


def show(call: Call) -> Reply:
    """GET of one: what is known of it, or by Accept the payload."""
    thing = _find(call, "secrets")
    accept = call.headers.get("Accept") or "application/json"
    if accept in ("text/plain", "application/octet-stream"):
        return payload(call)
    return Reply(200, _view(call, thing))


def payload(call: Call) -> Reply:
    """GET of the payload."""
    thing = _find(call, "secrets")
    data = thing.hidden["payload"]
    if data is None:
        raise Refusal(404, message="Not Found. Sorry but your secret has no payload.")
    return Reply(200, data, {"Content-Type": thing.hidden["type"]})


def put_payload(call: Call) -> Reply:
    """PUT of the payload, once: 204."""
    thing = _find(call, "secrets")
    if thing.hidden["payload"] is not None:
        raise Refusal(409, message="Secret already has data, cannot modify it.")
    kind = call.headers.get("Content-Type") or "text/plain"
    data = call.raw
    if call.headers.get("Content-Encoding") == "base64":
        data = base64.b64decode(data)
    thing.hidden.update(payload=data, type=kind)
    thing.body["updated"] = _stamp(call)
    return Reply(204)


def delete(call: Call) -> Reply:
    """DELETE of one, whatever it is: 204."""
    call.cloud.store.remove(_find(call, call.segments[1]))
    return Reply(204)


def create_container(call: Call) -> Reply:
    """POST of a container: 201 with its address."""
    given = call.json()
    if not isinstance(given, dict) or given.get("type") not in _CONTAINERS:
        raise _bad("type must be one of generic, rsa, certificate")
    refs = given.get("secret_refs") or []
    body: Body = {"name": given.get("name"), "type": given["type"], "secret_refs": refs}
    return Reply(201, _ref(call, _new(call, "containers", {**body, "consumers": []}, {})))


def containers(call: Call) -> Reply:
    """GET of the containers."""
    return _listed(call, "containers")


def show_container(call: Call) -> Reply:
    """GET of one."""
    return Reply(200, _view(call, _find(call, "containers")))


def order(call: Call) -> Reply:
    """POST of an order: 202; the secret is there at once."""
    given = call.json()
    if not isinstance(given, dict) or given.get("type") not in _ORDERS:
        raise _bad("type must be one of key, asymmetric, certificate")
    meta = given.get("meta")
    if not isinstance(meta, dict):
        raise _bad("'meta' is a required property")
    keys = ("name", "algorithm", "bit_length", "mode")
    secret: Body = {key: meta.get(key) for key in keys}
    secret |= {"secret_type": "symmetric", "expiration": None}
    hidden: Body = {"payload": bytes.fromhex(call.cloud.store.new_hex()), "type": _TYPES[2]}
    made = _new(call, "secrets", secret, hidden)
    body: Body = {
        "type": given["type"],
        "meta": {"expiration": None, **meta},
        "sub_status": "Unknown",
        "sub_status_message": "Unknown",
        **_ref(call, made),
    }
    return Reply(202, _ref(call, _new(call, "orders", body, {})))


def orders(call: Call) -> Reply:
    """GET of the orders."""
    return _listed(call, "orders")


def show_order(call: Call) -> Reply:
    """GET of one."""
    return Reply(200, _view(call, _find(call, "orders")))


ROUTES: list[Route] = [
    ("POST", "/v1/secrets", create),
    ("GET", "/v1/secrets", secrets),
    ("GET", "/v1/secrets/{}", show),
    ("PUT", "/v1/secrets/{}", put_payload),
    ("DELETE", "/v1/secrets/{}", delete),
    ("GET", "/v1/secrets/{}/payload", payload),
    ("POST", "/v1/containers", create_container),
    ("GET", "/v1/containers", containers),
    ("GET", "/v1/containers/{}", show_container),
    ("DELETE", "/v1/containers/{}", delete),
    ("POST", "/v1/orders", order),
    ("GET", "/v1/orders", orders),
    ("GET", "/v1/orders/{}", show_order),
    ("DELETE", "/v1/orders/{}", delete),
]

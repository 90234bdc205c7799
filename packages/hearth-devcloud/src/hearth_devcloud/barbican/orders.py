"""Orders: keys, key pairs and certificates that the service generates."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.barbican import base
from hearth_devcloud.barbican.base import bad
from hearth_devcloud.http import Body, Call, Cloud, Reply, Route
from hearth_devcloud.store import Resource

_TYPES = ("key", "asymmetric", "certificate")
_BYTES = "application/octet-stream"
_BITS = 8
_KINDS = {
    "key": "symmetric",
    "public_key": "public",
    "private_key": "private",
    "private_key_passphrase": "passphrase",
    "certificate": "certificate",
}


def create(call: Call) -> Reply:
    """Handle POST of an order; reply with status 202. The order is carried out later."""
    attributes = base.given(call)
    kind, meta = attributes.get("type"), attributes.get("meta")
    if kind not in _TYPES:
        raise bad(f"type must be one of {', '.join(_TYPES)}")
    if not isinstance(meta, dict):
        raise bad("'meta' is a required property")
    if kind != "certificate":
        _check(meta)
    body: Body = {
        "type": kind,
        "meta": {"expiration": None, **meta} if kind == "key" else meta,
        "status": "PENDING",
        "sub_status": "Unknown",
        "sub_status_message": "Unknown",
    }
    hidden = {"base": call.base, "fails": call.effects.error}
    order = base.new(call, "orders", body, hidden)
    call.cloud.store.later(call.effects.slow_s or 0, order, "key-manager.made")
    return base.created(call, order, 202)


def _check(meta: Body) -> None:
    if not isinstance(meta.get("algorithm"), str):
        raise bad("'algorithm' is required field for this order")
    bits = meta.get("bit_length")
    if not isinstance(bits, int) or isinstance(bits, bool) or bits <= 0 or bits % _BITS:
        raise bad(f"'bit_length' must be a positive multiple of {_BITS}")


def made(cloud: Cloud, order: Resource) -> None:
    """Carry out an order: create the secret or container that it requests."""
    body = order.body
    if order.hidden.pop("fails", False):
        body.update(status="ERROR", error_status_code="500", error_reason="Process failure")
        return
    match body["type"]:
        case "key":
            body["secret_ref"] = _secret(cloud, order, "key")
        case "asymmetric":
            names = ["public_key", "private_key"]
            if body["meta"].get("pass_phrase"):
                names.append("private_key_passphrase")
            body["container_ref"] = _container(cloud, order, "rsa", names)
        case _:
            body["container_ref"] = _container(cloud, order, "certificate", ["certificate"])
    body["status"] = "ACTIVE"


def _secret(cloud: Cloud, order: Resource, name: str) -> str:
    meta: dict[str, Any] = order.body["meta"]
    data = cloud.store.new_hex()
    if name != "key":
        label = name.upper().replace("_", " ")
        text = f"-----BEGIN {label}-----\n{data}\n-----END {label}-----\n"
    payload = bytes.fromhex(data) if name == "key" else text.encode()
    if name == "private_key_passphrase":
        payload = str(meta["pass_phrase"]).encode()
    body = {key: meta.get(key) for key in ("name", "algorithm", "bit_length", "mode")}
    body |= {"secret_type": _KINDS[name], "expiration": meta.get("expiration")}
    return _insert(cloud, order, "secrets", body, {"payload": payload, "type": _BYTES})


def _container(cloud: Cloud, order: Resource, kind: str, names: list[str]) -> str:
    refs = [{"name": name, "secret_ref": _secret(cloud, order, name)} for name in names]
    body = {"name": order.body["meta"].get("name"), "type": kind, "secret_refs": refs}
    return _insert(cloud, order, "containers", {**body, "consumers": []}, {})


def _insert(cloud: Cloud, order: Resource, plural: str, body: Body, hidden: Body) -> str:
    """Store a new object for the user of an order in the table `plural`; return its URL."""
    fields = {key: order.body[key] for key in ("created", "updated", "creator_id")}
    ident = cloud.store.new_id()
    table = f"key-manager.{plural}"
    resource = Resource(
        ident, table, order.project_id, {**fields, "status": "ACTIVE", **body}, hidden
    )
    cloud.store.insert(resource, implicit=True)
    return f"{order.hidden['base']}/key-manager/v1/{plural}/{ident}"


def orders(call: Call) -> Reply:
    """Handle GET of the orders."""
    return base.listed(call, "orders")


def show(call: Call) -> Reply:
    """Handle GET of an order."""
    return Reply(200, base.view(call, base.find(call, "orders")))


ROUTES: list[Route] = [
    ("POST", "/v1/orders", create),
    ("GET", "/v1/orders", orders),
    ("GET", "/v1/orders/{}", show),
    ("DELETE", "/v1/orders/{}", base.delete),
]

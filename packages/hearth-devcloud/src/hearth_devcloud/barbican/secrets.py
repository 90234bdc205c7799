"""The secrets API: metadata and payloads."""

from __future__ import annotations

import base64

from hearth_devcloud.barbican import base
from hearth_devcloud.barbican.base import bad
from hearth_devcloud.collection import Collection, Field, Invalid, integer, nullable, one_of, text
from hearth_devcloud.http import Call, Refusal, Reply, Route
from hearth_devcloud.keystone.tokens import parse_time

_TYPES = ("text/plain", "text/plain;charset=utf-8", "application/octet-stream")
_KINDS = ("symmetric", "public", "private", "certificate", "passphrase", "opaque")

SECRETS = Collection(
    "key-manager",
    "secrets",
    "secret",
    {
        "name": Field(nullable(text())),
        "payload": Field(nullable(text(20000))),
        "payload_content_type": Field(nullable(text())),
        "payload_content_encoding": Field(nullable(text())),
        "secret_type": Field(one_of(*_KINDS), default="opaque"),
        "expiration": Field(nullable(text())),
        "algorithm": Field(nullable(text())),
        "bit_length": Field(integer(1, null=True)),
        "mode": Field(nullable(text())),
    },
)


def create(call: Call) -> Reply:
    """Handle POST of a secret; reply with status 201 and its URL."""
    try:
        values = SECRETS.for_create(base.given(call))
    except Invalid as error:
        raise bad(error.message) from None
    payload, kind = values.pop("payload"), values.pop("payload_content_type")
    encoding = values.pop("payload_content_encoding")
    if payload is not None and kind is None:
        raise bad("payload_content_type must be supplied with a payload")
    if payload is None and kind is not None:
        raise bad("payload must be provided when payload_content_type is supplied")
    if kind is not None and kind.replace(" ", "").lower() not in _TYPES:
        raise bad(f"payload_content_type {kind} is not supported")
    if values["expiration"]:
        try:
            late = parse_time(values["expiration"]) <= call.cloud.store.time
        except ValueError:
            late = True
        if late:
            raise bad("expiration must be a time in the future")
    if encoding not in (None, "base64"):
        raise bad("payload_content_encoding must be base64")
    data: bytes | None = None
    if payload is not None:
        if (encoding == "base64") != (kind == _TYPES[2]):
            raise bad(
                f"payload_content_encoding must be base64 for the type {_TYPES[2]}, and must be "
                "absent for other types"
            )
        data = _decoded(payload) if encoding else payload.encode()
    secret = base.new(call, "secrets", values, {"payload": data, "type": kind})
    return base.created(call, secret)


def _decoded(payload: str) -> bytes:
    try:
        return base64.b64decode(payload, validate=True)
    except ValueError:
        raise bad("payload is not valid base64") from None


def secrets(call: Call) -> Reply:
    """Handle GET of the secrets."""
    return base.listed(call, "secrets")


def show(call: Call) -> Reply:
    """Handle GET of a secret: its metadata, or its payload if the header Accept requests it."""
    secret = base.find(call, "secrets")
    accept = call.headers.get("Accept") or "application/json"
    if accept in ("text/plain", "application/octet-stream"):
        return payload(call)
    return Reply(200, base.view(call, secret))


def payload(call: Call) -> Reply:
    """Handle GET of the payload of a secret."""
    secret = base.find(call, "secrets")
    data = secret.hidden["payload"]
    if data is None:
        raise Refusal(404, message="Not Found. Sorry but your secret has no payload.")
    return Reply(200, data, {"Content-Type": secret.hidden["type"]})


def put_payload(call: Call) -> Reply:
    """Handle PUT of the payload, which is possible only once; reply with status 204."""
    secret = base.own(call, "secrets")
    if secret.hidden["payload"] is not None:
        raise Refusal(409, message="Secret already has data, cannot modify it.")
    kind = call.headers.get("Content-Type") or "text/plain"
    data = call.raw
    if call.headers.get("Content-Encoding") == "base64":
        data = base64.b64decode(data)
    secret.hidden.update(payload=data, type=kind)
    secret.body["updated"] = base.stamp(call)
    return Reply(204)


ROUTES: list[Route] = [
    ("POST", "/v1/secrets", create),
    ("GET", "/v1/secrets", secrets),
    ("GET", "/v1/secrets/{}", show),
    ("PUT", "/v1/secrets/{}", put_payload),
    ("DELETE", "/v1/secrets/{}", base.delete),
    ("GET", "/v1/secrets/{}/payload", payload),
]

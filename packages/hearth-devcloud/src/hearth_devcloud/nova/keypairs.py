"""The API of key pairs, each of which belongs to a user."""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth_devcloud import tables
from hearth_devcloud.collection import Collection, Field, Invalid, nullable, one_of, text
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.listing import page
from hearth_devcloud.nova import quotas
from hearth_devcloud.nova.base import admin_only, bad, conflict, forbidden, missing
from hearth_devcloud.store import Resource, stamp_micro

KEYPAIRS = Collection(
    "compute",
    "keypairs",
    "keypair",
    {
        "name": Field(text(), required=True),
        "public_key": Field(nullable(text(20000))),
        "type": Field(one_of("ssh", "x509"), default="ssh"),
        "user_id": Field(text()),
    },
)


def key_of(call: Call, user_id: str, name: str) -> Resource | None:
    """Return the key pair `name` of a user, or None."""
    return call.cloud.store.get(tables.KEYPAIRS, f"{user_id}/{name}")


def _user(call: Call) -> str:
    user_id = call.argument("user_id")
    if user_id and user_id != call.caller.user_id:
        admin_only(call)
        return user_id
    return call.caller.user_id


def _find(call: Call) -> Resource:
    key_pair = key_of(call, _user(call), call.ids[0])
    if key_pair is None:
        raise missing("Keypair", call.ids[0])
    return key_pair


def _fingerprint(public_key: str) -> str:
    try:
        blob = base64.b64decode(public_key.split()[1], validate=True)
    except (IndexError, binascii.Error):
        raise bad("Keypair data is invalid: failed to generate fingerprint") from None
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    return ":".join(digest[i : i + 2] for i in range(0, 32, 2))


def _generate() -> tuple[str, str]:
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return pem.decode(), public.decode() + " Generated-by-Nova"


def create(call: Call) -> Reply:
    """Handle POST of a key pair.

    If the request has no public key, Nova generates a pair; since microversion 2.92 this is an
    error.
    """
    attributes = call.object("keypair")
    try:
        values = KEYPAIRS.for_create(attributes)
    except Invalid as error:
        raise bad(f"Additional properties are not allowed: {error.message}") from None
    user_id = values["user_id"] or call.caller.user_id
    if user_id != call.caller.user_id:
        admin_only(call)
    if key_of(call, user_id, values["name"]) is not None:
        raise conflict(f"Key pair '{values['name']}' already exists.")
    store = call.cloud.store
    limit = quotas.limits(call.cloud, call.caller.project_id or "")["key_pairs"]
    if limit >= 0 and len(store.where(tables.KEYPAIRS, user_id=user_id)) >= limit:
        raise forbidden("Quota exceeded, too many key pairs.")
    private = None
    if values["public_key"] is None:
        if call.version >= (2, 92):
            raise bad("'public_key' is a required property")
        private, values["public_key"] = _generate()
    body: Body = {
        "name": values["name"],
        "public_key": values["public_key"],
        "fingerprint": _fingerprint(values["public_key"]),
        "user_id": user_id,
        "type": values["type"],
        "created_at": stamp_micro(store.time),
        "serial": store.new_serial(),
    }
    store.insert(
        Resource(f"{user_id}/{values['name']}", tables.KEYPAIRS, call.caller.project_id, body)
    )
    view = {key: body[key] for key in ("name", "public_key", "fingerprint", "user_id")}
    if private is not None:
        view["private_key"] = private
    if call.version >= (2, 2):
        view["type"] = body["type"]
    return Reply(201 if call.version >= (2, 2) else 200, {"keypair": view})


def keypairs(call: Call) -> Reply:
    """Handle GET of a user's key pairs."""
    key_pairs = call.cloud.store.where(tables.KEYPAIRS, user_id=_user(call))
    key_pairs, _ = page(key_pairs, call)
    views = []
    for key_pair in key_pairs:
        view = {key: key_pair.body[key] for key in ("name", "public_key", "fingerprint")}
        if call.version >= (2, 2):
            view["type"] = key_pair.body["type"]
        views.append({"keypair": view})
    return Reply(200, {"keypairs": views})


def show(call: Call) -> Reply:
    """Handle GET of a key pair."""
    body = _find(call).body
    view = {key: body[key] for key in ("name", "public_key", "fingerprint", "user_id")}
    view |= {
        "created_at": body["created_at"],
        "deleted": False,
        "deleted_at": None,
        "id": body["serial"],
        "updated_at": None,
    }
    if call.version >= (2, 2):
        view["type"] = body["type"]
    return Reply(200, {"keypair": view})


def delete(call: Call) -> Reply:
    """Handle DELETE of a key pair."""
    call.cloud.store.remove(_find(call))
    return Reply(204 if call.version >= (2, 2) else 202)


ROUTES: list[Route] = [
    ("GET", "/v2.1/os-keypairs", keypairs),
    ("POST", "/v2.1/os-keypairs", create),
    ("GET", "/v2.1/os-keypairs/{}", show),
    ("DELETE", "/v2.1/os-keypairs/{}", delete),
]

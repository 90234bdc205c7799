"""Containers of secrets, and their registered consumers."""

from __future__ import annotations

from hearth_devcloud.barbican import base
from hearth_devcloud.barbican.base import bad
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource

_TYPES = ("generic", "rsa", "certificate")
_LIMIT = 255
_NAMES = {
    "rsa": {"public_key", "private_key", "private_key_passphrase"},
    "certificate": {"certificate", "private_key", "private_key_passphrase", "intermediates"},
}
_NEEDED = {"rsa": {"public_key", "private_key"}, "certificate": {"certificate"}}


def _text(body: Body, key: str, *, required: bool = False) -> str | None:
    value = body.get(key)
    if value is None and not required:
        return None
    if not isinstance(value, str) or len(value) > _LIMIT:
        raise bad(f"Provided object does not match schema: '{key}' is not a string")
    return value


def _secret(call: Call, reference: object) -> Body:
    """Check a reference to a secret and return its `name` and `secret_ref`.

    Raises Refusal 400 or 404.
    """
    if not isinstance(reference, dict) or reference.keys() - {"name", "secret_ref"}:
        raise bad(
            f"Provided object does not match schema: expected a secret_ref, got {reference!r}"
        )
    name, ref = _text(reference, "name"), str(_text(reference, "secret_ref", required=True))
    ident = ref.rstrip("/").rpartition("/")[2]
    if call.cloud.store.get("key-manager.secrets", ident) is None:
        raise Refusal(404, message=f"Not Found. Secret provided for '{name}' doesn't exist.")
    return {"name": name, "secret_ref": ref}


def _fit(kind: str, refs: list[Body]) -> None:
    """Raise Refusal 400 if a container of type `kind` may not contain these secrets."""
    names = [ref["name"] for ref in refs]
    if len({ref["secret_ref"] for ref in refs}) < len(refs):
        raise bad("Duplicate secret ids are not allowed")
    if len(set(names)) < len(names):
        raise bad("Duplicate reference names are not allowed")
    if kind == "generic" or not refs:
        return
    if set(names) - _NAMES[kind]:
        raise bad(f"secrets in a container of type {kind} must be named {sorted(_NAMES[kind])}")
    if _NEEDED[kind] - set(names):
        raise bad(f"a container of type {kind} needs the secrets {sorted(_NEEDED[kind])}")


def create(call: Call) -> Reply:
    """Handle POST of a container; reply with status 201 and its URL."""
    attributes = base.given(call)
    kind, refs = attributes.get("type"), attributes.get("secret_refs") or []
    if kind not in _TYPES:
        raise bad(f"type must be one of {', '.join(_TYPES)}")
    if unknown := attributes.keys() - {"name", "type", "secret_refs"}:
        raise bad(
            "Provided object does not match schema: additional properties are not allowed: "
            f"{', '.join(sorted(unknown))}"
        )
    if not isinstance(refs, list):
        raise bad("Provided object does not match schema: 'secret_refs' is not a list")
    secrets = [_secret(call, ref) for ref in refs]
    _fit(kind, secrets)
    body: Body = {"name": _text(attributes, "name"), "type": kind, "secret_refs": secrets}
    return base.created(call, base.new(call, "containers", {**body, "consumers": []}, {}))


def containers(call: Call) -> Reply:
    """Handle GET of the containers."""
    return base.listed(call, "containers")


def show(call: Call) -> Reply:
    """Handle GET of a container."""
    return Reply(200, base.view(call, base.find(call, "containers")))


def add_secret(call: Call) -> Reply:
    """Handle POST of a secret to a generic container: add it; reply with status 201."""
    container = _generic(call)
    refs = [*container.body["secret_refs"], _secret(call, base.given(call))]
    _fit("generic", refs)
    container.body["secret_refs"] = refs
    return base.created(call, container)


def drop_secret(call: Call) -> Reply:
    """Handle DELETE of a secret from a generic container: remove it; reply with status 204."""
    container, secret = _generic(call), _secret(call, base.given(call))
    refs = [
        ref for ref in container.body["secret_refs"] if ref["secret_ref"] != secret["secret_ref"]
    ]
    if len(refs) == len(container.body["secret_refs"]):
        raise Refusal(404, message="Not Found. The secret is not in the container.")
    container.body["secret_refs"] = refs
    return Reply(204)


def _generic(call: Call) -> Resource:
    container = base.own(call, "containers")
    if container.body["type"] != "generic":
        raise bad("Only 'generic' containers can be modified.")
    return container


def consumers(call: Call) -> Reply:
    """Handle GET of the consumers of a container."""
    entries = base.find(call, "containers").body["consumers"]
    return Reply(200, {"consumers": entries, "total": len(entries)})


def _consumer(call: Call) -> Body:
    attributes = base.given(call)
    return {key: str(_text(attributes, key, required=True)) for key in ("name", "URL")}


def add_consumer(call: Call) -> Reply:
    """Handle POST of a consumer; reply with status 200 and the container."""
    container, consumer = base.find(call, "containers"), _consumer(call)
    if consumer not in container.body["consumers"]:
        container.body["consumers"] = [*container.body["consumers"], consumer]
    return Reply(200, base.view(call, container))


def drop_consumer(call: Call) -> Reply:
    """Handle DELETE of a consumer; reply with status 200 and the container."""
    container, consumer = base.find(call, "containers"), _consumer(call)
    if consumer not in container.body["consumers"]:
        raise Refusal(404, message="Consumer not found.")
    container.body["consumers"] = [
        entry for entry in container.body["consumers"] if entry != consumer
    ]
    return Reply(200, base.view(call, container))


_ONE = "/v1/containers/{}"
ROUTES: list[Route] = [
    ("POST", "/v1/containers", create),
    ("GET", "/v1/containers", containers),
    ("GET", _ONE, show),
    ("DELETE", _ONE, base.delete),
    ("POST", _ONE + "/secrets", add_secret),
    ("DELETE", _ONE + "/secrets", drop_secret),
    ("GET", _ONE + "/consumers", consumers),
    ("POST", _ONE + "/consumers", add_consumer),
    ("DELETE", _ONE + "/consumers", drop_consumer),
]

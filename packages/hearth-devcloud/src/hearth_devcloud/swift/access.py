"""Access control in Swift: tokens, temporary URLs, container ACLs."""

from __future__ import annotations

import hmac
from urllib.parse import unquote

from hearth_devcloud.http import READS, Call, Refusal
from hearth_devcloud.keystone.tokens import authenticate
from hearth_devcloud.store import Resource, Store

ACCOUNTS = "object-store.accounts"
CONTAINERS = "object-store.containers"
OBJECTS = "object-store.objects"

_DIGESTS = {40: "sha1", 64: "sha256", 128: "sha512"}
Parts = tuple[str, str | None, str | None]


def split(path: str) -> Parts:
    """Return the account, container and object that a path below `/v1/` names, or None for each."""
    account, _, tail = path.partition("/")
    container, slash, name = tail.partition("/")
    return unquote(account), unquote(container) or None, (unquote(name) or None) if slash else None


def account_of(store: Store, name: str) -> Resource:
    """Return an account. It is created on first use."""
    resource = store.get(ACCOUNTS, name)
    if resource is None:
        project_id = name.removeprefix("AUTH_")
        resource = Resource(name, ACCOUNTS, project_id, {"name": name, "meta": {}}, seed=True)
        store.insert(resource)
    return resource


def container_of(store: Store, account: str, container: str) -> Resource:
    """Return a container of an account. Raises Refusal 404 if it does not exist."""
    resource = store.get(CONTAINERS, f"{account}/{container}")
    if resource is None:
        raise Refusal(404, message="Not Found")
    return resource


def is_open(call: Call) -> bool:
    """Return True for every call, so that no token is required yet; `allow` checks it later."""
    return True


def allow(call: Call, parts: Parts) -> None:
    """Raise Refusal 401 or 403 unless the token, the temporary URL or an ACL allows the call."""
    if "temp_url_sig" in call.query:
        _check_temporary(call, parts)
        return
    call.identity = authenticate(call.cloud, call.headers.get("X-Auth-Token"))
    account, container, _ = parts
    caller = call.identity
    if caller is not None:
        own = bool(caller.project_id) and account == f"AUTH_{caller.project_id}"
        if caller.is_admin or (own and (call.method in READS or not caller.only_reads)):
            return
    resource = None
    if container is not None:
        resource = call.cloud.store.get(CONTAINERS, f"{account}/{container}")
    if resource is not None and _in_acl(call, resource):
        return
    if caller is None:
        raise Refusal(401, message="Unauthorized")
    raise Refusal(403, message="Forbidden")


def _in_acl(call: Call, container: Resource) -> bool:
    reading = call.method in READS
    meta = container.body["meta"]
    rules = meta.get("X-Container-Read" if reading else "X-Container-Write", "").split(",")
    caller = call.identity
    for rule in (rule.strip() for rule in rules):
        if rule == ".r:*" and reading:
            return True
        if caller is None or not rule:
            continue
        project, _, user = rule.partition(":")
        if project in ("*", caller.project_id) and user in ("*", "", caller.user_id):
            return True
    return False


def _check_temporary(call: Call, parts: Parts) -> None:
    account, container, name = parts
    signature, expires = call.argument("temp_url_sig") or "", call.argument("temp_url_expires")
    if not container or not name or not expires or not expires.isdecimal():
        raise Refusal(401, message="Temp URL invalid")
    digest = _DIGESTS.get(len(signature))
    if digest is None or int(expires) < call.cloud.store.time:
        raise Refusal(401, message="Temp URL invalid")
    store = call.cloud.store
    keys = [
        value
        for kind, resource in (
            ("Account", store.get(ACCOUNTS, account)),
            ("Container", store.get(CONTAINERS, f"{account}/{container}")),
        )
        if resource is not None
        for suffix in ("", "-2")
        if (value := resource.body["meta"].get(f"X-{kind}-Meta-Temp-Url-Key{suffix}"))
    ]
    prefix = call.argument("temp_url_prefix")
    path = f"/v1/{account}/{container}/{name}"
    if prefix is not None:
        if not name.startswith(prefix):
            raise Refusal(401, message="Temp URL invalid")
        path = f"prefix:/v1/{account}/{container}/{prefix}"
    methods = {"HEAD": ("HEAD", "GET", "PUT")}.get(call.method, (call.method,))
    for key in keys:
        for method in methods:
            for root in ("", "/object-store"):
                signed = path.replace("/v1/", f"{root}/v1/", 1)
                text = f"{method}\n{expires}\n{signed}"
                expected = hmac.new(key.encode(), text.encode(), digest).hexdigest()
                if hmac.compare_digest(expected, signature):
                    return
    raise Refusal(401, message="Temp URL invalid")


def metadata(call: Call, kind: str, present: dict[str, str]) -> dict[str, str]:
    """Return the metadata `present` after the changes that the headers of a call request.

    `kind` is Account, Container or Object.
    """
    entries = dict(present)
    plain = {
        "Container": (
            "X-Container-Read",
            "X-Container-Write",
            "X-Versions-Location",
            "X-History-Location",
            "X-Container-Sync-To",
            "X-Container-Sync-Key",
        )
    }.get(kind, ())
    names = {name.lower(): name for name in plain}
    for header, value in call.headers.items():
        lower = header.lower()
        removing = lower.startswith("x-remove-")
        if removing:
            lower = "x-" + lower.removeprefix("x-remove-")
        if lower.startswith(f"x-{kind.lower()}-meta-"):
            name = lower.title()
        elif lower in names:
            name = names[lower]
        else:
            continue
        if removing or value == "":
            entries.pop(name, None)
        else:
            entries[name] = value
    return entries

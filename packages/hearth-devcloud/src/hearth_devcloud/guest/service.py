"""The metadata service: its replies to the requests of a server."""

from __future__ import annotations

from hearth_devcloud.guest import ec2, openstack, versions
from hearth_devcloud.http import Reply
from hearth_devcloud.store import Resource, Store

PASSWORD_MAX = 1020  # bytes
_TEXT = {"Content-Type": "text/plain; charset=UTF-8"}
_JSON = {"Content-Type": "application/json"}
_RAW = {"Content-Type": "application/octet-stream"}


def answer(store: Store, server: Resource, method: str, path: str, body: bytes = b"") -> Reply:
    """Return the reply of the metadata service to a request of a server."""
    segments = [word for word in path.partition("?")[0].split("/") if word]
    if segments[:1] == ["openstack"]:
        if method == "POST":
            return _set_password(store, server, segments[1:], body)
        return _openstack(store, server, segments[1:]) if method in ("GET", "HEAD") else _missing()
    return _ec2(store, server, segments) if method in ("GET", "HEAD") else _missing()


def _missing() -> Reply:
    return Reply(404, "The resource could not be found.", dict(_TEXT))


def _listing(names: list[str]) -> Reply:
    return Reply(200, "\n".join(names), dict(_TEXT))


def _openstack(store: Store, server: Resource, segments: list[str]) -> Reply:
    if not segments:
        return _listing([*versions.OPENSTACK, versions.LATEST])
    version, *tail = segments
    if version not in (*versions.OPENSTACK, versions.LATEST):
        return _missing()
    files = openstack.files(store, server, version)
    if not tail:
        return _listing(list(files))
    if len(tail) > 1 or tail[0] not in files:
        return _missing()
    kind = _JSON if tail[0].endswith(".json") else _RAW
    kind = _TEXT if tail[0] == openstack.PASSWORD else kind
    return Reply(200, files[tail[0]](), dict(kind))


def _set_password(store: Store, server: Resource, segments: list[str], body: bytes) -> Reply:
    """Store the password that a guest has posted; reply with status 409 if it is already set.

    The guest has encrypted the password with the public key of its key pair. `segments` are the
    parts of the path after `openstack`.
    """
    names = (*versions.OPENSTACK, versions.LATEST)
    if len(segments) != 2 or segments[1] != openstack.PASSWORD or segments[0] not in names:
        return _missing()
    if not versions.reached(segments[0], openstack.PASSWORD_SINCE):
        return _missing()
    if server.hidden.get(openstack.PASSWORD):
        return Reply(409, "The password is already set.", dict(_TEXT))
    if len(body) > PASSWORD_MAX:
        return Reply(400, "Request is too large.", dict(_TEXT))
    server.hidden[openstack.PASSWORD] = body.decode(errors="replace")
    store.changed = True
    return Reply(200, None)


def _ec2(store: Store, server: Resource, segments: list[str]) -> Reply:
    if not segments:
        return _listing([*versions.EC2, versions.LATEST])
    version, *tail = segments
    if version not in (*versions.EC2, versions.LATEST):
        return _missing()
    node: ec2.Tree | str | bytes = ec2.tree(store, server, version)
    for word in tail:
        if not isinstance(node, dict) or word not in node:
            return _missing()
        node = node[word]
    if tail == ["meta-data", "public-keys"]:
        return _listing([ec2.key_listing(store, server)])
    if isinstance(node, dict):
        return _listing(_entries(node))
    return Reply(200, node, dict(_RAW if isinstance(node, bytes) else _TEXT))


def _entries(folder: ec2.Tree) -> list[str]:
    """Return the sorted names in a folder. Names of subfolders end with a slash."""
    return [f"{name}/" if isinstance(folder[name], dict) else name for name in sorted(folder)]

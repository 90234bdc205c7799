"""The metadata service: its replies to the requests of a server."""

from __future__ import annotations

from hearth_devcloud.guest import ec2, openstack, versions
from hearth_devcloud.http import Reply
from hearth_devcloud.store import Store, Thing

PASSWORD_MAX = 1020  # bytes
_TEXT = {"Content-Type": "text/plain; charset=UTF-8"}
_JSON = {"Content-Type": "application/json"}
_RAW = {"Content-Type": "application/octet-stream"}


def answer(store: Store, server: Thing, method: str, path: str, body: bytes = b"") -> Reply:
    """Return the reply of the metadata service to a request of a server."""
    words = [word for word in path.partition("?")[0].split("/") if word]
    if words[:1] == ["openstack"]:
        if method == "POST":
            return _set_password(store, server, words[1:], body)
        return _openstack(store, server, words[1:]) if method in ("GET", "HEAD") else _missing()
    return _ec2(store, server, words) if method in ("GET", "HEAD") else _missing()


def _missing() -> Reply:
    return Reply(404, "The resource could not be found.", dict(_TEXT))


def _listing(names: list[str]) -> Reply:
    return Reply(200, "\n".join(names), dict(_TEXT))


def _openstack(store: Store, server: Thing, words: list[str]) -> Reply:
    if not words:
        return _listing([*versions.OPENSTACK, versions.LATEST])
    version, *rest = words
    if version not in (*versions.OPENSTACK, versions.LATEST):
        return _missing()
    files = openstack.files(store, server, version)
    if not rest:
        return _listing(list(files))
    if len(rest) > 1 or rest[0] not in files:
        return _missing()
    kind = _JSON if rest[0].endswith(".json") else _RAW
    kind = _TEXT if rest[0] == openstack.PASSWORD else kind
    return Reply(200, files[rest[0]](), dict(kind))


def _set_password(store: Store, server: Thing, words: list[str], body: bytes) -> Reply:
    """Store the password that a guest has posted; reply with status 409 if it is already set.

    The guest has encrypted the password with the public key of its key pair. `words` are the parts
    of the path after `openstack`.
    """
    known = (*versions.OPENSTACK, versions.LATEST)
    if len(words) != 2 or words[1] != openstack.PASSWORD or words[0] not in known:
        return _missing()
    if not versions.reached(words[0], openstack.PASSWORD_SINCE):
        return _missing()
    if server.hidden.get(openstack.PASSWORD):
        return Reply(409, "The password is already set.", dict(_TEXT))
    if len(body) > PASSWORD_MAX:
        return Reply(400, "Request is too large.", dict(_TEXT))
    server.hidden[openstack.PASSWORD] = body.decode(errors="replace")
    store.changed = True
    return Reply(200, None)


def _ec2(store: Store, server: Thing, words: list[str]) -> Reply:
    if not words:
        return _listing([*versions.EC2, versions.LATEST])
    version, *rest = words
    if version not in (*versions.EC2, versions.LATEST):
        return _missing()
    here: ec2.Tree | str | bytes = ec2.tree(store, server, version)
    for word in rest:
        if not isinstance(here, dict) or word not in here:
            return _missing()
        here = here[word]
    if rest == ["meta-data", "public-keys"]:
        return _listing([ec2.key_listing(store, server)])
    if isinstance(here, dict):
        return _listing(_entries(here))
    return Reply(200, here, dict(_RAW if isinstance(here, bytes) else _TEXT))


def _entries(folder: ec2.Tree) -> list[str]:
    """Return the sorted names in a folder. Names of subfolders end with a slash."""
    return [f"{name}/" if isinstance(folder[name], dict) else name for name in sorted(folder)]

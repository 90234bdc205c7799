"""The API of the users in an instance, and of the databases that they may use."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.collection import list_of
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.trove.base import array, bad, entries, word
from hearth_devcloud.trove.databases import page_of, ready

_RESERVED = {"os_admin", "root"}
_HOST = re.compile(r"%?[\w.()-]*%?")
_NAME_MAX = 32

_reference = entries({"name": word(64)}, {})


def _host(value: Any) -> str:
    if not isinstance(value, str) or not value or not _HOST.fullmatch(value):
        raise ValueError(f"{value!r} is not a valid host")
    return value


def _name(value: Any) -> str:
    name: str = word(_NAME_MAX)(value)
    if name in _RESERVED:
        raise ValueError(f"{name!r} is a reserved name")
    return name


_attributes = {"password": word(), "host": _host}
_fields = entries(
    {"name": _name, "password": word()}, {"host": _host, "databases": list_of(_reference)}
)
_change = entries({}, {"name": _name, **_attributes})


def user(value: Any) -> Body:
    """Check a user in a request body and return it with defaults. Raises ValueError."""
    attributes: Body = {"host": "%", "databases": [], **_fields(value)}
    names = [database["name"] for database in attributes["databases"]]
    return {**attributes, "databases": list(dict.fromkeys(names))}


def identity(user: Body) -> str:
    """Return the id of a user: NAME@HOST."""
    return f"{user['name']}@{user['host']}"


def distinct_users(users: list[Body], databases: set[str] | None = None) -> None:
    """Raise Refusal 400 if a user occurs twice in a list, or needs none of these databases."""
    idents = [identity(user) for user in users]
    if len(set(idents)) < len(idents):
        raise bad("Two users have the same name and host.")
    for user in users:
        for name in user["databases"]:
            if databases is not None and name not in databases:
                raise bad(f"The database {name} of user {user['name']} is not in the request.")


def add_user(instance: Resource, user: Body) -> None:
    """Add a user to an instance."""
    instance.hidden["users"][identity(user)] = user


def _view(user: Body) -> Body:
    databases = [{"name": name} for name in user["databases"]]
    return {"name": user["name"], "host": user["host"], "databases": databases}


def _find(call: Call) -> tuple[Resource, Body]:
    """Return the instance and the user in the path. Raises Refusal 404."""
    instance, reference = ready(call), call.ids[1]
    name, at, host = reference.rpartition("@")
    ident = f"{name}@{host or '%'}" if at else f"{reference}@%"
    user = instance.hidden["users"].get(ident)
    if user is None:
        raise Refusal(404, message=f"User {reference} cannot be found on the instance.")
    return instance, user


def create(call: Call) -> Reply:
    """Handle POST of users; reply with status 202."""
    instance, entries = ready(call), array(call, "users", user)
    distinct_users(entries)
    for entry in entries:
        if identity(entry) in instance.hidden["users"]:
            raise bad(f'A user with the name "{entry["name"]}" already exists.')
    for entry in entries:
        add_user(instance, entry)
    return Reply(202)


def users(call: Call) -> Reply:
    """Handle GET of the users."""
    users_by_id = ready(call).hidden["users"]
    return page_of(call, "users", {ident: _view(user) for ident, user in users_by_id.items()})


def show(call: Call) -> Reply:
    """Handle GET of a user."""
    return Reply(200, {"user": _view(_find(call)[1])})


def update(call: Call) -> Reply:
    """Handle PUT of a user: change its name, host or password; reply with status 202."""
    instance, user = _find(call)
    try:
        changes = _change(call.object("user"))
    except ValueError as error:
        raise bad(f"Validation error: user {error}") from None
    if not changes:
        raise bad("Validation error: user has no fields")
    users_by_id, before = instance.hidden["users"], identity(user)
    after = identity({**user, **changes})
    if after != before and after in users_by_id:
        raise bad(f'A user with the name "{after}" already exists.')
    del users_by_id[before]
    users_by_id[after] = {**user, **changes}
    return Reply(202)


def passwords(call: Call) -> Reply:
    """Handle PUT of the users: change their passwords; reply with status 202."""
    instance, entries = ready(call), array(call, "users", user)
    users_by_id = instance.hidden["users"]
    for entry in entries:
        if identity(entry) not in users_by_id:
            raise Refusal(404, message=f"User {entry['name']} cannot be found on the instance.")
    for entry in entries:
        users_by_id[identity(entry)]["password"] = entry["password"]
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of a user; reply with status 202."""
    instance, user = _find(call)
    del instance.hidden["users"][identity(user)]
    return Reply(202)


def grants(call: Call) -> Reply:
    """Handle GET of the databases that a user may use."""
    return Reply(200, {"databases": _view(_find(call)[1])["databases"]})


def grant(call: Call) -> Reply:
    """Handle PUT of databases that a user may use, besides others; reply with status 202."""
    instance, user = _find(call)
    names = [row["name"] for row in array(call, "databases", _reference)]
    for name in names:
        _known(instance, name)
    user["databases"] = list(dict.fromkeys([*user["databases"], *names]))
    return Reply(202)


def revoke(call: Call) -> Reply:
    """Handle DELETE of a database that a user may use; reply with status 202."""
    instance, user = _find(call)
    _known(instance, call.ids[2])
    user["databases"] = [name for name in user["databases"] if name != call.ids[2]]
    return Reply(202)


def _known(instance: Resource, name: str) -> None:
    if name not in instance.hidden["databases"]:
        raise Refusal(404, message=f"Database {name} cannot be found on the instance.")


_PATH = "/v1.0/instances/{}/users"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, users),
    ("PUT", _PATH, passwords),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/databases", grants),
    ("PUT", _PATH + "/{}/databases", grant),
    ("DELETE", _PATH + "/{}/databases/{}", revoke),
]

"""The API of the users in an instance, and of the databases that they may use."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.collection import list_of
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Thing
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
    found: str = word(_NAME_MAX)(value)
    if found in _RESERVED:
        raise ValueError(f"{found!r} is a reserved name")
    return found


_attributes = {"password": word(), "host": _host}
_fields = entries(
    {"name": _name, "password": word()}, {"host": _host, "databases": list_of(_reference)}
)
_change = entries({}, {"name": _name, **_attributes})


def user(value: Any) -> Body:
    """Check a user in a request body and return it with defaults. Raises ValueError."""
    given: Body = {"host": "%", "databases": [], **_fields(value)}
    names = [one["name"] for one in given["databases"]]
    return {**given, "databases": list(dict.fromkeys(names))}


def identity(one: Body) -> str:
    """Return the id of a user: NAME@HOST."""
    return f"{one['name']}@{one['host']}"


def distinct_users(given: list[Body], databases: set[str] | None = None) -> None:
    """Raise Refusal 400 if a user occurs twice in a list, or needs none of these databases."""
    idents = [identity(one) for one in given]
    if len(set(idents)) < len(idents):
        raise bad("Two users have the same name and host.")
    for one in given:
        for name in one["databases"]:
            if databases is not None and name not in databases:
                raise bad(f"The database {name} of user {one['name']} is not in the request.")


def add_user(thing: Thing, one: Body) -> None:
    """Add a user to an instance."""
    thing.hidden["users"][identity(one)] = one


def _view(one: Body) -> Body:
    databases = [{"name": name} for name in one["databases"]]
    return {"name": one["name"], "host": one["host"], "databases": databases}


def _find(call: Call) -> tuple[Thing, Body]:
    """Return the instance and the user in the path. Raises Refusal 404."""
    thing, given = ready(call), call.ids[1]
    name, at, host = given.rpartition("@")
    ident = f"{name}@{host or '%'}" if at else f"{given}@%"
    found = thing.hidden["users"].get(ident)
    if found is None:
        raise Refusal(404, message=f"User {given} cannot be found on the instance.")
    return thing, found


def create(call: Call) -> Reply:
    """Handle POST of users; reply with status 202."""
    thing, given = ready(call), array(call, "users", user)
    distinct_users(given)
    for one in given:
        if identity(one) in thing.hidden["users"]:
            raise bad(f'A user with the name "{one["name"]}" already exists.')
    for one in given:
        add_user(thing, one)
    return Reply(202)


def users(call: Call) -> Reply:
    """Handle GET of the users."""
    known = ready(call).hidden["users"]
    return page_of(call, "users", {ident: _view(one) for ident, one in known.items()})


def show(call: Call) -> Reply:
    """Handle GET of a user."""
    return Reply(200, {"user": _view(_find(call)[1])})


def update(call: Call) -> Reply:
    """Handle PUT of a user: change its name, host or password; reply with status 202."""
    thing, one = _find(call)
    try:
        changes = _change(call.object("user"))
    except ValueError as error:
        raise bad(f"Validation error: user {error}") from None
    if not changes:
        raise bad("Validation error: user has no fields")
    known, before = thing.hidden["users"], identity(one)
    after = identity({**one, **changes})
    if after != before and after in known:
        raise bad(f'A user with the name "{after}" already exists.')
    del known[before]
    known[after] = {**one, **changes}
    return Reply(202)


def passwords(call: Call) -> Reply:
    """Handle PUT of the users: change their passwords; reply with status 202."""
    thing, given = ready(call), array(call, "users", user)
    known = thing.hidden["users"]
    for one in given:
        if identity(one) not in known:
            raise Refusal(404, message=f"User {one['name']} cannot be found on the instance.")
    for one in given:
        known[identity(one)]["password"] = one["password"]
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of a user; reply with status 202."""
    thing, one = _find(call)
    del thing.hidden["users"][identity(one)]
    return Reply(202)


def grants(call: Call) -> Reply:
    """Handle GET of the databases that a user may use."""
    return Reply(200, {"databases": _view(_find(call)[1])["databases"]})


def grant(call: Call) -> Reply:
    """Handle PUT of databases that a user may use, besides others; reply with status 202."""
    thing, one = _find(call)
    names = [row["name"] for row in array(call, "databases", _reference)]
    for name in names:
        _known(thing, name)
    one["databases"] = list(dict.fromkeys([*one["databases"], *names]))
    return Reply(202)


def revoke(call: Call) -> Reply:
    """Handle DELETE of a database that a user may use; reply with status 202."""
    thing, one = _find(call)
    _known(thing, call.ids[2])
    one["databases"] = [name for name in one["databases"] if name != call.ids[2]]
    return Reply(202)


def _known(thing: Thing, name: str) -> None:
    if name not in thing.hidden["databases"]:
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

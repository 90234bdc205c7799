"""Security services: the directory services in which share servers look up users."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, nullable, one_of, text
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.manila.base import (
    NETWORKS,
    PATH,
    SECURITY_SERVICES,
    SERVICE,
    TEXT,
    bad,
    checked,
    find,
    forbidden,
    limited,
    matching,
    mine,
    stamped,
    touch,
)
from hearth_devcloud.store import Thing

_TEXT = Field(nullable(text(255)))
_DECLARED = Collection(
    SERVICE,
    "security_services",
    "security_service",
    {
        "type": Field(one_of("ldap", "kerberos", "active_directory"), required=True, update=False),
        "name": _TEXT,
        "description": _TEXT,
        "dns_ip": Field(nullable(text(64))),
        "server": _TEXT,
        "domain": _TEXT,
        "user": _TEXT,
        "password": _TEXT,
        "ou": _TEXT,
    },
)
_FILTERS = ("name", "id", "type", "user", "server", "dns_ip", "domain")


def _networks_of(call: Call, thing: Thing) -> list[Thing]:
    networks = call.cloud.store.table(NETWORKS).values()
    return [one for one in networks if thing.id in one.hidden["security_services"]]


def _view(call: Call, thing: Thing) -> Body:
    hidden = {"ou"} if call.version < (2, 44) else set()
    return {name: value for name, value in thing.body.items() if name not in hidden}


def _reply(call: Call, thing: Thing) -> Reply:
    return Reply(200, {"security_service": _view(call, thing)})


def _check(call: Call, values: Body) -> Body:
    if values.get("ou") is not None and call.version < (2, 44):
        raise bad("'ou' key is not supported by this microversion. Use 2.44 or greater.")
    return values


def create(call: Call) -> Reply:
    """Handle POST of a security service."""
    values = _check(call, checked(call, _DECLARED, creating=True))
    body = {**stamped(call), **values, "status": "new"}
    thing = Thing(body["id"], SECURITY_SERVICES, call.caller.project_id, body)
    return _reply(call, call.cloud.store.insert(thing))


def _list(call: Call, *, full: bool) -> Reply:
    wanted = call.argument("share_network_id")
    if wanted is None:
        found = mine(call, SECURITY_SERVICES)
    else:
        network = find(call, NETWORKS, wanted, "Share network")
        table = call.cloud.store.table(SECURITY_SERVICES)
        found = [table[one] for one in network.hidden["security_services"]]
    things = limited(call, matching(call, found, _FILTERS))
    if full:
        shown = [
            {**_view(call, one), "share_networks": [net.id for net in _networks_of(call, one)]}
            for one in things
        ]
    else:
        fields = ("id", "name", "type", "status")
        shown = [{name: one.body[name] for name in fields} for one in things]
    return Reply(200, {"security_services": shown})


def services(call: Call) -> Reply:
    """Handle GET /security-services: list the security services in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /security-services/detail: list the security services with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Thing:
    return find(call, SECURITY_SERVICES, call.ids[0], "Security service")


def show(call: Call) -> Reply:
    """Handle GET of a security service."""
    return _reply(call, _own(call))


def update(call: Call) -> Reply:
    """Handle PUT of a security service; reply with 403 if a share server forbids the change."""
    thing, changes = _own(call), checked(call, _DECLARED, creating=False)
    _check(call, changes)
    used = any("server" in network.hidden for network in _networks_of(call, thing))
    if used and changes.keys() - {"name", "description"}:
        words = "It is attached to share network with share server associated."
        raise forbidden(f"Cannot update security service {thing.id}. {words}")
    thing.body.update(changes)
    touch(call, thing)
    return _reply(call, thing)


def delete(call: Call) -> Reply:
    """Handle DELETE of a security service that no share network uses; reply with status 202."""
    thing = _own(call)
    if _networks_of(call, thing):
        raise forbidden("Cannot delete security service. It is assigned to share network(s)")
    call.cloud.store.remove(thing)
    return Reply(202, None, dict(TEXT))


_PATH = PATH + "/security-services"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, services),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
]

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
from hearth_devcloud.store import Resource

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


def _networks_of(call: Call, service: Resource) -> list[Resource]:
    networks = call.cloud.store.table(NETWORKS).values()
    return [network for network in networks if service.id in network.hidden["security_services"]]


def _view(call: Call, security_service: Resource) -> Body:
    hidden = {"ou"} if call.version < (2, 44) else set()
    return {name: value for name, value in security_service.body.items() if name not in hidden}


def _reply(call: Call, security_service: Resource) -> Reply:
    return Reply(200, {"security_service": _view(call, security_service)})


def _check(call: Call, values: Body) -> Body:
    if values.get("ou") is not None and call.version < (2, 44):
        raise bad("'ou' key is not supported by this microversion. Use 2.44 or greater.")
    return values


def create(call: Call) -> Reply:
    """Handle POST of a security service."""
    values = _check(call, checked(call, _DECLARED, creating=True))
    body = {**stamped(call), **values, "status": "new"}
    security_service = Resource(body["id"], SECURITY_SERVICES, call.caller.project_id, body)
    return _reply(call, call.cloud.store.insert(security_service))


def _list(call: Call, *, full: bool) -> Reply:
    network_id = call.argument("share_network_id")
    if network_id is None:
        services = mine(call, SECURITY_SERVICES)
    else:
        network = find(call, NETWORKS, network_id, "Share network")
        table = call.cloud.store.table(SECURITY_SERVICES)
        services = [table[service_id] for service_id in network.hidden["security_services"]]
    security_services = limited(call, matching(call, services, _FILTERS))
    if full:
        views = [
            {
                **_view(call, service),
                "share_networks": [net.id for net in _networks_of(call, service)],
            }
            for service in security_services
        ]
    else:
        fields = ("id", "name", "type", "status")
        views = [{name: service.body[name] for name in fields} for service in security_services]
    return Reply(200, {"security_services": views})


def services(call: Call) -> Reply:
    """Handle GET /security-services: list the security services in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /security-services/detail: list the security services with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Resource:
    return find(call, SECURITY_SERVICES, call.ids[0], "Security service")


def show(call: Call) -> Reply:
    """Handle GET of a security service."""
    return _reply(call, _own(call))


def update(call: Call) -> Reply:
    """Handle PUT of a security service; reply with 403 if a share server forbids the change."""
    security_service, changes = _own(call), checked(call, _DECLARED, creating=False)
    _check(call, changes)
    used = any("server" in network.hidden for network in _networks_of(call, security_service))
    if used and changes.keys() - {"name", "description"}:
        message = "It is attached to share network with share server associated."
        raise forbidden(f"Cannot update security service {security_service.id}. {message}")
    security_service.body.update(changes)
    touch(call, security_service)
    return _reply(call, security_service)


def delete(call: Call) -> Reply:
    """Handle DELETE of a security service that no share network uses; reply with status 202."""
    security_service = _own(call)
    if _networks_of(call, security_service):
        raise forbidden("Cannot delete security service. It is assigned to share network(s)")
    call.cloud.store.remove(security_service)
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

"""The API of consumers: what a server uses of which provider, and what a project uses."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.nova.hypervisors import host_of
from hearth_devcloud.placement import inventory
from hearth_devcloud.placement.base import admin_only, bad, known_arguments
from hearth_devcloud.placement.inventory import allocated

_CONSUMER_TYPE = "INSTANCE"


def show(call: Call) -> Reply:
    """Handle GET of the allocations of a consumer; empty for one that is unknown."""
    admin_only(call, "allocations:list")
    store = call.cloud.store
    server = store.get(tables.SERVERS, call.ids[0])
    used = allocated(server) if server is not None else {}
    if server is None or not used:
        return Reply(200, {"allocations": {}})
    provider = next(p for p in inventory.providers(store) if p.name == host_of(server))
    view: Body = {
        "allocations": {provider.uuid: {"generation": provider.generation, "resources": used}}
    }
    if call.version >= (1, 12):
        view |= {"project_id": server.project_id, "user_id": server.body["user_id"]}
    if call.version >= (1, 28):
        view["consumer_generation"] = 1
    if call.version >= (1, 38):
        view["consumer_type"] = _CONSUMER_TYPE
    return Reply(200, view)


def usages(call: Call) -> Reply:
    """Handle GET /usages: what a project, or a user of it, uses of all providers together."""
    project_id = call.argument("project_id")
    if project_id != call.caller.project_id:
        admin_only(call, "usages")
    known_arguments(call, {"project_id": 9, "user_id": 9, "consumer_type": 38})
    if project_id is None:
        raise bad("Invalid query string parameters: 'project_id' is a required property")
    user_id, consumer_type = call.argument("user_id"), call.argument("consumer_type")
    servers = [
        server
        for server in call.cloud.store.all(tables.SERVERS)
        if server.project_id == project_id
        and user_id in (None, server.body["user_id"])
        and consumer_type in (None, "all", _CONSUMER_TYPE)
        and allocated(server)
    ]
    used: Body = {name: amount for name, amount in inventory.total(servers).items() if amount}
    if call.version >= (1, 38) and servers:
        group = "all" if consumer_type == "all" else _CONSUMER_TYPE
        used = {group: {**used, "consumer_count": len(servers)}}
    return Reply(200, {"usages": used})


ROUTES: list[Route] = [
    ("GET", "/allocations/{}", show),
    ("GET", "/usages", Since((1, 9), usages)),
]

"""Actions of administrators that move servers to another host: migrate, live migrate, evacuate."""

from __future__ import annotations

from collections.abc import Callable

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.nova import life
from hearth_devcloud.nova.base import admin_only, bad
from hearth_devcloud.nova.hypervisors import HOSTS, choose, host_of, is_up
from hearth_devcloud.store import Resource

_NO_HOST = "No valid host was found. There are not enough hosts available."


def placement(server: Resource) -> Body:
    """Return the state of a server to which the revert of a resize or migration returns."""
    hidden = server.hidden
    return {
        "flavor_id": hidden["flavor_id"],
        "flavor": hidden["flavor"],
        "host": host_of(server),
        "vm_state": server.body["vm_state"],
    }


def _known(arguments: Body, *names: str) -> None:
    """Raise Refusal 400 if an action has other arguments than these, or a host that is no text."""
    unknown = sorted(set(arguments) - set(names))
    if unknown:
        raise bad(f"Additional properties are not allowed: {unknown}")
    if not isinstance(arguments.get("host"), str | None):
        raise bad("Invalid input for field/attribute host: expected text or null")


def _destination(call: Call, server: Resource, host: str | None) -> str:
    """Return the host to which a server moves: `host`, or a chosen one. Raises Refusal 400."""
    store = call.cloud.store
    if host is None:
        host = choose(store, without=host_of(server))
        if host is None:
            raise bad(_NO_HOST)
    elif host not in HOSTS:
        raise bad(f"Compute host {host} could not be found.")
    elif not is_up(store, host):
        raise bad(f"Compute service of {host} is unavailable at this time.")
    return host


def _migrate(call: Call, server: Resource, arguments: Body) -> Reply:
    admin_only(call, "os_compute_api:os-migrate-server:migrate")
    _known(arguments, *(("host",) if call.version >= (2, 56) else ()))
    life.allow(server, "migrate", ("active", "stopped"))
    host = _destination(call, server, arguments.get("host"))
    if host == host_of(server):
        raise bad("Cannot migrate to the host where the server exists.")
    server.hidden["before_resize"] = placement(server)
    life.move(call.cloud, server, host)
    life.begin(call, server, "resize_prep", "resized")
    return Reply(202)


def _migrate_live(call: Call, server: Resource, arguments: Body) -> Reply:
    admin_only(call, "os_compute_api:os-migrate-server:migrate_live")
    needed = ["host", "block_migration"]
    if call.version < (2, 25):
        needed.append("disk_over_commit")
    for name in needed:
        if name not in arguments:
            raise bad(f"'{name}' is a required property")
    _known(arguments, *needed, *(("force",) if (2, 30) <= call.version < (2, 68) else ()))
    automatic = ("auto",) if call.version >= (2, 25) else ()
    if arguments["block_migration"] not in (True, False, "True", "False", *automatic):
        raise bad("Invalid input for field/attribute block_migration: expected true or false")
    life.allow(server, "os-migrateLive", ("active", "paused"))
    host = _destination(call, server, arguments["host"])
    if host == host_of(server):
        raise bad(f"Unable to migrate instance ({server.id}) to current host ({host}).")
    server.hidden["destination"] = host
    life.begin(call, server, "migrating", server.body["vm_state"])
    return Reply(202)


def _evacuate(call: Call, server: Resource, arguments: Body) -> Reply:
    admin_only(call, "os_compute_api:os-evacuate")
    older = call.version < (2, 14)
    if older and "onSharedStorage" not in arguments:
        raise bad("'onSharedStorage' is a required property")
    names = ["host", "adminPass", *(("onSharedStorage",) if older else ())]
    _known(arguments, *names, *(("force",) if (2, 29) <= call.version < (2, 68) else ()))
    source, host = host_of(server), arguments.get("host")
    if host is not None and host not in HOSTS:
        raise Refusal(404, message=f"Compute host {host} not found.")
    if host == source:
        raise bad("The target host can't be the same one.")
    life.allow(server, "evacuate", ("active", "stopped", "error"))
    if is_up(call.cloud.store, source):
        raise bad(f"Compute service of {source} is still in use.")
    host = _destination(call, server, host)
    stopped = call.version >= (2, 95) or server.body["vm_state"] == "stopped"
    server.hidden["fault"] = None
    if server.body["vm_state"] == "error":
        server.body["vm_state"] = "active"
    life.move(call.cloud, server, host)
    life.begin(call, server, "rebuilding", "stopped" if stopped else "active")
    if not older:
        return Reply(200)
    return Reply(200, {"adminPass": arguments.get("adminPass") or call.cloud.store.new_secret(12)})


HANDLERS: dict[str, Callable[[Call, Resource, Body], Reply]] = {
    "migrate": _migrate,
    "os-migrateLive": _migrate_live,
    "evacuate": _evacuate,
}

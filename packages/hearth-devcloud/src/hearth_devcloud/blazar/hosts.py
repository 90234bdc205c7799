"""The API of hosts, which administrators register so that leases can reserve them."""

from __future__ import annotations

import json

from hearth_devcloud import tables
from hearth_devcloud.blazar.base import HOSTS, LEASES, bad, document, missing, stamp, words
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone import delegation
from hearth_devcloud.nova import hypervisors as nova
from hearth_devcloud.store import Resource

SERVICE_USER = "blazar"
_CAPABILITY_MAX = 64  # characters
_KIND: Body = {
    "hypervisor_type": "QEMU",
    "hypervisor_version": 2010001,
    "cpu_info": json.dumps({"arch": "x86_64", "topology": {"cores": 8, "sockets": 1}}),
}
MACHINES: dict[str, Body] = {
    nova.HOST: {
        **_KIND,
        "vcpus": nova.HOST_CPUS,
        "memory_mb": nova.HOST_RAM_MB,
        "local_gb": nova.HOST_DISK_GB,
    },
    **{
        f"reservable-{number}": {**_KIND, "vcpus": 8, "memory_mb": 16384, "local_gb": 200}
        for number in range(1, 9)
    },
}
"""The machines that can be registered, by name: that of the servers, and others for leases only."""

_FIXED = frozenset(
    {
        *("id", "hypervisor_hostname", "service_name", "vcpus", "cpu_info", "hypervisor_type"),
        *("hypervisor_version", "memory_mb", "local_gb", "status", "availability_zone"),
        *("trust_id", "reservable", "created_at", "updated_at"),
    }
)


def admin_only(call: Call, action: str) -> None:
    """Raise Refusal 403 unless the caller has the role admin."""
    if not call.caller.is_admin:
        raise Refusal(403, message=f"Policy doesn't allow {action} to be performed")


def create(call: Call) -> Reply:
    """Handle POST of a host; reply with status 201. Unknown fields are its extra capabilities."""
    admin_only(call, "blazar:oshosts:post")
    attributes, store = document(call), call.cloud.store
    name = words(attributes, "name")
    machine = MACHINES.get(name)
    if machine is None:
        raise Refusal(404, message=f"Host '{name}' not found!")
    if store.where(HOSTS, hypervisor_hostname=name):
        raise Refusal(409, message=f"Aggregate freepool already has host(s) {name}")
    if name == nova.HOST and list(store.all(tables.SERVERS)):
        raise Refusal(409, message=f"Servers found for host {name}")
    capabilities = _capabilities({k: v for k, v in attributes.items() if k != "name"})
    trust = delegation.entrust(call.cloud, call.caller, SERVICE_USER)
    ident = str(store.new_serial(HOSTS))
    body: Body = {
        "id": ident,
        "hypervisor_hostname": name,
        "service_name": name,
        **machine,
        "availability_zone": "nova",
        "reservable": True,
        "status": None,
        "trust_id": trust.id,
        "created_at": stamp(store.time),
        "updated_at": None,
        **capabilities,
    }
    store.insert(Resource(ident, HOSTS, None, body, {"capabilities": capabilities}))
    return Reply(201, {"host": body})


def _capabilities(attributes: Body) -> Body:
    """Check extra capabilities and return them. Raises Refusal 400."""
    for name, value in attributes.items():
        if name in _FIXED:
            raise bad(f"{name} is not an extra capability")
        if len(name) > _CAPABILITY_MAX:
            raise bad(f"Extra capability too long: {name}")
        if not isinstance(value, str):
            raise bad(f"Malformed parameter {name}: expected a text")
    return attributes


def _find(call: Call) -> Resource:
    host = call.cloud.store.get(HOSTS, call.ids[0])
    if host is None:
        raise missing("Host", call.ids[0])
    return host


def hosts(call: Call) -> Reply:
    """Handle GET of the hosts, for administrators."""
    admin_only(call, "blazar:oshosts:get")
    return Reply(200, {"hosts": [host.body for host in call.cloud.store.all(HOSTS)]})


def show(call: Call) -> Reply:
    """Handle GET of a host, for administrators."""
    admin_only(call, "blazar:oshosts:get")
    return Reply(200, {"host": _find(call).body})


def update(call: Call) -> Reply:
    """Handle PUT of a host: change its extra capabilities."""
    admin_only(call, "blazar:oshosts:put")
    host = _find(call)
    changes = _capabilities(document(call))
    host.hidden["capabilities"].update(changes)
    host.body.update(changes, updated_at=stamp(call.cloud.store.time))
    return Reply(200, {"host": host.body})


def delete(call: Call) -> Reply:
    """Handle DELETE of a host; reply with status 204, or 409 while a lease reserves it."""
    admin_only(call, "blazar:oshosts:delete")
    host, store = _find(call), call.cloud.store
    if any(host.id in ids for lease in store.all(LEASES) for ids in lease.hidden["hosts"].values()):
        raise Refusal(409, message=f"Can't remove host(s) {host.id}: it has reservations")
    delegation.end(call.cloud, host.body["trust_id"])
    store.remove(host)
    return Reply(204)


_PATH = "/v1/os-hosts"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, hosts),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
]

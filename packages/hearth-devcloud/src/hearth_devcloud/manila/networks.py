"""Share networks: the networks on which share servers export shares; and their security services.

A share server exists while the network has shares whose type uses share servers. It blocks most
changes of the network.
"""

from __future__ import annotations

import ipaddress

from hearth_devcloud.collection import Collection, Field, nullable, text, uuid
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.manila import quotas
from hearth_devcloud.manila.base import (
    NETWORKS,
    PATH,
    SECURITY_SERVICES,
    SERVICE,
    SHARES,
    TEXT,
    action_of,
    admin_only,
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

_KIND = "Share network"
_TEXT = Field(nullable(text(255)))
_UUID = Field(nullable(uuid))
_DECLARED = Collection(
    SERVICE,
    "share_networks",
    "share_network",
    {
        "name": _TEXT,
        "description": _TEXT,
        "neutron_net_id": _UUID,
        "neutron_subnet_id": _UUID,
        "availability_zone": Field(nullable(text(255)), update=False),
    },
)
_ALLOCATED = ("network_type", "segmentation_id", "cidr", "ip_version", "gateway", "mtu")
_FILTERS = (
    *("name", "description", "neutron_net_id", "neutron_subnet_id"),
    *("network_type", "segmentation_id", "cidr", "ip_version"),
)


def allocate(cloud: Cloud, network: Thing) -> str | None:
    """Return the id of the network's share server; create the server if there is none.

    Creating it reads the network and the subnet in Neutron. Return None if they do not exist.
    """
    if "server" in network.hidden:
        return str(network.hidden["server"])
    store, body = cloud.store, network.body
    net = store.get("network.networks", body["neutron_net_id"])
    subnet = store.get("network.subnets", body["neutron_subnet_id"])
    if net is None or subnet is None or subnet.body["network_id"] != net.id:
        return None
    body.update(
        network_type=net.body.get("provider:network_type"),
        segmentation_id=net.body.get("provider:segmentation_id"),
        cidr=subnet.body["cidr"],
        ip_version=subnet.body["ip_version"],
        gateway=subnet.body["gateway_ip"],
        mtu=net.body.get("mtu"),
    )
    network.hidden["server"] = store.new_id()
    return str(network.hidden["server"])


def address(network: Thing) -> str:
    """Return the address of the network's share server, the last one of the subnet."""
    return str(ipaddress.ip_network(network.body["cidr"])[-2])


def release(cloud: Cloud, network_id: object) -> None:
    """Delete the share server of a network after its last share was deleted."""
    network = cloud.store.get(NETWORKS, network_id)
    if network is not None and not cloud.store.where(SHARES, share_network_id=network.id):
        network.hidden.pop("server", None)


def view(call: Call, thing: Thing) -> Body:
    """Return a share network in the format of the API."""
    body = thing.body
    shown: Body = {
        name: body[name]
        for name in ("id", "name", "description", "project_id", "created_at", "updated_at")
    }
    hidden = {"gateway"} if call.version < (2, 18) else set()
    hidden |= {"mtu"} if call.version < (2, 20) else set()
    subnet = {name: body[name] for name in ("neutron_net_id", "neutron_subnet_id", *_ALLOCATED)}
    if call.version < (2, 51):
        return shown | {name: one for name, one in subnet.items() if name not in hidden}
    times = {name: body[name] for name in ("created_at", "updated_at", "availability_zone")}
    shown["share_network_subnets"] = [
        {"id": thing.hidden["subnet"], "share_network_id": thing.id, **times, **subnet}
    ]
    if call.version >= (2, 63):
        shown |= {"status": "active", "security_service_update_support": True}
    return shown


def _reply(call: Call, thing: Thing, status: int = 200) -> Reply:
    return Reply(status, {"share_network": view(call, thing)})


def create(call: Call) -> Reply:
    """Handle POST of a share network; reply with status 200, or 202 since microversion 2.51."""
    values = checked(call, _DECLARED, creating=True)
    _check(values)
    if values["availability_zone"] not in (None, "nova"):
        raise bad(f"The provided availability zone {values['availability_zone']} does not exist.")
    quotas.check(call.cloud, call.caller.project_id or "", {"share_networks": 1})
    body = {**stamped(call), **values, **dict.fromkeys(_ALLOCATED)}
    hidden: Body = {"subnet": call.cloud.store.new_id(), "security_services": []}
    thing = Thing(body["id"], NETWORKS, call.caller.project_id, body, hidden)
    call.cloud.store.insert(thing)
    return _reply(call, thing, 200 if call.version < (2, 51) else 202)


def _check(values: Body) -> None:
    if (values["neutron_net_id"] is None) != (values["neutron_subnet_id"] is None):
        raise bad("Specify both neutron_net_id and neutron_subnet_id, or none of them.")


def _list(call: Call, *, full: bool) -> Reply:
    wanted = call.argument("project_id")
    if wanted is not None and wanted != call.caller.project_id:
        admin_only(call)
        found = [one for one in call.cloud.store.all(NETWORKS) if one.project_id == wanted]
    else:
        found = mine(call, NETWORKS)
    service = call.argument("security_service_id")
    if service is not None:
        found = [one for one in found if service in one.hidden["security_services"]]
    things = limited(call, matching(call, found, _FILTERS))
    if full:
        return Reply(200, {"share_networks": [view(call, thing) for thing in things]})
    brief = [{"id": thing.id, "name": thing.body["name"]} for thing in things]
    return Reply(200, {"share_networks": brief})


def networks(call: Call) -> Reply:
    """Handle GET /share-networks: list the networks in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /share-networks/detail: list the networks with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Thing:
    return find(call, NETWORKS, call.ids[0], _KIND)


def show(call: Call) -> Reply:
    """Handle GET of a share network."""
    return _reply(call, _own(call))


def update(call: Call) -> Reply:
    """Handle PUT of a share network; reply with 403 if a share server forbids the change."""
    thing, changes = _own(call), checked(call, _DECLARED, creating=False)
    if "server" in thing.hidden and changes.keys() - {"name", "description"}:
        words = "It is used by share servers. Only 'name' and 'description' can be updated."
        raise forbidden(f"Cannot update share network {thing.id}. {words}")
    _check({**thing.body, **changes})
    thing.body.update(changes)
    touch(call, thing)
    return _reply(call, thing)


def delete(call: Call) -> Reply:
    """Handle DELETE of a share network without shares; reply with status 202."""
    thing = _own(call)
    shares = call.cloud.store.where(SHARES, share_network_id=thing.id)
    if shares:
        words = f"Can not delete share network {thing.id}, it has {len(shares)} share(s)."
        raise Refusal(409, message=words)
    call.cloud.store.remove(thing)
    return Reply(202, None, dict(TEXT))


def act(call: Call) -> Reply:
    """Handle POST of the action add_security_service or remove_security_service."""
    thing = _own(call)
    name, given = action_of(call, ("add_security_service", "remove_security_service"))
    if set(given) != {"security_service_id"}:
        raise bad("Malformed request body: expected security_service_id")
    service = find(call, SECURITY_SERVICES, given["security_service_id"], "Security service")
    present: list[str] = thing.hidden["security_services"]
    if "server" in thing.hidden:
        verb = name.partition("_")[0]
        raise forbidden(f"Cannot {verb} security services. Share network is used.")
    if name == "remove_security_service":
        if service.id not in present:
            raise bad(f"Security service {service.id} is not associated with the share network.")
        thing.hidden["security_services"] = [one for one in present if one != service.id]
        return _reply(call, thing)
    table = call.cloud.store.table(SECURITY_SERVICES)
    if service.body["type"] in (table[one].body["type"] for one in present):
        words = f"Security service with '{service.body['type']}' type already added to"
        words = f"Cannot add security service to share network. {words} '{thing.id}' share network"
        raise Refusal(409, message=words)
    thing.hidden["security_services"] = [*present, service.id]
    return _reply(call, thing)


_PATH = PATH + "/share-networks"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, networks),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", act),
]

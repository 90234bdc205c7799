"""Share networks: the networks on which share servers export shares; and their security services.

A share server exists while the network has shares whose type uses share servers. It blocks most
changes of the network.
"""

from __future__ import annotations

import ipaddress

from hearth_devcloud import tables
from hearth_devcloud.collection import Collection, Field, nullable, text, uuid
from hearth_devcloud.http import Actions, Body, Call, Cloud, Refusal, Reply, Route
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
from hearth_devcloud.store import Resource

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


def allocate(cloud: Cloud, network: Resource) -> str | None:
    """Return the id of the network's share server; create the server if there is none.

    Creating it reads the network and the subnet in Neutron. Return None if they do not exist.
    """
    if "server" in network.hidden:
        return str(network.hidden["server"])
    store, body = cloud.store, network.body
    net = store.get(tables.NETWORKS, body["neutron_net_id"])
    subnet = store.get(tables.SUBNETS, body["neutron_subnet_id"])
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


def address(network: Resource) -> str:
    """Return the address of the network's share server, the last one of the subnet."""
    return str(ipaddress.ip_network(network.body["cidr"])[-2])


def release(cloud: Cloud, network_id: object) -> None:
    """Delete the share server of a network after its last share was deleted."""
    network = cloud.store.get(NETWORKS, network_id)
    if network is not None and not cloud.store.where(SHARES, share_network_id=network.id):
        network.hidden.pop("server", None)


def view(call: Call, share_network: Resource) -> Body:
    """Return a share network in the format of the API."""
    body = share_network.body
    fields: Body = {
        name: body[name]
        for name in ("id", "name", "description", "project_id", "created_at", "updated_at")
    }
    hidden = {"gateway"} if call.version < (2, 18) else set()
    hidden |= {"mtu"} if call.version < (2, 20) else set()
    subnet = {name: body[name] for name in ("neutron_net_id", "neutron_subnet_id", *_ALLOCATED)}
    if call.version < (2, 51):
        return fields | {name: field for name, field in subnet.items() if name not in hidden}
    times = {name: body[name] for name in ("created_at", "updated_at", "availability_zone")}
    fields["share_network_subnets"] = [
        {
            "id": share_network.hidden["subnet"],
            "share_network_id": share_network.id,
            **times,
            **subnet,
        }
    ]
    if call.version >= (2, 63):
        fields |= {"status": "active", "security_service_update_support": True}
    return fields


def _reply(call: Call, share_network: Resource, status: int = 200) -> Reply:
    return Reply(status, {"share_network": view(call, share_network)})


def create(call: Call) -> Reply:
    """Handle POST of a share network; reply with status 200, or 202 since microversion 2.51."""
    values = checked(call, _DECLARED, creating=True)
    _check(values)
    if values["availability_zone"] not in (None, "nova"):
        raise bad(f"The provided availability zone {values['availability_zone']} does not exist.")
    quotas.check(call.cloud, call.caller.project_id or "", {"share_networks": 1})
    body = {**stamped(call), **values, **dict.fromkeys(_ALLOCATED)}
    hidden: Body = {"subnet": call.cloud.store.new_id(), "security_services": []}
    share_network = Resource(body["id"], NETWORKS, call.caller.project_id, body, hidden)
    call.cloud.store.insert(share_network)
    return _reply(call, share_network, 200 if call.version < (2, 51) else 202)


def _check(values: Body) -> None:
    if (values["neutron_net_id"] is None) != (values["neutron_subnet_id"] is None):
        raise bad("Specify both neutron_net_id and neutron_subnet_id, or none of them.")


def _list(call: Call, *, full: bool) -> Reply:
    project_id = call.argument("project_id")
    if project_id is not None and project_id != call.caller.project_id:
        admin_only(call)
        matches = [
            network
            for network in call.cloud.store.all(NETWORKS)
            if network.project_id == project_id
        ]
    else:
        matches = mine(call, NETWORKS)
    service = call.argument("security_service_id")
    if service is not None:
        matches = [network for network in matches if service in network.hidden["security_services"]]
    share_networks = limited(call, matching(call, matches, _FILTERS))
    if full:
        return Reply(
            200, {"share_networks": [view(call, share_network) for share_network in share_networks]}
        )
    brief = [
        {"id": share_network.id, "name": share_network.body["name"]}
        for share_network in share_networks
    ]
    return Reply(200, {"share_networks": brief})


def networks(call: Call) -> Reply:
    """Handle GET /share-networks: list the networks in brief."""
    return _list(call, full=False)


def detail(call: Call) -> Reply:
    """Handle GET /share-networks/detail: list the networks with all fields."""
    return _list(call, full=True)


def _own(call: Call) -> Resource:
    return find(call, NETWORKS, call.ids[0], _KIND)


def show(call: Call) -> Reply:
    """Handle GET of a share network."""
    return _reply(call, _own(call))


def update(call: Call) -> Reply:
    """Handle PUT of a share network; reply with 403 if a share server forbids the change."""
    share_network, changes = _own(call), checked(call, _DECLARED, creating=False)
    if "server" in share_network.hidden and changes.keys() - {"name", "description"}:
        message = "It is used by share servers. Only 'name' and 'description' can be updated."
        raise forbidden(f"Cannot update share network {share_network.id}. {message}")
    _check({**share_network.body, **changes})
    share_network.body.update(changes)
    touch(call, share_network)
    return _reply(call, share_network)


def delete(call: Call) -> Reply:
    """Handle DELETE of a share network without shares; reply with status 202."""
    share_network = _own(call)
    shares = call.cloud.store.where(SHARES, share_network_id=share_network.id)
    if shares:
        message = f"Can not delete share network {share_network.id}, it has {len(shares)} share(s)."
        raise Refusal(409, message=message)
    call.cloud.store.remove(share_network)
    return Reply(202, None, dict(TEXT))


_ACTIONS = ("add_security_service", "remove_security_service")


def act(call: Call) -> Reply:
    """Handle POST of the action add_security_service or remove_security_service."""
    share_network = _own(call)
    name, arguments = action_of(call, _ACTIONS)
    if set(arguments) != {"security_service_id"}:
        raise bad("Malformed request body: expected security_service_id")
    service = find(call, SECURITY_SERVICES, arguments["security_service_id"], "Security service")
    present: list[str] = share_network.hidden["security_services"]
    if "server" in share_network.hidden:
        verb = name.partition("_")[0]
        raise forbidden(f"Cannot {verb} security services. Share network is used.")
    if name == "remove_security_service":
        if service.id not in present:
            raise bad(f"Security service {service.id} is not associated with the share network.")
        share_network.hidden["security_services"] = [
            service_id for service_id in present if service_id != service.id
        ]
        return _reply(call, share_network)
    table = call.cloud.store.table(SECURITY_SERVICES)
    if service.body["type"] in (table[service_id].body["type"] for service_id in present):
        reason = (
            f"Security service with '{service.body['type']}' type already added to"
            f" '{share_network.id}' share network"
        )
        message = f"Cannot add security service to share network. {reason}"
        raise Refusal(409, message=message)
    share_network.hidden["security_services"] = [*present, service.id]
    return _reply(call, share_network)


_PATH = PATH + "/share-networks"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, networks),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", Actions(_ACTIONS, act)),
]

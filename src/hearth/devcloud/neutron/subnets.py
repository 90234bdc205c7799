"""Subnets."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from hearth.devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    address,
    anything,
    boolean,
    integer,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
)
from hearth.devcloud.http import Body, Call, Refusal
from hearth.devcloud.neutron import addresses
from hearth.devcloud.neutron.networks import networks
from hearth.devcloud.neutron.physical import TABLE
from hearth.devcloud.neutron.rest import Rest, bad_input, bad_request, owned, stamped, touch
from hearth.devcloud.store import Thing

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud

_UNSET = "unset"
_MODE = nullable(one_of("slaac", "dhcpv6-stateful", "dhcpv6-stateless"))

SUBNETS = Collection(
    "network",
    "subnets",
    "subnet",
    {
        "network_id": Field(text(36), required=True, update=False),
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "ip_version": Field(one_of(4, 6), default=4, update=False),
        "cidr": Field(anything, update=False),
        "subnetpool_id": Field(text(36, null=True), update=False),
        "use_default_subnetpool": Field(boolean, update=False),
        "prefixlen": Field(integer(0, 128), update=False),
        "gateway_ip": Field(nullable(address), default=_UNSET),
        "allocation_pools": Field(list_of(mapping)),
        "dns_nameservers": Field(list_of(), default=list),
        "host_routes": Field(list_of(mapping), default=list),
        "enable_dhcp": Field(boolean, default=True),
        "ipv6_ra_mode": Field(_MODE, update=False),
        "ipv6_address_mode": Field(_MODE, update=False),
        "service_types": Field(list_of(), default=list, admin=True),
        "segment_id": Field(text(36, null=True), admin=True),
        "dns_publish_fixed_ip": Field(boolean, default=False),
        "router:external": READ_ONLY,
        "tenant_id": Field(update=False),
    },
    type_name="Subnet",
    path="/v2.0/subnets",
    quota="subnet",
)


def new_subnet(
    cloud: DevCloud, subnet_id: str, network: Thing, given: Body, *, seed: bool = False
) -> Thing:
    """A subnet of checked values; raises what the addresses do not allow."""
    values = {**SUBNETS.for_create({"network_id": network.id}), **given}
    net = _network_of(cloud, network, values)
    gateway = values["gateway_ip"]
    if gateway == _UNSET:
        first = int(net.network_address) + (0 if net.prefixlen >= net.max_prefixlen - 1 else 1)
        gateway = str(type(net.network_address)(first))
    body = {
        "id": subnet_id,
        "name": values["name"],
        **owned(network.project_id),
        "network_id": network.id,
        "ip_version": net.version,
        "subnetpool_id": values["subnetpool_id"],
        "enable_dhcp": values["enable_dhcp"],
        "ipv6_ra_mode": values["ipv6_ra_mode"],
        "ipv6_address_mode": values["ipv6_address_mode"],
        "gateway_ip": gateway,
        "cidr": str(net),
        "allocation_pools": values["allocation_pools"] or addresses.pools_without(net, gateway),
        "host_routes": values["host_routes"],
        "dns_nameservers": values["dns_nameservers"],
        "description": values["description"],
        "router:external": network.body["router:external"],
        "service_types": values["service_types"],
        **stamped(cloud, 0),
    }
    _check_pools(net, body["allocation_pools"])
    _put_on(cloud, network, body, values["segment_id"])
    thing = Thing(subnet_id, SUBNETS.table, network.project_id, body, seed=seed)
    cloud.store.insert(thing)
    network.body["subnets"].append(subnet_id)
    touch(cloud, network)
    return thing


def _put_on(cloud: DevCloud, network: Thing, body: Body, segment_id: Any) -> None:
    """Give a subnet its segment; a network whose subnets have one is not one broadcast domain."""
    if segment_id in (None, body.get("segment_id")):
        return
    if "segment_id" in body:
        text = f"Subnet {body['id']} has a segment already, which can not be changed."
        raise Refusal(400, "SubnetSegmentAssociationChangeNotAllowed", text)
    if not any(s.id == segment_id for s in cloud.store.where(TABLE, network_id=network.id)):
        text = f"Segment {segment_id} could not be found on network {network.id}."
        raise Refusal(404, "SegmentNotFound", text)
    body["segment_id"] = segment_id
    network.body["l2_adjacency"] = False


def _network_of(cloud: DevCloud, network: Thing, values: Body) -> addresses.Network:
    siblings = cloud.store.where(SUBNETS.table, network_id=network.id)
    if values["subnetpool_id"] is not None and values["cidr"] is None:
        return _from_pool(cloud, siblings, values)
    if values["cidr"] is None:
        raise bad_request("a subnetpool must be specified in the absence of a cidr")
    try:
        net = ipaddress.ip_network(values["cidr"], strict=False)
    except ValueError:
        raise bad_input(f"'{values['cidr']}' is not a valid CIDR") from None
    if net.version != values["ip_version"]:
        raise bad_input(f"cidr {net} does not match the ip_version '{values['ip_version']}'")
    if addresses.overlaps(net, (s.body["cidr"] for s in siblings)):
        raise bad_input(f"Requested subnet with cidr {net} overlaps with another subnet")
    return net


def _from_pool(cloud: DevCloud, siblings: list[Thing], values: Body) -> addresses.Network:
    pool = cloud.store.get("network.subnetpools", values["subnetpool_id"])
    if pool is None:
        text = f"Subnet pool {values['subnetpool_id']} could not be found."
        raise Refusal(404, "SubnetPoolNotFound", text)
    if any(s.body["subnetpool_id"] != pool.id for s in siblings):
        text = "Subnets hosted on the same network must be allocated from the same subnet pool."
        raise Refusal(400, "NetworkSubnetPoolAffinityError", text)
    length = values["prefixlen"] or int(pool.body["default_prefixlen"])
    taken = [s.body["cidr"] for s in cloud.store.where(SUBNETS.table, subnetpool_id=pool.id)]
    for prefix in pool.body["prefixes"]:
        whole = ipaddress.ip_network(prefix)
        if length < whole.prefixlen:
            continue
        for net in whole.subnets(new_prefix=length):
            if not addresses.overlaps(net, taken):
                return net
    raise Refusal(400, "SubnetAllocationError", "Insufficient prefix space to allocate subnet")


def _check_pools(net: addresses.Network, pools: list[Body]) -> None:
    for pool in pools:
        try:
            low, high = ipaddress.ip_address(pool["start"]), ipaddress.ip_address(pool["end"])
        except (KeyError, ValueError):
            raise Refusal(400, "HTTPBadRequest", "Invalid input for allocation_pools") from None
        if low not in net or high not in net:
            text = f"The allocation pool {low}-{high} spans beyond the subnet cidr {net}."
            raise Refusal(400, "OutOfBoundsAllocationPool", text)
        if int(low) > int(high):
            raise Refusal(400, "InvalidAllocationPool", f"The pool {low}-{high} is not valid.")


class _Subnets(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        network = networks.find(call, values["network_id"])
        networks.owned_by_caller(call, network, "create_subnet on")
        thing = new_subnet(call.cloud, call.cloud.store.new_id(), network, values)
        if addresses.is_slaac(thing):
            _spread(call, thing)
        return thing

    def visible(self, call: Call, thing: Thing) -> bool:
        network = call.cloud.store.get("network.networks", thing.body["network_id"])
        return network is not None and bool(network.body["shared"])

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        if changes.get("allocation_pools"):
            _check_pools(ipaddress.ip_network(thing.body["cidr"]), changes["allocation_pools"])
        gateway = changes.get("gateway_ip")
        in_use = gateway is not None and gateway in thing.hidden.get("used", {})
        if in_use and gateway != thing.body["gateway_ip"]:
            raise Refusal(409, "GatewayIpInUse", f"Gateway IP {gateway} is in use")
        network = call.cloud.store.table("network.networks")[thing.body["network_id"]]
        _put_on(call.cloud, network, thing.body, changes.pop("segment_id", None))
        thing.body.update({k: v for k, v in changes.items() if k in thing.body})

    def gone(self, call: Call, thing: Thing) -> None:
        store = call.cloud.store
        ports = [
            port
            for port in store.where("network.ports", network_id=thing.body["network_id"])
            if any(item["subnet_id"] == thing.id for item in port.body["fixed_ips"])
        ]
        if ports and not addresses.is_slaac(thing):
            text = (
                f"Unable to complete operation on subnet {thing.id}: One or more ports have an"
                " IP allocation from this subnet."
            )
            raise Refusal(409, "SubnetInUse", text)
        for port in ports:
            kept = [item for item in port.body["fixed_ips"] if item["subnet_id"] != thing.id]
            port.body["fixed_ips"] = kept
        network = store.get("network.networks", thing.body["network_id"])
        if network is not None:
            network.body["subnets"].remove(thing.id)
            touch(call.cloud, network)


def _spread(call: Call, subnet: Thing) -> None:
    """Ports that are there already get an address in a new SLAAC subnet."""
    network_id = subnet.body["network_id"]
    for port in call.cloud.store.where("network.ports", network_id=network_id):
        if not port.body["device_owner"].startswith("network:router"):
            ip = addresses.eui64(subnet.body["cidr"], port.body["mac_address"])
            item = {"subnet_id": subnet.id, "ip_address": addresses.take(subnet, port.id, ip)}
            port.body["fixed_ips"].append(item)


subnets = _Subnets(SUBNETS)
ROUTES = subnets.routes

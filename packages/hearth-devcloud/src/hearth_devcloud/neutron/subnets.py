"""The API of subnets."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    Unconvertible,
    address,
    anything,
    boolean,
    integer,
    list_of,
    nullable,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron import addresses, checks, pools, shape
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.physical import TABLE
from hearth_devcloud.neutron.ports import INTERFACE
from hearth_devcloud.neutron.rest import Rest, bad_input, bad_request, owned, stamped, touch
from hearth_devcloud.store import Resource

_UNSET = "unset"
_MTU_MIN = {4: 68, 6: 1280}
_MODE = nullable(one_of("slaac", "dhcpv6-stateful", "dhcpv6-stateless"))


def _pools(value: Any) -> Any:
    if not isinstance(value, list | None) or not all(
        isinstance(pool, dict) for pool in value or []
    ):
        raise Unconvertible("Invalid data format for allocation pools.")
    return list_of(checks.members(start=address, end=address), null=True)(value)


SUBNETS = Collection(
    "network",
    "subnets",
    "subnet",
    {
        "network_id": Field(uuid, required=True, update=False),
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "ip_version": Field(checks.ip_version, required=True, update=False),
        "cidr": Field(anything, update=False),
        "subnetpool_id": Field(nullable(uuid), update=False),
        "use_default_subnetpool": Field(boolean, update=False),
        "prefixlen": Field(integer(0, 128), update=False),
        "gateway_ip": Field(nullable(address), default=_UNSET),
        "allocation_pools": Field(_pools),
        "dns_nameservers": Field(
            checks.distinct(checks.nameserver, "Duplicate nameserver"), default=list
        ),
        "host_routes": Field(checks.routes, default=list),
        "enable_dhcp": Field(boolean, default=True),
        "ipv6_ra_mode": Field(_MODE, update=False),
        "ipv6_address_mode": Field(_MODE, update=False),
        "service_types": Field(list_of(), default=list, admin=True),
        "segment_id": Field(nullable(uuid), admin=True),
        "dns_publish_fixed_ip": Field(boolean, default=False),
        "router:external": READ_ONLY,
        "tenant_id": Field(update=False),
    },
    type_name="Subnet",
    path="/v2.0/subnets",
    quota="subnet",
)


def new_subnet(
    cloud: Cloud, subnet_id: str, network: Resource, attributes: Body, *, seed: bool = False
) -> Resource:
    """Create a subnet of a network and return it. Raises Refusal.

    `attributes` contains checked values; missing ones get their defaults. `seed` is true for an
    initial subnet.
    """
    values = {**SUBNETS.for_create({"network_id": network.id, "ip_version": 4}), **attributes}
    net = _network_of(cloud, network, values)
    if network.body["mtu"] < _MTU_MIN[net.version]:
        text_ = f"MTU of {network.id} is too small for IPv{net.version}"
        raise Refusal(409, "NetworkMTUSubnetConflict", text_)
    shape.check_modes(net, values)
    gateway = values["gateway_ip"]
    if gateway == _UNSET:
        first = int(net.network_address) + (0 if net.prefixlen >= net.max_prefixlen - 1 else 1)
        gateway = str(type(net.network_address)(first))
    body = {
        "id": subnet_id,
        "name": values["name"],
        **owned(values["tenant_id"] or network.project_id),
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
    shape.check(net, body)
    _put_on(cloud, network, body, values["segment_id"])
    subnet = Resource(subnet_id, SUBNETS.table, body["project_id"], body, seed=seed)
    cloud.store.insert(subnet)
    network.body["subnets"].append(subnet_id)
    touch(cloud, network)
    return subnet


def _put_on(cloud: Cloud, network: Resource, body: Body, segment_id: Any) -> None:
    """Associate a subnet with a segment of its network. Raises Refusal.

    The segment of a subnet cannot be changed once it is set.
    """
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


def _network_of(cloud: Cloud, network: Resource, values: Body) -> addresses.Network:
    version = values["ip_version"]
    siblings = cloud.store.where(SUBNETS.table, network_id=network.id, ip_version=version)
    if any(s.body["subnetpool_id"] != values["subnetpool_id"] for s in siblings):
        text_ = "Subnets hosted on the same network must be allocated from the same subnet pool."
        raise Refusal(400, "NetworkSubnetPoolAffinityError", text_)
    if values["cidr"] is not None and values["prefixlen"] is not None:
        raise bad_request("Bad subnets request: cidr and prefixlen must not be supplied together.")
    cidr = None if values["cidr"] is None else _cidr(values)
    if values["subnetpool_id"] is not None:
        cidr = pools.allocate(cloud, values, cidr)
    if cidr is None:
        raise bad_request("a subnetpool must be specified in the absence of a cidr")
    if addresses.overlaps(cidr, (s.body["cidr"] for s in siblings)):
        raise bad_input(f"Requested subnet with cidr {cidr} overlaps with another subnet")
    return cidr


def _cidr(values: Body) -> addresses.Network:
    try:
        net = ipaddress.ip_network(values["cidr"], strict=False)
    except ValueError:
        raise bad_input(f"'{values['cidr']}' is not a valid CIDR") from None
    if net.version != values["ip_version"]:
        raise bad_input(f"cidr {net} does not match the ip_version '{values['ip_version']}'")
    return net


class _Subnets(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        network = networks.find(call, values["network_id"])
        networks.owned_by_caller(call, network, "create_subnet on")
        owner = {"tenant_id": project_id}
        subnet = new_subnet(call.cloud, call.cloud.store.new_id(), network, {**values, **owner})
        if addresses.is_slaac(subnet):
            _spread(call, subnet)
        return subnet

    def visible(self, call: Call, resource: Resource) -> bool:
        network = call.cloud.store.get(tables.NETWORKS, resource.body["network_id"])
        return network is not None and bool(network.body["shared"])

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        body = {**resource.body, **changes}
        if body["gateway_ip"] != resource.body["gateway_ip"]:
            self._free_gateway(call, resource)
        shape.check(ipaddress.ip_network(body["cidr"]), body)
        network = call.cloud.store.table(tables.NETWORKS)[resource.body["network_id"]]
        _put_on(call.cloud, network, resource.body, changes.pop("segment_id", None))
        resource.body.update({k: v for k, v in changes.items() if k in resource.body})

    @staticmethod
    def _free_gateway(call: Call, subnet: Resource) -> None:
        """Raise Refusal 409 if a router port uses the current gateway address of the subnet."""
        gateway = subnet.body["gateway_ip"]
        user = subnet.hidden.get("used", {}).get(gateway)
        port = call.cloud.store.get(tables.PORTS, user)
        if port is not None and port.body["device_owner"].startswith("network:router"):
            text_ = f"Current gateway ip {gateway} already in use by port {port.id}."
            raise Refusal(409, "GatewayIpInUse", text_)

    def gone(self, call: Call, resource: Resource) -> None:
        slaac = addresses.is_slaac(resource)
        ports = ports_on(call.cloud, resource)
        if any(not slaac or port.body["device_owner"] == INTERFACE for port in ports):
            text = (
                f"Unable to complete operation on subnet {resource.id}: One or more ports have an"
                " IP allocation from this subnet."
            )
            raise Refusal(409, "SubnetInUse", text)
        forget(call.cloud, resource)


def ports_on(cloud: Cloud, subnet: Resource) -> list[Resource]:
    """Return the ports that have an address of a subnet."""
    return [
        port
        for port in cloud.store.where(tables.PORTS, network_id=subnet.body["network_id"])
        if any(item["subnet_id"] == subnet.id for item in port.body["fixed_ips"])
    ]


def forget(cloud: Cloud, subnet: Resource) -> None:
    """Take the addresses of a subnet from all ports, and the subnet from its network."""
    for port in ports_on(cloud, subnet):
        fixed_ips = [item for item in port.body["fixed_ips"] if item["subnet_id"] != subnet.id]
        port.body["fixed_ips"] = fixed_ips
    network = cloud.store.get(tables.NETWORKS, subnet.body["network_id"])
    if network is not None:
        network.body["subnets"].remove(subnet.id)
        touch(cloud, network)


def _spread(call: Call, subnet: Resource) -> None:
    """Give each existing port of the network an address of a new SLAAC subnet."""
    network_id = subnet.body["network_id"]
    for port in call.cloud.store.where(tables.PORTS, network_id=network_id):
        if not port.body["device_owner"].startswith("network:router"):
            ip = addresses.eui64(subnet.body["cidr"], port.body["mac_address"])
            item = {"subnet_id": subnet.id, "ip_address": addresses.take(subnet, port.id, ip)}
            port.body["fixed_ips"].append(item)


subnets = _Subnets(SUBNETS)
ROUTES = subnets.routes

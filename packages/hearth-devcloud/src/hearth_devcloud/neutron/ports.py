"""The API of ports: their addresses, binding and removal."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    Unconvertible,
    address,
    boolean,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.listing import CONTROLS, filtered
from hearth_devcloud.neutron import addresses, checks, security
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.rest import Rest, bad_input, not_authorized, owned, stamped
from hearth_devcloud.store import Resource

_PAIRS_MAX = 10
INTERFACE = "network:router_interface"  # the owner of a port of a router in a subnet
_groups = checks.distinct(uuid, "Duplicate items in the list:")


def _pair(value: Any) -> Any:
    pair = mapping(value)
    if "ip_address" not in pair:
        text_ = "AllowedAddressPair must contain ip_address"
        raise Refusal(400, "AllowedAddressPairsMissingIP", text_)
    if unknown := sorted(set(pair) - {"ip_address", "mac_address"}):
        raise ValueError(f"Unrecognized attribute(s) '{', '.join(unknown)}'")
    checks.mac(pair.get("mac_address"))
    address(str(pair["ip_address"]).partition("/")[0])
    return pair


def _option(value: Any) -> Any:
    names = {"opt_name", "opt_value"}
    keys = set(mapping(value))
    if not names <= keys <= names | {"ip_version"} or value.get("ip_version", 4) not in (4, 6):
        raise Unconvertible(f"No valid key specs matched for: {value}.")
    return value


PORTS = Collection(
    "network",
    "ports",
    "port",
    {
        "network_id": Field(uuid, required=True, update=False),
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "admin_state_up": Field(boolean, default=True),
        "mac_address": Field(checks.mac),
        "fixed_ips": Field(checks.fixed_ips, default=None),
        "security_groups": Field(_groups, default=None),
        "port_security_enabled": Field(boolean, default=None),
        "allowed_address_pairs": Field(list_of(_pair, null=True), default=list),
        "extra_dhcp_opts": Field(list_of(_option, null=True), default=list),
        "device_id": Field(text(), default=""),
        "device_owner": Field(text(), default=""),
        "binding:vnic_type": Field(
            one_of(
                "normal", "direct", "macvtap", "baremetal", "direct-physical", "virtio-forwarder"
            ),
            default="normal",
        ),
        "binding:profile": Field(mapping, default=dict, admin=True),
        "binding:host_id": Field(text(null=True), default="", admin=True),
        "qos_policy_id": Field(nullable(uuid)),
        "dns_name": Field(text(), default=""),
        "dns_domain": Field(text(), default=""),
        "numa_affinity_policy": Field(text(null=True), admin=True),
        "propagate_uplink_status": Field(boolean),
        "value_specs": READ_ONLY,
        "status": READ_ONLY,
    },
    type_name="Port",
    path="/v2.0/ports",
    quota="port",
)
_CHAINED = {  # the objects of service function chains that need ports, and their fields for ports
    "network.port_pairs": ("ingress", "egress"),
    "network.flow_classifiers": ("logical_source_port", "logical_destination_port"),
}
_UNBOUND: Body = {"binding:vif_type": "unbound", "binding:vif_details": {}}
_BOUND: Body = {
    "binding:vif_type": "ovs",
    "binding:vif_details": {
        "port_filter": True,
        "ovs_hybrid_plug": False,
        "connectivity": "l2",
        "bound_drivers": {"0": "devcloud"},
    },
}


def new_port(
    cloud: Cloud,
    network: Resource,
    project_id: str,
    attributes: Body,
    *,
    implicit: bool = False,
    seed: str | None = None,
) -> Resource:
    """Create a port from checked values, allocate its addresses, and return it. Raises Refusal.

    `seed` is the fixed id of an initial port.
    """
    store = cloud.store
    values = {**PORTS.for_create({"network_id": network.id}), **attributes}
    secure = values["port_security_enabled"]
    if secure is None:
        secure = bool(network.body["port_security_enabled"])
    groups = values["security_groups"]
    if groups is None:
        groups = [security.default_group(cloud, project_id).id] if secure and project_id else []
    elif groups and not secure:
        text_ = "Port security must be enabled in order to have security groups."
        raise Refusal(400, "PortSecurityAndIPRequiredForSecurityGroups", text_)
    mac = values["mac_address"] or addresses.new_mac(store)
    _free_mac(cloud, network.id, mac)
    pairs = _pairs({**values, "port_security_enabled": secure}, mac)
    port_id = seed or store.new_id()
    fixed = _addresses(cloud, network, port_id, mac, values["fixed_ips"], values["device_owner"])
    body = {
        "id": port_id,
        "name": values["name"],
        "network_id": network.id,
        **owned(project_id),
        "mac_address": mac,
        "admin_state_up": values["admin_state_up"],
        "status": "DOWN",
        "device_id": values["device_id"],
        "device_owner": values["device_owner"],
        "fixed_ips": fixed,
        "allowed_address_pairs": pairs,
        "extra_dhcp_opts": values["extra_dhcp_opts"],
        "security_groups": groups,
        "description": values["description"],
        "binding:vnic_type": values["binding:vnic_type"],
        "binding:profile": values["binding:profile"],
        "binding:host_id": values["binding:host_id"],
        **_UNBOUND,
        "port_security_enabled": secure,
        "qos_policy_id": values["qos_policy_id"],
        "qos_network_policy_id": network.body["qos_policy_id"],
        "dns_name": values["dns_name"],
        "dns_domain": values["dns_domain"],
        "resource_request": None,
        "ip_allocation": "immediate" if fixed else "none",
        **stamped(cloud, 1),
    }
    port = Resource(port_id, tables.PORTS, project_id, body, seed=seed is not None)
    bind(port)
    return store.insert(port, implicit=implicit)


def _free_mac(cloud: Cloud, network_id: str, mac: str) -> None:
    """Raise Refusal 409 if a port of the network has the MAC address."""
    if cloud.store.where(tables.PORTS, network_id=network_id, mac_address=mac):
        text_ = f"Unable to complete operation for network {network_id}. MAC {mac} is in use."
        raise Refusal(409, "MacAddressInUse", text_)


def bind(port: Resource) -> None:
    """Set the status and the binding fields of a port according to its host and device owner."""
    body = port.body
    owner = body["device_owner"]
    bound = bool(body["binding:host_id"]) or owner == INTERFACE
    body |= _BOUND if body["binding:host_id"] else _UNBOUND
    body["status"] = "ACTIVE" if bound else "DOWN"


def _pairs(port: Body, mac: str) -> list[Body]:
    """Check the allowed address pairs of a port and return them, each with a MAC address.

    The default is the MAC address of the port. Raises Refusal.
    """
    pairs: list[Body] = port["allowed_address_pairs"]
    if pairs and not port["port_security_enabled"]:
        text_ = "Port Security must be enabled in order to have allowed address pairs on a port."
        raise Refusal(409, "AddressPairAndPortSecurityRequired", text_)
    if len(pairs) > _PAIRS_MAX:
        text_ = f"The number of allowed address pair exceeds the maximum {_PAIRS_MAX}."
        raise Refusal(400, "AllowedAddressPairExhausted", text_)
    address_pairs = [
        {"mac_address": p.get("mac_address") or mac, "ip_address": p["ip_address"]} for p in pairs
    ]
    if double := next((pair for pair in address_pairs if address_pairs.count(pair) > 1), None):
        text_ = f"Request contains duplicate address pair: {double}."
        raise Refusal(400, "DuplicateAddressPairInRequest", text_)
    return address_pairs


def _addresses(
    cloud: Cloud,
    network: Resource,
    port_id: str,
    mac: str,
    requested_ips: list[Body] | None,
    owner: str,
) -> list[Body]:
    """Allocate the addresses of a port and return its fixed IPs.

    `requested_ips` are fixed IPs; None means default addresses. `owner` is the device owner. If
    an address cannot be allocated, release the addresses allocated so far and raise Refusal.
    """
    subnets = cloud.store.where(tables.SUBNETS, network_id=network.id)
    fixed_ips: list[Body] = []
    try:
        if requested_ips is None:
            _default_addresses(network, subnets, port_id, fixed_ips)
        else:
            for item in requested_ips:
                fixed_ips.append(_wanted_address(cloud, network, subnets, port_id, mac, item))  # noqa: PERF401
        if requested_ips != [] and not owner.startswith("network:router"):
            has = {item["subnet_id"] for item in fixed_ips}
            for subnet in subnets:
                if addresses.is_slaac(subnet) and subnet.id not in has:
                    ip = addresses.eui64(subnet.body["cidr"], mac)
                    ip = addresses.take(subnet, port_id, ip)
                    fixed_ips.append({"subnet_id": subnet.id, "ip_address": ip})
    except Refusal:
        addresses.free(cloud.store, fixed_ips)
        raise
    return fixed_ips


def _default_addresses(
    network: Resource, subnets: list[Resource], port_id: str, fixed_ips: list[Body]
) -> None:
    """Allocate one address per IP version and append it to `fixed_ips`.

    It comes from the first subnet that has a free address. Raises Refusal if all are full.
    """
    for version in (4, 6):
        choices = [
            s for s in subnets if s.body["ip_version"] == version and not addresses.is_slaac(s)
        ]
        failure: Refusal | None = None
        for subnet in choices:
            try:
                ip = addresses.take(subnet, port_id)
            except Refusal as refused:
                failure = refused
                continue
            fixed_ips.append({"subnet_id": subnet.id, "ip_address": ip})
            failure = None
            break
        if failure is not None:
            raise failure


def _wanted_address(
    cloud: Cloud, network: Resource, subnets: list[Resource], port_id: str, mac: str, item: Body
) -> Body:
    subnet_id, ip = item.get("subnet_id"), item.get("ip_address")
    if ip is None and subnet_id is None:
        raise bad_input("IP allocation requires subnet_id or ip_address.")
    if not subnets:
        raise bad_input("IP allocation requires subnets for network.")
    if subnet_id is not None:
        subnet = next((s for s in subnets if s.id == subnet_id), None)
        if subnet is None:
            if cloud.store.get(tables.SUBNETS, subnet_id) is None:
                text_ = f"Subnet {subnet_id} could not be found."
                raise Refusal(404, "SubnetNotFound", text_)
            text_ = "Failed to create port: the subnet is not on the network of the port."
            raise Refusal(400, "InvalidInput", text_)
        if ip is not None and not addresses.contains(subnet, ip):
            text_ = f"IP address {ip} is not a valid IP for the specified subnet."
            raise Refusal(400, "InvalidIpForSubnet", text_)
    else:
        subnet = next((s for s in subnets if ip and addresses.contains(s, ip)), None)
        if subnet is None:
            text_ = f"IP address {ip} is not a valid IP for any of the subnets on {network.id}."
            raise Refusal(400, "InvalidIpForNetwork", text_)
    if ip is None and addresses.is_slaac(subnet):
        ip = addresses.eui64(subnet.body["cidr"], mac)
    return {"subnet_id": subnet.id, "ip_address": addresses.take(subnet, port_id, ip)}


def remove_port(cloud: Cloud, port: Resource) -> None:
    """Remove a port; release its addresses, floating IPs and port forwardings."""
    store = cloud.store
    addresses.free(store, port.body["fixed_ips"])
    for floating in store.where(tables.FLOATING_IPS, port_id=port.id):
        store.change(
            floating,
            port_id=None,
            fixed_ip_address=None,
            router_id=None,
            status="DOWN",
            port_details=None,
        )
    for forwarding in store.where("network.port_forwardings", internal_port_id=port.id):
        floating = store.table(tables.FLOATING_IPS)[forwarding.body["floatingip_id"]]
        store.remove(forwarding)
        if not store.where("network.port_forwardings", floatingip_id=floating.id):
            floating.body["router_id"] = None
    store.remove(port)


def _trunk_details(cloud: Cloud, port: Resource) -> Body | None:
    """Return the value of `trunk_details` for the parent port of a trunk; None for other ports."""
    for trunk in cloud.store.where("network.trunks", port_id=port.id):
        subs = [
            {
                **sub,
                "mac_address": cloud.store.table(tables.PORTS)[sub["port_id"]].body["mac_address"],
            }
            for sub in trunk.body["sub_ports"]
        ]
        return {"trunk_id": trunk.id, "sub_ports": subs}
    return None


class _Ports(Rest):
    admin_fields = frozenset(
        {
            "binding:profile",
            "binding:host_id",
            "binding:vif_type",
            "binding:vif_details",
            "resource_request",
        }
    )

    def ready(self, call: Call) -> None:
        if call.caller.project_id:
            security.default_group(call.cloud, call.caller.project_id)

    def visible(self, call: Call, resource: Resource) -> bool:
        network = call.cloud.store.get(tables.NETWORKS, resource.body["network_id"])
        return network is not None and network.project_id == call.caller.project_id

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        network = networks.find(call, values["network_id"])
        self._allowed(call, network, values)
        for group_id in values["security_groups"] or []:
            security.groups.find(call, group_id)
        return new_port(call.cloud, network, project_id, values)

    @staticmethod
    def _allowed(call: Call, network: Resource, values: Body) -> None:
        caller = call.caller
        if caller.is_admin or network.project_id == caller.project_id:
            return
        if values.get("mac_address"):
            raise not_authorized("create_port:mac_address")
        if any("ip_address" in item for item in values.get("fixed_ips") or []):
            raise not_authorized("create_port:fixed_ips:ip_address")
        if values.get("port_security_enabled") is not None:
            raise not_authorized("create_port:port_security_enabled")
        if network.body["router:external"] and not network.body["shared"]:
            raise not_authorized("create_port")

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        cloud, body = call.cloud, resource.body
        for group_id in changes.get("security_groups") or []:
            security.groups.find(call, group_id)
        secure = changes.get("port_security_enabled", body["port_security_enabled"])
        groups = changes.get("security_groups", body["security_groups"])
        if groups and not secure and body["port_security_enabled"]:
            text_ = "Port security cannot be disabled while the port has security groups."
            raise Refusal(409, "PortSecurityPortHasSecurityGroup", text_)
        if groups and not secure:
            text_ = "Port security must be enabled in order to have security groups."
            raise Refusal(400, "PortSecurityAndIPRequiredForSecurityGroups", text_)
        if changes.get("mac_address", body["mac_address"]) != body["mac_address"]:
            self._new_mac(call, resource, changes["mac_address"])
        pairs = _pairs({**body, **changes}, body["mac_address"])
        if "fixed_ips" in changes:
            self._move(cloud, resource, changes)
        if "allowed_address_pairs" in changes:
            changes["allowed_address_pairs"] = pairs
        if "binding:host_id" in changes:
            changes["binding:host_id"] = changes["binding:host_id"] or ""
        call.cloud.store.change(resource, **{k: v for k, v in changes.items() if k in body})
        bind(resource)

    @staticmethod
    def _new_mac(call: Call, port: Resource, mac: str) -> None:
        if not call.caller.is_admin:
            raise not_authorized("update_port:mac_address")
        _free_mac(call.cloud, port.body["network_id"], mac)

    @staticmethod
    def _move(cloud: Cloud, port: Resource, changes: Body) -> None:
        body = port.body
        network = cloud.store.table(tables.NETWORKS)[body["network_id"]]
        before = body["fixed_ips"]
        addresses.free(cloud.store, before)
        unchanged: list[Body] = []
        for item in changes["fixed_ips"]:
            matches = [
                old
                for old in before
                if "ip_address" not in item and old["subnet_id"] == item.get("subnet_id")
            ]
            unchanged.append(matches[0] if matches else item)
        try:
            changes["fixed_ips"] = _addresses(
                cloud, network, port.id, body["mac_address"], unchanged, body["device_owner"]
            )
        except Refusal:
            for item in before:
                subnet = cloud.store.table(tables.SUBNETS)[item["subnet_id"]]
                addresses.take(subnet, port.id, item["ip_address"])
            raise

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        view = super().view(call, resource, created=created)
        view["dns_assignment"] = addresses.assignment(resource.body)
        if (details := _trunk_details(call.cloud, resource)) is not None:
            view["trunk_details"] = details
        return view

    def matching(self, call: Call, resources: list[Resource]) -> list[Resource]:
        for condition in call.query.get("fixed_ips", []):
            key, _, value = condition.partition("=")
            resources = [
                t
                for t in resources
                if any(
                    value in item["ip_address"]
                    if key == "ip_address_substr"
                    else item.get(key) == value
                    for item in t.body["fixed_ips"]
                )
            ]
        return filtered(resources, call.query, CONTROLS | {"fixed_ips"})

    def gone(self, call: Call, resource: Resource) -> None:
        owner = resource.body["device_owner"]
        if owner.startswith("compute:") and not call.caller.is_admin:
            raise not_authorized("delete_port")
        if owner.startswith("network:") and owner != "network:dhcp":
            text_ = f"Port {resource.id} cannot be deleted directly via the port API: {owner}."
            raise Refusal(409, "ServicePortInUse", text_)
        for trunk in call.cloud.store.all("network.trunks"):
            if trunk.body["port_id"] == resource.id:
                text_ = f"Port {resource.id} is currently a parent port for trunk {trunk.id}."
                raise Refusal(409, "PortInUseAsTrunkParent", text_)
            if any(sub["port_id"] == resource.id for sub in trunk.body["sub_ports"]):
                text_ = f"Port {resource.id} is currently a subport for trunk {trunk.id}."
                raise Refusal(409, "PortInUseAsSubPort", text_)
        for table, ends in _CHAINED.items():
            for consumer in call.cloud.store.all(table):
                if resource.id in {consumer.body[end] for end in ends}:
                    text_ = f"Port {resource.id} is in use by {consumer.id}."
                    raise Refusal(409, "PortInUse", text_)
        remove_port(call.cloud, resource)


ports = _Ports(PORTS)
ROUTES = ports.routes

"""The API of subnet pools, address scopes, address groups and RBAC policies."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    Collection,
    Field,
    Unconvertible,
    boolean,
    integer,
    is_uuid,
    nullable,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron import addresses, checks
from hearth_devcloud.neutron.rest import Rest, bad_input, bad_request, not_authorized
from hearth_devcloud.store import Resource

_prefixes = checks.distinct(checks.prefix, "Duplicate items in the list:")

SUBNET_POOLS = Collection(
    "network",
    "subnetpools",
    "subnetpool",
    {
        "name": Field(text(), required=True),
        "prefixes": Field(_prefixes, required=True),
        "default_prefixlen": Field(integer(0)),
        "min_prefixlen": Field(integer(0)),
        "max_prefixlen": Field(integer(0)),
        "default_quota": Field(integer(0)),
        "address_scope_id": Field(nullable(uuid)),
        "description": Field(text(), default=""),
        "is_default": Field(boolean, default=False, admin=True),
        "shared": Field(boolean, default=False, admin=True, update=False),
    },
    type_name="SubnetPool",
    path="/v2.0/subnetpools",
    quota="subnetpool",
)


ADDRESS_SCOPES = Collection(
    "network",
    "address_scopes",
    "address_scope",
    {
        "name": Field(text(), default=""),
        "ip_version": Field(checks.ip_version, required=True, update=False),
        "shared": Field(boolean, default=False, admin=True),
    },
    type_name="AddressScope",
    path="/v2.0/address-scopes",
)
ADDRESS_GROUPS = Collection(
    "network",
    "address_groups",
    "address_group",
    {
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "addresses": Field(_prefixes, default=list, update=False),
    },
    type_name="AddressGroup",
    path="/v2.0/address-groups",
)


def _target(value: Any) -> str:
    if value != "*" and not is_uuid(value):
        text = f"'{value}' is not a valid target project ID; expected a UUID or '*'."
        raise Unconvertible(text)
    return str(value)


RBAC_POLICIES = Collection(
    "network",
    "rbac_policies",
    "rbac_policy",
    {
        "object_type": Field(text(), required=True, update=False),
        "object_id": Field(uuid, required=True, update=False),
        "action": Field(text(), required=True, update=False),
        "target_tenant": Field(_target, required=True),
    },
    type_name="RbacPolicy",
    path="/v2.0/rbac-policies",
    quota="rbac_policy",
)
_LENGTHS = {
    4: {"min_prefixlen": 8, "max_prefixlen": 32},
    6: {"min_prefixlen": 64, "max_prefixlen": 128},
}
_ORDER = (
    ("max_prefixlen", "ip_version_max"),
    ("min_prefixlen", "max_prefixlen"),
    ("min_prefixlen", "default_prefixlen"),
    ("default_prefixlen", "max_prefixlen"),
)
_ACTIONS = {"network": ("access_as_shared", "access_as_external")}
_TABLES = {
    "network": "networks",
    "qos_policy": "policies",
    "security_group": "security_groups",
    "address_scope": "address_scopes",
    "subnetpool": "subnetpools",
    "address_group": "address_groups",
}


def allocate(cloud: Cloud, values: Body, network: addresses.Network | None) -> addresses.Network:
    """Allocate the address range for a new subnet from a subnet pool and return it.

    It is the range `network`, or else the next free one of the requested length. Raises Refusal.
    """
    pool = cloud.store.get(SUBNET_POOLS.table, values["subnetpool_id"])
    if pool is None:
        text_ = f"Subnet pool {values['subnetpool_id']} could not be found."
        raise Refusal(404, "SubnetPoolNotFound", text_)
    if pool.body["ip_version"] != values["ip_version"]:
        text_ = f"an IPv{values['ip_version']} subnet from an IPv{pool.body['ip_version']} pool"
        raise bad_request(f"Bad subnets request: Cannot allocate {text_}.")
    if network is None and values["allocation_pools"]:
        raise bad_request("Bad subnets request: allocation_pools require a cidr.")
    length = network.prefixlen if network else values["prefixlen"]
    if length is None:
        length = int(pool.body["default_prefixlen"])
    _check_length(pool, length)
    theirs = cloud.store.where(tables.SUBNETS, subnetpool_id=pool.id)
    used_networks = [ipaddress.ip_network(subnet.body["cidr"]) for subnet in theirs]
    _check_quota(pool, [*(net.prefixlen for net in used_networks), length])
    for prefix in map(ipaddress.ip_network, pool.body["prefixes"]):
        if length < prefix.prefixlen:
            continue
        for net in [network] if network else prefix.subnets(new_prefix=length):
            if _is_in(net, [prefix]) and not any(net.overlaps(used) for used in used_networks):
                return net
    text_ = f"Failed to allocate subnet: no prefix for {network or f'a /{length}'} is left."
    raise Refusal(500, "SubnetAllocationError", text_)


def _check_length(pool: Resource, length: int) -> None:
    for kind, limit in (("Min", "minimum"), ("Max", "maximum")):
        bound = int(pool.body[f"{kind.lower()}_prefixlen"])
        if length < bound if kind == "Min" else length > bound:
            text_ = f"prefix length {length}, {limit} allowed prefix is {bound}."
            text_ = f"Unable to allocate subnet with {text_}"
            raise Refusal(400, f"{kind}PrefixSubnetAllocationError", text_)


def _check_quota(pool: Resource, lengths: list[int]) -> None:
    """Raise Refusal 409 if subnets with these prefix lengths would exceed the pool's quota.

    The quota is a number of IPv4 addresses, or of /64 networks of IPv6.
    """
    quota, bits = pool.body["default_quota"], 32 if pool.body["ip_version"] == 4 else 64
    if quota is not None and sum(2 ** max(bits - length, 0) for length in lengths) > quota:
        text_ = "Per-project subnet pool prefix quota exceeded."
        raise Refusal(409, "SubnetPoolQuotaExceeded", text_)


def _networks(pool: Body) -> list[addresses.Network]:
    return [ipaddress.ip_network(prefix) for prefix in pool["prefixes"]]


def _is_in(net: addresses.Network, networks: list[addresses.Network]) -> bool:
    first, last = net.network_address, net.broadcast_address
    return any(first in network and last in network for network in networks)


class _SubnetPools(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        if not values["prefixes"]:
            raise Refusal(400, "EmptySubnetPoolPrefixList", "Empty subnet pool prefix list.")
        version = _networks(values)[0].version
        for key, usual in _LENGTHS[version].items():
            values[key] = usual if values[key] is None else values[key]
        if values["default_prefixlen"] is None:
            values["default_prefixlen"] = values["min_prefixlen"]
        return super().make(
            call, project_id, self._checked(call, {**values, "ip_version": version})
        )

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "prefixes" in changes:
            new = _networks(changes)
            if not all(_is_in(net, new) for net in _networks(resource.body)):
                text_ = "Illegal update to prefixes: existing prefixes must be kept."
                raise Refusal(400, "IllegalSubnetPoolPrefixUpdate", text_)
        super().change(call, resource, self._checked(call, {**resource.body, **changes}, resource))

    def _checked(self, call: Call, pool: Body, current: Resource | None = None) -> Body:
        """Check a pool and return it with its prefix lengths as text, as Neutron shows them.

        `current` is the pool that is updated. Raises Refusal.
        """
        if {net.version for net in _networks(pool)} != {pool["ip_version"]}:
            text_ = "Cannot mix IPv4 and IPv6 prefixes in a subnet pool."
            raise Refusal(400, "PrefixVersionMismatch", text_)
        lengths = {key: int(pool[key]) for key in (*_LENGTHS[4], "default_prefixlen")}
        maximum = 32 if pool["ip_version"] == 4 else 128
        bounds = lengths | {"ip_version_max": maximum}
        for low, high in _ORDER:
            if bounds[low] > bounds[high]:
                text_ = f"Illegal prefix bounds: {low}={bounds[low]}, {high}={bounds[high]}."
                raise Refusal(400, "IllegalSubnetPoolPrefixBounds", text_)
        if pool["address_scope_id"] is not None:
            self._check_scope(call, pool, current)
        return pool | {key: str(length) for key, length in lengths.items()}

    @staticmethod
    def _check_scope(call: Call, pool: Body, current: Resource | None) -> None:
        """Raise Refusal if a pool does not fit its address scope.

        The IP versions must be equal, a shared pool needs a shared scope, and the prefixes must not
        overlap those of another pool in the scope. `current` is the pool that is updated.
        """
        scope = address_scopes.find(call, pool["address_scope_id"])
        if scope.body["ip_version"] != pool["ip_version"]:
            text_ = (
                f"Illegal subnetpool association: address scope {scope.id} has another IP version."
            )
            kind = "IllegalSubnetPoolIpVersionAssociationToAddressScope"
            raise Refusal(400, kind, text_)
        if pool["shared"] and not scope.body["shared"]:
            raise bad_input(
                f"A shared subnet pool needs a shared address scope, and {scope.id} is not shared."
            )
        for subnet_pool in call.cloud.store.where(SUBNET_POOLS.table, address_scope_id=scope.id):
            if subnet_pool is current:
                continue
            if any(
                addresses.overlaps(net, subnet_pool.body["prefixes"]) for net in _networks(pool)
            ):
                text_ = "Failed to associate address scope: its subnet pools may not overlap."
                raise Refusal(409, "AddressScopePrefixConflict", text_)

    def gone(self, call: Call, resource: Resource) -> None:
        if call.cloud.store.where(tables.SUBNETS, subnetpool_id=resource.id):
            text_ = "Unable to delete subnet pool: Subnet pool has existing allocations."
            raise Refusal(400, "SubnetPoolDeleteError", text_)


class _AddressScopes(Rest):
    standard = False

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if resource.body["shared"] and changes.get("shared") is False:
            text_ = f"Unable to update address scope {resource.id}: it cannot be unshared"
            raise Refusal(400, "AddressScopeUpdateError", text_)
        super().change(call, resource, changes)

    def gone(self, call: Call, resource: Resource) -> None:
        if call.cloud.store.where(SUBNET_POOLS.table, address_scope_id=resource.id):
            text_ = f"Unable to complete operation on address scope {resource.id}: it is in use"
            raise Refusal(409, "AddressScopeInUse", text_)


class _RbacPolicies(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        kind, action = values["object_type"], values["action"]
        if kind not in _TABLES:
            raise bad_input(f"'{kind}' is not a valid RBAC object type.")
        valid = _ACTIONS.get(kind, ("access_as_shared",))
        if action not in valid:
            text_ = f"Invalid action '{action}' for object type '{kind}'. Valid actions: {valid}"
            raise Refusal(400, "InvalidActionForType", text_)
        target = call.cloud.store.get(f"network.{_TABLES[kind]}", values["object_id"])
        if target is None:
            raise bad_input(f"{kind} {values['object_id']} could not be found.")
        if not call.caller.is_admin and target.project_id != project_id:
            raise bad_input("Only admins can manipulate policies on objects they do not own.")
        self._check(call, values)
        return super().make(call, project_id, values)

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        self._unused(call, resource)
        self._check(call, {**resource.body, **changes}, resource)
        super().change(call, resource, changes)

    @staticmethod
    def _check(call: Call, values: Body, current: Resource | None = None) -> None:
        if values["target_tenant"] == "*" and not call.caller.is_admin:
            raise not_authorized("create_rbac_policy:target_tenant")
        names = ("object_type", "object_id", "action", "target_tenant")
        filters = {name: values[name] for name in names}
        if any(
            twin is not current for twin in call.cloud.store.where(RBAC_POLICIES.table, **filters)
        ):
            text_ = f"An RBAC policy already exists with those values: {filters}"
            raise Refusal(409, "DuplicateRbacPolicy", text_)

    def gone(self, call: Call, resource: Resource) -> None:
        self._unused(call, resource)

    @staticmethod
    def _unused(call: Call, policy: Resource) -> None:
        """Raise Refusal 409 if the project to which a network is shared has ports on it."""
        store, target = call.cloud.store, policy.body["target_tenant"]
        ports = store.where(tables.PORTS, network_id=policy.body["object_id"])
        if any(port.project_id == target != policy.project_id for port in ports):
            text_ = f"RBAC policy on object {policy.body['object_id']} cannot be removed: in use"
            raise Refusal(409, "RbacPolicyInUse", text_)


address_scopes = _AddressScopes(ADDRESS_SCOPES)
ROUTES = [
    *_SubnetPools(SUBNET_POOLS).routes,
    *address_scopes.routes,
    *Rest(ADDRESS_GROUPS).routes,
    *_RbacPolicies(RBAC_POLICIES).routes,
]

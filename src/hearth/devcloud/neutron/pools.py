"""Subnet pools, address scopes, address groups and who shares what (RBAC)."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth.devcloud.collection import (
    Collection,
    Field,
    boolean,
    integer,
    list_of,
    nullable,
    one_of,
    text,
)
from hearth.devcloud.http import Body, Call, Refusal
from hearth.devcloud.neutron.rest import Rest, not_authorized
from hearth.devcloud.store import Thing


def prefix(value: Any) -> str:
    """A network in CIDR form."""
    return str(ipaddress.ip_network(str(value)))


SUBNET_POOLS = Collection(
    "network",
    "subnetpools",
    "subnetpool",
    {
        "name": Field(text(), required=True),
        "prefixes": Field(list_of(prefix), required=True),
        "default_prefixlen": Field(integer(0, 128, null=True)),
        "min_prefixlen": Field(integer(0, 128, null=True)),
        "max_prefixlen": Field(integer(0, 128, null=True)),
        "default_quota": Field(integer(0, null=True)),
        "address_scope_id": Field(nullable(text(36))),
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
        "name": Field(text(), required=True),
        "ip_version": Field(integer(4, 6), required=True, update=False),
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
        "addresses": Field(list_of(), default=list, update=False),
    },
    type_name="AddressGroup",
    path="/v2.0/address-groups",
)
RBAC_POLICIES = Collection(
    "network",
    "rbac_policies",
    "rbac_policy",
    {
        "object_type": Field(text(), required=True, update=False),
        "object_id": Field(text(36), required=True, update=False),
        "action": Field(
            one_of("access_as_shared", "access_as_external"), required=True, update=False
        ),
        "target_tenant": Field(text(), required=True),
    },
    type_name="RbacPolicy",
    path="/v2.0/rbac-policies",
    quota="rbac_policy",
)
_TABLES = {
    "network": "networks",
    "qos_policy": "policies",
    "security_group": "security_groups",
    "address_scope": "address_scopes",
    "subnetpool": "subnetpools",
    "address_group": "address_groups",
}


class _SubnetPools(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        version = 6 if any(":" in prefix for prefix in values["prefixes"]) else 4
        low, high = ("8", "32") if version == 4 else ("64", "128")
        for key, usual in (("min_prefixlen", low), ("max_prefixlen", high)):
            values[key] = usual if values[key] is None else str(values[key])
        default = values["default_prefixlen"]
        values["default_prefixlen"] = values["min_prefixlen"] if default is None else str(default)
        return super().make(call, project_id, {**values, "ip_version": version})

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        for key in ("default_prefixlen", "min_prefixlen", "max_prefixlen"):
            if changes.get(key) is not None:
                changes[key] = str(changes[key])
        super().change(call, thing, changes)

    def gone(self, call: Call, thing: Thing) -> None:
        if call.cloud.store.where("network.subnets", subnetpool_id=thing.id):
            text_ = "Unable to delete subnet pool: Subnet pool has existing allocations."
            raise Refusal(400, "SubnetPoolDeleteError", text_)


class _AddressScopes(Rest):
    standard = False

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        if thing.body["shared"] and changes.get("shared") is False:
            text_ = f"Unable to update address scope {thing.id}: it cannot be unshared"
            raise Refusal(400, "AddressScopeUpdateError", text_)
        super().change(call, thing, changes)

    def gone(self, call: Call, thing: Thing) -> None:
        if call.cloud.store.where(SUBNET_POOLS.table, address_scope_id=thing.id):
            text_ = f"Unable to complete operation on address scope {thing.id}: it is in use"
            raise Refusal(409, "AddressScopeInUse", text_)


class _RbacPolicies(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        table = _TABLES.get(values["object_type"])
        if table is None:
            text_ = f"'{values['object_type']}' is not a valid object type"
            raise Refusal(400, "HTTPBadRequest", text_)
        target = call.cloud.store.get(f"network.{table}", values["object_id"])
        if target is None or not (call.caller.is_admin or target.project_id == project_id):
            text_ = f"RBAC policy for {values['object_id']} could not be made"
            raise Refusal(404, "RbacPolicyNotFound", text_)
        action = values["action"]
        if action == "access_as_external" and values["object_type"] != "network":
            text_ = f"Invalid action '{action}' for object type '{values['object_type']}'"
            raise Refusal(400, "HTTPBadRequest", text_)
        if action == "access_as_external" and not call.caller.is_admin:
            raise not_authorized("create_rbac_policy")
        self._check(call, values)
        return super().make(call, project_id, values)

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        self._unused(call, thing)
        self._check(call, {**thing.body, **changes}, thing)
        super().change(call, thing, changes)

    @staticmethod
    def _check(call: Call, values: Body, own: Thing | None = None) -> None:
        if values["target_tenant"] == "*" and not call.caller.is_admin:
            raise not_authorized("create_rbac_policy:target_tenant")
        names = ("object_type", "object_id", "action", "target_tenant")
        same = {name: values[name] for name in names}
        if any(twin is not own for twin in call.cloud.store.where(RBAC_POLICIES.table, **same)):
            text_ = f"An RBAC policy already exists with those values: {same}"
            raise Refusal(409, "DuplicateRbacPolicy", text_)

    def gone(self, call: Call, thing: Thing) -> None:
        self._unused(call, thing)

    @staticmethod
    def _unused(call: Call, thing: Thing) -> None:
        """Raises a 409 while the other project has ports on the network it may use."""
        store, target = call.cloud.store, thing.body["target_tenant"]
        ports = store.where("network.ports", network_id=thing.body["object_id"])
        if any(port.project_id == target != thing.project_id for port in ports):
            text_ = f"RBAC policy on object {thing.body['object_id']} cannot be removed: in use"
            raise Refusal(409, "RbacPolicyInUse", text_)


ROUTES = [
    *_SubnetPools(SUBNET_POOLS).routes,
    *_AddressScopes(ADDRESS_SCOPES).routes,
    *Rest(ADDRESS_GROUPS).routes,
    *_RbacPolicies(RBAC_POLICIES).routes,
]

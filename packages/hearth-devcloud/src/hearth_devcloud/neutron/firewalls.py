"""The API of firewalls (FWaaS version 1): rules, policies and firewalls."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    boolean,
    integer,
    list_of,
    nullable,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.neutron.agents import Pending
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource, Store

_PORTS = re.compile(r"^(\d{1,5})(:(\d{1,5}))?$")


def _ports(value: Any) -> str:
    """Check a port or a port range and return it. Raises ValueError."""
    match = _PORTS.match(str(value))
    if not match or not 0 < int(match[1]) <= int(match[3] or match[1]) < 65536:
        raise ValueError(f"'{value}' is not a port or a port range")
    return str(value)


def _place(value: Any) -> str:
    """Check an address or a network in CIDR notation and return it. Raises ValueError."""
    ipaddress.ip_network(str(value), strict=False)
    return str(value)


def _version(value: Any) -> int:
    number: int = integer(4, 6)(value)
    one_of(4, 6)(number)
    return number


_NAMED = {
    "name": Field(text(), default=""),
    "description": Field(text(1024), default=""),
    "shared": Field(boolean, default=False, admin=True),
}
RULES = Collection(
    "network",
    "firewall_rules",
    "firewall_rule",
    {
        **_NAMED,
        "protocol": Field(nullable(one_of("tcp", "udp", "icmp"))),
        "ip_version": Field(_version, default=4),
        "source_ip_address": Field(nullable(_place)),
        "destination_ip_address": Field(nullable(_place)),
        "source_port": Field(nullable(_ports)),
        "destination_port": Field(nullable(_ports)),
        "action": Field(one_of("allow", "deny", "reject"), default="deny"),
        "enabled": Field(boolean, default=True),
        "firewall_policy_id": READ_ONLY,
        "position": READ_ONLY,
    },
    type_name="FirewallRule",
    path="/v2.0/fw/firewall_rules",
)
POLICIES = Collection(
    "network",
    "firewall_policies",
    "firewall_policy",
    {
        **_NAMED,
        "firewall_rules": Field(list_of(uuid), default=list),
        "audited": Field(boolean, default=False),
    },
    type_name="FirewallPolicy",
    path="/v2.0/fw/firewall_policies",
)
FIREWALLS = Collection(
    "network",
    "firewalls",
    "firewall",
    {
        **_NAMED,
        "firewall_policy_id": Field(text(36), required=True),
        "admin_state_up": Field(boolean, default=True),
        "router_ids": Field(list_of(uuid)),
        "status": READ_ONLY,
    },
    type_name="Firewall",
    path="/v2.0/fw/firewalls",
)


def _applied(call: Call, policy_id: str | None) -> list[Resource]:
    """Return the firewalls that use a policy. Raises Refusal 409 if one of them is pending."""
    if policy_id is None:
        return []
    applied = call.cloud.store.where(FIREWALLS.table, firewall_policy_id=policy_id)
    for firewall in applied:
        firewalls.steady(firewall)
    return applied


def _apply(call: Call, applied: list[Resource]) -> None:
    for firewall in applied:
        firewall.body["status"] = "PENDING_UPDATE"
        firewalls.begin(call, firewall)


class _Rules(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        self._check(values)
        extra = {"firewall_policy_id": None, "position": None}
        return super().make(call, project_id, {**values, **extra})

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        self._check({**resource.body, **changes})
        applied = _applied(call, resource.body["firewall_policy_id"])
        resource.body.update(changes)
        _apply(call, applied)

    def gone(self, call: Call, resource: Resource) -> None:
        if resource.body["firewall_policy_id"]:
            raise Refusal(409, "FirewallRuleInUse", f"Firewall rule {resource.id} is being used.")

    @staticmethod
    def _check(values: Body) -> None:
        ports = values["source_port"] or values["destination_port"]
        if ports and values["protocol"] is None:
            text_ = "Source/destination port requires a protocol"
            raise Refusal(400, "FirewallRuleWithPortWithoutProtocolInvalid", text_)
        if ports and values["protocol"] == "icmp":
            raise Refusal(
                400, "FirewallRuleInvalidICMPParameter", "Ports are not allowed with ICMP."
            )
        for name in ("source_ip_address", "destination_ip_address"):
            index = values[name]
            if index and ipaddress.ip_network(index, strict=False).version != values["ip_version"]:
                text_ = f"{name} is not an address of ip_version {values['ip_version']}"
                raise Refusal(400, "FirewallIpAddressConflict", text_)


class _Policies(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        self._check(call, values["firewall_rules"], None, shared=values["shared"])
        policy = super().make(call, project_id, values)
        link(call.cloud.store, policy)
        return policy

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        values = {**resource.body, **changes}
        self._check(call, values["firewall_rules"], resource.id, shared=values["shared"])
        applied = _applied(call, resource.id)
        if (
            changes.get("firewall_rules", resource.body["firewall_rules"])
            != resource.body["firewall_rules"]
        ):
            changes.setdefault("audited", False)
        resource.body.update(changes)
        link(call.cloud.store, resource)
        _apply(call, applied)

    @staticmethod
    def _check(call: Call, ids: list[str], policy_id: str | None, *, shared: bool) -> None:
        for rule_id in ids:
            rule = rules.find(call, rule_id)
            if rule.body["firewall_policy_id"] not in (None, policy_id):
                raise Refusal(409, "FirewallRuleInUse", f"Firewall rule {rule_id} is being used.")
            if shared and not rule.body["shared"]:
                text_ = f"Rule {rule_id} is not shared and cannot be part of a shared policy."
                raise Refusal(409, "FirewallRuleSharingConflict", text_)

    def gone(self, call: Call, resource: Resource) -> None:
        store = call.cloud.store
        if store.where(FIREWALLS.table, firewall_policy_id=resource.id):
            raise Refusal(
                409, "FirewallPolicyInUse", f"Firewall policy {resource.id} is being used."
            )
        resource.body["firewall_rules"] = []
        link(store, resource)


def link(store: Store, policy: Resource) -> None:
    """Set the policy id and the position in each rule of a policy; clear them in removed rules."""
    ids = policy.body["firewall_rules"]
    for rule in store.all(RULES.table):
        if rule.id in ids:
            position = ids.index(rule.id) + 1
            rule.body.update(firewall_policy_id=policy.id, position=position)
        elif rule.body["firewall_policy_id"] == policy.id:
            rule.body.update(firewall_policy_id=None, position=None)


class _Firewalls(Pending):
    busy = (409, "FirewallInPendingState")

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        policies.find(call, values["firewall_policy_id"])
        store = call.cloud.store
        used_routers = {
            r
            for other_firewall in store.all(FIREWALLS.table)
            for r in other_firewall.body["router_ids"]
        }
        router_ids = [r.id for r in store.all(tables.ROUTERS) if r.project_id == project_id]
        if values["router_ids"] is None:
            values["router_ids"] = [ident for ident in router_ids if ident not in used_routers]
        elif busy := used_routers & set(values["router_ids"]):
            text_ = f"Router(s) {sorted(busy)} are associated with another Firewall."
            raise Refusal(409, "FirewallRouterInUse", text_)
        firewall = super().make(call, project_id, values)
        firewall.hidden["works"] = "ACTIVE" if values["router_ids"] else "INACTIVE"
        return firewall

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "firewall_policy_id" in changes:
            policies.find(call, changes["firewall_policy_id"])
        super().change(call, resource, changes)
        resource.hidden["works"] = "ACTIVE" if resource.body["router_ids"] else "INACTIVE"

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of a firewall; reply with status 204.

        The firewall is PENDING_DELETE until the agent has removed it from the routers.
        """
        firewall = self.find(call, call.ids[0])
        self.owned_by_caller(call, firewall, "delete")
        firewall.body["status"] = "PENDING_DELETE"
        self.begin(call, firewall)
        return Reply(204)


rules = _Rules(RULES)
policies = _Policies(POLICIES)
firewalls = _Firewalls(FIREWALLS)
ROUTES = [*rules.routes, *policies.routes, *firewalls.routes]

"""The API of virtual private networks (VPNaaS): policies, services and site connections."""

from __future__ import annotations

import ipaddress
from typing import Any

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
)
from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.neutron.agents import Pending
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.neutron.routers import interfaces, routers
from hearth_devcloud.neutron.subnets import subnets
from hearth_devcloud.store import Resource

_AUTH = one_of("sha1", "sha256", "sha384", "sha512", "aes-xcbc", "aes-cmac")
_AES = ("aes-128", "aes-192", "aes-256")
_ENCRYPTION = one_of(
    "3des",
    *_AES,
    *(f"{aes}-{mode}-{n}" for mode in ("ccm", "gcm") for n in (8, 12, 16) for aes in _AES),
    *(f"{aes}-ctr" for aes in _AES),
)
_GROUPS = one_of("group2", "group5", *(f"group{n}" for n in range(14, 32)))
_DPD_ACTIONS = one_of("hold", "clear", "restart", "restart-by-peer", "disabled")


def _known(fields: Any, usual: Body) -> Body:
    if not isinstance(fields, dict) or not set(fields) <= set(usual):
        names = ", ".join(sorted(usual))
        raise ValueError(f"expected an object with no other keys than {names}, got {fields!r}")
    return {**usual, **fields}


def _lifetime(lifetime: Any) -> Body:
    """Check the lifetime in an IKE or IPsec policy; return it with defaults. Raises ValueError."""
    value = _known(lifetime or {}, {"units": "seconds", "value": 3600})
    one_of("seconds", "kilobytes")(value["units"])
    return {**value, "value": integer(60)(value["value"])}


def _dpd(dpd: Any) -> Body:
    """Check settings of dead peer detection; return them with defaults. Raises ValueError."""
    value = _known(dpd or {}, {"action": "hold", "interval": 30, "timeout": 120})
    _DPD_ACTIONS(value["action"])
    return {**value, **{name: integer(1)(value[name]) for name in ("interval", "timeout")}}


def _cidr(value: Any) -> str:
    return str(ipaddress.ip_network(str(value)))


_NAMED = {"name": Field(text(), default=""), "description": Field(text(), default="")}
_KEYS = {
    "auth_algorithm": Field(_AUTH, default="sha1"),
    "encryption_algorithm": Field(_ENCRYPTION, default="aes-128"),
    "pfs": Field(_GROUPS, default="group5"),
    "lifetime": Field(_lifetime, default=lambda: _lifetime(None)),
}
IKE_POLICIES = Collection(
    "network",
    "ikepolicies",
    "ikepolicy",
    {
        **_NAMED,
        **_KEYS,
        "phase1_negotiation_mode": Field(one_of("main", "aggressive"), default="main"),
        "ike_version": Field(one_of("v1", "v2"), default="v1"),
    },
    type_name="IKEPolicy",
    path="/v2.0/vpn/ikepolicies",
)
IPSEC_POLICIES = Collection(
    "network",
    "ipsecpolicies",
    "ipsecpolicy",
    {
        **_NAMED,
        **_KEYS,
        "transform_protocol": Field(one_of("esp", "ah", "ah-esp"), default="esp"),
        "encapsulation_mode": Field(one_of("tunnel", "transport"), default="tunnel"),
    },
    type_name="IPsecPolicy",
    path="/v2.0/vpn/ipsecpolicies",
)
SERVICES = Collection(
    "network",
    "vpnservices",
    "vpnservice",
    {
        **_NAMED,
        "router_id": Field(text(36), required=True, update=False),
        "subnet_id": Field(nullable(text(36)), update=False),
        "admin_state_up": Field(boolean, default=True),
        "flavor_id": Field(nullable(text(36)), update=False),
        "status": READ_ONLY,
        "external_v4_ip": READ_ONLY,
        "external_v6_ip": READ_ONLY,
    },
    type_name="VPNService",
    path="/v2.0/vpn/vpnservices",
)
CONNECTIONS = Collection(
    "network",
    "ipsec_site_connections",
    "ipsec_site_connection",
    {
        **_NAMED,
        "local_id": Field(text(), default=""),
        "peer_address": Field(text(), required=True),
        "peer_id": Field(text(), required=True),
        "peer_cidrs": Field(list_of(_cidr), default=list),
        "local_ep_group_id": Field(nullable(text(36))),
        "peer_ep_group_id": Field(nullable(text(36))),
        "route_mode": READ_ONLY,
        "auth_mode": READ_ONLY,
        "mtu": Field(integer(68), default=1500),
        "initiator": Field(one_of("bi-directional", "response-only"), default="bi-directional"),
        "psk": Field(text(), required=True),
        "dpd": Field(_dpd, default=lambda: _dpd(None)),
        "admin_state_up": Field(boolean, default=True),
        "vpnservice_id": Field(text(36), required=True, update=False),
        "ikepolicy_id": Field(text(36), required=True, update=False),
        "ipsecpolicy_id": Field(text(36), required=True, update=False),
        "status": READ_ONLY,
    },
    type_name="IPsecSiteConnection",
    path="/v2.0/vpn/ipsec-site-connections",
)
_BUSY = (400, "VPNStateInvalidToUpdate")


class _Policies(Rest):
    standard = False

    def gone(self, call: Call, resource: Resource) -> None:
        field = f"{self.collection.singular}_id"
        if call.cloud.store.where(CONNECTIONS.table, **{field: resource.id}):
            kind = self.collection.type_name
            raise Refusal(409, f"{kind}InUse", f"{kind} {resource.id} is in use by a connection")


class _Services(Pending):
    busy = _BUSY

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        router = routers.find(call, values["router_id"])
        info = router.body["external_gateway_info"]
        if not info:
            text_ = f"Router {router.id} has no external network gateway set"
            raise Refusal(400, "RouterIsNotExternal", text_)
        if values["subnet_id"] is not None:
            subnet = subnets.find(call, values["subnet_id"])
            legs = (i for p in interfaces(call.cloud.store, router.id) for i in p.body["fixed_ips"])
            if all(item["subnet_id"] != subnet.id for item in legs):
                text_ = f"Subnet {subnet.id} is not connected to Router {router.id}"
                raise Refusal(400, "SubnetIsNotConnectedToRouter", text_)
        outer = info["external_fixed_ips"][0]["ip_address"]
        values |= {"external_v4_ip": outer, "external_v6_ip": None}
        return Rest.make(self, call, project_id, {**values, "status": "PENDING_CREATE"})

    def gone(self, call: Call, resource: Resource) -> None:
        if call.cloud.store.where(CONNECTIONS.table, vpnservice_id=resource.id):
            raise Refusal(409, "VPNServiceInUse", f"VPNService {resource.id} is still in use")


class _Connections(Pending):
    busy = _BUSY

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        service = services.find(call, values["vpnservice_id"])
        ike_policies.find(call, values["ikepolicy_id"])
        ipsec_policies.find(call, values["ipsecpolicy_id"])
        self._check(values)
        values |= {"route_mode": "static", "auth_mode": "psk"}
        connection = super().make(call, project_id, values)
        connection.hidden["works"] = "DOWN"  # nobody answers at the other end
        self.begin(call, service)
        return connection

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        self._check({**resource.body, **changes})
        super().change(call, resource, changes)

    @staticmethod
    def _check(values: Body) -> None:
        if values["dpd"]["timeout"] <= values["dpd"]["interval"]:
            text_ = "The timeout of dpd must be greater than its interval"
            raise Refusal(400, "IPsecSiteConnectionDpdIntervalValueError", text_)
        if not values["peer_cidrs"] and not values["peer_ep_group_id"]:
            text_ = "Missing peer CIDRs for IPsec site-to-site connection"
            raise Refusal(400, "MissingPeerCidrs", text_)


ike_policies = _Policies(IKE_POLICIES)
ipsec_policies = _Policies(IPSEC_POLICIES)
services = _Services(SERVICES)
connections = _Connections(CONNECTIONS)
ROUTES = [
    *ike_policies.routes,
    *ipsec_policies.routes,
    *services.routes,
    *connections.routes,
]

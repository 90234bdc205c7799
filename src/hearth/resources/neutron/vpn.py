"""Virtual private networks: policies, services and connections between sites."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.resources.collection import Collection
from hearth.resources.neutron import order
from hearth.resources.neutron.base import USUAL, FixedAtCreate, NeutronResource
from hearth.resources.properties import ADMIN_STATE_UP, NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Replace,
    Resolve,
    Support,
    SupportStatus,
)

AUTH = ("sha1", "sha256", "sha384", "sha512", "aes-xcbc", "aes-cmac")
AES = ("aes-128", "aes-192", "aes-256")
ENCRYPTION = (
    "3des",
    *AES,
    *(f"{aes}-{mode}-{n}" for mode in ("ccm", "gcm") for n in (8, 12, 16) for aes in AES),
    *(f"{aes}-ctr" for aes in AES),
)
GROUPS = ("group2", "group5", *(f"group{n}" for n in range(14, 32)))
USUAL_LIFETIME: Body = {"units": "seconds", "value": 3600}

LIFETIME = {
    "units": Prop(
        STRING,
        "Unit of the value.",
        default="seconds",
        constraints=(AllowedValues(["seconds", "kilobytes"]),),
    ),
    "value": Prop(INTEGER, "Length of the lifetime.", default=3600),
}


class VPN(NeutronResource):
    """Base class of the parts of a virtual private network."""

    extension = "vpnaas"
    cleared: ClassVar[Mapping[str, Any]] = {**USUAL, "lifetime": USUAL_LIFETIME}


class IKEPolicy(VPN):
    """How the two ends of a connection exchange keys."""

    type_name = "OS::Neutron::IKEPolicy"
    properties = {
        "auth_algorithm": Prop(
            STRING,
            "Authentication hash algorithm.",
            default="sha1",
            update_allowed=True,
            constraints=(AllowedValues(AUTH),),
        ),
        "description": OPTIONAL_DESCRIPTION,
        "encryption_algorithm": Prop(
            STRING,
            "Encryption algorithm.",
            default="aes-128",
            update_allowed=True,
            constraints=(AllowedValues(ENCRYPTION),),
        ),
        "ike_version": Prop(
            STRING,
            "IKE version.",
            default="v1",
            update_allowed=True,
            constraints=(AllowedValues(["v1", "v2"]),),
        ),
        "lifetime": Prop(
            MAP,
            "Lifetime of the security association.",
            update_allowed=True,
            schema=LIFETIME,
        ),
        "name": NAME,
        "pfs": Prop(
            STRING,
            "Group for perfect forward secrecy (PFS).",
            default="group5",
            update_allowed=True,
            constraints=(AllowedValues(GROUPS),),
        ),
        "phase1_negotiation_mode": Prop(
            STRING,
            "Negotiation mode of IKE phase 1.",
            default="main",
            constraints=(AllowedValues(["main"]),),
        ),
    }
    attributes = {
        "auth_algorithm": Attr(STRING, "Authentication hash algorithm."),
        "description": Attr(STRING, "Description."),
        "encryption_algorithm": Attr(STRING, "Encryption algorithm."),
        "ike_version": Attr(STRING, "IKE version."),
        "lifetime": Attr(MAP, "Lifetime of the security association."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "pfs": Attr(
            STRING,
            "Group for perfect forward secrecy (PFS).",
        ),
        "phase1_negotiation_mode": Attr(STRING, "Negotiation mode of IKE phase 1."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    collection = Collection("network", "/v2.0/vpn/ikepolicies", body="ikepolicy")


class IPsecPolicy(VPN):
    """How the packets of a connection are encrypted and authenticated."""

    type_name = "OS::Neutron::IPsecPolicy"
    properties = {
        "auth_algorithm": Prop(
            STRING,
            "Authentication hash algorithm.",
            default="sha1",
            constraints=(AllowedValues(AUTH),),
        ),
        "description": OPTIONAL_DESCRIPTION,
        "encapsulation_mode": Prop(
            STRING,
            "Encapsulation mode: tunnel or transport.",
            default="tunnel",
            constraints=(AllowedValues(["tunnel", "transport"]),),
        ),
        "encryption_algorithm": Prop(
            STRING,
            "Encryption algorithm.",
            default="aes-128",
            constraints=(AllowedValues(ENCRYPTION),),
        ),
        "lifetime": Prop(
            MAP,
            "Lifetime of the security association.",
            schema=LIFETIME,
        ),
        "name": NAME,
        "pfs": Prop(
            STRING,
            "Group for perfect forward secrecy (PFS).",
            default="group5",
            constraints=(AllowedValues(GROUPS),),
        ),
        "transform_protocol": Prop(
            STRING,
            "Transform protocol.",
            default="esp",
            constraints=(AllowedValues(["esp", "ah", "ah-esp"]),),
        ),
    }
    attributes = {
        "auth_algorithm": Attr(STRING, "Authentication hash algorithm."),
        "description": Attr(STRING, "Description."),
        "encapsulation_mode": Attr(STRING, "Encapsulation mode: tunnel or transport."),
        "encryption_algorithm": Attr(STRING, "Encryption algorithm."),
        "lifetime": Attr(MAP, "Lifetime of the security association."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "pfs": Attr(
            STRING,
            "Group for perfect forward secrecy (PFS).",
        ),
        "tenant_id": Attr(STRING, "The project it belongs to."),
        "transform_protocol": Attr(STRING, "Transform protocol."),
    }
    collection = Collection("network", "/v2.0/vpn/ipsecpolicies", body="ipsecpolicy")


class VPNService(VPN, FixedAtCreate):
    """The VPN endpoint at a router."""

    type_name = "OS::Neutron::VPNService"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "router": Prop(
            STRING,
            "The router, by name or id; it needs a gateway and an interface on the subnet.",
            required=True,
            constraint="neutron.router",
            since="2015.1",
        ),
        "router_id": Prop(
            STRING,
            "Use router instead.",
            constraint="neutron.router",
            support=Support(
                SupportStatus.HIDDEN,
                version="6.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED, version="2015.1", previous=Support(version="2013.2")
                ),
            ),
        ),
        "subnet": Prop(
            STRING,
            "Local subnet, by name or id.",
            required=True,
            constraint="neutron.subnet",
            since="2014.2",
        ),
        "subnet_id": Prop(
            STRING,
            "Use subnet instead.",
            constraint="neutron.subnet",
            support=Support(
                SupportStatus.HIDDEN,
                version="5.0.0",
                previous=Support(SupportStatus.DEPRECATED, version="2014.2"),
            ),
        ),
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "description": Attr(STRING, "Description."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "router_id": Attr(STRING, "Id of the router."),
        "status": Attr(STRING, "Its status."),
        "subnet_id": Attr(STRING, "Id of the subnet."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Replace(("subnet",), value_path=("subnet_id",)),
        Resolve(("subnet",), "neutron.subnet"),
        Replace(("router",), value_path=("router_id",)),
        Resolve(("router",), "neutron.router"),
    )
    # A VPN service stays in PENDING_CREATE, without updates, until its first connection exists.
    collection = Collection(
        "network",
        "/v2.0/vpn/vpnservices",
        body="vpnservice",
        ready=frozenset({"ACTIVE", "DOWN", "PENDING_CREATE"}),
    )
    not_sent = frozenset({"router_id", "subnet_id"})
    renamed = {"router": "router_id", "subnet": "subnet_id"}
    comes_after = (order.Legs(("router", "router_id")),)


class IPsecSiteConnection(VPN):
    """An IPsec connection to another site; its status is DOWN until the other site connects."""

    type_name = "OS::Neutron::IPsecSiteConnection"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "description": OPTIONAL_DESCRIPTION,
        "dpd": Prop(
            MAP,
            "Dead peer detection.",
            schema={
                "actions": Prop(
                    STRING,
                    "Action when the peer is dead.",
                    default="hold",
                    constraints=(
                        AllowedValues(["clear", "disabled", "hold", "restart", "restart-by-peer"]),
                    ),
                ),
                "interval": Prop(INTEGER, "Seconds between two checks.", default=30),
                "timeout": Prop(
                    INTEGER,
                    "Seconds without an answer until the peer is considered dead.",
                    default=120,
                ),
            },
        ),
        "ikepolicy_id": Prop(STRING, "Id of the IKE policy.", required=True),
        "initiator": Prop(
            STRING,
            "Who can start the connection: both peers, or only the other one.",
            default="bi-directional",
            constraints=(AllowedValues(["bi-directional", "response-only"]),),
        ),
        "ipsecpolicy_id": Prop(STRING, "Id of the IPsec policy.", required=True),
        "mtu": Prop(INTEGER, "Largest transmission unit, in bytes.", default=1500),
        "name": NAME,
        "peer_address": Prop(STRING, "Address or domain name of the peer.", required=True),
        "peer_cidrs": Prop(
            LIST,
            "Networks behind the peer, in CIDR notation.",
            required=True,
            schema=Prop(STRING, constraint="net_cidr"),
        ),
        "peer_id": Prop(STRING, "Identity of the peer.", required=True),
        "psk": Prop(STRING, "Pre-shared key.", required=True),
        "vpnservice_id": Prop(STRING, "Id of the VPN service.", required=True),
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "auth_mode": Attr(STRING, "Authentication mode."),
        "description": Attr(STRING, "Description."),
        "dpd": Attr(MAP, "Dead peer detection."),
        "ikepolicy_id": Attr(STRING, "Id of the IKE policy."),
        "initiator": Attr(
            STRING,
            "Who can start the connection: both peers, or only the other one.",
        ),
        "ipsecpolicy_id": Attr(STRING, "Id of the IPsec policy."),
        "mtu": Attr(STRING, "Largest transmission unit, in bytes."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "peer_address": Attr(STRING, "Address or domain name of the peer."),
        "peer_cidrs": Attr(LIST, "Networks behind the peer, in CIDR notation."),
        "peer_id": Attr(STRING, "Identity of the peer."),
        "psk": Attr(STRING, "Pre-shared key."),
        "route_mode": Attr(STRING, "Route mode."),
        "status": Attr(STRING, "Its status."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
        "vpnservice_id": Attr(STRING, "Id of the VPN service."),
    }
    collection = Collection(
        "network", "/v2.0/vpn/ipsec-site-connections", body="ipsec_site_connection"
    )
    renamed = {"dpd.actions": "action"}

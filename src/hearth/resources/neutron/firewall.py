"""Firewalls, version 1: rules, policies that contain rules, and firewalls that apply a policy."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import USUAL, NeutronResource
from hearth.resources.properties import ADMIN_STATE_UP, NAME, OPTIONAL_DESCRIPTION, SHARED
from hearth.schema import (
    BOOLEAN,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Support,
    SupportStatus,
)


class Guard(NeutronResource):
    """Base class of the firewall types. While an agent applies a change, the service refuses
    further ones.
    """

    extension = "fwaas"

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        return fault.type == "FirewallInPendingState"


class FirewallRule(Guard):
    """A rule that allows or blocks traffic."""

    type_name = "OS::Neutron::FirewallRule"
    properties = {
        "action": Prop(
            STRING,
            "Action for matching traffic.",
            default="deny",
            update_allowed=True,
            constraints=(AllowedValues(["allow", "deny"]),),
        ),
        "description": OPTIONAL_DESCRIPTION,
        "destination_ip_address": Prop(
            STRING,
            "Destination address or network.",
            update_allowed=True,
            constraint="net_cidr",
        ),
        "destination_port": Prop(STRING, "Destination port, or a range A:B.", update_allowed=True),
        "enabled": Prop(BOOLEAN, "true: the rule applies.", default=True, update_allowed=True),
        "ip_version": Prop(
            STRING,
            "Version of the Internet protocol: 4 or 6.",
            default="4",
            update_allowed=True,
            constraints=(AllowedValues(["4", "6"]),),
        ),
        "name": NAME,
        "protocol": Prop(
            STRING,
            "Protocol.",
            default="any",
            update_allowed=True,
            constraints=(AllowedValues(["tcp", "udp", "icmp", "any"]),),
        ),
        "shared": SHARED,
        "source_ip_address": Prop(
            STRING,
            "Source address or network.",
            update_allowed=True,
            constraint="net_cidr",
        ),
        "source_port": Prop(STRING, "Source port, or a range A:B.", update_allowed=True),
    }
    attributes = {
        "action": Attr(STRING, "Action for matching traffic."),
        "description": Attr(STRING, "Description."),
        "destination_ip_address": Attr(STRING, "Destination address or network."),
        "destination_port": Attr(STRING, "Destination port, or a range A:B."),
        "enabled": Attr(STRING, "true: the rule applies."),
        "firewall_policy_id": Attr(STRING, "Id of its policy."),
        "ip_version": Attr(STRING, "Version of the Internet protocol: 4 or 6."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "position": Attr(STRING, "Its position in the policy, from 1."),
        "protocol": Attr(STRING, "Protocol."),
        "shared": Attr(STRING, "true: every project can use it; for administrators."),
        "source_ip_address": Attr(STRING, "Source address or network."),
        "source_port": Attr(STRING, "Source port, or a range A:B."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    collection = Collection("network", "/v2.0/fw/firewall_rules", body="firewall_rule")
    null_for = {"protocol": "any"}


class FirewallPolicy(Guard):
    """Ordered firewall rules; the first rule that matches applies."""

    type_name = "OS::Neutron::FirewallPolicy"
    properties = {
        "audited": Prop(
            BOOLEAN,
            "true: it was audited after its last change.",
            default=False,
            update_allowed=True,
        ),
        "description": OPTIONAL_DESCRIPTION,
        "firewall_rules": Prop(LIST, "Ids of its rules, in order.", update_allowed=True),
        "name": NAME,
        "shared": SHARED,
    }
    attributes = {
        "audited": Attr(STRING, "true: it was audited after its last change."),
        "description": Attr(STRING, "Description."),
        "firewall_rules": Attr(LIST, "Ids of its rules, in order."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "shared": Attr(STRING, "true: every project can use it; for administrators."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    collection = Collection("network", "/v2.0/fw/firewall_policies", body="firewall_policy")
    cleared: ClassVar[Mapping[str, Any]] = {**USUAL, "firewall_rules": []}
    together = frozenset({"audited", "firewall_rules"})  # other rules end an audit


class Firewall(Guard):
    """Applies a policy to the routers of the project."""

    type_name = "OS::Neutron::Firewall"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "description": OPTIONAL_DESCRIPTION,
        "firewall_policy_id": Prop(STRING, "Id of the policy.", required=True, update_allowed=True),
        "name": NAME,
        "shared": Prop(
            BOOLEAN,
            "true: every project can use it; for administrators.",
            update_allowed=True,
            support=Support(
                SupportStatus.UNSUPPORTED, version="6.0.0", previous=Support(version="2015.1")
            ),
        ),
        "value_specs": Prop(
            MAP,
            "Further fields for the API call, passed on as they are.",
            default={},
            update_allowed=True,
            since="5.0.0",
        ),
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "description": Attr(STRING, "Description."),
        "firewall_policy_id": Attr(STRING, "Id of the policy."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "shared": Attr(
            STRING,
            "true: every project can use it; for administrators.",
            support=Support(SupportStatus.UNSUPPORTED, version="6.0.0"),
        ),
        "status": Attr(STRING, "Its status."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    # INACTIVE: the project has no router to which the firewall could apply.
    collection = Collection(
        "network",
        "/v2.0/fw/firewalls",
        body="firewall",
        ready=frozenset({"ACTIVE", "CREATED", "DOWN", "INACTIVE"}),
    )

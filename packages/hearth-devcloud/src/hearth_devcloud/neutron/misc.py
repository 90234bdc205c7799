"""Smaller parts of the Neutron API: versions, extensions, availability zones and agents."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Refusal, Reply, Route

_ALIASES = [
    "address-group",
    "address-scope",
    "agent",
    "allowed-address-pairs",
    "availability_zone",
    "binding",
    "binding-extended",
    "default-subnetpools",
    "dns-domain-ports",
    "dns-integration",
    "ext-gw-mode",
    "external-net",
    "extra_dhcp_opt",
    "extraroute",
    "extraroute-atomic",
    "filter-validation",
    "fip-port-details",
    "floating-ip-port-forwarding",
    "floating-ip-port-forwarding-description",
    "floating-ip-port-forwarding-detail",
    "flow_classifier",
    "fwaas",
    "ip-substring-filtering",
    "l2-gateway",
    "l2-gateway-connection",
    "l3_agent_scheduler",
    "metering",
    "multi-provider",
    "net-mtu",
    "net-mtu-writable",
    "network-gateway",
    "network_availability_zone",
    "pagination",
    "port-resource-request",
    "port-security",
    "port-security-groups-filtering",
    "project-id",
    "provider",
    "qos",
    "qos-bw-limit-direction",
    "qos-bw-minimum-ingress",
    "qos-default",
    "qos-fip",
    "qos-pps-minimum",
    "quota_details",
    "quotas",
    "rbac-policies",
    "revision-if-match",
    "router",
    "router_availability_zone",
    "security-group",
    "security-groups-shared-filtering",
    "segment",
    "service-type",
    "sfc",
    "sorting",
    "standard-attr-description",
    "standard-attr-revisions",
    "standard-attr-segment",
    "standard-attr-tag",
    "standard-attr-timestamp",
    "stateful-security-group",
    "subnet-service-types",
    "subnet_allocation",
    "taas",
    "taas-vlan-filter",
    "tag-ports-during-bulk-creation",
    "trunk",
    "trunk-details",
    "vpnaas",
]


def _extension(alias: str) -> Body:
    return {
        "name": alias.replace("-", " ").replace("_", " ").title(),
        "alias": alias,
        "description": f"The extension {alias}.",
        "updated": "2024-01-01T10:00:00-00:00",
        "links": [],
    }


def _link(call: Call) -> list[Body]:
    return [{"rel": "self", "href": f"{call.base}/network/v2.0/"}]


def versions(call: Call) -> Reply:
    """Handle GET of the API versions: there is only v2.0."""
    return Reply(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": _link(call)}]})


def resources(call: Call) -> Reply:
    """Handle GET /v2.0: list the collections of the API."""
    names = ("networks", "subnets", "ports", "routers", "floatingips", "security-groups")
    views = [
        {
            "name": name,
            "collection": name,
            "links": [{"rel": "self", "href": f"{call.base}/network/v2.0/{name}"}],
        }
        for name in names
    ]
    return Reply(200, {"resources": views})


def extensions(call: Call) -> Reply:
    """Handle GET /v2.0/extensions: list the API extensions."""
    return Reply(200, {"extensions": [_extension(alias) for alias in _ALIASES]})


def extension(call: Call) -> Reply:
    """Handle GET of one extension."""
    if call.ids[0] not in _ALIASES:
        text = f"Extension with alias {call.ids[0]} does not exist"
        raise Refusal(404, "HTTPNotFound", text)
    return Reply(200, {"extension": _extension(call.ids[0])})


def agents(call: Call) -> Reply:
    """Handle GET /v2.0/agents: reply with an empty list."""
    return Reply(200, {"agents": []})


def zones(call: Call) -> Reply:
    """Handle GET /v2.0/availability_zones: reply with an empty list."""
    return Reply(200, {"availability_zones": []})


ROUTES: list[Route] = [
    ("GET", "/", versions),
    ("GET", "/v2.0", resources),
    ("GET", "/v2.0/extensions", extensions),
    ("GET", "/v2.0/extensions/{}", extension),
    ("GET", "/v2.0/agents", agents),
    ("GET", "/v2.0/availability_zones", zones),
]

"""What the network service refuses, as the original was seen to: status and type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devcloud.neutron.caller import NOBODY, Network

BAD = (400, "HTTPBadRequest")
REQUEST = (400, "BadRequest")
INPUT = (400, "InvalidInput")
CIDR = "10.9.0.0/24"
SIX = {"cidr": "2001:db8::/64", "ip_version": 6}


def a_pool(start: str, end: str) -> dict[str, Any]:
    return {"allocation_pools": [{"start": start, "end": end}]}


def a_route(destination: str, nexthop: str) -> dict[str, Any]:
    return {"host_routes": [{"destination": destination, "nexthop": nexthop}]}


SUBNETS: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({"dns_nameservers": ["ns.test"]}, BAD),
    ({"dns_nameservers": ["8.8.8.8 "]}, BAD),
    ({"dns_nameservers": ["8.8.8.8", "8.8.8.8"]}, BAD),
    ({"dns_nameservers": ["2001:db8::1"]}, INPUT),
    ({"dns_nameservers": ["8.8.8.8"], **SIX}, INPUT),
    ({"dns_nameservers": [f"8.8.8.{n}" for n in range(6)]}, (400, "DNSNameServersExhausted")),
    (a_route("10.1.0.0", "10.9.0.5"), BAD),
    (a_route("10.1.0.1/24", "10.9.0.5"), BAD),
    (a_route("10.1.0.0/24", "gateway"), BAD),
    ({"host_routes": [{"destination": "10.1.0.0/24"}]}, BAD),
    ({"host_routes": a_route("10.1.0.0/24", "10.9.0.5")["host_routes"] * 2}, BAD),
    (a_route("10.1.0.0/24", "2001:db8::1"), INPUT),
    (
        {
            "host_routes": [
                a_route(f"10.{n}.0.0/24", "10.9.0.5")["host_routes"][0] for n in range(21)
            ]
        },
        (400, "HostRoutesExhausted"),
    ),
    (a_pool("ten", "10.9.0.20"), BAD),
    ({"allocation_pools": [{"start": "10.9.0.10"}]}, BAD),
    ({"allocation_pools": ["10.9.0.10-10.9.0.20"]}, INPUT),
    (a_pool("10.9.0.20", "10.9.0.10"), (400, "InvalidAllocationPool")),
    (a_pool("2001:db8::1", "2001:db8::9"), (400, "InvalidAllocationPool")),
    (a_pool("10.9.0.0", "10.9.0.10"), (400, "OutOfBoundsAllocationPool")),
    (a_pool("10.9.0.10", "10.9.0.255"), (400, "OutOfBoundsAllocationPool")),
    (a_pool("10.9.0.1", "10.9.0.9"), (409, "GatewayConflictWithAllocationPools")),
    (
        {
            "allocation_pools": [
                *a_pool("10.9.0.10", "10.9.0.20")["allocation_pools"],
                *a_pool("10.9.0.15", "10.9.0.30")["allocation_pools"],
            ]
        },
        (409, "OverlappingAllocationPools"),
    ),
    ({"gateway_ip": "2001:db8::1"}, INPUT),
    ({"gateway_ip": "10.9.0.0"}, INPUT),
    ({"gateway_ip": "10.9.0.255"}, INPUT),
    ({"cidr": "10.9.0.4/31"}, INPUT),
    ({"cidr": "10.9.0.4"}, INPUT),
    ({"cidr": "224.0.0.0/16"}, INPUT),
    ({"cidr": "127.0.0.0/8"}, INPUT),
    ({"cidr": "0.0.0.0/0"}, INPUT),
    ({"prefixlen": 26}, REQUEST),
    ({"ip_version": "four"}, INPUT),
    ({"network_id": "net"}, BAD),
    ({"ipv6_ra_mode": "slaac"}, INPUT),
    ({"ipv6_ra_mode": "slaac", "enable_dhcp": False, **SIX}, INPUT),
    ({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "dhcpv6-stateful", **SIX}, INPUT),
    ({"ipv6_address_mode": "slaac", **SIX, "cidr": "2001:db8::/80"}, INPUT),
]


def test_a_subnet_is_made_of_addresses_of_its_own(demo: Network) -> None:
    net = demo.make("networks", "network")
    good = {"network_id": net["id"], "cidr": CIDR, "ip_version": 4}
    for fields, refusal in SUBNETS:
        assert demo.refused("POST", "subnets", {"subnet": good | fields}) == refusal, fields
    unversioned = {"network_id": net["id"], "cidr": CIDR}
    assert demo.refused("POST", "subnets", {"subnet": unversioned}) == BAD
    assert demo.make("subnets", "subnet", **good)["cidr"] == CIDR


def test_a_subnet_stays_what_it_may_be(demo: Network) -> None:
    _, subnet, _ = demo.routed()
    path = f"subnets/{subnet['id']}"

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("PUT", path, {"subnet": fields})

    assert refused(dns_nameservers=["2001:db8::1"]) == INPUT
    assert refused(**a_pool("10.9.0.1", "10.9.0.9")) == (409, "GatewayConflictWithAllocationPools")
    assert refused(gateway_ip="10.9.0.9") == (409, "GatewayIpInUse")  # the router has the old one
    assert refused(gateway_ip=None) == (409, "GatewayIpInUse")
    small = demo.make("networks", "network", mtu=60)
    wanted = {"network_id": small["id"], "cidr": CIDR, "ip_version": 4}
    assert demo.refused("POST", "subnets", {"subnet": wanted}) == (409, "NetworkMTUSubnetConflict")


RULES: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({"remote_ip_prefix": "2001:db8::/64"}, (400, "SecurityGroupRuleParameterConflict")),
    (
        {"ethertype": "IPv6", "remote_ip_prefix": "10.0.0.0/8"},
        (400, "SecurityGroupRuleParameterConflict"),
    ),
    ({"remote_ip_prefix": "10.0.0.0/33"}, (400, "InvalidCIDR")),
    ({"remote_address_group_id": NOBODY}, (404, "AddressGroupNotFound")),
    ({"ethertype": "IPv5"}, (400, "SecurityGroupRuleInvalidEtherType")),
    ({"protocol": "-1"}, (400, "SecurityGroupRuleInvalidProtocol")),
    ({"protocol": None}, (400, "SecurityGroupProtocolRequiredWithPorts")),
    ({"protocol": "gre"}, (400, "SecurityGroupInvalidProtocolForPort")),
    ({"protocol": 200}, (400, "SecurityGroupInvalidProtocolForPort")),
    ({"protocol": "icmpv6"}, (400, "SecurityGroupEthertypeConflictWithProtocol")),
    ({"protocol": 58}, (400, "SecurityGroupEthertypeConflictWithProtocol")),
    ({"port_range_min": 23}, (400, "SecurityGroupInvalidPortRange")),
    ({"port_range_max": None}, (400, "SecurityGroupInvalidPortRange")),
    ({"port_range_min": 0}, (400, "SecurityGroupInvalidPortValue")),
    ({"port_range_max": 65536}, (400, "SecurityGroupInvalidPortValue")),
    ({"port_range_max": "ssh"}, (400, "SecurityGroupInvalidPortValue")),
    ({"protocol": "icmp", "port_range_min": 256}, (400, "SecurityGroupInvalidIcmpValue")),
    ({"protocol": "icmp", "port_range_max": 256}, (400, "SecurityGroupInvalidIcmpValue")),
    ({"protocol": "icmp", "port_range_min": None}, (400, "SecurityGroupMissingIcmpType")),
]


def test_a_rule_selects_what_its_protocol_has(demo: Network) -> None:
    group = demo.make("security-groups", "security_group", name="g")["id"]
    ssh = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}
    good = {"security_group_id": group, "direction": "ingress", **ssh}
    for fields, refusal in RULES:
        body = {"security_group_rule": good | fields}
        assert demo.refused("POST", "security-group-rules", body) == refusal, fields
    type_over_code = {"protocol": "icmp", "port_range_min": 8, "port_range_max": 0}
    demo.make("security-group-rules", "security_group_rule", **{**good, **type_over_code})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"protocol": "tcp"}, {"protocol": "6"}),
        ({"protocol": "TCP"}, {"protocol": "tcp", "description": "again"}),
        ({}, {"remote_ip_prefix": "0.0.0.0/0"}),
        ({"remote_ip_prefix": "10.0.0.5"}, {"remote_ip_prefix": "10.0.0.5/32"}),
        ({"protocol": "icmp", "ethertype": "IPv6"}, {"protocol": "icmpv6", "ethertype": "IPv6"}),
    ],
)
def test_a_rule_is_there_once_however_it_is_written(
    demo: Network, one: dict[str, Any], other: dict[str, Any]
) -> None:
    group = demo.make("security-groups", "security_group", name="g")["id"]
    same = {"security_group_id": group, "direction": "ingress"}
    demo.make("security-group-rules", "security_group_rule", **same, **one)
    twin = {"security_group_rule": {**same, **other}}
    assert demo.refused("POST", "security-group-rules", twin) == (409, "SecurityGroupRuleExists")


def test_no_second_group_is_called_default(demo: Network) -> None:
    refusal = (409, "SecurityGroupDefaultAlreadyExists")
    body = {"security_group": {"name": "Default"}}
    assert demo.refused("POST", "security-groups", body) == refusal
    group = demo.make("security-groups", "security_group", name="g")["id"]
    assert demo.refused("PUT", f"security-groups/{group}", body) == refusal


def test_a_floating_ip_goes_to_one_address_of_a_port(demo: Network) -> None:
    net, subnet, router = demo.routed()
    outer = {"floating_network_id": router["external_gateway_info"]["network_id"]}
    two = [{"subnet_id": subnet["id"]}, {"subnet_id": subnet["id"]}]
    port = demo.make("ports", "port", network_id=net["id"], fixed_ips=two)
    first = port["fixed_ips"][0]["ip_address"]

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("POST", "floatingips", {"floatingip": {**outer, **fields}})

    assert refused(port_id=port["id"]) == REQUEST
    assert refused(port_id=port["id"], fixed_ip_address="10.9.0.240") == REQUEST
    assert refused(port_id=port["id"], fixed_ip_address="first") == BAD
    assert refused(fixed_ip_address=first) == REQUEST
    assert refused(port_id="port") == BAD
    free = demo.make("floatingips", "floatingip", **outer)
    path, given = f"floatingips/{free['id']}", {"port_id": port["id"], "fixed_ip_address": first}
    assert demo.refused("PUT", path, {"floatingip": {"port_id": port["id"]}}) == REQUEST
    assert demo.refused("PUT", path, {"floatingip": {"fixed_ip_address": first}}) == REQUEST
    assert demo("PUT", path, {"floatingip": given}).status_code == 200
    assert refused(**given) == (409, "FloatingIPPortAlreadyAssociated")


def test_a_port_inside_is_forwarded_once(demo: Network) -> None:
    net, _, router = demo.routed()
    outer = {"floating_network_id": router["external_gateway_info"]["network_id"]}
    port = demo.make("ports", "port", network_id=net["id"])
    first, second = (demo.make("floatingips", "floatingip", **outer) for _ in range(2))
    good = {
        "internal_port_id": port["id"],
        "internal_ip_address": port["fixed_ips"][0]["ip_address"],
        "protocol": "tcp",
    }

    def path(floating: Any) -> str:
        return f"floatingips/{floating['id']}/port_forwardings"

    def refused(floating: Any, **fields: Any) -> tuple[int, str]:
        return demo.refused("POST", path(floating), {"port_forwarding": {**good, **fields}})

    def ranges(outside: str, inside: str) -> dict[str, str]:
        return {"external_port_range": outside, "internal_port_range": inside}

    demo.make(path(first), "port_forwarding", **good, internal_port=80, external_port=8080)
    assert refused(first, internal_port=80, external_port=81) == REQUEST
    assert refused(second, internal_port=80, external_port=81) == REQUEST
    assert refused(first, internal_port=81, external_port=8080) == REQUEST
    wide = demo.make(path(first), "port_forwarding", **good, **ranges("2000:2005", "200:205"))
    assert refused(first, internal_port=99, external_port=2003) == REQUEST
    assert refused(second, **ranges("20:25", "203:208")) == REQUEST
    assert refused(first, **ranges("30:35", "30:34")) == REQUEST
    assert refused(first, **ranges("35:30", "35:30")) == BAD
    assert refused(first, internal_port=99, external_port="http") == BAD
    assert refused(first, internal_port=99) == REQUEST
    assert refused(first, internal_port=99, external_port=99, protocol="gre") == INPUT
    demo.make(path(second), "port_forwarding", **good, internal_port=81, external_port=8080)

    used = (409, "FipInUseByPortForwarding")
    link = {"floatingip": {"port_id": port["id"]}}
    assert demo.refused("PUT", f"floatingips/{first['id']}", link) == used
    assert demo.refused("DELETE", f"floatingips/{first['id']}") == used
    direct = demo.make("floatingips", "floatingip", **outer, port_id=port["id"])
    bound = (409, "PortHasBindingFloatingIP")
    assert refused(direct, internal_port=9, external_port=9) == bound
    assert refused(first, internal_port=9, external_port=9) == bound
    assert demo("DELETE", f"ports/{port['id']}").status_code == 204
    gone = (404, "PortForwardingNotFound")
    assert demo.refused("GET", f"{path(first)}/{wide['id']}") == gone
    assert demo("DELETE", f"floatingips/{first['id']}").status_code == 204


def test_what_is_shared_is_there_and_may_be(demo: Network, admin: Network) -> None:
    net = demo.make("networks", "network")
    theirs = admin.make("networks", "network")
    good = {"object_type": "network", "object_id": net["id"], "action": "access_as_shared"}
    good["target_tenant"] = NOBODY

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("POST", "rbac-policies", {"rbac_policy": good | fields})

    assert refused(target_tenant="friends") == INPUT
    assert refused(target_tenant="") == INPUT
    assert refused(target_tenant="*")[0] == 403
    assert refused(object_id=NOBODY) == INPUT
    assert refused(object_id=theirs["id"]) == INPUT
    assert refused(object_id="net") == BAD
    assert refused(object_type="router") == INPUT
    assert refused(object_type="security_group") == INPUT
    assert refused(action="access_as_owner") == (400, "InvalidActionForType")
    group = demo.make("security-groups", "security_group", name="g")["id"]
    outside = {"object_type": "security_group", "object_id": group, "action": "access_as_external"}
    assert refused(**outside) == (400, "InvalidActionForType")
    demo.make("rbac-policies", "rbac_policy", **good)
    assert refused() == (409, "DuplicateRbacPolicy")


def test_a_leg_is_taken_away_where_it_is(demo: Network) -> None:
    _, subnet, router = demo.routed()
    far = demo.make("networks", "network")["id"]
    here = {"network_id": far, "ip_version": 4}
    other = demo.make("subnets", "subnet", **here, cidr="10.19.0.0/24")["id"]
    third = demo.make("subnets", "subnet", **here, cidr="10.20.0.0/24")["id"]
    overlap = demo.make("networks", "network")["id"]
    inside = {"network_id": overlap, "ip_version": 4, "cidr": "10.9.0.0/25"}
    inside_id = demo.make("subnets", "subnet", **inside)["id"]
    leg = demo("GET", f"ports?device_id={router['id']}").json()["ports"][0]["id"]
    lone = demo.make("ports", "port", network_id=far)["id"]

    def refused(verb: str, **given: str) -> tuple[int, str]:
        return demo.refused("PUT", f"routers/{router['id']}/{verb}_router_interface", given)

    assert refused("remove", subnet_id=other) == (404, "RouterInterfaceNotFoundForSubnet")
    assert refused("remove", subnet_id=NOBODY) == (404, "SubnetNotFound")
    assert refused("remove", subnet_id="subnet") == REQUEST
    assert refused("remove", port_id=lone) == (404, "RouterInterfaceNotFound")
    assert refused("remove", port_id=leg, subnet_id=other) == (400, "SubnetMismatchForPort")
    assert refused("remove", port_id=lone, subnet_id=subnet["id"])[0] == 404
    assert refused("add", subnet_id=inside_id) == REQUEST
    assert refused("add", subnet_id="subnet") == REQUEST
    both = [{"subnet_id": other}, {"subnet_id": third}]
    double = demo.make("ports", "port", network_id=far, fixed_ips=both)["id"]
    assert refused("add", port_id=double) == REQUEST


def test_a_router_goes_by_routes_and_gateways_that_can_be(demo: Network) -> None:
    _, _, router = demo.routed()
    outer = router["external_gateway_info"]["network_id"]
    route = {"destination": "10.50.0.0/24", "nexthop": "10.9.0.5"}

    def routed(*routes: dict[str, str]) -> tuple[int, str]:
        return demo.refused("PUT", f"routers/{router['id']}", {"router": {"routes": list(routes)}})

    assert routed(route, route) == BAD
    assert routed({**route, "metric": "1"}) == BAD
    assert routed({**route, "nexthop": "10.9.0.1"}) == (400, "InvalidRoutes")

    def refused(**info: Any) -> tuple[int, str]:
        return demo.refused("POST", "routers", {"router": {"external_gateway_info": info}})

    assert refused(network_id="public") == BAD
    assert refused(enable_snat=True) == BAD
    assert refused(network_id=outer, colour="red") == BAD
    fixed = [{"ip_address": "172.24.4.9"}]
    assert refused(network_id=outer, external_fixed_ips=fixed)[0] == 403


POOLS: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({"prefixes": []}, (400, "EmptySubnetPoolPrefixList")),
    ({"prefixes": ["10.80.0.1"]}, BAD),
    ({"prefixes": ["10.80.0.0/16", "10.80.0.0/16"]}, BAD),
    ({"prefixes": ["10.80.0.0/16", "2001:db8::/48"]}, (400, "PrefixVersionMismatch")),
    ({"min_prefixlen": 28, "max_prefixlen": 26}, (400, "IllegalSubnetPoolPrefixBounds")),
    ({"default_prefixlen": 20, "min_prefixlen": 24}, (400, "IllegalSubnetPoolPrefixBounds")),
    ({"default_prefixlen": 28, "max_prefixlen": 26}, (400, "IllegalSubnetPoolPrefixBounds")),
    ({"max_prefixlen": 33}, (400, "IllegalSubnetPoolPrefixBounds")),
    ({"prefixes": ["2001:db8::/48"], "max_prefixlen": 129}, (400, "IllegalSubnetPoolPrefixBounds")),
    ({"address_scope_id": NOBODY}, (404, "AddressScopeNotFound")),
]


def test_a_pool_has_prefixes_of_its_own_within_its_scope(demo: Network, admin: Network) -> None:
    four, six = (
        demo.make("address-scopes", "address_scope", name="s", ip_version=version)["id"]
        for version in (4, 6)
    )
    fifth = {"address_scope": {"name": "s", "ip_version": 5}}
    assert demo.refused("POST", "address-scopes", fifth) == BAD
    good = {"name": "p", "prefixes": ["10.80.0.0/16"]}
    for fields, refusal in POOLS:
        assert demo.refused("POST", "subnetpools", {"subnetpool": good | fields}) == refusal, fields
    mixed = (400, "IllegalSubnetPoolIpVersionAssociationToAddressScope")
    within = {"subnetpool": {**good, "address_scope_id": six}}
    assert demo.refused("POST", "subnetpools", within) == mixed
    demo.make("subnetpools", "subnetpool", **good, address_scope_id=four)
    part = {"name": "q", "prefixes": ["10.80.5.0/24"], "address_scope_id": four}
    taken = (409, "AddressScopePrefixConflict")
    assert demo.refused("POST", "subnetpools", {"subnetpool": part}) == taken

    shared = {"subnetpool": {**part, "prefixes": ["10.81.0.0/16"], "shared": True}}
    assert admin.refused("POST", "subnetpools", shared) == INPUT

    free = demo.make("subnetpools", "subnetpool", **good)

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("PUT", f"subnetpools/{free['id']}", {"subnetpool": fields})

    assert refused(address_scope_id=four) == taken
    assert refused(prefixes=["10.80.0.0/24"]) == (400, "IllegalSubnetPoolPrefixUpdate")
    assert refused(prefixes=["10.80.0.0/16", "2001:db8::/48"]) == (400, "PrefixVersionMismatch")
    for name in ("default_prefixlen", "default_quota", "max_prefixlen", "min_prefixlen"):
        assert refused(**{name: None}) == INPUT, name
    assert refused(min_prefixlen=28) == (400, "IllegalSubnetPoolPrefixBounds")
    path, more = f"subnetpools/{free['id']}", {"prefixes": ["10.80.0.0/15"], "max_prefixlen": 30}
    changed = demo("PUT", path, {"subnetpool": more}).json()["subnetpool"]
    assert (changed["prefixes"], changed["max_prefixlen"]) == (["10.80.0.0/15"], "30")


def test_a_subnet_takes_of_its_pool_what_it_gives(demo: Network) -> None:
    lengths = {"min_prefixlen": 22, "max_prefixlen": 26, "default_prefixlen": 24}
    given = {"name": "p", "prefixes": ["10.83.0.0/20"], "default_quota": 512, **lengths}
    pool = demo.make("subnetpools", "subnetpool", **given)["id"]
    net, other = (demo.make("networks", "network")["id"] for _ in range(2))
    good = {"network_id": net, "ip_version": 4, "subnetpool_id": pool}

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("POST", "subnets", {"subnet": good | fields})

    assert refused(prefixlen=20) == (400, "MinPrefixSubnetAllocationError")
    assert refused(cidr="10.83.4.0/28") == (400, "MaxPrefixSubnetAllocationError")
    assert refused(cidr="10.83.4.0/24", prefixlen=24) == REQUEST
    assert refused(cidr="10.99.4.0/24") == (500, "SubnetAllocationError")
    assert refused(ip_version=6) == REQUEST
    assert refused(**a_pool("10.83.0.10", "10.83.0.20")) == REQUEST
    demo.make("subnets", "subnet", **good, cidr="10.83.4.0/24")
    there = {"cidr": "10.83.4.0/24", "network_id": other}
    assert refused(**there) == (500, "SubnetAllocationError")
    affinity = (400, "NetworkSubnetPoolAffinityError")
    assert refused(subnetpool_id=None, cidr="10.95.0.0/24") == affinity
    assert refused(prefixlen=22) == (409, "SubnetPoolQuotaExceeded")


def test_a_network_keeps_what_others_need(demo: Network, admin: Network) -> None:
    refused = demo.refused
    assert refused("POST", "networks", {"network": {"mtu": 9000}}) == INPUT
    unknown = {"network": {"qos_policy_id": NOBODY}}
    assert refused("POST", "networks", unknown) == (404, "QosPolicyNotFound")
    assert refused("POST", "networks", {"network": {"tenant_id": NOBODY}}) == BAD
    net, _, router = demo.routed()
    path = f"networks/{net['id']}"
    assert admin("PUT", path, {"network": {"shared": True}}).status_code == 200
    admin.make("ports", "port", network_id=net["id"])
    private = {"network": {"shared": False}}
    assert admin.refused("PUT", path, private) == (409, "InvalidSharedSetting")
    outer = f"networks/{router['external_gateway_info']['network_id']}"
    inward = {"network": {"router:external": False}}
    assert admin.refused("PUT", outer, inward) == (409, "ExternalNetworkInUse")


PORTS: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({"network_id": "net"}, BAD),
    ({"fixed_ips": None}, BAD),
    ({"fixed_ips": [{}]}, INPUT),
    ({"fixed_ips": [{"subnet_id": "subnet"}]}, BAD),
    ({"fixed_ips": [{"ip_address": "10.9.0.20"}] * 2}, BAD),
    ({"fixed_ips": [{"ip_address": "10.9.0.255"}]}, (400, "InvalidIpForNetwork")),
    ({"mac_address": "00:00:00:00:00:00"}, BAD),
    ({"security_groups": ["default"]}, BAD),
    ({"security_groups": [NOBODY] * 2}, BAD),
    ({"qos_policy_id": NOBODY}, (404, "QosPolicyNotFound")),
    ({"allowed_address_pairs": [{"ip_address": "ten"}]}, BAD),
    ({"allowed_address_pairs": [{"ip_address": "10.9.0.9", "mac_address": "x"}]}, BAD),
    ({"allowed_address_pairs": [{"ip_address": "10.9.0.9", "port": 1}]}, BAD),
    ({"allowed_address_pairs": [{}]}, (400, "AllowedAddressPairsMissingIP")),
    (
        {"allowed_address_pairs": [{"ip_address": "10.9.0.9"}] * 2},
        (400, "DuplicateAddressPairInRequest"),
    ),
    (
        {"allowed_address_pairs": [{"ip_address": f"10.9.0.{n}"} for n in range(11)]},
        (400, "AllowedAddressPairExhausted"),
    ),
    (
        {"allowed_address_pairs": [{"ip_address": "10.9.0.9"}], "port_security_enabled": False},
        (409, "AddressPairAndPortSecurityRequired"),
    ),
    ({"extra_dhcp_opts": [{"opt_name": "mtu"}]}, INPUT),
    ({"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": "9", "ip_version": 5}]}, INPUT),
]


def test_a_port_has_addresses_that_can_be(demo: Network, admin: Network) -> None:
    net, subnet, _ = demo.routed()
    good = {"network_id": net["id"]}
    for fields, refusal in PORTS:
        assert demo.refused("POST", "ports", {"port": good | fields}) == refusal, fields
    edge = {"subnet_id": subnet["id"], "ip_address": "10.9.0.0"}
    wrong = {"port": {**good, "fixed_ips": [edge]}}
    assert demo.refused("POST", "ports", wrong) == (400, "InvalidIpForSubnet")
    one, other = (demo.make("ports", "port", **good) for _ in range(2))
    path, mac = f"ports/{one['id']}", {"port": {"mac_address": other["mac_address"]}}
    assert demo.refused("PUT", path, mac) == (403, "PolicyNotAuthorized")
    assert admin.refused("PUT", path, mac) == (409, "MacAddressInUse")
    insecure = {"port": {"port_security_enabled": False}}
    assert demo.refused("PUT", path, insecure) == (409, "PortSecurityPortHasSecurityGroup")
    bare = demo.make("networks", "network")
    lost = {"port": {"network_id": bare["id"], "fixed_ips": [{"ip_address": "10.9.0.9"}]}}
    assert demo.refused("POST", "ports", lost) == INPUT

"""What the network service has beyond its core: strict, stateful, in use while it is."""

from __future__ import annotations

from typing import Any

from tests.devcloud.neutron.caller import NOBODY, Network


def test_the_extensions_are_listed(demo: Network) -> None:
    listed = {one["alias"] for one in demo("GET", "extensions").json()["extensions"]}
    assert {"vpnaas", "fwaas", "metering", "taas", "l2-gateway", "network-gateway", "sfc"} <= listed


def test_a_network_is_carried_by_what_its_kind_allows(admin: Network) -> None:
    def refused(**fields: Any) -> tuple[int, str]:
        wanted = {f"provider:{name}": value for name, value in fields.items()}
        return admin.refused("POST", "networks", {"network": wanted})

    vlan = {"network_type": "vlan", "physical_network": "a", "segmentation_id": 5}
    net = admin.make("networks", "network", **{f"provider:{k}": v for k, v in vlan.items()})
    assert refused(**vlan) == (409, "VlanIdInUse")
    assert refused(network_type="vlan", segmentation_id=7) == (400, "InvalidInput")
    assert refused(**{**vlan, "segmentation_id": 4095}) == (400, "InvalidInput")
    assert refused(network_type="flat") == (400, "InvalidInput")
    assert refused(network_type="token-ring") == (400, "InvalidInput")
    assert refused(physical_network="a") == (400, "InvalidInput")
    path = f"networks/{net['id']}"
    moved = {"network": {"provider:physical_network": "b"}}
    assert admin.refused("PUT", path, moved) == (400, "InvalidInput")
    renumbered = admin("PUT", path, {"network": {"provider:segmentation_id": 6}}).json()["network"]
    assert renumbered["provider:segmentation_id"] == 6
    assert admin("DELETE", path).status_code == 204
    assert admin("GET", f"segments?network_id={net['id']}").json() == {"segments": []}


def test_a_segment_stays_while_a_subnet_needs_it(admin: Network, demo: Network) -> None:
    net = admin.make("networks", "network", name="n")
    wanted = {"network_id": net["id"], "network_type": "vxlan"}
    segment = admin.make("segments", "segment", **wanted)
    assert demo.refused("POST", "segments", {"segment": wanted}) == (403, "PolicyNotAuthorized")
    assert demo("GET", "segments").json() == {"segments": []}
    place = {"network_id": net["id"], "ip_version": 4}
    subnet = admin.make("subnets", "subnet", cidr="10.1.0.0/24", segment_id=segment["id"], **place)
    unknown = {**place, "cidr": "10.2.0.0/24", "segment_id": NOBODY}
    assert admin.refused("POST", "subnets", {"subnet": unknown}) == (404, "SegmentNotFound")
    assert admin.refused("DELETE", f"segments/{segment['id']}") == (409, "SegmentInUse")
    shown = admin("GET", f"networks/{net['id']}").json()["network"]
    assert [one["provider:network_type"] for one in shown["segments"]] == ["vxlan", "vxlan"]
    assert not shown["l2_adjacency"]
    admin("DELETE", f"subnets/{subnet['id']}")
    assert admin("DELETE", f"segments/{segment['id']}").status_code == 204


def test_what_is_shared_can_be_seen_and_stays_shared_while_it_is_used(
    admin: Network, demo: Network
) -> None:
    net = admin.make("networks", "network", name="n")
    path = f"networks/{net['id']}"
    assert demo("GET", path).status_code == 404
    project = demo("GET", "networks?name=private").json()["networks"][0]["project_id"]
    wanted = {
        "object_type": "network",
        "object_id": net["id"],
        "action": "access_as_shared",
        "target_tenant": project,
    }
    policy = admin.make("rbac-policies", "rbac_policy", **wanted)
    twin = admin.refused("POST", "rbac-policies", {"rbac_policy": wanted})
    assert twin == (409, "DuplicateRbacPolicy")
    assert demo("GET", path).status_code == 200
    port = demo.make("ports", "port", network_id=net["id"])
    policy_path = f"rbac-policies/{policy['id']}"
    assert admin.refused("DELETE", policy_path) == (409, "RbacPolicyInUse")
    demo("DELETE", f"ports/{port['id']}")
    assert admin("DELETE", policy_path).status_code == 204
    assert demo("GET", path).status_code == 404


def test_routes_are_added_and_removed_as_often_as_one_likes(demo: Network) -> None:
    _, subnet, router = demo.routed()
    route = {"destination": "192.0.2.0/24", "nexthop": "10.9.0.9"}
    path = f"routers/{router['id']}"

    def change(verb: str, *routes: Any) -> Any:
        body = {"router": {"routes": list(routes)}}
        return demo("PUT", f"{path}/{verb}_extraroutes", body).json()["router"]["routes"]

    assert change("add", route) == change("add", route) == [route]
    leg = {"subnet_id": subnet["id"]}
    in_use = demo.refused("PUT", f"{path}/remove_router_interface", leg)
    assert in_use == (409, "RouterInterfaceInUseByRoute")
    assert change("remove", route) == change("remove", route) == []
    outside = {"router": {"routes": [{**route, "nexthop": "172.16.0.1"}]}}
    assert demo.refused("PUT", f"{path}/add_extraroutes", outside) == (400, "InvalidRoutes")
    assert demo.refused("PUT", f"{path}/add_extraroutes", {"router": {}})[0] == 400


def test_a_port_of_an_address_leads_to_one_port_inside(demo: Network) -> None:
    net, _, router = demo.routed()
    port = demo.make("ports", "port", network_id=net["id"])
    far = demo.make("networks", "network", name="far")
    outer = router["external_gateway_info"]["network_id"]
    address = demo.make("floatingips", "floatingip", floating_network_id=outer)
    path = f"floatingips/{address['id']}/port_forwardings"
    wanted = {
        "internal_port_id": port["id"],
        "internal_ip_address": port["fixed_ips"][0]["ip_address"],
        "internal_port": 80,
        "external_port": 8080,
        "protocol": "tcp",
    }
    made = demo.make(path, "port_forwarding", **wanted)
    assert made["internal_ip_address"] == port["fixed_ips"][0]["ip_address"]
    other = demo.make(
        path, "port_forwarding", **{**wanted, "external_port": 81, "internal_port": 1}
    )

    def refused(**fields: Any) -> tuple[int, str]:
        body = {"port_forwarding": {**wanted, "external_port": 9, "internal_port": 9, **fields}}
        return demo.refused("POST", path, body)

    assert refused(external_port=8080) == (400, "BadRequest")
    assert refused(internal_ip_address="10.9.0.250") == (400, "BadRequest")
    assert refused(protocol="ipx") == (400, "InvalidInput")
    clash = {"port_forwarding": {"external_port": 8080}}
    assert demo.refused("PUT", f"{path}/{other['id']}", clash) == (400, "BadRequest")
    lone = demo.make("ports", "port", network_id=far["id"])
    assert refused(internal_port_id=lone["id"])[0] == 400  # it has no address
    shown = demo("GET", f"floatingips/{address['id']}").json()["floatingip"]
    assert shown["router_id"] == router["id"]
    for one in (made, other):
        assert demo("DELETE", f"{path}/{one['id']}").status_code == 204
    shown = demo("GET", f"floatingips/{address['id']}").json()["floatingip"]
    assert shown["router_id"] is None


def test_nothing_of_a_label_can_be_changed_and_its_rules_do_not_overlap(
    admin: Network, demo: Network
) -> None:
    labels, rules = "metering/metering-labels", "metering/metering-label-rules"
    assert demo.refused("POST", labels, {"metering_label": {}}) == (403, "PolicyNotAuthorized")
    label = admin.make(labels, "metering_label", name="l")
    change = {"metering_label": {"name": "m"}}
    assert admin.refused("PUT", f"{labels}/{label['id']}", change)[0] == 405
    wanted = {"metering_label_id": label["id"], "remote_ip_prefix": "10.0.0.0/8"}
    rule = admin.make(rules, "metering_label_rule", **wanted)
    overlap = {"metering_label_rule": {**wanted, "remote_ip_prefix": "10.1.0.0/16"}}
    assert admin.refused("POST", rules, overlap) == (409, "MeteringLabelRuleOverlaps")
    admin.make(rules, "metering_label_rule", **wanted, direction="egress")
    assert admin("DELETE", f"{labels}/{label['id']}").status_code == 204
    assert admin("GET", f"{rules}/{rule['id']}").status_code == 404


def test_a_private_network_from_its_policies_to_its_end(demo: Network) -> None:
    _, subnet, router = demo.routed()
    lone = demo.make("routers", "router", name="lone")
    service = {"router_id": router["id"], "subnet_id": subnet["id"]}

    def refused(path: str, key: str, **fields: Any) -> tuple[int, str]:
        return demo.refused("POST", path, {key: fields})

    closed = refused("vpn/vpnservices", "vpnservice", **{**service, "router_id": lone["id"]})
    assert closed == (400, "RouterIsNotExternal")
    made = demo.make("vpn/vpnservices", "vpnservice", **service)
    path = f"vpn/vpnservices/{made['id']}"
    assert demo("GET", path).json()["vpnservice"]["status"] == "PENDING_CREATE"
    change = {"vpnservice": {"name": "x"}}
    assert demo.refused("PUT", path, change) == (400, "VPNStateInvalidToUpdate")
    keys = demo.make("vpn/ikepolicies", "ikepolicy", pfs="group14")
    packets = demo.make("vpn/ipsecpolicies", "ipsecpolicy")
    assert refused("vpn/ikepolicies", "ikepolicy", pfs="group1") == (400, "HTTPBadRequest")
    wanted = {
        "vpnservice_id": made["id"],
        "ikepolicy_id": keys["id"],
        "ipsecpolicy_id": packets["id"],
        "peer_address": "203.0.113.7",
        "peer_id": "203.0.113.7",
        "peer_cidrs": ["10.30.0.0/24"],
        "psk": "secret",
    }
    connections, key = "vpn/ipsec-site-connections", "ipsec_site_connection"
    silent = {"action": "hold", "interval": 60, "timeout": 30}
    assert refused(connections, key, **wanted, dpd=silent)[1] == (
        "IPsecSiteConnectionDpdIntervalValueError"
    )
    assert refused(connections, key, **{**wanted, "peer_cidrs": []}) == (400, "MissingPeerCidrs")
    assert refused(connections, key, **{**wanted, "ikepolicy_id": NOBODY})[0] == 404
    branch = demo.make(connections, key, **wanted)
    shown = demo("GET", f"{connections}/{branch['id']}").json()[key]
    assert (branch["status"], shown["status"]) == ("PENDING_CREATE", "DOWN")
    assert demo("GET", path).json()["vpnservice"]["status"] == "ACTIVE"
    assert demo.refused("DELETE", path) == (409, "VPNServiceInUse")
    in_use = demo.refused("DELETE", f"vpn/ikepolicies/{keys['id']}")
    assert in_use == (409, "IKEPolicyInUse")
    assert demo.refused("DELETE", f"routers/{router['id']}") == (409, "RouterInUseByVPNService")
    leg = {"subnet_id": subnet["id"]}
    leave = f"routers/{router['id']}/remove_router_interface"
    assert demo.refused("PUT", leave, leg) == (409, "SubnetInUseByVPNService")
    for one in (f"{connections}/{branch['id']}", path, f"vpn/ikepolicies/{keys['id']}"):
        assert demo("DELETE", one).status_code == 204


def test_a_firewall_takes_no_change_while_one_is_carried_out(demo: Network) -> None:
    def rule(**fields: Any) -> Any:
        return demo.make("fw/firewall_rules", "firewall_rule", **fields)

    def bad(**fields: Any) -> str:
        return demo.refused("POST", "fw/firewall_rules", {"firewall_rule": fields})[1]

    assert bad(destination_port="80") == "FirewallRuleWithPortWithoutProtocolInvalid"
    assert bad(protocol="icmp", source_port="80") == "FirewallRuleInvalidICMPParameter"
    assert bad(source_ip_address="2001:db8::/64") == "FirewallIpAddressConflict"
    assert bad(protocol="tcp", source_port="9:2") == "HTTPBadRequest"
    assert bad(shared=True) == "PolicyNotAuthorized"
    first, second = rule(protocol="tcp", destination_port=80), rule()
    policies = "fw/firewall_policies"
    ids = [second["id"], first["id"]]
    policy = demo.make(policies, "firewall_policy", firewall_rules=ids, audited=True)
    shown = demo("GET", f"fw/firewall_rules/{first['id']}").json()["firewall_rule"]
    assert (shown["firewall_policy_id"], shown["position"]) == (policy["id"], 2)
    rule_path = f"fw/firewall_rules/{first['id']}"
    assert demo.refused("DELETE", rule_path) == (409, "FirewallRuleInUse")
    again = {"firewall_policy": {"firewall_rules": ids}}
    assert demo.refused("POST", policies, again) == (409, "FirewallRuleInUse")
    firewall = demo.make("fw/firewalls", "firewall", firewall_policy_id=policy["id"], router_ids=[])
    path = f"fw/firewalls/{firewall['id']}"
    assert firewall["status"] == "PENDING_CREATE"
    assert demo("GET", path).json()["firewall"]["status"] == "INACTIVE"
    knob = {"match": {"method": "PUT"}, "effect": {"slow_s": 60.0}}
    demo.served.cloud.knobs.add([knob])
    shorter = {"firewall_policy": {"firewall_rules": ids[:1]}}
    changed = demo("PUT", f"{policies}/{policy['id']}", shorter).json()["firewall_policy"]
    assert not changed["audited"]
    assert demo("GET", path).json()["firewall"]["status"] == "PENDING_UPDATE"
    busy = demo.refused("PUT", path, {"firewall": {"name": "x"}})
    assert busy == (409, "FirewallInPendingState")
    assert demo.refused("DELETE", f"{policies}/{policy['id']}") == (409, "FirewallPolicyInUse")
    assert demo("DELETE", path).status_code == 204
    assert demo("GET", path).status_code == 404


def test_a_tap_copies_from_ports_of_the_same_project(demo: Network, admin: Network) -> None:
    net = demo.make("networks", "network", name="n")
    port = demo.make("ports", "port", network_id=net["id"])
    tap = demo.make("taas/tap_services", "tap_service", port_id=port["id"])
    foreign = admin.make("networks", "network", name="m", shared=True)
    theirs = admin.make("ports", "port", network_id=foreign["id"])
    wanted = {"tap_service_id": tap["id"], "source_port": port["id"]}
    flow = demo.make("taas/tap_flows", "tap_flow", **wanted, vlan_filter="1,5-7")
    assert demo("GET", f"taas/tap_flows/{flow['id']}").json()["tap_flow"]["status"] == "ACTIVE"

    def refused(**fields: Any) -> int:
        return demo.refused("POST", "taas/tap_flows", {"tap_flow": {**wanted, **fields}})[0]

    assert refused(source_port=theirs["id"]) in (403, 404)
    assert refused(direction="UP") == refused(vlan_filter="x") == 400
    assert demo("DELETE", f"taas/tap_services/{tap['id']}").status_code == 204
    assert demo("GET", f"taas/tap_flows/{flow['id']}").status_code == 404


def test_an_l2_gateway_stays_while_networks_meet_there(admin: Network, demo: Network) -> None:
    devices = [{"device_name": "s", "interfaces": [{"name": "p"}]}]
    path, key = "l2-gateways", "l2_gateway"
    assert demo.refused("POST", path, {key: {"devices": devices}})[0] == 403
    assert admin.refused("POST", path, {key: {"devices": [{"device_name": "s"}]}})[0] == 400
    gateway = admin.make(path, key, name="g", devices=devices)
    net = admin.make("networks", "network", name="n")
    wanted = {"l2_gateway_id": gateway["id"], "network_id": net["id"]}
    connections, name = "l2-gateway-connections", "l2_gateway_connection"
    missing = admin.refused("POST", connections, {name: wanted})
    assert missing == (400, "L2GatewaySegmentationRequired")
    made = admin.make(connections, name, **wanted, segmentation_id="7")
    twin = admin.refused("POST", connections, {name: {**wanted, "segmentation_id": "8"}})
    assert twin == (409, "L2GatewayConnectionExists")
    assert admin.refused("DELETE", f"{path}/{gateway['id']}") == (409, "L2GatewayInUse")
    assert admin("DELETE", f"{connections}/{made['id']}").status_code == 204
    assert admin("DELETE", f"{path}/{gateway['id']}").status_code == 204


def test_a_network_gateway_has_a_port_in_each_network_it_connects(demo: Network) -> None:
    net = demo.make("networks", "network", name="n")
    devices = [{"id": "d", "interface_name": "e"}]
    gateway = demo.make("network-gateways", "network_gateway", name="g", devices=devices)
    path = f"network-gateways/{gateway['id']}"
    wanted = {"network_id": net["id"], "segmentation_type": "vlan", "segmentation_id": 5}
    info = demo("PUT", f"{path}/connect_network", wanted).json()["connection_info"]
    port = demo("GET", f"ports/{info['port_id']}").json()["port"]
    assert (port["device_id"], port["network_id"]) == (gateway["id"], net["id"])
    assert demo.refused("PUT", f"{path}/connect_network", wanted) == (409, "GatewayConnectionInUse")
    assert demo.refused("DELETE", path) == (409, "NetworkGatewayInUse")
    flat = {**wanted, "segmentation_type": "flat"}
    assert demo.refused("PUT", f"{path}/connect_network", flat) == (400, "InvalidInput")
    assert demo("PUT", f"{path}/disconnect_network", wanted).status_code == 200
    again = demo.refused("PUT", f"{path}/disconnect_network", wanted)
    assert again == (404, "GatewayConnectionNotFound")
    assert demo("DELETE", path).status_code == 204


def test_the_parent_of_a_trunk_shows_the_ports_below_it(demo: Network) -> None:
    net = demo.make("networks", "network", name="n")
    parent, below = (demo.make("ports", "port", network_id=net["id"]) for _ in range(2))
    assert "trunk_details" not in parent
    vlan = {"port_id": below["id"], "segmentation_type": "vlan", "segmentation_id": 7}
    trunk = demo.make("trunks", "trunk", port_id=parent["id"], sub_ports=[vlan])
    shown = demo("GET", f"ports/{parent['id']}").json()["port"]["trunk_details"]
    assert shown["trunk_id"] == trunk["id"]
    assert shown["sub_ports"] == [{**vlan, "mac_address": below["mac_address"]}]
    assert "trunk_details" not in demo("GET", f"ports/{below['id']}").json()["port"]

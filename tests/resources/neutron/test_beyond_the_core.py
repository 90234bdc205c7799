"""What is particular to the types of the network service beyond its core."""

import asyncio

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import builtin_types, default_catalog
from tests.resources.driver import drive
from tests.resources.neutron.test_topology import outside, plumbing


async def behind_a_router(driver, *, way_out=True):
    """A network, its subnet and a router with a leg there."""
    net, subnet = await plumbing(driver)
    info = {"external_gateway_info": {"network": await outside(driver)}} if way_out else {}
    router = await driver.create("OS::Neutron::Router", info, "router")
    await driver.create(
        "OS::Neutron::RouterInterface",
        {"router": router.physical_id, "subnet": subnet.physical_id},
        "leg",
    )
    return net, subnet, router


def route(number, hop="10.1.0.9"):
    return {"destination": f"192.0.{number}.0/24", "nexthop": hop}


def withhold(path, method="POST"):
    """The call is carried out; its answer never comes."""
    match = {"method": method, "path_regex": path, "times": 1}
    return {"match": match, "effect": {"withhold": 0.05}}


def test_routes_are_added_beside_others_and_only_they_are_taken_away():
    async def story(driver):
        *_, router = await behind_a_router(driver)
        path = f"/v2.0/routers/{router.physical_id}"
        others = {"router": {"routes": [route(1)]}}
        await driver.cloud.request("network", "PUT", path, json=others)
        given = {"router": router.physical_id, "routes": [route(2), route(3)]}
        driver.knobs(withhold("add_extraroutes", "PUT"))
        routes = await driver.create("OS::Neutron::ExtraRouteSet", given)
        await driver.update(routes, {**given, "routes": [route(3), route(4)]})
        between = (await router.kind.show(router))["routes"]
        await driver.delete(routes)
        after = (await router.kind.show(router))["routes"]
        await driver.cloud.request("network", "PUT", path, json={"router": {"routes": []}})
        await driver.delete_all()
        return between, after, driver.left()

    between, after, left = drive(story)
    assert between == [route(1), route(3), route(4)]
    assert after == [route(1)]
    assert left == {}


def test_routes_that_are_added_at_once_do_not_overwrite_each_other():
    async def story(driver):
        *_, router = await behind_a_router(driver)
        common = {"router_id": router.physical_id, "nexthop": "10.1.0.9"}
        driver.knobs({"match": {"path_regex": "routers"}, "effect": {"latency_s": 0.05}})
        wanted = [{**common, "destination": f"192.0.{number}.0/24"} for number in (1, 2, 3)]
        made = await asyncio.gather(
            *(driver.create("OS::Neutron::ExtraRoute", one) for one in wanted)
        )
        between = (await router.kind.show(router))["routes"]
        await asyncio.gather(*(driver.delete(one) for one in made[:2]))
        after = (await router.kind.show(router))["routes"]
        ids = {one.physical_id for one in made}
        await driver.delete_all()
        return (
            between,
            after,
            ids == {f"{router.physical_id}:192.0.{number}.0/24:10.1.0.9" for number in (1, 2, 3)},
            driver.left(),
        )

    between, after, ids, left = drive(story)
    assert sorted(between, key=str) == [route(1), route(2), route(3)]
    assert after == [route(3)]
    assert ids
    assert left == {}


def test_one_route_is_found_again_however_its_addresses_are_written():
    async def story(driver):
        *_, router = await behind_a_router(driver)
        leg = {"cidr": "2001:db8:1::/64", "ip_version": 6, "enable_dhcp": False}
        net = await driver.create("OS::Neutron::Net", {}, "other")
        leg = await driver.create("OS::Neutron::Subnet", {**leg, "network": net.physical_id}, "v6")
        interface = {"router": router.physical_id, "subnet": leg.physical_id}
        await driver.create("OS::Neutron::RouterInterface", interface, "leg6")
        given = {"destination": "2001:DB8:2:0::/64", "nexthop": "2001:DB8:1::9"}
        made = await driver.create(
            "OS::Neutron::ExtraRoute", {"router_id": router.physical_id, **given}
        )
        found = await made.kind.find(made)
        with pytest.raises(Rejected, match="already has these"):
            await driver.create(
                "OS::Neutron::ExtraRoute", {"router_id": router.physical_id, **given}
            )
        await driver.delete(made)
        after = (await router.kind.show(router))["routes"]
        await driver.delete_all()
        return found.physical_id == made.physical_id, after, driver.left()

    assert drive(story) == (True, [], {})


def test_a_route_that_the_router_has_already_is_refused():
    async def story(driver):
        *_, router = await behind_a_router(driver)
        given = {"router": router.physical_id, "routes": [route(1)]}
        await driver.create("OS::Neutron::ExtraRouteSet", given)
        with pytest.raises(Rejected, match=r"192\.0\.1\.0/24 via 10\.1\.0\.9"):
            await driver.create("OS::Neutron::ExtraRouteSet", {**given, "routes": [route(1)]})

    drive(story)


@pytest.mark.parametrize(
    ("path", "type_name", "more"),
    [
        ("rbac-policies", "OS::Neutron::RBACPolicy", {"target_tenant": "*"}),
        ("metering-labels", "OS::Neutron::MeteringLabel", {}),
        ("metering-labels", "OS::Neutron::MeteringLabel", {"name": "mine"}),
        ("metering-labels", "OS::Neutron::MeteringLabel", {"description": "theirs"}),
        ("l2-gateways", "OS::Neutron::L2Gateway", {"name": "mine"}),
        ("network-gateways", "OS::Neutron::NetworkGateway", {"name": "mine"}),
        ("ikepolicies", "OS::Neutron::IKEPolicy", {"name": "mine", "description": "d"}),
    ],
)
def test_what_was_made_without_an_answer_is_found_and_not_made_twice(path, type_name, more):
    async def story(driver):
        net = await driver.create("OS::Neutron::Net", {"name": "shown"})
        required = {
            "RBACPolicy": {
                "object_type": "network",
                "object_id": "shown",
                "action": "access_as_shared",
            },
            "L2Gateway": {"devices": [{"device_name": "s", "interfaces": [{"name": "p"}]}]},
            "NetworkGateway": {"devices": [{"id": "d", "interface_name": "e"}]},
        }
        driver.knobs(withhold(path))
        given = {**required.get(type_name.rpartition(":")[2], {}), **more}
        made = await driver.create(type_name, given)
        body = await made.kind.show(made)
        left = {k: v for k, v in driver.left().items() if "network.networks" not in k}
        await driver.delete_all()
        return body, left, driver.left(), net.physical_id

    body, there, left, network = drive(story, user="admin")
    assert list(there.values()) == [1]
    assert left == {}
    for name, value in more.items():
        assert body[name] == value
    if "object_id" in body:
        assert body["object_id"] == network


def test_a_limit_that_is_taken_away_becomes_the_default_again():
    async def story(driver):
        project = await driver.create("OS::Keystone::Project", {"name": "small"})
        given = {"project": "small", "network": 5, "port": 7}
        limits = await driver.create("OS::Neutron::Quota", given)
        await driver.update(limits, {"project": "small", "port": 8})
        shown = await limits.kind.show(limits)
        await driver.delete(limits)
        path = f"/v2.0/quotas/{project.physical_id}"
        after = (await driver.cloud.request("network", "GET", path)).part("quota")
        await driver.delete_all()
        return (shown["network"], shown["port"]), after["port"]

    assert drive(story, user="admin") == ((100, 8), 500)


def test_a_firewall_is_waited_for_and_its_rules_change_when_it_lets_them():
    async def story(driver):
        rule = await driver.create("OS::Neutron::FirewallRule", {"protocol": "any"})
        policy = await driver.create(
            "OS::Neutron::FirewallPolicy", {"firewall_rules": [rule.physical_id]}
        )
        given = {"firewall_policy_id": policy.physical_id, "description": "at the border"}
        driver.knobs({"match": {"path_regex": "firewalls"}, "effect": {"slow_s": 0.2}})
        firewall = await driver.create("OS::Neutron::Firewall", given)
        await firewall.kind.change(firewall, {"name": "busy"})
        await driver.update(rule, {"protocol": "udp"})
        refused = [status for _, path, status in driver.writes() if "firewall_rules/" in path]
        bodies = await firewall.kind.show(firewall), await rule.kind.show(rule)
        await driver.delete_all()
        return refused, *bodies, driver.left()

    refused, firewall, rule, left = drive(story)
    assert 409 in refused
    assert refused[-1] != 409
    assert (firewall["description"], rule["protocol"]) == ("at the border", "udp")
    assert left == {}


def test_a_vpn_service_is_ready_before_its_first_connection_and_no_change_is_made_to_it():
    async def story(driver):
        _, subnet, router = await behind_a_router(driver)
        given = {"router": router.physical_id, "subnet": subnet.physical_id, "description": "own"}
        service = await driver.create("OS::Neutron::VPNService", given)
        body = await service.kind.show(service)
        writes = [path for method, path, _ in driver.writes() if method == "PUT" and "vpn" in path]
        await driver.delete_all()
        return body["status"], body["description"], writes, driver.left()

    assert drive(story) == ("PENDING_CREATE", "own", [], {})


def test_a_connection_fails_when_its_agent_does():
    async def story(driver):
        _, subnet, router = await behind_a_router(driver)
        keys = await driver.create("OS::Neutron::IKEPolicy", {})
        packets = await driver.create("OS::Neutron::IPsecPolicy", {})
        service = await driver.create(
            "OS::Neutron::VPNService",
            {"router": router.physical_id, "subnet": subnet.physical_id},
        )
        driver.knobs(
            {"match": {"method": "POST", "path_regex": "connections"}, "effect": {"error": True}}
        )
        await driver.create(
            "OS::Neutron::IPsecSiteConnection",
            {
                "vpnservice_id": service.physical_id,
                "ikepolicy_id": keys.physical_id,
                "ipsecpolicy_id": packets.physical_id,
                "peer_address": "203.0.113.7",
                "peer_id": "203.0.113.7",
                "peer_cidrs": ["10.30.0.0/24"],
                "psk": "secret",
            },
        )

    with pytest.raises(Exception, match="Went to status ERROR"):
        drive(story)


def test_a_gateway_connects_again_what_was_connected_without_an_answer():
    async def story(driver):
        net = await driver.create("OS::Neutron::Net", {})
        driver.knobs(withhold("connect_network", "PUT"))
        gateway = await driver.create(
            "OS::Neutron::NetworkGateway",
            {
                "devices": [{"id": "d", "interface_name": "e"}],
                "connections": [{"network": net.physical_id, "segmentation_type": "flat"}],
            },
        )
        ports = (await gateway.kind.show(gateway))["ports"]
        await driver.delete_all()
        return len(ports), driver.left()

    assert drive(story) == (1, {})


def test_a_port_keeps_what_is_plugged_in_when_the_template_says_nothing_of_it():
    async def story(driver):
        net = await driver.create("OS::Neutron::Net", {})
        port = await driver.create("OS::Neutron::Port", {"network": net.physical_id})
        await port.request("PUT", json={"port": {"device_id": "server", "device_owner": "x:y"}})
        seen = await port.kind.observe(port)
        await driver.delete_all()
        return {"device_id", "device_owner"} & set(seen)

    assert drive(story) == set()


def test_addresses_that_a_port_gets_of_its_own_accord_are_no_drift():
    async def story(driver):
        net = await driver.create("OS::Neutron::Net", {}, "net")
        subnet, slaac = [
            await driver.create("OS::Neutron::Subnet", {"network": net.physical_id, **more}, name)
            for name, more in (
                ("subnet", {"cidr": "10.1.0.0/24"}),
                (
                    "slaac",
                    {
                        "cidr": "2001:db8::/64",
                        "ip_version": 6,
                        "ipv6_address_mode": "slaac",
                        "ipv6_ra_mode": "slaac",
                    },
                ),
            )
        ]
        seen = []
        for wanted in (
            [{"ip_address": "10.1.0.9"}],
            [{"subnet": subnet.physical_id}],
            [{"subnet": subnet.physical_id}, {"subnet": slaac.physical_id}],
        ):
            given = {"network": net.physical_id, "fixed_ips": wanted}
            port = await driver.create("OS::Neutron::Port", given, "port")
            body = await port.kind.show(port)
            found = await port.kind.observe(port)
            seen.append(
                (len(body["fixed_ips"]), found["fixed_ips"] == port.properties["fixed_ips"])
            )
        more = [*body["fixed_ips"], {"ip_address": "10.1.0.77"}]
        await port.request("PUT", json={"port": {"fixed_ips": more}})
        seen.append(len((await port.kind.observe(port))["fixed_ips"]))
        await driver.delete_all()
        return seen

    assert drive(story) == [(2, True), (2, True), (2, True), 3]


def test_a_name_that_the_server_gives_to_its_port_is_no_drift():
    async def story(driver):
        net = await driver.create("OS::Neutron::Net", {})
        given = {"network": net.physical_id, "dns_name": ""}
        port = await driver.create("OS::Neutron::Port", given)
        await port.request("PUT", json={"port": {"dns_name": "web"}})
        seen = await port.kind.observe(port)
        await driver.delete_all()
        return "dns_name" in seen

    assert not drive(story)


@pytest.mark.parametrize(
    ("name", "properties", "word"),
    [
        (
            "RBACPolicy",
            {"object_type": "subnetpool", "action": "access_as_external"},
            "object_type",
        ),
        ("Quota", {"project": "p"}, "one of floatingip, network"),
        ("ProviderNet", {"network_type": "flat", "segmentation_id": "1"}, "segmentation_id"),
        (
            "Segment",
            {"network_type": "vlan", "segmentation_id": 1},
            "physical_network is required if",
        ),
        ("Segment", {"network_type": "vxlan", "physical_network": "x"}, "physical_network"),
        (
            "Segment",
            {"network_type": "vlan", "physical_network": "x", "segmentation_id": 4095},
            "segmentation_id must not be above 4094",
        ),
        ("NetworkGateway", {"connections": [{"segmentation_type": "vlan"}]}, "segmentation_id"),
        (
            "NetworkGateway",
            {"connections": [{"segmentation_type": "flat", "segmentation_id": 3}]},
            "segmentation_id",
        ),
    ],
)
def test_properties_that_do_not_go_together_are_named(name, properties, word):
    (problem,) = builtin_types()[f"OS::Neutron::{name}"].conflicts(properties)
    assert word in str(problem)


def test_a_type_without_its_extension_is_unavailable():
    class Plain:
        async def endpoint(self, service):
            return "http://network"

        async def listing(self, service, path):
            return [{"alias": "router"}]

    names = ["OS::Neutron::Net", "OS::Neutron::VPNService"]
    found = asyncio.run(default_catalog().unavailable(names, Plain()))
    assert found == {
        "OS::Neutron::VPNService": "the network service of this cloud has no extension vpnaas"
    }

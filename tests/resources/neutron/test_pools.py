"""Pools, scopes, policies and trunks."""

from tests.resources.driver import drive
from tests.resources.neutron.test_topology import plumbing


def test_a_subnet_is_taken_from_a_pool():
    async def story(driver):
        await driver.create("OS::Neutron::AddressScope", {"name": "scope"})
        pool = await driver.create(
            "OS::Neutron::SubnetPool",
            {"prefixes": ["10.8.0.0/16"], "name": "pool", "address_scope": "scope"},
        )
        await driver.update(
            pool, {**pool.properties, "prefixes": ["10.8.0.0/15"], "default_prefixlen": 26}
        )
        net = await driver.create("OS::Neutron::Net", {})
        subnet = await driver.create(
            "OS::Neutron::Subnet", {"network": net.physical_id, "subnetpool": "pool"}
        )
        cidr = subnet.body["cidr"]
        await driver.delete_all()
        return cidr, driver.left()

    cidr, left = drive(story)
    assert cidr.endswith("/26")
    assert left == {}


def test_a_network_follows_a_policy():
    async def story(driver):
        policy = await driver.create("OS::Neutron::QoSPolicy", {"name": "slow"})
        net = await driver.create("OS::Neutron::Net", {"qos_policy": "slow"})
        same = net.body["qos_policy_id"] == policy.physical_id
        await driver.delete_all()
        return same, driver.left()

    assert drive(story, user="admin") == (True, {})


def test_the_ports_of_a_trunk_change_in_place():
    async def story(driver):
        net, _ = await plumbing(driver)
        ports = [
            await driver.create("OS::Neutron::Port", {"network": net.physical_id}, f"p{n}")
            for n in range(3)
        ]

        def sub(port, number):
            kind = {"segmentation_type": "vlan", "segmentation_id": number}
            return {"port": port.physical_id, **kind}

        given = {"port": ports[0].physical_id, "name": "trunk"}
        trunk = await driver.create(
            "OS::Neutron::Trunk", {**given, "sub_ports": [sub(ports[1], 10)]}
        )
        await driver.update(trunk, {**given, "sub_ports": [sub(ports[2], 20)]})
        body = await trunk.kind.show(trunk)
        await driver.delete_all()
        found = [(one["port_id"], one["segmentation_id"]) for one in body["sub_ports"]]
        return found == [(ports[2].physical_id, 20)], driver.left()

    assert drive(story) == (True, {})


def test_a_policy_has_rules_of_every_kind():
    async def story(driver):
        await driver.create("OS::Neutron::QoSPolicy", {"name": "slow"})
        match = {"method": "POST", "path_regex": "_rules$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.05}})
        limit = await driver.create(
            "OS::Neutron::QoSBandwidthLimitRule", {"policy": "slow", "max_kbps": 100}
        )
        await driver.create("OS::Neutron::QoSDscpMarkingRule", {"policy": "slow", "dscp_mark": 8})
        await driver.create(
            "OS::Neutron::QoSMinimumBandwidthRule", {"policy": "slow", "min_kbps": 10}
        )
        await driver.update(limit, {"policy": "slow", "max_kbps": 200})
        rate = (await limit.kind.show(limit))["max_kbps"]
        await driver.delete_all()
        return rate, driver.left()

    assert drive(story, user="admin") == (200, {})


def test_the_way_out_of_a_router_by_itself():
    async def story(driver):
        router = await driver.create("OS::Neutron::Router", {"name": "r"})
        way = await driver.create(
            "OS::Neutron::RouterGateway", {"router_id": "r", "network": "public"}
        )
        opened = (await router.kind.show(router))["external_gateway_info"]
        await driver.delete(way)
        closed = (await router.kind.show(router))["external_gateway_info"]
        await driver.delete_all()
        return bool(opened), closed, driver.left()

    assert drive(story) == (True, None, {})

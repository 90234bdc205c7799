"""A small network, end to end: every type of the network service makes and removes its own."""

import pytest

from tests.resources.driver import drive


async def outside(driver):
    """Id of an external network: the one there is."""
    for network in await driver.cloud.listing("network", "/v2.0/networks"):
        if network.get("router:external"):
            return network["id"]
    raise AssertionError("there is no external network")


async def plumbing(driver):
    net = await driver.create("OS::Neutron::Net", {}, "net")
    subnet = await driver.create(
        "OS::Neutron::Subnet",
        {"network": net.physical_id, "cidr": "10.1.0.0/24", "name": "inner", "tags": ["a"]},
        "subnet",
    )
    return net, subnet


def test_a_topology_leaves_nothing_behind():
    async def story(driver):
        public = await outside(driver)
        net, _ = await plumbing(driver)
        router = await driver.create(
            "OS::Neutron::Router", {"external_gateway_info": {"network": public}}, "router"
        )
        leg = await driver.create(
            "OS::Neutron::RouterInterface",
            {"router": router.physical_id, "subnet": "inner"},
            "leg",
        )
        port = await driver.create(
            "OS::Neutron::Port",
            {"network": net.physical_id, "fixed_ips": [{"subnet": "inner"}]},
            "port",
        )
        address = await driver.create(
            "OS::Neutron::FloatingIP", {"floating_network": public}, "address"
        )
        await driver.create(
            "OS::Neutron::FloatingIPAssociation",
            {"floatingip_id": address.physical_id, "port_id": port.physical_id},
            "link",
        )
        shown = await address.kind.attribute(address, "port_id")
        left = driver.left()
        await driver.delete_all()
        return leg.physical_id, shown == port.physical_id, left, driver.left()

    leg, pointed, there, left = drive(story)
    assert ":subnet_id=" in leg
    assert pointed
    assert there["network.routers"] == 1
    assert left == {}


def test_a_subnet_changes_in_place():
    async def story(driver):
        _, subnet = await plumbing(driver)
        given = {**subnet.properties, "dns_nameservers": ["10.1.0.2"], "gateway_ip": ""}
        await driver.update(subnet, given)
        body = await subnet.kind.show(subnet)
        await driver.delete_all()
        return body

    body = drive(story)
    assert body["dns_nameservers"] == ["10.1.0.2"]
    assert body["gateway_ip"] is None


def test_a_port_gives_up_its_addresses_and_takes_them_back():
    async def story(driver):
        net, _ = await plumbing(driver)
        port = await driver.create(
            "OS::Neutron::Port",
            {"network": net.physical_id, "fixed_ips": [{"ip_address": "10.1.0.77"}]},
        )
        for step in port.kind.replaced_steps(port):
            driver.absorb(port, await step.do(port))
        without = await port.kind.show(port)
        for step in port.kind.taken_back_steps(port):
            driver.absorb(port, await step.do(port))
        again = await port.kind.show(port)
        subnets = await port.kind.attribute(port, "subnets")
        return without["fixed_ips"], again["fixed_ips"], port.data, subnets[0]["cidr"]

    without, again, data, cidr = drive(story)
    assert without == []
    assert [one["ip_address"] for one in again] == ["10.1.0.77"]
    assert data == {}
    assert cidr == "10.1.0.0/24"


def test_a_port_that_is_gone_has_nothing_to_give_up():
    async def story(driver):
        net, _ = await plumbing(driver)
        port = await driver.create("OS::Neutron::Port", {"network": net.physical_id})
        await port.request("DELETE")
        for step in port.kind.replaced_steps(port):
            driver.absorb(port, await step.do(port))
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def test_an_interface_whose_answer_was_withheld_is_found():
    async def story(driver):
        _, subnet = await plumbing(driver)
        router = await driver.create("OS::Neutron::Router", {}, "router")
        driver.knobs(
            {
                "match": {"path_regex": "add_router_interface", "times": 1},
                "effect": {"withhold": 0.05},
            }
        )
        await driver.create(
            "OS::Neutron::RouterInterface",
            {"router": router.physical_id, "subnet": subnet.physical_id},
        )
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def rules_of(group):
    keys = ("direction", "ethertype", "protocol", "port_range_min", "remote_ip_prefix")
    rules = (tuple(rule.get(key) for key in keys) for rule in group["security_group_rules"])
    return sorted(rules, key=str)


def test_a_security_group_has_the_rules_it_is_given_and_no_others():
    async def story(driver):
        ssh = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}
        group = await driver.create(
            "OS::Neutron::SecurityGroup", {"name": "web", "description": "d", "rules": [ssh]}
        )
        first = await group.kind.show(group)
        out = {"direction": "egress", "protocol": "udp"}
        await driver.update(group, {"name": "web", "description": "e", "rules": [out]})
        second = await group.kind.show(group)
        await driver.delete_all()
        return first, second, driver.left()

    first, second, left = drive(story)
    assert first["description"] == "d"
    assert rules_of(first) == [
        ("egress", "IPv4", None, None, None),
        ("egress", "IPv6", None, None, None),
        ("ingress", "IPv4", "tcp", 22, None),
    ]
    assert second["description"] == "e"
    assert rules_of(second) == [("egress", "IPv4", "udp", None, None)]
    assert left == {}


def test_a_rule_of_its_own_is_found_by_its_description_or_by_itself():
    async def story(driver):
        group = await driver.create("OS::Neutron::SecurityGroup", {"name": "web"})
        rule = {"security_group": "web", "port_range_min": 80, "port_range_max": 80}
        for description in ({}, {"description": "http"}):
            driver.knobs(
                {
                    "match": {"method": "POST", "path_regex": "rules", "times": 1},
                    "effect": {"withhold": 0.05},
                }
            )
            made = await driver.create("OS::Neutron::SecurityGroupRule", {**rule, **description})
            await driver.delete(made)
        rules = (await group.kind.show(group))["security_group_rules"]
        await driver.delete_all()
        return rules, driver.left()

    rules, left = drive(story)
    assert {rule["direction"] for rule in rules} == {"egress"}
    assert left == {}


@pytest.mark.parametrize("empty", [[], None])
def test_an_empty_list_of_addresses_leaves_the_choice_to_the_service(empty):
    async def story(driver):
        net, _ = await plumbing(driver)
        given = {"network": net.physical_id}
        free = await driver.create("OS::Neutron::Port", {**given, "fixed_ips": empty}, "free")
        chosen = free.body["fixed_ips"]
        fixed = {**given, "fixed_ips": [{"ip_address": "10.1.0.77"}]}
        port = await driver.create("OS::Neutron::Port", fixed, "port")
        await driver.update(port, {**given, "fixed_ips": empty})
        kept = [one["ip_address"] for one in (await port.kind.show(port))["fixed_ips"]]
        await driver.update(port, {**given, "no_fixed_ips": True})
        none = (await port.kind.show(port))["fixed_ips"]
        await driver.delete_all()
        return chosen, kept, none

    chosen, kept, none = drive(story)
    assert chosen[0]["ip_address"].startswith("10.1.0.")
    assert kept == ["10.1.0.77"]
    assert none == []

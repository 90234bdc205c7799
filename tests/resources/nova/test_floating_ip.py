"""Outer addresses in the words of old templates."""

import pytest

from hearth.cloud.fault import CloudFault
from tests.resources.driver import drive
from tests.resources.keystone.test_people import withheld
from tests.resources.neutron.test_topology import plumbing

ADDRESS, TIE = "OS::Nova::FloatingIP", "OS::Nova::FloatingIPAssociation"


async def servers(driver, count):
    """Servers on a network with a way out."""
    net, subnet = await plumbing(driver)
    router = await driver.create(
        "OS::Neutron::Router", {"external_gateway_info": {"network": "public"}}
    )
    ends = {"router": router.physical_id, "subnet": subnet.physical_id}
    await driver.create("OS::Neutron::RouterInterface", ends)
    given = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": net.physical_id}]}
    return [await driver.create("OS::Nova::Server", given, f"s{n}") for n in range(count)]


def test_an_address_comes_from_the_pool_or_from_the_default_one_and_is_made_once():
    async def story(driver):
        driver.knobs(withheld("/floatingips$"))
        made = [await driver.create(ADDRESS, given) for given in ({}, {"pool": "public"})]
        shown = [await one.kind.attribute(one, "pool") for one in made]
        same = [
            await one.kind.attribute(one, "ip") == one.body["floating_ip_address"] for one in made
        ]
        there = driver.left()
        await driver.delete_all()
        return shown, same, there["network.floatingips"], driver.left()

    assert drive(story) == (["public", "public"], [True, True], 2, {})


def test_an_address_follows_its_association_from_server_to_server():
    async def story(driver):
        one, two = await servers(driver, 2)
        address = await driver.create(ADDRESS, {"pool": "public"})
        given = {"floating_ip": address.physical_id, "server_id": one.physical_id}
        tie = await driver.create(TIE, given)

        async def holder():
            port = (await address.kind.show(address))["port_id"]
            if port is None:
                return None
            return (await driver.cloud.member("network", "/v2.0/ports", port))["device_id"]

        seen = [await holder() == one.physical_id]
        await driver.update(tie, {**given, "server_id": two.physical_id})
        seen.append(await holder() == two.physical_id)
        await driver.delete(tie)
        seen.append(await holder() is None)
        await driver.delete_all()
        return seen, driver.left()

    assert drive(story) == ([True, True, True], {})


def test_a_server_without_a_port_is_named():
    async def story(driver):
        server = await driver.create(
            "OS::Nova::Server",
            {"image": "cirros", "flavor": "m1.tiny", "networks": [{"allocate_network": "none"}]},
        )
        address = await driver.create(ADDRESS, {})
        given = {"floating_ip": address.physical_id, "server_id": server.physical_id}
        with pytest.raises(CloudFault, match=r"server .* has no port"):
            await driver.create(TIE, given)

    drive(story)

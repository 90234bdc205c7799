"""Load balancers in AWS's words: made at once, and the servers behind them."""

import asyncio

import pytest

from hearth.cloud import CloudFault
from hearth.resources.base import Step
from hearth.resources.registry import builtin_types
from tests.resources.driver import drive
from tests.resources.neutron.test_topology import plumbing

BALANCER = "AWS::ElasticLoadBalancing::LoadBalancer"
GIVEN = {
    "AvailabilityZones": ["nova"],
    "Listeners": [
        {"LoadBalancerPort": 80, "InstancePort": 8080, "Protocol": "HTTP"},
        {"LoadBalancerPort": 22, "InstancePort": 22, "Protocol": "TCP"},
    ],
    "HealthCheck": {
        "Target": "HTTP:8080/well",
        "HealthyThreshold": 2,
        "UnhealthyThreshold": 4,
        "Interval": 9,
        "Timeout": 3,
    },
}


async def ground(driver, number=2):
    net, subnet = await plumbing(driver)
    given = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": net.physical_id}]}
    servers = [await driver.create("OS::Nova::Server", given, f"s{n}") for n in range(number)]
    return subnet, [one.physical_id for one in servers]


async def members(driver):
    """The servers' ports by pool, as {name of the pool's end: ports}."""
    found = {}
    for pool in await driver.cloud.listing("load-balancer", "/v2/lbaas/pools"):
        path = f"/v2/lbaas/pools/{pool['id']}/members"
        there = await driver.cloud.listing("load-balancer", path)
        ends = [(one["protocol_port"], one["monitor_port"]) for one in there]
        found[pool["name"].rpartition("-")[2]] = sorted(ends, key=str)
    return found


async def set_instances(driver, balancer, servers):
    """As a group of servers calls it: again as long as the service asks for patience."""
    while True:
        try:
            await balancer.kind.set_instances(balancer, servers)
            return await driver.poll(Step("settled", None, poll=balancer.kind.checked), balancer)
        except CloudFault as fault:
            if not await balancer.kind.busy(balancer, fault):
                raise
            await asyncio.sleep(0.01)


def test_it_has_the_servers_that_it_is_given_and_no_others():
    async def story(driver):
        subnet, (one, two) = await ground(driver)
        driver.knobs({"match": {"service": "load-balancer"}, "effect": {"slow_s": 0.03}})
        given = {**GIVEN, "Subnets": [subnet.physical_id], "Instances": [one]}
        balancer = await driver.create(BALANCER, given, "front")
        found = [await members(driver)]
        for servers in ([two, one], [two, one], []):
            await set_instances(driver, balancer, servers)
            found.append(await members(driver))
        before = len(driver.writes())
        await set_instances(driver, balancer, [])
        calls = len(driver.writes()) - before
        await driver.update(balancer, {**given, "Instances": [two]})
        found.append(await members(driver))
        shown = balancer.kind.recordable(balancer)
        await driver.delete_all()
        return found, calls, shown, driver.left()

    found, calls, shown, left = drive(story)
    web, ssh = (8080, None), (22, 8080)
    assert found[0] == {"80": [web], "22": [ssh]}
    assert found[1] == found[2] == {"80": [web, web], "22": [ssh, ssh]}
    assert found[3] == {"80": [], "22": []}
    assert found[4] == found[0]
    assert calls == 0
    assert shown["DNSName"] == shown["CanonicalHostedZoneName"] != ""
    assert left == {}


def test_without_a_subnet_it_is_where_servers_are():
    async def story(driver):
        subnet, (one,) = await ground(driver, 1)
        balancer = await driver.create(BALANCER, {**GIVEN, "Instances": [one]}, "front")
        body = await balancer.kind.show(balancer)
        with pytest.raises(CloudFault, match="Subnets"):
            await driver.create(BALANCER, {**GIVEN, "Listeners": []}, "nowhere")
        await driver.delete_all()
        return body["vip_subnet_id"] == subnet.physical_id, driver.left()

    assert drive(story) == (True, {})


def test_a_lost_answer_makes_no_second_one():
    async def story(driver):
        subnet, _ = await ground(driver, 0)
        driver.knobs({"match": {"method": "POST", "path_regex": "/loadbalancers$", "times": 1},
                      "effect": {"withhold": 0.05}})  # fmt: skip
        await driver.create(BALANCER, {**GIVEN, "Subnets": [subnet.physical_id]}, "front")
        there = driver.left()["load-balancer.loadbalancers"]
        await driver.delete_all()
        return there, driver.left()

    assert drive(story) == (1, {})


@pytest.mark.parametrize(
    ("check", "words"),
    [({"Target": "80"}, "PROTOCOL:PORT"), ({"Interval": 2}, "Timeout must not be above Interval")],
)
def test_a_health_check_that_makes_no_sense_is_refused(check, words):
    given = {**GIVEN, "HealthCheck": {**GIVEN["HealthCheck"], **check}}
    (wrong,) = builtin_types()[BALANCER].conflicts(given)
    assert words in str(wrong)

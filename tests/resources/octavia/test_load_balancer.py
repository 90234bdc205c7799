"""Load balancers and their parts: one call at a time, found again, failed where nothing helps."""

import asyncio

import pytest

from hearth.cloud import CloudFault
from hearth.model.unknown import UNKNOWN
from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive
from tests.resources.neutron.test_topology import plumbing

SLOW = {"service": "load-balancer", "path_regex": "/lbaas/"}
POSTS = {"service": "load-balancer", "method": "POST"}


async def balancer(driver, **more):
    _, subnet = await plumbing(driver)
    given = {"vip_subnet": subnet.physical_id, "name": "web", **more}
    return await driver.create("OS::Octavia::LoadBalancer", given)


async def pool(driver):
    listener = {"loadbalancer": "web", "protocol": "HTTP", "protocol_port": 80}
    made = await driver.create("OS::Octavia::Listener", listener)
    given = {"listener": made.physical_id, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    return await driver.create("OS::Octavia::Pool", given)


def member(of, number):
    given = {"pool": of.physical_id, "address": f"10.0.0.{number}", "protocol_port": 80}
    return "OS::Octavia::PoolMember", given, f"m{number}"


def test_parts_that_are_made_and_deleted_at_once_wait_for_one_another():
    async def story(driver):
        driver.knobs({"match": SLOW, "effect": {"slow_s": 0.1}})
        await balancer(driver)
        of = await pool(driver)
        members = await asyncio.gather(*(driver.create(*member(of, n)) for n in range(5, 9)))
        refused = [call for call in driver.writes() if call[2] == 409]
        updates = [driver.update(one, {**one.properties, "weight": 7}) for one in members]
        await asyncio.gather(*updates)
        await asyncio.gather(*(driver.delete(one) for one in members))
        await driver.delete_all()
        return bool(refused), driver.left()

    assert drive(story) == (True, {})


def test_what_a_lost_call_made_is_found_by_its_tag():
    async def story(driver):
        for path in ("loadbalancers$", "listeners$", "pools$", "members$"):
            match = {**POSTS, "path_regex": path, "times": 1}
            driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        await balancer(driver)
        of = await pool(driver)
        one = await driver.create(*member(of, 5))
        twin = await driver.create(*member(of, 6))
        posts = [
            path for method, path, _ in driver.writes() if "lbaas" in path and method == "POST"
        ]
        orphans = [await ctx.kind.orphans(ctx) for ctx in (of, one, twin)]
        await driver.delete_all()
        return len(posts), orphans, driver.left()

    assert drive(story) == (5, [[], [], []], {})


def test_a_stray_that_cannot_be_deleted_yet_is_left_for_the_next_look():
    async def story(driver):
        driver.knobs({"match": SLOW, "effect": {"slow_s": 0.2}})
        await balancer(driver)
        of = await pool(driver)
        one = await driver.create(*member(of, 5))
        recorded, one.physical_id = one.physical_id, "another"
        looks = 0
        while await one.kind.orphans(one):
            await one.kind.delete_orphan(one, recorded)
            looks += 1
            await asyncio.sleep(0.05)
        driver.made.remove(one)
        await driver.delete_all()
        return looks > 1, driver.left()

    assert drive(story) == (True, {})


def test_the_users_tags_stand_beside_ours():
    async def story(driver):
        await balancer(driver)
        of = await pool(driver)
        kind, given, name = member(of, 5)
        one = await driver.create(kind, {**given, "tags": ["blue"]}, name)
        first = (await one.kind.show(one))["tags"]
        await driver.update(one, given)
        return first, (await one.kind.show(one))["tags"]

    first, then = drive(story)
    assert first[0] == "blue"
    assert then == first[1:]
    assert then[0].startswith("hearth:")


def test_what_ends_in_error_has_failed():
    async def story(driver):
        match = {**POSTS, "path_regex": "/loadbalancers$"}
        driver.knobs({"match": match, "effect": {"error": True}})
        with pytest.raises(Broken, match='Went to status ERROR due to "Unknown"'):
            await balancer(driver)
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def test_nothing_waits_for_a_load_balancer_that_is_broken():
    async def story(driver):
        made = await balancer(driver)
        driver.running.cloud.store.get("load-balancer.loadbalancers", made.physical_id).body[
            "provisioning_status"
        ] = "ERROR"
        with pytest.raises(CloudFault, match="immutable"):
            await pool(driver)

    drive(story)


def test_a_port_that_is_taken_is_not_waited_for():
    async def story(driver):
        await balancer(driver)
        await pool(driver)
        with pytest.raises(CloudFault, match="Another Listener"):
            await pool(driver)

    drive(story)


def test_a_part_whose_parent_is_gone_leaves_nothing_to_look_for():
    async def story(driver):
        await balancer(driver)
        of = await pool(driver)
        one = await driver.create(*member(of, 5))
        await driver.delete(of)
        await driver.delete(one)
        return await one.kind.orphans(one)

    assert drive(story) == []


@pytest.mark.parametrize(
    ("type_name", "given", "words"),
    [
        ("Listener", {"protocol": "TERMINATED_HTTPS"}, "default_tls_container_ref is required"),
        ("Pool", {}, "one of loadbalancer and listener is needed"),
        ("Pool", {"listener": "l", "session_persistence": {"type": "APP_COOKIE"}}, "cookie_name"),
        (
            "Pool",
            {"listener": "l", "session_persistence": {"type": "SOURCE_IP", "cookie_name": "x"}},
            "session_persistence: cookie_name is allowed only if type is APP_COOKIE",
        ),
        ("L7Policy", {"action": "REDIRECT_TO_URL"}, "redirect_url is required"),
        (
            "L7Policy",
            {"action": "REJECT", "redirect_url": "http://x/"},
            "redirect_url is allowed only if action is REDIRECT_TO_URL",
        ),
        ("L7Rule", {"type": "COOKIE"}, "key is required if type is HEADER or COOKIE"),
        ("Quota", {"project": None}, "one of healthmonitor, listener"),
    ],
)
def test_properties_that_do_not_go_together_are_named(type_name, given, words):
    kind = builtin_types()[f"OS::Octavia::{type_name}"]
    (problem,) = kind.conflicts(given)
    assert words in str(problem)


def test_properties_that_are_not_known_yet_are_no_problem():
    given, kind = {"action": "REDIRECT_TO_POOL"}, builtin_types()["OS::Octavia::L7Policy"]
    assert list(kind.conflicts({**given, "redirect_pool": UNKNOWN})) == []

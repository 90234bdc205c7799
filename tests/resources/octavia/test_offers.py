"""Flavors, zones and quotas of load balancers, which administrators set."""

from hearth.resources.base import Change
from hearth.resources.registry import builtin_types
from tests.resources.driver import drive


def test_a_load_balancer_has_the_flavor_and_the_zone_that_were_made_for_it():
    async def story(driver):
        await driver.create("OS::Octavia::FlavorProfile", {"name": "pair", "flavor_data": "{}"})
        flavor = await driver.create(
            "OS::Octavia::Flavor", {"name": "available", "flavor_profile": "pair"}
        )
        await driver.create(
            "OS::Octavia::AvailabilityZoneProfile",
            {"name": "cellar", "availability_zone_data": "{}"},
        )
        await driver.create(
            "OS::Octavia::AvailabilityZone",
            {"name": "down", "availability_zone_profile": "cellar", "description": "dry"},
        )
        net = await driver.create("OS::Neutron::Net", {"name": "n"})
        subnet = await driver.create(
            "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.3.0.0/24"}
        )
        given = {"vip_subnet": subnet.physical_id, "flavor": "available"}
        made = await driver.create(
            "OS::Octavia::LoadBalancer", {**given, "availability_zone": "down"}
        )
        seen = made.body["flavor_id"] == flavor.physical_id, made.body["availability_zone"]
        await driver.delete_all()
        return seen, driver.left()

    assert drive(story, user="admin") == ((True, "down"), {})


def test_a_profile_and_a_zone_are_found_again_and_get_what_the_user_wants():
    async def story(driver):
        match = {"service": "load-balancer", "method": "POST"}
        driver.knobs(
            {
                "match": {**match, "path_regex": "profiles$", "times": 1},
                "effect": {"withhold": 0.02},
            },
            {"match": {**match, "path_regex": "zones$", "times": 1}, "effect": {"withhold": 0.02}},
        )
        profile = await driver.create(
            "OS::Octavia::AvailabilityZoneProfile",
            {"name": "cellar", "availability_zone_data": "{}"},
        )
        zone = await driver.create(
            "OS::Octavia::AvailabilityZone",
            {"name": "down", "availability_zone_profile": "cellar", "description": "dry"},
        )
        shown = await profile.kind.show(profile), await zone.kind.show(zone)
        await driver.delete_all()
        return shown[0]["name"], shown[0]["provider_name"], shown[1]["description"], driver.left()

    assert drive(story, user="admin") == ("cellar", "amphora", "dry", {})


def test_another_name_makes_another_zone():
    kind = builtin_types()["OS::Octavia::AvailabilityZone"]
    assert kind.must_replace(Change({}, {}, frozenset({"name"})))
    assert kind.must_replace(Change({}, {}, frozenset({"enabled"}))) is None


def test_a_limit_that_is_taken_away_is_the_default_again():
    async def story(driver):
        given = {"project": "demo", "pool": 5, "member": 7}
        quota = await driver.create("OS::Octavia::Quota", given)
        await driver.update(quota, {"project": "demo", "pool": 6})
        shown = await quota.kind.show(quota)
        await driver.delete(quota)
        again = await quota.kind.show(quota)
        return shown["pool"], shown["member"], again["pool"]

    assert drive(story, user="admin") == (6, -1, -1)

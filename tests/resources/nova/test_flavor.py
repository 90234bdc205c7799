"""Flavors and volume types, by an administrator."""

import pytest

from hearth.cloud import CloudFault
from hearth_devcloud.fixed_ids import fixed_hex
from tests.resources.driver import drive

FLAVOR = "OS::Nova::Flavor"


def test_a_flavor_is_found_by_its_key():
    async def story(driver):
        match = {"method": "POST", "path_regex": "/flavors$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.05}})
        given = {"ram": 64, "vcpus": 1, "is_public": False, "tenants": ["demo"]}
        flavor = await driver.create("OS::Nova::Flavor", {**given, "extra_specs": {"a": 1}})
        path = f"/flavors/{flavor.physical_id}/os-extra_specs"
        first = (await driver.cloud.request("compute", "GET", path)).body["extra_specs"]
        await driver.update(flavor, {**given, "extra_specs": {"b": 2}, "tenants": []})
        second = (await driver.cloud.request("compute", "GET", path)).body["extra_specs"]
        await driver.delete_all()
        return first, second, driver.left()

    first, second, left = drive(story, user="admin")
    assert (first, second) == ({"a": "1"}, {"b": "2"})
    assert left == {}


def test_a_flavor_of_somebody_else_with_the_wanted_id_is_not_taken_for_ours():
    async def story(driver):
        theirs = {"id": "f1", "name": "theirs", "ram": 64, "vcpus": 1, "disk": 1}
        await driver.cloud.request("compute", "POST", "/flavors", json={"flavor": theirs})
        match = {"method": "POST", "path_regex": "/flavors$", "times": 1}
        driver.knobs({"match": match, "effect": {"drop": True}})
        with pytest.raises(CloudFault, match="already exists"):
            await driver.create("OS::Nova::Flavor", {"ram": 64, "vcpus": 1, "flavorid": "f1"})
        await driver.delete_all()
        return driver.left()

    assert drive(story, user="admin") == {"compute.flavors": 1}


def test_a_volume_type_with_its_specifications():
    async def story(driver):
        given = {"name": "fast", "metadata": {"speed": "high"}, "is_public": False}
        kind = await driver.create("OS::Cinder::VolumeType", {**given, "projects": ["demo"]})
        await driver.update(kind, {"name": "faster", "description": "d", "is_public": False})
        shown = await kind.kind.show(kind)
        await driver.delete_all()
        return shown["name"], shown["description"], driver.left()

    assert drive(story, user="admin") == ("faster", "d", {})


def test_projects_are_let_in_to_a_private_flavor_only():
    async def story(driver):
        given = {"ram": 64, "vcpus": 1}
        project = (await driver.cloud.whoami()).project_id
        own = await driver.create(FLAVOR, {**given, "is_public": False})
        other = await driver.create(FLAVOR, {**given, "is_public": False, "tenants": ["demo"]})
        await driver.create(FLAVOR, {**given, "tenants": ["demo"]})

        async def who(flavor):
            path = f"/flavors/{flavor.physical_id}/os-flavor-access"
            return [row["tenant_id"] for row in await driver.cloud.listing("compute", path)]

        demo = fixed_hex("project", "demo")
        seen = await who(own) == [project], await who(other) == [demo]
        await driver.delete_all()
        return seen, driver.left()

    assert drive(story, user="admin") == ((True, True), {})

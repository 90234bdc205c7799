"""Images that the image service fetches."""

import pytest

from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive
from tests.resources.keystone.test_people import withheld

IMAGE = "OS::Glance::WebImage"
GIVEN = {
    "container_format": "bare",
    "disk_format": "qcow2",
    "location": "http://images.devcloud.test/cirros",
}


def test_an_image_whose_answers_were_lost_is_made_once_and_shows_no_key():
    async def story(driver):
        driver.knobs(withheld("/v2/images$"), withheld("/import$"))
        image = await driver.create(IMAGE, {**GIVEN, "tags": ["a"], "os_distro": "x"})
        shown = await image.kind.show(image)
        there = driver.left()
        await driver.delete_all()
        return shown, there, driver.left()

    shown, there, left = drive(story)
    assert (shown["status"], shown["size"], shown["visibility"]) == ("active", 4096, "private")
    assert (shown["tags"], shown["os_distro"]) == (["a"], "x")
    assert "hearth_key" not in shown
    assert (there, left) == ({"image.images": 1}, {})


def test_an_image_that_cannot_be_fetched_fails_with_its_location():
    async def story(driver):
        with pytest.raises(Broken, match=r"queued.*location: http://images.devcloud.test/none"):
            await driver.create(IMAGE, {**GIVEN, "location": "http://images.devcloud.test/none"})
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def test_properties_of_an_image_are_changed_and_removed():
    async def story(driver):
        extra = {"a": 1, "b/c": "2"}
        first = {**GIVEN, "architecture": "arm", "extra_properties": extra, "tags": ["t"]}
        image = await driver.create(IMAGE, {**first, "active": False, "visibility": "shared"})
        seen = [await image.kind.show(image)]
        second = {**GIVEN, "extra_properties": {"b/c": "3"}, "os_version": "9", "protected": True}
        await driver.update(image, {**second, "visibility": "community"})
        seen.append(await image.kind.show(image))
        await driver.update(image, {**second, "protected": False})
        await driver.delete_all()
        return seen, driver.left()

    (first, second), left = drive(story)
    assert (first["status"], first["visibility"]) == ("deactivated", "shared")
    assert (first["a"], first["b/c"], first["architecture"]) == ("1", "2", "arm")
    assert (second["status"], second["visibility"]) == ("active", "community")
    assert (second["b/c"], second["os_version"], second["tags"]) == ("3", "9", [])
    assert second["protected"]
    assert not {"a", "architecture"} & second.keys()
    assert left == {}


def test_a_shared_image_has_exactly_the_members_named():
    async def story(driver):
        given = {**GIVEN, "visibility": "shared"}
        image = await driver.create(IMAGE, {**given, "members": ["one", "two"]})
        await driver.update(image, {**given, "members": ["two", "three"]})
        rows = (await image.request("GET", "members")).body["members"]
        await driver.delete_all()
        return sorted(row["member_id"] for row in rows), driver.left()

    assert drive(story) == (["three", "two"], {})


def test_an_image_that_is_no_longer_shared_is_shared_again():
    async def story(driver):
        given = {**GIVEN, "visibility": "shared"}
        image = await driver.create(IMAGE, {**given, "members": ["one"]})
        await driver.update(image, {**given, "visibility": "community"})
        await driver.update(image, {**given, "members": ["two"]})
        rows = (await image.request("GET", "members")).body["members"]
        assert [row["member_id"] for row in rows] == ["two"]

    drive(story)


def test_formats_fit_each_other_and_members_need_sharing():
    check = builtin_types()[IMAGE].conflicts
    (found,) = check({"container_format": "ami", "disk_format": "raw"})
    assert found.message.startswith("container_format and disk_format must be the same")
    (found,) = check({"members": ["p"], "visibility": "private"})
    assert found.message == "members is allowed only if visibility is shared"
    assert not list(check({"container_format": "ami", "disk_format": "ami"}))

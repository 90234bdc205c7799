"""Containers."""

import pytest

from hearth.resources.base import Ready
from tests.resources.driver import Broken, drive

CONTAINER = "OS::Swift::Container"


def test_a_container_is_made_shown_and_removed_with_its_objects():
    async def story(driver):
        given = {"X-Container-Meta": {"colour": "blue"}, "X-Container-Read": ".r:*"}
        box = await driver.create(CONTAINER, {"name": "box", "PurgeOnDelete": True, **given})
        for n in range(3):
            await driver.cloud.request("object-store", "PUT", f"/box/o{n}", data=b"x")
        count = await box.kind.attribute(box, "ObjectCount")
        headers = await box.kind.attribute(box, "HeadContainer")
        url = await box.kind.attribute(box, "WebsiteURL")
        await driver.delete_all()
        return count, headers, url, driver.left()

    count, headers, url, left = drive(story, user="demo")
    assert count == 3
    assert headers["x-container-meta-colour"] == "blue"
    assert url.endswith("/box")
    assert left == {}


def test_a_stranger_s_container_is_left_alone():
    async def story(driver):
        await driver.cloud.request("object-store", "PUT", "/box")
        with pytest.raises(Broken, match="already"):
            await driver.create(CONTAINER, {"name": "box"})
        box = driver.made[-1]
        return box.physical_id

    assert drive(story) is None


def test_a_container_whose_answer_was_withheld_is_found():
    async def story(driver):
        driver.knobs({"match": {"method": "PUT", "times": 1}, "effect": {"withhold": 0.05}})
        box = await driver.create(CONTAINER, {})
        await driver.delete_all()
        return box.physical_id == box.physical_name, driver.left()

    assert drive(story) == (True, {})


def test_a_process_that_takes_over_after_the_create_knows_its_container():
    async def story(driver):
        box = await driver.create(CONTAINER, {"name": "box"})
        box.body = None  # it was in the memory of the process that died
        progress = await box.kind.created(box)
        await driver.delete_all()
        return progress

    assert isinstance(drive(story), Ready)

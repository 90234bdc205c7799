"""Volumes and their attachments."""

import asyncio

import pytest

from hearth.model.state import Action
from hearth.resources.base import Ready
from hearth.resources.shown import shown_attribute
from tests.resources.driver import Broken, drive

VOLUME = "OS::Cinder::Volume"


def test_a_volume_is_made_changed_and_removed():
    async def story(driver):
        volume = await driver.create(
            VOLUME, {"size": 1, "name": "data", "description": "d", "metadata": {"a": "1"}}
        )
        first = await volume.kind.show(volume)
        changed = {"size": 2, "name": "more", "description": "e", "metadata": {"b": "2"}}
        await driver.update(volume, {**changed, "read_only": True})
        second = await volume.kind.show(volume)
        values = await volume.kind.attribute(volume, "metadata_values")
        await driver.delete_all()
        return first, second, values, driver.left()

    first, second, values, left = drive(story)
    assert (first["name"], first["description"], first["size"]) == ("data", "d", 1)
    assert (second["name"], second["description"], second["size"]) == ("more", "e", 2)
    assert {k: v for k, v in values.items() if k != "readonly"} == {"b": "2"}
    assert left == {}


def test_the_key_is_not_shown_as_description():
    async def story(driver):
        volume = await driver.create(VOLUME, {"size": 1})
        shown = await shown_attribute(volume.kind, volume, "display_description")
        await driver.delete_all()
        return shown

    assert drive(story) == ""


def test_a_volume_does_not_shrink():
    async def story(driver):
        volume = await driver.create(VOLUME, {"size": 2})
        with pytest.raises(Broken, match="Shrinking volume is not supported"):
            await driver.update(volume, {"size": 1})

    drive(story)


def test_a_volume_that_somebody_has_extended_keeps_its_size():
    async def story(driver):
        volume = await driver.create(VOLUME, {"size": 1})
        await volume.kind.act(volume, {"os-extend": {"new_size": 3}})
        while (await volume.kind.show(volume))["size"] != 3:
            await asyncio.sleep(0.05)
        await driver.update(volume, {"size": 2})
        body = await volume.kind.show(volume)
        await driver.delete_all()
        return body["size"], body["status"]

    assert drive(story) == (3, "available")


def test_a_volume_from_an_image_whose_answer_was_withheld_is_found():
    async def story(driver):
        match = {"method": "POST", "path_regex": "/volumes$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.05}})
        await driver.create(VOLUME, {"size": 4, "image": "cirros"})
        left = driver.left()
        await driver.delete_all()
        return left, driver.left()

    there, left = drive(story, volume_s=0.05)
    assert there == {"volume.volumes": 1}
    assert left == {}


def attached(story):
    """Run a story with a server, a volume and the attachment of both."""

    async def whole(driver):
        net = await driver.create("OS::Neutron::Net", {}, "net")
        await driver.create(
            "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.1.0.0/24"}, "subnet"
        )
        networks = [{"network": net.physical_id}]
        server = await driver.create(
            "OS::Nova::Server", {"image": "cirros", "flavor": "m1.tiny", "networks": networks}
        )
        volume = await driver.create(VOLUME, {"size": 1})
        attachment = await driver.create(
            "OS::Cinder::VolumeAttachment",
            {"instance_uuid": server.physical_id, "volume_id": volume.physical_id},
        )
        return await story(driver, volume, attachment)

    return drive(whole)


def test_a_volume_is_attached_and_detached():
    async def story(driver, volume, attachment):
        used = await volume.kind.attribute(volume, "status")
        await driver.delete_all()
        return used, driver.left()

    assert attached(story) == ("in-use", {})


def test_an_attachment_that_was_removed_is_missing():
    async def story(driver, volume, attachment):
        before = await attachment.kind.observe(attachment)
        await attachment.kind.detach(attachment)
        while not isinstance(await attachment.kind.detached(attachment), Ready):
            await asyncio.sleep(0.05)
        return before == attachment.properties, await attachment.kind.observe(attachment)

    assert attached(story) == (True, None)


def test_a_backup_is_kept_and_a_volume_made_from_it():
    async def story(driver):
        volume = await driver.create(VOLUME, {"size": 1})
        await driver.run(volume, Action.SNAPSHOT)
        backup = volume.data["backup_id"]
        again = await driver.create(VOLUME, {"size": 1, "backup_id": backup, "name": "again"})
        body = await again.kind.show(again)
        return body["name"], body["status"]

    assert drive(story) == ("again", "available")

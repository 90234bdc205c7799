"""How servers get their metadata, per transport."""

import asyncio
import json
import urllib.request

import pytest

from hearth.cloud import CloudFault
from tests.resources.driver import drive
from tests.resources.heat.test_wait_conditions import Desk

SERVER = "OS::Nova::Server"


def server(transport, **more):
    return {
        "image": "cirros",
        "flavor": "m1.tiny",
        "networks": [{"network": "inner"}],
        "user_data_format": "SOFTWARE_CONFIG",
        "software_config_transport": transport,
        **more,
    }


async def made(driver, transport, **more):
    net = await driver.create("OS::Neutron::Net", {"name": "inner"}, "net")
    await driver.create(
        "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.1.0.0/24"}, "subnet"
    )
    return await driver.create(
        SERVER, server(transport, **more), "web", users=Desk(), metadata={"own": 1}
    )


def test_by_the_cfn_api_with_a_key_pair():
    async def story(driver):
        web = await made(driver, "POLL_SERVER_CFN")
        await driver.delete_all()
        return web.metadata, driver.left(), web.users.users

    metadata, left, users = drive(story)
    section = metadata["os-collect-config"]
    assert section["collectors"] == ["ec2", "cfn", "local"]
    assert section["cfn"]["access_key_id"] == "ACCESS"
    assert section["cfn"]["path"] == "web.Metadata"
    assert metadata["own"] == 1
    assert metadata["deployments"] == []
    assert (left, users) == ({}, {})


def test_by_the_native_api_with_a_password_and_then_by_another():
    async def story(driver):
        web = await made(driver, "POLL_SERVER_HEAT")
        first = web.metadata["os-collect-config"]
        await driver.update(web, server("POLL_SERVER_CFN"))
        second = web.metadata["os-collect-config"]
        await driver.delete_all()
        return first, second

    first, second = drive(story)
    assert first["heat"]["stack_id"] == "web/stack-id"
    assert first["heat"]["password"]
    assert set(second["heat"].values()) == {None}
    assert second["collectors"] == ["ec2", "cfn", "local"]


def test_by_a_url_that_anybody_may_read():
    def read(url):
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)

    async def story(driver):
        web = await made(driver, "POLL_TEMP_URL")
        url = web.metadata["os-collect-config"]["request"]["metadata_url"]
        text = await asyncio.to_thread(read, url)
        await driver.delete_all()
        return text, web.metadata, driver.left()

    text, metadata, left = drive(story)
    assert text == metadata
    assert text["os-collect-config"]["collectors"] == ["ec2", "request", "local"]
    assert left == {}


def test_the_object_goes_when_the_guest_is_to_poll_another_one_or_none():
    def object_of(name):
        return {"deployment_swift_data": {"container": "guests", "object": name}}

    async def story(driver):
        web = await made(driver, "POLL_TEMP_URL", **object_of("one"))
        there = []
        for given in (
            server("POLL_TEMP_URL", **object_of("two")),
            server("POLL_SERVER_HEAT"),
        ):
            await driver.update(web, given)
            things = driver.running.cloud.store.all("object-store.objects")
            there.append([thing.body["name"] for thing in things])
        await driver.delete_all()
        return there, driver.left()

    assert drive(story) == ([["two"], []], {})


def test_by_a_queue_is_refused_in_plain_words():
    async def story(driver):
        with pytest.raises(CloudFault, match="messaging"):
            await made(driver, "ZAQAR_MESSAGE")

    drive(story)

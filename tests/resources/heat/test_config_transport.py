"""How servers get their metadata, per transport."""

import asyncio
import json
import urllib.request

import pytest

from hearth.model.state import Action
from hearth.resources.heat.config_transport import COLLECTORS
from tests.resources.driver import drive
from tests.resources.heat.test_wait_conditions import Desk, Guests

SERVER = "OS::Nova::Server"
DEPLOYED = "OS::Heat::DeployedServer"


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


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def messages(driver):
    """The bodies of the messages in each queue, oldest first."""
    store = driver.running.cloud.store
    found = {queue.body["name"]: [] for queue in store.all("messaging.queues")}
    names = {queue.id: queue.body["name"] for queue in store.all("messaging.queues")}
    for one in store.all("messaging.messages"):
        found[names[one.body["queue"]]].append(one.hidden["body"])
    return found


TRANSPORTS = [
    *((name, {}) for name in COLLECTORS),
    ("POLL_TEMP_URL", {"deployment_swift_data": {"container": "guests", "object": "one"}}),
]


async def deployed(driver, transport, more, **given):
    properties = {"software_config_transport": transport, **more}
    users = Guests(driver.cloud)
    return await driver.create(DEPLOYED, properties, "web", users=users, **given)


def pushed(driver, section):
    """The document as the guest finds it by a section, None where it asks an API for it."""

    async def found():
        if "request" in section and section["request"]["metadata_url"]:
            return await asyncio.to_thread(read, section["request"]["metadata_url"])
        if "zaqar" in section and section["zaqar"]["queue_id"]:
            return messages(driver)[section["zaqar"]["queue_id"]][-1]
        return None

    return found()


@pytest.mark.parametrize(
    ("transport", "more"), TRANSPORTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_server_that_is_there_already_has_the_section_of_its_transport(transport, more):
    async def story(driver):
        web = await deployed(driver, transport, more, metadata={"own": 1})
        section = await web.kind.attribute(web, "os_collect_config")
        found = await pushed(driver, section)
        assert found in (None, web.metadata)
        assert (found is None) == transport.startswith("POLL_SERVER")
        await driver.delete_all()
        return web.physical_id, web.metadata, driver.left(), web.users.users

    ident, metadata, left, users = drive(story)
    kind = COLLECTORS[transport]
    assert ident == "record-1"
    assert metadata.keys() == {"own", "os-collect-config", "deployments"}
    assert metadata["os-collect-config"]["collectors"] == [kind, "local"]
    assert metadata["os-collect-config"].keys() == {"collectors", kind}
    assert None not in {n: v for n, v in metadata["os-collect-config"][kind].items()
                        if n != "region_name"}.values()  # fmt: skip
    assert (left, users) == ({}, {})


@pytest.mark.parametrize("before", range(len(TRANSPORTS)))
@pytest.mark.parametrize("after", range(len(TRANSPORTS)))
def test_the_guest_learns_of_a_new_transport_by_the_old_one_and_may_go_back(before, after):
    first, second = TRANSPORTS[before], TRANSPORTS[after]

    async def story(driver):
        web = await deployed(driver, *first)
        there = web.metadata["os-collect-config"]
        for transport, more in (second, first):  # and the first again
            properties = {"software_config_transport": transport, **more}
            await driver.update(web, properties)
            section = web.metadata["os-collect-config"]
            kind = COLLECTORS[transport]
            assert section["collectors"] == [kind, "local"]
            for name, keys in section.items():
                if name in set(COLLECTORS.values()) - {kind}:
                    assert set(keys.values()) == {None}
            assert await pushed(driver, section) in (None, web.metadata)
            assert await pushed(driver, there) in (None, web.metadata)
            there = section
        await driver.delete_all()
        return driver.left(), web.users.users

    assert drive(story) == ({}, {})


def test_new_metadata_of_the_template_is_beside_section_and_deployments():
    async def story(driver):
        web = await deployed(
            driver, "ZAQAR_MESSAGE", {}, metadata={"own": 1, "gone": 2, "deployments": ["x"]}
        )
        section = web.metadata["os-collect-config"]
        web.template_metadata = {"own": 3, "deployments": ["y"], "os-collect-config": {"more": 4}}
        await driver.update(web, web.properties)
        assert await pushed(driver, section) == web.metadata
        return section, web.metadata

    section, metadata = drive(story)
    assert metadata == {
        "own": 3,
        "deployments": ["x"],
        "os-collect-config": {**section, "more": 4},
    }


def test_a_queue_goes_also_while_its_user_is_disabled():
    async def story(driver):
        web = await deployed(driver, "ZAQAR_MESSAGE", {})
        await driver.run(web, Action.SUSPEND)
        await driver.delete_all()
        return driver.left(), web.users.users

    assert drive(story) == ({}, {})


def test_a_queue_whose_making_was_not_answered_goes_too():
    async def story(driver):
        web = await deployed(driver, "ZAQAR_MESSAGE", {})
        web.data = {k: v for k, v in web.data.items() if k != "metadata_queue"}
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}

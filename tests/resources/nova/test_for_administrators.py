"""Host aggregates and limits; by an administrator."""

import pytest

from hearth.cloud.fault import CloudFault
from tests.resources.driver import drive
from tests.resources.keystone.test_people import withheld

AGGREGATE, QUOTA = "OS::Nova::HostAggregate", "OS::Nova::Quota"
HOST = "devcloud"


def test_an_aggregate_whose_answer_was_lost_is_found_filled_and_emptied_again():
    async def story(driver):
        driver.knobs(withheld("/os-aggregates$"))
        given = {"name": "fast", "availability_zone": "here", "hosts": [HOST]}
        made = await driver.create(AGGREGATE, {**given, "metadata": {"ssd": True}})
        first = await made.kind.show(made)
        await driver.update(made, {"name": "slow", "hosts": [], "metadata": {"disk": "old"}})
        second = await made.kind.show(made)
        await driver.update(made, {"name": "slow", "hosts": [HOST]})
        third = await made.kind.show(made)
        orphans = list(await made.kind.orphans(made))
        await driver.delete_all()
        return first, second, third, orphans, driver.left()

    first, second, third, orphans, left = drive(story, user="admin")
    assert (first["name"], first["availability_zone"], first["hosts"]) == ("fast", "here", [HOST])
    assert first["metadata"] == {"availability_zone": "here", "ssd": "True"}
    assert (second["name"], second["availability_zone"], second["hosts"]) == ("slow", None, [])
    assert second["metadata"] == {"disk": "old"}
    assert (third["hosts"], third["metadata"]) == ([HOST], {})
    assert (orphans, left) == ([], {})


def test_limits_below_what_is_in_use_are_refused_by_the_service():
    async def story(driver):
        server = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": "private"}]}
        await driver.create("OS::Nova::Server", server)
        with pytest.raises(CloudFault, match="instances"):
            await driver.create(QUOTA, {"project": "admin", "instances": 0})
        quota = await driver.create(QUOTA, {"project": "admin", "instances": 1, "ram": -1})
        first = await quota.kind.show(quota)
        await driver.update(quota, {"project": "admin", "ram": 4096})
        second = await quota.kind.show(quota)
        await driver.delete(quota)
        return [(one["instances"], one["ram"]) for one in (first, second)]

    assert drive(story, user="admin") == [(1, -1), (10, 4096)]

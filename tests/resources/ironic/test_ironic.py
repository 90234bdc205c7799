"""Ports of nodes, on the embedded cloud."""

import pytest

from hearth.cloud import CloudFault
from tests.resources.driver import drive

TYPE = "OS::Ironic::Port"
GIVEN = {"node": "node-0", "address": "52:54:00:00:00:01"}
POSTS = {"service": "baremetal", "method": "POST", "path_regex": "ports$"}


async def cards(driver):
    return await driver.cloud.listing("baremetal", "/v1/ports/detail", microversion="1.53")


def test_a_lost_port_is_found_by_its_id():
    async def story(driver):
        driver.knobs({"match": {**POSTS, "times": 1}, "effect": {"withhold": 0.02}})
        ctx = await driver.create(TYPE, GIVEN)
        found = [one["uuid"] for one in await cards(driver)]
        orphans = await ctx.kind.orphans(ctx)
        posts = [call for call in driver.writes() if call[0] == "POST"]
        await driver.delete_all()
        return found == [ctx.physical] == [ctx.key], orphans, len(posts), driver.left()

    assert drive(story, user="admin") == (True, [], 1, {})


def test_what_the_template_takes_away_gets_the_default():
    async def story(driver):
        more = {"portgroup": "node-0-bond", "pxe_enabled": False, "physical_network": "one"}
        ctx = await driver.create(TYPE, {**GIVEN, **more, "extra": {"a": "b"}})
        assert ctx.body["portgroup_uuid"]
        await driver.update(ctx, {**GIVEN, "node": "node-1", "is_smartnic": True})
        names = ("portgroup_uuid", "pxe_enabled", "physical_network", "extra", "is_smartnic")
        return [ctx.body[name] for name in names], ctx.body["node_uuid"] != ctx.before.get("node")

    assert drive(story, user="admin") == ([None, True, None, {}, True], True)


def test_an_address_belongs_to_one_port():
    async def story(driver):
        await driver.create(TYPE, GIVEN)
        with pytest.raises(CloudFault, match="already exists"):
            await driver.create(TYPE, {**GIVEN, "node": "node-1"})

    drive(story, user="admin")

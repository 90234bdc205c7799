"""Zones and record sets: their names, what becomes of lost answers, what an error is."""

import pytest

from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive

ZONE = {"name": "web.example.", "email": "a@web.example", "description": "ours"}
POSTS = {"service": "dns", "method": "POST"}


async def zone(driver, **more):
    return await driver.create("OS::Designate::Zone", {**ZONE, **more})


async def record(driver, **more):
    given = {"zone": "web.example.", "type": "A", "records": ["192.0.2.1"]}
    return await driver.create("OS::Designate::RecordSet", {**given, **more}, "r")


def test_a_name_without_a_dot_at_its_end_is_one_in_the_zone():
    async def story(driver):
        await zone(driver)
        given = ["www", "full.web.example.", "*"]
        names = [(await record(driver, name=name)).body["name"] for name in given]
        generated = await record(driver)
        await driver.delete_all()
        return names, generated.body["name"], driver.left()

    names, generated, left = drive(story)
    assert names == ["www.web.example.", "full.web.example.", "*.web.example."]
    assert generated.startswith("web-r-")
    assert generated.endswith(".web.example.")
    assert left == {}


def test_what_a_lost_call_made_is_found_and_gets_the_users_words():
    async def story(driver):
        for path in ("zones$", "recordsets$"):
            match = {**POSTS, "path_regex": path, "times": 1}
            driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        made = [await zone(driver), await record(driver, name="www", description="theirs")]
        shown = [(await ctx.kind.show(ctx))["description"] for ctx in made]
        posts = [call for call in driver.writes() if call[0] == "POST"]
        await driver.delete_all()
        return shown, len(posts), driver.left()

    assert drive(story) == (["ours", "theirs"], 2, {})


def test_nothing_is_ready_before_the_name_servers_have_it():
    async def story(driver):
        driver.knobs({"match": {"service": "dns"}, "effect": {"slow_s": 0.05}})
        made = [await zone(driver), await record(driver, name="www")]
        seen = [ctx.body["status"] for ctx in made]
        await driver.update(made[1], {**made[1].properties, "ttl": 60})
        seen.append(made[1].body["status"])
        await driver.delete_all()
        return seen, driver.left()

    assert drive(story) == (["ACTIVE"] * 3, {})


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_what_the_name_servers_refuse_has_failed(method):
    async def story(driver):
        await zone(driver)
        match = {"service": "dns", "method": method, "path_regex": "recordsets"}
        driver.knobs({"match": match, "effect": {"error": True}})
        with pytest.raises(Broken, match="Went to status ERROR"):
            await driver.delete(await record(driver, name="www"))

    drive(story)


def test_a_record_set_whose_zone_is_gone_leaves_nothing_to_look_for():
    async def story(driver):
        made, one = await zone(driver), await record(driver, name="www")
        await driver.delete(made)
        await driver.delete(one)
        return await one.kind.orphans(one)

    assert drive(story) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "PRIMARY"}, "email is required"),
        ({"type": "SECONDARY"}, "one of primaries and masters is needed"),
    ],
)
def test_a_zone_says_what_its_type_needs(given, words):
    (problem,) = builtin_types()["OS::Designate::Zone"].conflicts(given)
    assert words in str(problem)


def test_primaries_and_masters_are_the_same():
    async def story(driver):
        given = {"type": "SECONDARY", "email": None, "primaries": ["192.0.2.1"]}
        made = await zone(driver, **given)
        return made.body["masters"]

    assert drive(story) == ["192.0.2.1"]

"""Key pairs and server groups."""

from tests.resources.driver import drive

PAIR = "OS::Nova::KeyPair"


def withheld(path):
    match = {"method": "POST", "path_regex": path, "times": 1}
    return {"match": match, "effect": {"withhold": 0.05}}


def test_a_pair_is_made_here_and_only_its_public_half_is_sent():
    async def story(driver):
        driver.knobs(withheld("os-keypairs"))
        pair = await driver.create(PAIR, {"name": "mine", "save_private_key": True})
        shown = await pair.kind.show(pair)
        attributes = pair.kind.recordable(pair)
        await driver.delete_all()
        return pair.kind.reference(pair), shown, attributes, driver.left()

    reference, shown, attributes, left = drive(story)
    assert reference == "mine"
    assert attributes["private_key"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert shown["public_key"].split()[:2] == attributes["public_key"].split()[:2]
    assert left == {}


def test_a_given_key_is_kept_and_no_private_one_shown():
    async def story(driver):
        pair = await driver.create(PAIR, {"name": "first"})
        public = pair.data["public_key"]
        given = await driver.create(PAIR, {"name": "second", "public_key": public})
        shown = given.kind.recordable(given)
        await driver.delete_all()
        return public, shown

    public, shown = drive(story)
    assert shown == {"public_key": public, "private_key": ""}


def test_a_server_group_without_a_name_is_found_by_the_generated_one():
    async def story(driver):
        driver.knobs(withheld("os-server-groups"))
        group = await driver.create("OS::Nova::ServerGroup", {"policies": ["affinity"]})
        shown = await group.kind.show(group)
        left = driver.left()
        await driver.delete_all()
        return shown["policies"], left, driver.left()

    assert drive(story) == (["affinity"], {"compute.server_groups": 1}, {})


def test_what_was_made_and_never_recorded_is_found_and_dropped():
    async def story(driver):
        pair = await driver.create(PAIR, {"name": "mine"})
        pair.physical_id = None  # the engine died before it could write it down
        orphans = await pair.kind.orphans(pair)
        for one in orphans:
            await pair.kind.delete_orphan(pair, one)
        return orphans, driver.left()

    assert drive(story) == (["mine"], {})

"""Containers, on the embedded cloud."""

import pytest

from hearth.resources.base import Change
from hearth.resources.registry import builtin_types
from hearth.resources.shown import shown_attribute
from tests.resources.driver import Broken, drive

TYPE = "OS::Zun::Container"
GIVEN = {"image": "nginx"}
SERVICE = "application-container"
POSTS = {"service": SERVICE, "method": "POST", "times": 1}


async def networks(driver, ctx):
    path = f"/containers/{ctx.physical}/network_list"
    answer = await driver.cloud.request(SERVICE, "GET", path, microversion="1.18")
    return [one["fixed_ips"][0]["ip_address"] for one in answer.body["networks"]]


def test_a_lost_container_is_found_by_its_label():
    async def story(driver):
        match = {**POSTS, "path_regex": "containers$"}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        ctx = await driver.create(TYPE, {**GIVEN, "name": "web", "labels": {"a": 1}})
        shown = await shown_attribute(ctx.kind, ctx, "show")
        posts = [call for call in driver.writes() if call[0] == "POST"]
        await driver.delete_all()
        return shown["name"], shown["labels"], shown["status"], len(posts), driver.left()

    assert drive(story) == ("web", {"a": "1"}, "Running", 1, {})


def test_all_that_the_service_takes_has_its_form():
    async def story(driver):
        given = {
            **GIVEN,
            "command": "sh -c 'echo hello world'",
            "environment": {"LEVEL": 3},
            "restart_policy": "on-failure:2",
            "mounts": [{"mount_path": "/data", "volume_size": 1}],
            "networks": [{"network": "private", "fixed_ip": "10.0.0.99"}],
            "security_groups": ["default"],
            "tty": True,
        }
        body = (await driver.create(TYPE, given)).body
        names = ("command", "environment", "restart_policy", "tty")
        return [body[name] for name in names], len(body["security_groups"])

    assert drive(story) == (
        [
            ["sh", "-c", "echo hello world"],
            {"LEVEL": "3"},
            {"Name": "on-failure", "MaximumRetryCount": "2"},
            True,
        ],
        1,
    )


def test_addresses_are_shown_by_the_name_of_the_network():
    async def story(driver):
        ctx = await driver.create(TYPE, GIVEN)
        found = await ctx.kind.attribute(ctx, "addresses")
        return found["private"][0]["addr"][:7], len(found), ctx.kind.recordable(ctx).keys()

    assert drive(story) == ("10.0.0.", 2, {"name"})


def test_networks_change_in_place_also_if_an_answer_is_lost():
    async def story(driver):
        port = await driver.create("OS::Neutron::Port", {"network": "private"}, "port")
        address = port.body["fixed_ips"][0]["ip_address"]
        first = [{"network": "private", "fixed_ip": "10.0.0.99"}]
        ctx = await driver.create(TYPE, {**GIVEN, "networks": first})
        before = await networks(driver, ctx)
        for verb in ("detach", "attach"):
            match = {**POSTS, "path_regex": f"network_{verb}"}
            driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        wanted = [{"port": port.physical}]
        await driver.update(ctx, {**GIVEN, "networks": wanted, "name": "new"})
        after = await networks(driver, ctx)
        return before, after == [address], ctx.body["name"]

    assert drive(story) == (["10.0.0.99"], True, "new")


def test_limits_that_are_taken_away_replace_the_container():
    kind = builtin_types()[TYPE]
    before = {"cpu": 1.0, "memory": 64, "networks": [{"network": "x"}], "name": "a"}
    for name in ("cpu", "memory", "networks"):
        after = {**before, name: None}
        assert kind.must_replace(Change(before, after, frozenset({name})))
    more = Change(before, {**before, "cpu": 2.0}, frozenset({"cpu"}))
    assert kind.must_replace(more) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"restart_policy": "sometimes"},
        {"restart_policy": "always:2"},
        {"command": "echo 'open"},
        {"mounts": [{"mount_path": "/a"}]},
        {"mounts": [{"mount_path": "/a", "volume_id": "x", "volume_size": 1}]},
        {"networks": [{"fixed_ip": "10.0.0.1"}]},
        {"networks": [{"port": "x", "fixed_ip": "10.0.0.1"}]},
    ],
)
def test_what_does_not_fit_together_is_a_violation(wrong):
    kind = builtin_types()[TYPE]
    assert list(kind.conflicts({**GIVEN, **wrong}))
    assert not list(kind.conflicts({**GIVEN, "restart_policy": "on-failure:2"}))


def test_a_container_that_cannot_start_is_an_error():
    async def story(driver):
        driver.knobs({"match": POSTS, "effect": {"error": True}})
        with pytest.raises(Broken, match="Went to status Error due to"):
            await driver.create(TYPE, GIVEN)

    drive(story)


def test_an_interactive_container_must_not_stop_at_once():
    kind = builtin_types()[TYPE]

    async def story(driver):
        ctx = await driver.create(TYPE, {**GIVEN, "interactive": True})
        path = f"/containers/{ctx.physical}/stop"
        await driver.cloud.request(SERVICE, "POST", path)
        body = await kind.show(ctx)
        return body["status"], type(kind.progress(ctx, body)).__name__

    assert drive(story) == ("Stopped", "Failed")

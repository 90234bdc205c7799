"""Share types, share networks and shares, on the embedded cloud."""

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive

POSTS = {"service": "shared-file-system", "method": "POST"}
SHARE = {"share_protocol": "NFS", "size": 1, "description": "ours"}
VERSION = {"microversion": "2.50"}


async def listed(driver, path):
    return await driver.cloud.listing("shared-file-system", path, **VERSION)


@pytest.mark.parametrize(
    ("type_name", "properties", "path"),
    [
        ("OS::Manila::Share", SHARE, "/shares"),
        ("OS::Manila::ShareNetwork", {"description": "ours"}, "/share-networks"),
        (
            "OS::Manila::SecurityService",
            {"type": "ldap", "description": "ours"},
            "/security-services",
        ),
    ],
)
def test_what_a_lost_call_made_is_found_and_gets_the_users_words(type_name, properties, path):
    async def story(driver):
        match = {**POSTS, "path_regex": f"{path}$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        ctx = await driver.create(type_name, properties)
        shown = await ctx.kind.show(ctx)
        posts = [call for call in driver.writes() if call[0] == "POST" and call[1].endswith(path)]
        await driver.delete_all()
        return shown["description"], len(posts), driver.left()

    assert drive(story) == ("ours", 1, {})


def test_a_lost_share_type_is_found_also_if_it_is_private():
    async def story(driver):
        match = {**POSTS, "path_regex": "/types$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        given = {"name": "fast", "driver_handles_share_servers": False, "is_public": False}
        ctx = await driver.create("OS::Manila::ShareType", given)
        await driver.update(ctx, {**given, "extra_specs": {"disk": "ssd", "copies": 2}})
        specs = (await ctx.kind.show(ctx))["extra_specs"]
        await driver.update(ctx, {**given, "extra_specs": {"copies": 3}})
        less = (await ctx.kind.show(ctx))["extra_specs"]
        await driver.delete_all()
        return specs, less, driver.left()

    own = {"driver_handles_share_servers": "False", "snapshot_support": "True"}
    assert drive(story, user="admin") == (
        {**own, "disk": "ssd", "copies": "2"},
        {**own, "copies": "3"},
        {},
    )


def test_access_rules_follow_the_properties_even_if_only_the_level_changes():
    async def story(driver):
        rule = {"access_type": "ip", "access_to": "10.0.0.1", "access_level": "rw"}
        ctx = await driver.create("OS::Manila::Share", {**SHARE, "access_rules": [rule, rule]})
        path = f"/share-access-rules?share_id={ctx.physical}"
        first = await listed(driver, path)
        await driver.update(ctx, {**SHARE, "access_rules": [{**rule, "access_level": "ro"}]})
        second = await listed(driver, path)
        match = {**POSTS, "path_regex": "/action$", "times": 1}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        more = {"access_type": "ip", "access_to": "10.0.0.2"}
        await driver.update(ctx, {**SHARE, "access_rules": [more]})
        third = await listed(driver, path)
        return [
            [(one["access_to"], one["access_level"], one["state"]) for one in found]
            for found in (first, second, third)
        ]

    assert drive(story) == [
        [("10.0.0.1", "rw", "active")],
        [("10.0.0.1", "ro", "active")],
        [("10.0.0.2", "rw", "active")],
    ]


def test_an_access_rule_that_the_storage_refuses_is_an_error():
    async def story(driver):
        rule = {"access_type": "user", "access_to": "someone"}
        with pytest.raises(Broken, match="cannot apply the access rule user:someone"):
            await driver.create("OS::Manila::Share", {**SHARE, "access_rules": [rule]})

    drive(story)


def test_a_share_starts_from_a_snapshot_and_shows_its_paths():
    async def story(driver):
        first = await driver.create("OS::Manila::Share", SHARE)
        body = {"snapshot": {"share_id": first.physical, "name": "copy-me"}}
        await driver.cloud.request("shared-file-system", "POST", "/snapshots", json=body)
        ctx = await driver.create("OS::Manila::Share", {**SHARE, "snapshot": "copy-me"})
        [path] = await ctx.kind.attribute(ctx, "export_locations")
        return path.endswith(ctx.physical), (await ctx.kind.show(ctx))["snapshot_id"] is not None

    assert drive(story) == (True, True)


def test_a_share_network_takes_the_network_of_its_subnet_and_services_by_name():
    async def story(driver):
        for kind in ("ldap", "kerberos"):
            await driver.create("OS::Manila::SecurityService", {"type": kind, "name": kind}, kind)
        given = {"neutron_subnet": "private-subnet", "security_services": ["ldap"]}
        ctx = await driver.create("OS::Manila::ShareNetwork", given)
        names = []
        path = f"/security-services/detail?share_network_id={ctx.physical}"
        names.append([one["name"] for one in await listed(driver, path)])
        await driver.update(ctx, {"security_services": ["kerberos"]})
        names.append([one["name"] for one in await listed(driver, path)])
        shown = await ctx.kind.show(ctx)
        with pytest.raises(Rejected, match="nowhere"):
            await driver.update(ctx, {"security_services": ["nowhere"]})
        return names, shown["neutron_net_id"], shown["neutron_subnet_id"]

    assert drive(story) == ([["ldap"], ["kerberos"]], None, None)


def test_a_subnet_belongs_to_the_network():
    kind = builtin_types()["OS::Manila::ShareNetwork"]

    async def story(driver):
        right = {"neutron_network": "private", "neutron_subnet": "private-subnet"}
        wrong = {"neutron_network": "public", "neutron_subnet": "private-subnet"}
        unknown = {"neutron_network": "nowhere", "neutron_subnet": "private-subnet"}
        return [len(await kind.refused(one, driver.cloud)) for one in (right, wrong, unknown)]

    assert drive(story) == [0, 1, 0]
    assert list(kind.conflicts({"nova_network": "x"}))
    assert list(kind.conflicts({"neutron_network": "x"}))

"""What is particular to database instances and clusters."""

import asyncio

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive

INSTANCE, CLUSTER = "OS::Trove::Instance", "OS::Trove::Cluster"
SMALL = {"flavor": "m1.tiny", "size": 1}
MEMBER = {"flavor": "m1.tiny", "volume_size": 1}
GALERA = {"datastore_type": "mariadb", "datastore_version": "10.4", "instances": [MEMBER] * 3}


def withhold(path):
    """The call is carried out; its answer never comes."""
    match = {"method": "POST", "path_regex": path, "times": 1}
    return {"match": match, "effect": {"withhold": 0.05}}


async def names_of(driver, path):
    listed = await driver.cloud.listing("database", path)
    return sorted(one["name"] for one in listed)


@pytest.mark.parametrize(
    ("type_name", "path", "given", "name"),
    [
        (INSTANCE, "/instances", {**SMALL, "name": "shop"}, "shop"),
        (INSTANCE, "/instances", SMALL, "web-thing-000000000001"),
        (CLUSTER, "/clusters", GALERA, "web-thing-000000000001"),
    ],
)
def test_what_was_made_without_an_answer_is_found_and_not_made_twice(type_name, path, given, name):
    async def story(driver):
        driver.knobs(withhold(f"{path}$"))
        await driver.create(type_name, given)
        names = await names_of(driver, path)
        await driver.delete_all()
        await driver.cloud.listing("database", path)  # the delete comes to its end
        return names, driver.left()

    assert drive(story) == ([name], {})


@pytest.mark.parametrize("lost", [False, True])
def test_all_replicas_are_named_and_deleted(lost):
    async def story(driver):
        source = await driver.create(INSTANCE, {**SMALL, "name": "source"})
        if lost:
            driver.knobs(withhold("instances$"))
        given = {**SMALL, "name": "copy", "replica_of": source.physical_id, "replica_count": 3}
        copies = await driver.create(INSTANCE, given)
        names = await names_of(driver, "/instances")
        orphans = await copies.kind.orphans(copies)
        await driver.update(copies, {**given, "name": "twin"})
        renamed = await names_of(driver, "/instances")
        await driver.delete(copies)
        left = await names_of(driver, "/instances")
        await driver.delete_all()
        return names, orphans, renamed, left

    names, orphans, renamed, left = drive(story, quotas=False)
    assert names == ["copy", "copy-2", "copy-3", "source"]
    assert orphans == []
    assert renamed == ["source", "twin", "twin-2", "twin-3"]
    assert left == ["source"]


def test_an_update_leaves_the_databases_and_users_of_others_alone():
    def user(name, *databases, **more):
        return {"name": name, "password": "secret", "databases": list(databases), **more}

    async def story(driver):
        given = {
            **SMALL,
            "databases": [{"name": "one"}, {"name": "two"}],
            "users": [user("ann", "one", "two"), user("bob", "two"), user("a@b", "one")],
        }
        made = await driver.create(INSTANCE, given)
        path = f"/instances/{made.physical_id}"
        own = {"databases": [{"name": "own"}]}
        await driver.cloud.request("database", "POST", f"{path}/databases", json=own)
        theirs = {"users": [{"name": "eve", "password": "secret"}]}
        await driver.cloud.request("database", "POST", f"{path}/users", json=theirs)
        changed = {
            **SMALL,
            "databases": [{"name": "one", "collate": "utf8_bin"}, {"name": "three"}],
            "users": [
                user("ann", "three", host="10.0.0.1"),
                user("new", "one"),
                {**user("a@b", "one"), "password": "other"},
            ],
        }
        await driver.update(made, changed)
        await driver.update(made, {**changed, "databases": changed["databases"][:1], "users": []})
        await driver.update(made, changed)
        databases = await driver.cloud.listing("database", f"{path}/databases")
        users = await driver.cloud.listing("database", f"{path}/users")
        stored = driver.running.cloud.store.table("database.instances")[made.physical_id]
        await driver.delete_all()
        return databases, users, stored.hidden["users"]["a@b@%"]["password"]

    databases, users, password = drive(story)
    assert [one["name"] for one in databases] == ["one", "own", "three"]
    rights = {
        f"{one['name']}@{one['host']}": [row["name"] for row in one["databases"]] for one in users
    }
    assert rights == {"a@b@%": ["one"], "ann@10.0.0.1": ["three"], "eve@%": [], "new@%": ["one"]}
    assert password == "other"


def test_a_user_gets_and_loses_databases_a_host_and_a_password():
    async def story(driver):
        databases = [{"name": "one"}, {"name": "two"}]
        ann = {"name": "ann", "password": "secret", "databases": ["one"]}
        given = {**SMALL, "databases": databases, "users": [ann]}
        made = await driver.create(INSTANCE, given)
        ann = {**ann, "password": "other", "host": "10.0.0.1", "databases": ["two"]}
        await driver.update(made, {**given, "users": [ann]})
        stored = driver.running.cloud.store.table("database.instances")[made.physical_id]
        found = dict(stored.hidden["users"])
        await driver.delete_all()
        return found

    assert drive(story) == {
        "ann@10.0.0.1": {
            "name": "ann", "password": "other", "host": "10.0.0.1", "databases": ["two"],
        }
    }  # fmt: skip


def test_a_resize_waits_for_a_running_task_and_is_not_done_twice():
    async def story(driver):
        made = await driver.create(INSTANCE, SMALL)
        driver.knobs({"match": {"path_regex": "action"}, "effect": {"slow_s": 0.2}})
        path = f"/instances/{made.physical_id}/action"
        await driver.cloud.request("database", "POST", path, json={"restart": {}})
        await driver.update(made, {"flavor": "m1.small", "size": 2})
        body = await made.kind.show(made)
        before = len(driver.writes())
        await made.kind.resize_server(made)
        await made.kind.resize_volume(made)
        repeated = len(driver.writes()) - before
        refused = [status for _, path, status in driver.writes() if status == 422]
        await driver.delete_all()
        return body["flavor"]["id"], body["volume"]["size"], repeated, bool(refused)

    assert drive(story) == ("2", 2, 0, True)


def test_a_backup_is_restored():
    async def story(driver):
        made = await driver.create(INSTANCE, SMALL)
        wanted = {"backup": {"name": "b", "instance": made.physical_id}}
        answer = await driver.cloud.request("database", "POST", "/backups", json=wanted)
        backup = answer.part("backup")["id"]
        await made.kind.show(made)
        await driver.create(INSTANCE, {**SMALL, "restore_point": backup}, "again")
        names = await names_of(driver, "/instances")
        with pytest.raises(Exception, match="cannot be found"):
            await driver.create(INSTANCE, {**SMALL, "restore_point": made.physical_id}, "no")
        driver.made.pop()
        await driver.delete_all()
        return len(names)

    assert drive(story) == 2


def test_an_address_is_taken_from_the_subnet_that_contains_it():
    async def story(driver):
        networks = [{"network": "private", "fixed_ip": "10.0.0.77"}]
        made = await driver.create(INSTANCE, {**SMALL, "networks": networks})
        body = await made.kind.show(made)
        href = await made.kind.attribute(made, "href")
        outside = [{"network": "private", "fixed_ip": "192.0.2.1"}]
        with pytest.raises(Rejected, match="no subnet of the network"):
            await driver.create(INSTANCE, {**SMALL, "networks": outside}, "no")
        driver.made.pop()
        await driver.delete_all()
        return body["ip"], href.endswith(f"/instances/{body['id']}")

    assert drive(story) == (["10.0.0.77"], True)


@pytest.mark.parametrize(("type_name", "given"), [(INSTANCE, SMALL), (CLUSTER, GALERA)])
def test_an_instance_that_fails_fails_the_resource(type_name, given):
    async def story(driver):
        driver.knobs({"match": {"service": "database"}, "effect": {"error": True}})
        with pytest.raises(Broken, match=r"Went to status ERROR due to"):
            await driver.create(type_name, given)
        driver.running.cloud.knobs.clear()
        await driver.delete_all()

    drive(story)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"datastore_version": "8.0"}, "datastore_version needs datastore_type"),
        ({"networks": [{}]}, "network and port"),
        ({"networks": [{"network": "n", "port": "p"}]}, "network and port"),
        (
            {"users": [{"name": "ann", "password": "x", "databases": ["one"]}]},
            "one is not one of the databases",
        ),
    ],
)
def test_properties_that_do_not_fit_are_refused(properties, message):
    found = list(builtin_types()[INSTANCE].conflicts({**SMALL, **properties}))
    assert message in str(found[0])


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"datastore_type": "mysq"}, "did you mean"),
        ({"datastore_type": "mysql", "datastore_version": "4"}, "only 5.7, 8.0"),
    ],
)
def test_a_datastore_that_the_service_lacks_is_refused_before_the_create(properties, message):
    async def story(driver):
        return await builtin_types()[INSTANCE].refused({**SMALL, **properties}, driver.cloud)

    assert message in drive(story)[0]


def test_a_datastore_of_the_service_is_accepted():
    async def story(driver):
        kind = builtin_types()[INSTANCE]
        wanted = [{}, {"datastore_type": "mysql"}, {**GALERA}]
        return await asyncio.gather(*(kind.refused(one, driver.cloud) for one in wanted))

    assert [list(one) for one in drive(story)] == [[], [], []]

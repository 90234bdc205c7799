"""Types of the identity service, by an administrator."""

from tests.resources.driver import drive


def withheld(path):
    return {
        "match": {"method": "POST", "path_regex": path, "times": 1},
        "effect": {"withhold": 0.05},
    }


def test_people_places_and_roles_are_made_changed_and_removed():
    async def story(driver):
        ledger = driver.running.cloud.store.ledger
        driver.knobs(withheld("/v3/projects$"), withheld("/v3/users$"))
        project = await driver.create("OS::Keystone::Project", {"name": "lab"})
        await driver.create("OS::Keystone::Role", {"name": "guard"})
        group = await driver.create(
            "OS::Keystone::Group",
            {"name": "guards", "roles": [{"role": "guard", "project": "lab"}]},
        )
        user = await driver.create(
            "OS::Keystone::User",
            {
                "name": "ann",
                "password": "x",
                "default_project": "lab",
                "groups": ["guards"],
                "roles": [{"role": "member", "project": "lab"}],
            },
        )
        shown = await user.kind.show(user)
        path = f"/v3/role_assignments?user.id={user.physical_id}"
        first = await driver.cloud.listing("identity", path)
        changed = {"name": "ann", "password": "x", "description": "d", "groups": []}
        await driver.update(user, changed)
        second = await driver.cloud.listing("identity", path)
        members = await driver.cloud.listing("identity", f"/v3/groups/{group.physical_id}/users")
        after = await user.kind.show(user)
        await driver.delete_all()
        left = [e for e in ledger.entries[ledger.first :] if e.deleted is None]
        left = [e.collection for e in left if e.collection != "tokens"]
        same = shown["default_project_id"] == project.physical_id
        return same, shown["description"], len(first), len(second), members, after, left

    same, text, first, second, members, after, left = drive(story, user="admin")
    assert same
    assert text == ""
    assert (first, second) == (1, 0)
    assert members == []
    assert after["description"] == "d"
    assert left == []


def test_a_domain_is_disabled_before_it_is_removed():
    async def story(driver):
        domain = await driver.create("OS::Keystone::Domain", {"name": "realm"})
        await driver.delete(domain)
        names = [one["name"] for one in await driver.cloud.listing("identity", "/v3/domains")]
        return "realm" in names

    assert not drive(story, user="admin")

"""The catalogue's types, and roles of somebody who is there already; by an administrator."""

from hearth.resources.registry import builtin_types
from tests.resources.driver import drive
from tests.resources.keystone.test_people import withheld


def left(driver):
    ledger = driver.running.cloud.store.ledger
    rest = [e for e in ledger.entries[ledger.first :] if e.deleted is None]
    return [e.collection for e in rest if e.collection not in {"tokens", "assignments"}]


def test_a_service_its_endpoint_and_their_regions_are_made_once_each_though_answers_are_lost():
    async def story(driver):
        driver.knobs(*(withheld(f"/v3/{kind}$") for kind in ("services", "endpoints", "regions")))
        far = await driver.create("OS::Keystone::Region", {"id": "far", "description": "d"})
        near = await driver.create("OS::Keystone::Region", {"parent_region": "far"})
        service = await driver.create("OS::Keystone::Service", {"name": "pies", "type": "bakery"})
        endpoint = await driver.create(
            "OS::Keystone::Endpoint",
            {
                "service": "pies",
                "region": near.physical_id,
                "interface": "public",
                "url": "http://pies/",
            },
        )
        shown = [await ctx.kind.show(ctx) for ctx in (far, near, service, endpoint)]
        await driver.update(
            endpoint, {**endpoint.properties, "url": "http://pies/2", "region": "far"}
        )
        moved = await endpoint.kind.show(endpoint)
        await driver.delete_all()
        return shown, moved, left(driver)

    (far, near, service, endpoint), moved, rest = drive(story, user="admin")
    assert (far["id"], far["description"], far["enabled"]) == ("far", "d", True)
    assert (near["parent_region_id"], near["description"]) == ("far", "")
    assert (service["name"], service["type"], service["description"]) == ("pies", "bakery", "")
    assert (endpoint["service_id"], endpoint["region_id"]) == (service["id"], near["id"])
    assert (moved["url"], moved["region_id"]) == ("http://pies/2", "far")
    assert rest == []


def test_roles_given_apart_leave_the_others_alone():
    async def story(driver):
        await driver.create("OS::Keystone::Project", {"name": "lab"})
        group = await driver.create("OS::Keystone::Group", {"name": "guards"})
        user = await driver.create(
            "OS::Keystone::User",
            {"name": "ann", "password": "x", "roles": [{"role": "reader", "project": "demo"}]},
        )

        async def held(who, kind="user"):
            path = f"/v3/role_assignments?{kind}.id={who.physical_id}&include_names=1"
            rows = await driver.cloud.listing("identity", path)
            return sorted(
                (r["role"]["name"], *(one["name"] for one in r["scope"].values())) for r in rows
            )

        lab = {"role": "member", "project": "lab"}
        extra = await driver.create(
            "OS::Keystone::UserRoleAssignment", {"user": "ann", "roles": [lab]}
        )
        ident, both = extra.physical_id, await held(user)
        await driver.update(
            extra, {"user": "ann", "roles": [{"role": "reader", "domain": "default"}]}
        )
        changed = await held(user)
        await driver.update(extra, {"user": "admin", "roles": [lab]})
        moved = await held(user)
        of_group = await driver.create(
            "OS::Keystone::GroupRoleAssignment", {"group": "guards", "roles": [lab]}
        )
        shared = await held(group, "group")
        await driver.delete(of_group)
        same, nothing = ident == extra.physical_id, await held(group, "group")
        await driver.delete_all()
        return both, changed, moved, shared, nothing, same

    both, changed, moved, shared, nothing, same = drive(story, user="admin")
    assert both == [("member", "lab"), ("reader", "demo")]
    assert changed == [("reader", "Default"), ("reader", "demo")]
    assert moved == [("reader", "demo")]
    assert (shared, nothing) == ([("member", "lab")], [])
    assert same


def test_each_role_is_for_one_project_or_for_one_domain():
    kind = builtin_types()["OS::Keystone::UserRoleAssignment"]
    both = {"role": "r", "project": "p", "domain": "d"}
    (wrong,) = kind.conflicts({"roles": [{"role": "r", "project": "p"}, both]})
    assert str(wrong) == "roles[1]: project and domain exclude each other"
    (wrong,) = kind.conflicts({"roles": [{"role": "r"}]})
    assert str(wrong) == "roles[0]: one of project and domain is needed"

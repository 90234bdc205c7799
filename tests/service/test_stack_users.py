"""Users of a stack's own project: the administrator's rights reach no others."""

import asyncio
from types import SimpleNamespace
from uuid import uuid4

import pytest

from hearth.cloud import CloudFault, PasswordCredential
from hearth.cloud.identity import StackDomain
from hearth.service.stack_users import StackUsers
from tests.cloud.test_identity import town

KEY, OTHER_KEY = str(uuid4()), str(uuid4())
CALLS = {
    "drop": lambda users, ident: users.drop(ident, key=KEY),
    "disable": lambda users, ident: users.enable(ident, key=KEY, enabled=False),
    "make keys": lambda users, ident: users.key_pair(ident, key=KEY),
}


async def settled(call):
    """The status of the refusal; None when there was none."""
    try:
        await call
    except CloudFault as fault:
        return fault.status
    return None


@pytest.mark.parametrize("own_domain", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_only_the_user_that_the_record_made_is_touched(call, own_domain):
    async def story():
        async with town() as (running, pool, user):
            admin = pool.cloud(user("admin"))
            domains = await admin.listing("identity", "/v3/domains")
            name = "heat" if own_domain else "Default"
            domain_id = next(d["id"] for d in domains if d["name"] == name)
            who = "heat_domain_admin" if own_domain else "admin"
            scope = {"domain_id": domain_id} if own_domain else {
                "project_name": "admin", "project_domain_id": "default",
            }  # fmt: skip
            keeper = PasswordCredential(
                running.auth_url, who, "secret", user_domain_id=domain_id, **scope
            )
            domain = StackDomain(pool.cloud(keeper), domain_id)
            mine = (await pool.cloud(user("demo")).whoami()).project_id
            if own_domain:
                mine = await domain.make_project("mine", key="mine")
            theirs = await domain.make_project("theirs", key="theirs")
            row = SimpleNamespace(root_id="mine", user_project_id=mine, project_id="own")
            users = StackUsers(pool, domain, row, lambda project_id: None)
            own = await domain.make_user("own", mine, "x", key=KEY)
            others = {
                "another resource's": await domain.make_user("next", mine, "x", key=OTHER_KEY),
                "another stack's": await domain.make_user("far", theirs, "x", key=KEY + "0"),
                "a person": (await pool.cloud(user("demo")).whoami()).user_id,
                "a way up": f"../projects/{theirs}",
                "nothing": "",
                "dots": "..",
            }
            before = await people(admin)
            told = {why: await settled(CALLS[call](users, i)) for why, i in others.items()}
            assert await people(admin) == before
            named = [await users.named(one) for one in ("own", "demo")]
            return own, await settled(CALLS[call](users, own)), told, named

    own, refused, told, named = asyncio.run(story())
    assert refused is None
    assert {told.pop(why) for why in ("a way up", "nothing", "dots")} <= {None, 404}
    assert set(told.values()) == {403}
    assert named == [own, None]


async def people(admin):
    """All users and their key pairs."""
    found = await admin.listing("identity", "/v3/users")
    pairs = await admin.listing("identity", "/v3/credentials")
    projects = await admin.listing("identity", "/v3/projects")
    return [
        sorted((one["id"], one.get("enabled", True)) for one in kind)
        for kind in (found, pairs, projects)
    ]

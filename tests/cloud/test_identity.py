"""What we make in Keystone ourselves, against a real HTTP one."""

import asyncio
from contextlib import asynccontextmanager

from hearth.cloud import CloudConfig, PasswordCredential, TrustCredential
from hearth.cloud.identity import (
    StackDomain,
    drop_trust,
    find_trust,
    make_trust,
    trust_end,
)
from hearth.cloud.pool import CloudPool
from hearth_devcloud.server import serve


@asynccontextmanager
async def town():
    running = await serve()
    pool = CloudPool(CloudConfig())

    def user(name, **scope):
        scope = scope or {"project_name": name, "project_domain_id": "default"}
        return PasswordCredential(
            running.auth_url, name, "secret", user_domain_id="default", **scope
        )

    try:
        yield running, pool, user
    finally:
        await pool.aclose()
        await running.close()


def test_a_trust_is_made_once_found_by_its_key_and_used():
    async def story():
        async with town() as (_, pool, user):
            demo = pool.cloud(user("demo"))
            service = user("hearth", project_name="service", project_domain_id="default")
            trustee = (await pool.cloud(service).whoami()).user_id
            trust = await make_trust(demo, trustee, ["member"], key="k1")
            again = await make_trust(demo, trustee, ["member"], key="k1")
            other = await make_trust(demo, trustee, [], key="k2")
            acting = pool.cloud(TrustCredential(service, trust))
            who, asked = await acting.whoami(), await demo.whoami()
            await drop_trust(demo, trust)
            await drop_trust(demo, trust)
            found = await find_trust(demo, trustee, key="k1")
            return trust == again, trust != other, who, asked, found

    same, different, acting, trustor, found = asyncio.run(story())
    assert same
    assert different
    assert (acting.user_id, acting.project_id) == (trustor.user_id, trustor.project_id)
    assert found is None


def test_the_end_of_a_trust_follows_from_its_key():
    assert trust_end("a") == trust_end("a")
    assert trust_end("a") != trust_end("b")
    assert trust_end("a") > "2100"


def test_a_stack_has_a_project_with_users_and_their_keys():
    async def story():
        async with town() as (running, pool, user):
            admin = pool.cloud(user("admin"))
            domains = await admin.listing("identity", "/v3/domains")
            domain_id = next(d["id"] for d in domains if d["name"] == "heat")
            keeper = PasswordCredential(
                running.auth_url,
                "heat_domain_admin",
                "secret",
                user_domain_id=domain_id,
                domain_id=domain_id,
            )
            domain = StackDomain(pool.cloud(keeper), domain_id)
            project = await domain.make_project("stack-1", key="p1")
            assert project == await domain.make_project("stack-1", key="p1")
            agent = await domain.make_user("agent", project, "pass", key="u1")
            assert agent == await domain.make_user("agent", project, "word", key="u1")
            assert agent == await domain.find_user("agent", key="u1")
            assert await domain.find_user("agent", key="another") is None
            pair = await domain.make_key_pair(agent, project)
            assert pair == await domain.make_key_pair(agent, project)
            inside = PasswordCredential(
                running.auth_url, "", "word", user_id=agent, project_id=project
            )
            who = await pool.cloud(inside).whoami()
            await domain.enable_user(agent, enabled=False)
            await domain.drop_key_pair(agent, pair.access)
            await domain.drop_user(agent)
            await domain.drop_user(agent)
            await domain.drop_projects(project, "", key="")
            return who

    assert asyncio.run(story()).roles == ("heat_stack_user",)

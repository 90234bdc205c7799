"""Every kind of credential against a real HTTP Keystone."""

import asyncio

import pytest
from msgspec.structs import replace

from hearth.cloud import (
    AppCredential,
    CloudConfig,
    CloudFault,
    NamedCredential,
    PasswordCredential,
    TokenCredential,
)
from hearth.cloud.pool import CloudPool
from hearth_devcloud.server import serve
from hearth_devcloud.settings import Settings

CLOUDS = """
clouds:
  here:
    auth: {{auth_url: {url}, username: demo, password: secret, project_name: demo,
           user_domain_id: default, project_domain_id: default}}
    region_name: {region}
"""


def story_of(tell, config=None, **settings):
    async def main():
        running = await serve(settings=Settings(**settings))
        pool = CloudPool(config or CloudConfig())
        demo = PasswordCredential(
            running.auth_url, "demo", "secret", user_domain_id="default",
            project_name="demo", project_domain_id="default",
        )  # fmt: skip
        try:
            return await tell(running, pool, demo)
        finally:
            await pool.aclose()
            await running.close()

    return asyncio.run(main())


def test_a_token_is_used_as_it_is_and_not_exchanged():
    async def tell(running, pool, demo):
        token = await pool.cloud(demo).token()
        other = pool.cloud(TokenCredential(running.auth_url, token))
        assert await other.listing("network", "/v2.0/networks")
        return token, await other.token(), await other.whoami(), await pool.cloud(demo).whoami()

    given, used, who, owner = story_of(tell)
    assert given == used
    assert who.user_id == owner.user_id


def test_a_token_that_is_over_is_a_401_and_no_loop():
    async def tell(running, pool, demo):
        token = await pool.cloud(demo).token()
        other = pool.cloud(TokenCredential(running.auth_url, token))
        await other.token()
        headers = {"X-Subject-Token": token}
        await pool.cloud(demo).request("identity", "DELETE", "/v3/auth/tokens", headers=headers)
        with pytest.raises(CloudFault) as caught:
            await other.request("network", "GET", "/v2.0/networks")
        return caught.value.status

    assert story_of(tell) == 401


def test_a_password_gets_a_new_token_when_the_old_one_is_gone():
    async def tell(running, pool, demo):
        cloud = pool.cloud(demo)
        first = await cloud.token()
        headers = {"X-Subject-Token": first}
        await cloud.request("identity", "DELETE", "/v3/auth/tokens", headers=headers)
        assert await cloud.listing("network", "/v2.0/networks")
        return first, await cloud.token()

    first, second = story_of(tell)
    assert first != second


def test_tokens_are_renewed_before_they_end():
    async def tell(running, pool, demo):
        cloud = pool.cloud(demo)
        return await cloud.token(), await cloud.token()

    first, second = story_of(tell, token_life_s=30)
    assert first != second
    first, second = story_of(tell)
    assert first == second


def test_an_application_credential():
    async def tell(running, pool, demo):
        cloud = pool.cloud(demo)
        who = await cloud.whoami()
        answer = await cloud.request(
            "identity",
            "POST",
            f"/v3/users/{who.user_id}/application_credentials",
            json={"application_credential": {"name": "app"}},
        )
        made = answer.part("application_credential")
        app = AppCredential(running.auth_url, made["id"], made["secret"])
        return who, await pool.cloud(app).whoami()

    who, app = story_of(tell)
    assert (app.user_id, app.project_id) == (who.user_id, who.project_id)


def test_a_cloud_by_its_name_in_clouds_yaml(tmp_path):
    async def tell(running, pool, demo):
        services = (await pool.cloud(demo).request("identity", "GET", "/v3/regions")).body
        region = services["regions"][0]["id"]
        file = tmp_path / "clouds.yaml"
        file.write_text(CLOUDS.format(url=running.auth_url, region=region))
        cloud = pool.cloud(NamedCredential("here", (str(file),)))
        assert await cloud.listing("network", "/v2.0/networks")
        return await cloud.whoami()

    who = story_of(tell)
    assert who.username == "demo"
    assert who.region


def test_a_wrong_password_is_a_401_of_identity():
    async def tell(running, pool, demo):
        wrong = PasswordCredential(running.auth_url, "demo", "nope", user_domain_id="default")
        with pytest.raises(CloudFault) as caught:
            await pool.cloud(wrong).token()
        return caught.value.service, caught.value.status

    assert story_of(tell) == ("identity", 401)


def test_a_keystone_that_is_not_there_is_a_passing_fault():
    async def tell(running, pool, demo):
        gone = PasswordCredential("http://127.0.0.1:9/v3", "demo", "x", user_domain_id="default")
        with pytest.raises(CloudFault) as caught:
            await pool.cloud(gone).token()
        return caught.value.passing

    assert story_of(tell)


def test_secrets_do_not_show():
    assert "secret-word" not in repr(PasswordCredential("u", "n", "secret-word"))
    assert "secret-word" not in repr(TokenCredential("u", "secret-word"))
    assert "secret-word" not in repr(AppCredential("u", "i", "secret-word"))


def test_equal_credentials_share_a_session():
    async def tell(running, pool, demo):
        again = PasswordCredential(
            running.auth_url, "demo", "secret", user_domain_id="default",
            project_name="demo", project_domain_id="default",
        )  # fmt: skip
        return pool.cloud(demo) is pool.cloud(again)

    assert story_of(tell)


def test_what_keystone_says_is_told_once():
    async def tell(running, pool, demo):
        with pytest.raises(CloudFault) as caught:
            await pool.cloud(replace(demo, password="wrong")).token()
        return str(caught.value)

    said = story_of(tell)
    assert said.count("(HTTP 401)") == 1, said
    assert said.count("requires authentication") == 1, said


def test_a_refused_password_of_the_operator_is_named_and_logged(caplog):
    wrong = PasswordCredential(
        "", "heat_domain_admin", "wrong", user_domain_name="heat", domain_name="heat"
    )
    settings = {
        "service_user": "[keystone_authtoken]",
        "trustee": "[trustee]",
        "domain_admin": "stack_domain_admin",
    }

    async def tell(running, pool, demo):
        said = {}
        for name in (*settings, None):
            one = replace(wrong, auth_url=running.auth_url)
            own = CloudPool(CloudConfig(**({name: one} if name else {})))
            with pytest.raises(CloudFault) as caught:
                await own.cloud(one).listing("identity", "/v3/users")
            said[name] = caught.value
            await own.aclose()
        return said

    said = story_of(tell)
    for name, setting in settings.items():
        assert said[name].status == 401
        assert "the user heat_domain_admin of this service" in said[name].message
        assert f"the password in {setting}." in said[name].message
        logged = f"Keystone refuses the user heat_domain_admin of {setting}" in caplog.text
        assert logged == (name != "service_user")  # without it no process starts
    assert "requires authentication" in said[None].message
    assert "wrong" not in caplog.text

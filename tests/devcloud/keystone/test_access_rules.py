"""Access rules in the embedded Keystone: kept, shown, enforced by every service of the cloud."""

import asyncio

import pytest

from hearth.cloud import AppCredential, CloudFault
from tests.service.clusters.world import world

NETWORKS = {"service": "network", "method": "GET", "path": "/v2.0/networks"}


async def status(call):
    try:
        return (await call).status
    except CloudFault as fault:
        return fault.status


async def made(here, rules, name="limited"):
    """Create a credential of the user demo; return it, its body and the path of the rules."""
    demo = here.pool.cloud(here.user("demo"))
    user_id = (await demo.whoami()).user_id
    path = f"/v3/users/{user_id}/application_credentials"
    body = {"application_credential": {"name": name, "access_rules": rules}}
    answer = await demo.request("identity", "POST", path, json=body)
    shown = answer.part("application_credential")
    own = AppCredential(here.cloud.auth_url, shown["id"], shown["secret"])
    return own, shown, f"/v3/users/{user_id}/access_rules"


def test_a_credential_with_rules_makes_only_these_calls():
    async def story():
        async with world() as here:
            own, shown, _ = await made(here, [NETWORKS])
            limited = here.pool.cloud(own)
            calls = [("network", "GET", "/v2.0/networks"), ("network", "GET", "/v2.0/ports"),
                     ("network", "POST", "/v2.0/networks"), ("compute", "GET", "/servers"),
                     ("identity", "GET", "/v3/auth/projects")]  # fmt: skip
            found = [await status(limited.request(*call)) for call in calls]
            return found, shown["access_rules"]

    found, rules = asyncio.run(story())
    assert found == [200, 401, 401, 401, 401]
    assert [{k: rule[k] for k in NETWORKS} for rule in rules] == [NETWORKS]


def test_only_a_service_that_enforces_rules_can_validate_the_token():
    async def story():
        async with world() as here:
            own, _, _ = await made(here, [NETWORKS])
            token = await here.pool.cloud(own).token()
            admin = here.pool.cloud(here.user("admin"))
            found = []
            for more in ({}, {"OpenStack-Identity-Access-Rules": "1.0"}):
                headers = {"X-Subject-Token": token, **more}
                path = "/v3/auth/tokens"
                found.append(await status(admin.request("identity", "GET", path, headers=headers)))
            return found

    assert asyncio.run(story()) == [404, 200]


def test_equal_rules_are_shared_and_stay_until_they_are_deleted():
    async def story():
        async with world() as here:
            demo = here.pool.cloud(here.user("demo"))
            _, first, path = await made(here, [NETWORKS])
            _, second, _ = await made(here, [NETWORKS], "second")
            (rule,) = await demo.listing("identity", path)
            one = f"{path}/{rule['id']}"
            found = [await status(demo.request("identity", "DELETE", one))]
            for credential in (first, second):
                its = path.replace("access_rules", f"application_credentials/{credential['id']}")
                await demo.request("identity", "DELETE", its)
            found.append(await status(demo.request("identity", "GET", one)))
            found.append(await status(demo.request("identity", "DELETE", one)))
            found.append(await status(demo.request("identity", "DELETE", one)))
            return found

    assert asyncio.run(story()) == [403, 200, 204, 404]


@pytest.mark.parametrize(
    "rule",
    [
        {"service": "network", "method": "GET"},
        {"service": "network", "method": "LOOK", "path": "/v2.0"},
        {"service": "network", "method": "GET", "path": "v2.0"},
        {"service": "network", "method": "GET", "path": "/", "more": "x"},
        {"service": 1, "method": "GET", "path": "/"},
    ],
)
def test_a_wrong_rule_is_an_error_of_the_request(rule):
    async def story():
        async with world() as here:
            with pytest.raises(CloudFault) as fault:
                await made(here, [rule])
            return fault.value.status

    assert asyncio.run(story()) == 400

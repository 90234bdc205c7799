"""Access rules of application credentials: a token makes only the calls that they name."""

import asyncio
from typing import Any

import pytest

from hearth.api.access_rules import allows, rules_from
from hearth.api.auth import Authenticated, Tokens
from hearth.service.caller import AccessRule
from tests.service.clusters.world import World, world

ID = "/v1/certificates/c1"


@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        (ID, ID, True), (ID, f"{ID}/", False), (ID, "/v1/certificates/c2", False),
        (ID, f"/x{ID}", False), (ID, f"{ID}2", False),
        ("/v1/*/stacks", "/v1/p/stacks", True), ("/v1/*/stacks", "/v1/p/q/stacks", False),
        ("/v1/*/stacks", "/v1//stacks", False), ("/v1/{id}", "/v1/p", True),
        ("/v1/{id}", "/v1/p/q", False), ("/v1/**", "/v1/p/q", True), ("/v1/**", "/v2/p", False),
        ("/v1.0", "/v1x0", False), ("/v1/(a|b)", "/v1/a", False), ("/v1/{", "/v1/{", True),
    ],
)  # fmt: skip
def test_a_rule_matches_whole_paths(pattern, path, allowed):
    rules = (AccessRule("orchestration", "GET", pattern),)
    assert bool(allows(rules, "orchestration", "GET", path)) is allowed


def test_service_and_method_must_be_those_of_the_rule():
    rules = (AccessRule("container-infra", "GET", ID),)
    assert allows(rules, "container-infra", "GET", ID)
    assert not allows(rules, "orchestration", "GET", ID)
    assert not allows(rules, "container-infra", "POST", ID)
    assert not allows((), "container-infra", "GET", ID)


def test_a_credential_without_rules_is_not_limited():
    assert rules_from({}) is None
    assert rules_from({"access_rules": []}) == ()


async def credential(here: World, **more: Any) -> str:
    """Return a token of an application credential of the user demo."""
    demo = here.pool.cloud(here.user("demo"))
    who = await demo.whoami()
    path = f"/v3/users/{who.user_id}/application_credentials"
    body = {"application_credential": {"name": "limited", "secret": "s", **more}}
    made = (await demo.request("identity", "POST", path, json=body)).part("application_credential")
    auth = {"id": made["id"], "secret": "s"}
    login = {"auth": {"identity": {"methods": ["application_credential"],
                                   "application_credential": auth}}}  # fmt: skip
    admin = here.pool.cloud(here.user("admin"))
    answer = await admin.request("identity", "POST", "/v3/auth/tokens", json=login)
    return answer.headers["x-subject-token"]


async def status(app: Authenticated, token: str, method: str, path: str) -> int:
    """Return the status of a call of the middleware; 200 if the call reaches the application."""
    found: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "root_path": "", "query_string": b"", "headers": [(b"x-auth-token", token.encode())],
    }  # fmt: skip
    await app(scope, receive, send)
    return found[0] if found else 200


def test_a_token_with_rules_makes_only_these_calls():
    rule = {"service": "container-infra", "method": "GET", "path": ID}

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        """The application: the call was allowed."""

    async def story() -> dict[str, list[int]]:
        async with world() as here:
            service = here.pool.cloud(here.user("hearth", "service"))
            tokens = Tokens(service, here.cloud.auth_url)
            url = here.cloud.auth_url
            own = Authenticated(inner, tokens, url, service="container-infra")
            other = Authenticated(inner, tokens, url)
            limited = await credential(here, access_rules=[rule])
            free = await credential(here, name="free")
            found = {}
            for name, token in {"limited": limited, "free": free}.items():
                found[name] = [
                    await status(own, token, "GET", ID),
                    await status(own, token, "DELETE", ID),
                    await status(own, token, "GET", "/v1/clusters"),
                    await status(other, token, "GET", ID),
                ]
            return found

    assert asyncio.run(story()) == {
        "limited": [200, 401, 401, 401], "free": [200, 200, 200, 200],
    }  # fmt: skip

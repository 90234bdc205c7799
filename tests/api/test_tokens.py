"""Which tokens let an expired one pass, and how long an answer is kept."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from hearth.api.access_rules import ApiCall
from hearth.api.auth import Tokens
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.config.settings import TokenChecks

CALL = ApiCall("orchestration", "GET", "/v1/p/stacks")


class Keystone:
    """Knows a user's token, expired, and that of a service with one role."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.asked = 0

    async def request(self, _: str, method: str, path: str, **more: Any) -> Any:
        self.asked += 1
        token, expired = more["headers"]["X-Subject-Token"], "allow_expired" in more["params"]
        if token == "user+" or (token == "user" and not expired):
            raise CloudFault("identity", 404, "NotFound", "expired")
        ends = datetime.now(UTC) + timedelta(hours=-1 if token == "user" else 1)
        facts = {
            "user": {"id": token, "name": token},
            "project": {"id": "p", "name": "p"},
            "roles": [{"name": self.role if token == "service" else "member"}],
            "expires_at": ends.isoformat(),
        }
        return type("Answer", (), {"part": lambda _, name: facts})()


def judged(role: str, *, service_token: str | None = "service", **more: Any) -> Any:
    async def ask() -> Any:
        tokens = Tokens(cast(Cloud, Keystone(role)), "http://keystone", TokenChecks(**more))
        return await tokens.caller("user", CALL, service_token)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("role", "more", "passes"),
    [
        ("service", {}, True),
        ("member", {}, False),
        ("member", {"service_token_roles_required": False}, True),
        ("helpers", {"service_token_roles": ("helpers",)}, True),
        ("service", {"service_token_roles": ("helpers",)}, False),
        ("service", {"service_token": None}, False),
    ],
)
def test_an_expired_token_passes_with_that_of_a_service(
    role: str, more: dict[str, Any], passes: bool
):
    assert (judged(role, **more) is not None) == passes


@pytest.mark.parametrize(("kept_s", "asked"), [(60, 1), (-1, 3)])
def test_an_answer_is_kept_as_long_as_it_is_said(kept_s: int, asked: int):
    keystone = Keystone("service")

    async def ask() -> None:
        tokens = Tokens(cast(Cloud, keystone), "http://keystone", TokenChecks(kept_s))
        for _ in range(3):
            assert await tokens.caller("service", CALL) is not None

    asyncio.run(ask())
    assert keystone.asked == asked


def test_a_service_token_helps_no_token_with_a_plus():
    """The key of a cached result says whether the token may have expired; its text never does."""
    keystone = Keystone("service")

    async def ask() -> None:
        tokens = Tokens(cast(Cloud, keystone), "http://keystone")
        assert await tokens.caller("user", CALL, "service") is not None
        assert keystone.asked == 2
        assert await tokens.caller("user+", CALL) is None

    asyncio.run(ask())


@pytest.mark.parametrize("place", ["token", "service token"])
def test_a_token_that_no_keystone_issues_is_refused_without_asking(place: str):
    """Keystone refuses the header, which looks as if it were out of order."""
    keystone, long = Keystone("service"), "x" * 8_001

    async def ask() -> Any:
        tokens = Tokens(cast(Cloud, keystone), "http://keystone")
        words = (long, CALL) if place == "token" else ("service", CALL, long)
        return await tokens.caller(*words)

    assert asyncio.run(ask()) is None
    assert keystone.asked == 0

"""Whom a stack is trusted by: whoever asked last, for as long as the trust works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import force_setattr, replace

from hearth.cloud import PasswordCredential
from hearth.cloud.identity import drop_trust
from hearth.model.state import Action
from hearth.service.stack_clouds import StackClouds
from hearth.store import accept, claim
from hearth.store.credentials import Requester, StackCredential
from hearth.store.rows import Revision
from tests.resources.test_in_engine import House, new_id

TEMPLATE = """
heat_template_version: 2021-04-16
resources: {{net: {{type: OS::Neutron::Net, properties: {{name: {name}}}}}}}
"""
HANDLE = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: TOKEN_SIGNAL}}
"""


class Trusting(House):
    """A house in which several users of one project ask for things."""

    def user(self, name: str) -> Any:
        return self.pool.cloud(
            PasswordCredential(
                self.running.auth_url, name, "secret", user_domain_id="default",
                project_name="demo", project_domain_id="default",
            )
        )  # fmt: skip

    async def open(self) -> None:
        await super().open()
        admin = self.pool.cloud(
            PasswordCredential(
                self.running.auth_url, "admin", "secret", user_domain_id="default",
                project_name="admin", project_domain_id="default",
            )
        )  # fmt: skip
        self.admin = admin
        wanted = {"name": "other", "password": "secret", "domain_id": "default"}
        made = await admin.request("identity", "POST", "/v3/users", json={"user": wanted})
        self.other_id = made.body["user"]["id"]
        roles = await admin.listing("identity", "/v3/roles")
        member = next(role["id"] for role in roles if role["name"] == "member")
        place = f"/v3/projects/{self.who.project_id}/users/{self.other_id}/roles/{member}"
        await admin.request("identity", "PUT", place)
        self.running.cloud.store.ledger.mark()

    async def requester(self, name: str) -> Requester:
        cloud = self.user(name)
        who = await cloud.whoami()
        return Requester(self.running.auth_url, await cloud.token(), who.user_id)

    async def make(self, template: str = TEMPLATE.format(name="a")) -> str:
        """A complete stack of demo's."""
        new = accept.NewStack(
            id=new_id(),
            project_id=self.who.project_id,
            name="web",
            revision=Revision(template=template),
            credential=(new_id(), await self.requester("demo")),
        )
        await self.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
        row = await self.rest(new.id)
        assert row.state == "CREATE_COMPLETE", row.reason
        return new.id

    async def ask(self, ident: str, name: str, action: Action, network: str = "b") -> str:
        """An operation by that user; the state in the end, with nothing under way any more."""
        revision = Revision(template=TEMPLATE.format(name=network))
        operation = accept.OperationRequest(
            action,
            revision if action is Action.UPDATE else None,
            requester=await self.requester(name),
        )
        await self.store.run(lambda tx: accept.operate(tx, ident, operation, time.time(), new_id))
        row = await self.rest(ident)
        while row.owner is not None:
            await asyncio.sleep(0.01)
            row = await self.rest(ident)
        return f"{row.state} {row.reason}".partition(" Stack")[0]

    def trusts(self) -> dict[str, str]:
        """The trusts that there are: {id: trustor}."""
        found = self.running.cloud.store.where("identity.trusts")
        return {trust.id: trust.body["trustor_user_id"] for trust in found}

    async def credential(self, ident: str) -> StackCredential:
        loaded = await self.store.read(lambda tx: claim.load(tx, ident))
        assert loaded is not None
        assert loaded.credential is not None
        return loaded.credential


def told(story: Callable[[Trusting], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        house = Trusting()
        await house.open()
        try:
            return await story(house)
        finally:
            await house.close()

    return asyncio.run(main())


def test_an_update_by_another_user_makes_the_trust_that_users() -> None:
    async def story(house: Trusting) -> None:
        ident = await house.make()
        before = house.trusts()
        assert await house.ask(ident, "other", Action.UPDATE) == "UPDATE_COMPLETE"
        after = house.trusts()
        assert list(after.values()) == [house.other_id]
        assert not before.keys() & after.keys()
        credential = await house.credential(ident)
        assert credential.trust_id in after
        assert credential.former == ()
        assert await house.ask(ident, "other", Action.UPDATE, "c") == "UPDATE_COMPLETE"
        assert house.trusts() == after  # the same user again: nothing to be made
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.trusts() == {}

    told(story)


def test_a_trust_that_works_no_more_is_made_anew() -> None:
    async def story(house: Trusting) -> None:
        ident = await house.make()
        (gone,) = house.trusts()
        await drop_trust(house.admin, gone)
        assert await house.ask(ident, "demo", Action.UPDATE) == "UPDATE_COMPLETE"
        (made,) = house.trusts()
        assert made != gone
        await drop_trust(house.admin, made)
        assert await house.ask(ident, "other", Action.DELETE) == "DELETE_COMPLETE"
        assert house.trusts() == {}
        assert house.left() == []

    told(story)


def test_a_failed_exchange_leaves_the_trust_there_was() -> None:
    async def story(house: Trusting) -> None:
        ident = await house.make()
        before = house.trusts()
        refused = {"method": "POST", "path_regex": "/OS-TRUST/trusts$"}
        house.running.cloud.knobs.add([{"match": refused, "effect": {"status": 403}}])
        assert await house.ask(ident, "other", Action.UPDATE) == "UPDATE_COMPLETE"
        assert house.trusts() == before

    told(story)


def test_what_a_lost_answer_left_is_found_under_its_key() -> None:
    async def story(house: Trusting) -> None:
        ident = await house.make()
        lost = {"method": "POST", "path_regex": "/OS-TRUST/trusts$", "nth": 1}
        house.running.cloud.knobs.add([{"match": lost, "effect": {"withhold": 0.02}}])
        assert await house.ask(ident, "other", Action.UPDATE) == "UPDATE_COMPLETE"
        assert list(house.trusts().values()) == [house.other_id]

    told(story)


def test_the_requesters_token_is_used_while_it_lasts_then_the_trust() -> None:
    async def story(house: Trusting) -> list[bool]:
        house.pool.config = replace(house.pool.config, reauthentication_auth_method="")
        clouds = house.engine.tools.clouds
        assert isinstance(clouds, StackClouds)
        ident = await house.make()
        row = await house.rest(ident)
        credential = await house.credential(ident)
        busy = clouds.of(row.having(status=row.status.IN_PROGRESS), credential)
        own = await busy.token() == credential.token
        headers = {"X-Subject-Token": credential.token}
        await house.admin.request("identity", "DELETE", "/v3/auth/tokens", headers=headers)
        networks = await busy.listing("network", "/v2.0/networks")
        idle = clouds.of(row, credential)
        return [
            own,
            any(network["name"] == "a" for network in networks),
            await busy.token() != credential.token,
            await idle.token() == await busy.token(),
        ]

    assert told(story) == [True] * 4


@pytest.mark.parametrize("domain", [True, False])
def test_without_a_stack_domain_users_are_in_the_stacks_own_project(domain: bool) -> None:
    async def story(house: Trusting) -> bool:
        if not domain:
            house.pool.config = replace(
                house.pool.config, domain_admin=None, stack_user_domain_id=None
            )
            force_setattr(house.engine.tools, "clouds", StackClouds(house.pool))
        ident = await house.make(HANDLE)
        users = house.running.cloud.store.where("identity.users")
        (user,) = [user for user in users if user.body["name"].startswith("web-handle-")]
        own = user.body["default_project_id"] == house.who.project_id
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.left() == []
        return bool(own)

    assert told(story) is not domain

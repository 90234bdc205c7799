"""Somebody deletes the domain project of a stack, its users, or its trust."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable

import pytest

from hearth.cloud.identity import drop_trust
from hearth.model.state import Action
from hearth.store import accept
from hearth.store.rows import Options, Revision
from tests import hurry
from tests.engine.worker.test_trusts import Trusting
from tests.resources.test_in_engine import new_id

pytestmark = pytest.mark.slow

OF_USERS = ("identity.projects", "identity.users", "identity.trusts", "identity.credentials")


def handles(*names: str) -> str:
    handle = {"type": "OS::Heat::WaitConditionHandle"}
    wanted = {"properties": {"signal_transport": "TOKEN_SIGNAL"}}
    resources = {name: {**handle, **wanted} for name in names}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


class Tidied(Trusting):
    """A house in which somebody deletes what the stacks have in Keystone."""

    def ours(self) -> list[str]:
        """The kinds of what was made in Keystone and is still there."""
        return sorted(one for one in self.left() if one in OF_USERS)

    async def delete(self, collection: str) -> None:
        ledger = self.running.cloud.store.ledger
        for one in ledger.entries[ledger.first :]:
            if one.collection == collection and one.deleted is None:
                path = f"/v3/{collection}/{one.id}"
                await self.admin.request("identity", "DELETE", path)

    async def grow(self, ident: str) -> str:
        row = await self.operate(ident, Action.UPDATE, Revision(handles("one", "two")))
        return f"{row.state} {row.reason}"

    async def abandon(self, ident: str) -> None:
        asked = accept.OperationRequest(Action.DELETE, None, options=Options(abandon=True))
        await self.store.run(lambda tx: accept.operate(tx, ident, asked, time.time(), new_id))
        assert (await self.rest(ident)).state == "DELETE_COMPLETE"


def told(story: Callable[[Tidied], Awaitable[None]]) -> None:
    async def main() -> None:
        house = Tidied()
        await house.open()
        try:
            await story(house)
        finally:
            await house.close()

    hurry.run(main())


def test_an_update_with_a_new_user_makes_the_domain_project_again() -> None:
    async def story(house: Tidied) -> None:
        ident = await house.make(handles("one"))
        before = (await house.rest(ident)).user_project_id
        await house.delete("projects")
        assert (await house.grow(ident)).startswith("UPDATE_COMPLETE")
        row = await house.rest(ident)
        assert row.user_project_id not in (None, before)
        assert house.ours().count("identity.projects") == 1
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.ours() == []

    told(story)


@pytest.mark.parametrize("lost", [("projects",), ("projects", "users"), ("users",), ("trusts",)])
def test_a_delete_removes_what_is_left_of_users_project_and_trust(lost: tuple[str, ...]) -> None:
    async def story(house: Tidied) -> None:
        ident = await house.make(handles("one"))
        for collection in lost:
            if collection == "trusts":
                for trust_id in house.trusts():
                    await drop_trust(house.admin, trust_id)
            else:
                await house.delete(collection)
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.ours() == []

    told(story)


def test_a_user_that_gets_no_role_is_deleted_again() -> None:
    async def story(house: Tidied) -> None:
        ident = await house.make(handles("one"))
        refused = {"service": "identity", "method": "PUT", "path_regex": "/roles/"}
        house.running.cloud.knobs.add([{"match": refused, "effect": {"status": 403}}])
        assert (await house.grow(ident)).startswith("UPDATE_FAILED")
        assert house.ours().count("identity.users") == 1
        house.running.cloud.knobs.clear()
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.ours() == []

    told(story)


@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_delete_of_the_project_is_no_reason_to_keep_the_trust(status: int) -> None:
    async def story(house: Tidied) -> None:
        ident = await house.make(handles("one"))
        refused = {"service": "identity", "method": "DELETE", "path_regex": "/projects/"}
        house.running.cloud.knobs.add([{"match": refused, "effect": {"status": status}}])
        assert await house.ask(ident, "demo", Action.DELETE) == "DELETE_COMPLETE"
        assert house.ours() == ["identity.projects"]

    told(story)

"""What a cloud can do to an engine, over real HTTP: refuse, be slow, lose answers, hide things."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.cloud import PasswordCredential
from hearth.model.state import Action
from hearth.store import accept, tables
from hearth.store.credentials import Requester
from hearth.store.rows import Revision
from tests import hurry
from tests.crash import account
from tests.crash.shelf import SHELF, shelf
from tests.crash.story import Story
from tests.crash.tiers import THREE_TIERS, tiers
from tests.resources.test_in_engine import House, new_id
from tests.selection import part_of

pytestmark = pytest.mark.slow

SMALL = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties: {image: cirros, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
"""
LISTENERS = """
heat_template_version: 2021-04-16
resources:
  balancer:
    type: OS::Octavia::LoadBalancer
    properties: {vip_subnet: private-subnet}
  first:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: TCP, protocol_port: 1}
  second:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: TCP, protocol_port: 2}
  third:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: TCP, protocol_port: 3}
"""
WAIT = """  is_up:
    type: OS::Heat::WaitCondition
    depends_on: db_plug
    properties: {handle: {get_resource: handle}, timeout: 120}
"""
UNATTENDED = THREE_TIERS.replace(WAIT, "").replace("depends_on: is_up", "depends_on: db_plug")
TOLD = """  told:
    type: AWS::CloudFormation::WaitCondition
    depends_on: policy
    properties: {Handle: {get_resource: signed}, Timeout: 120}
"""
UNATTENDED_SHELF = SHELF.replace(TOLD, "")
SERVERS = {"service": "compute", "method": "POST", "path_regex": "/servers$"}
NETWORKS = {"service": "network", "method": "POST", "path_regex": "/networks$"}


class Town(House):
    """A house whose stacks are given with each test."""

    async def make(
        self,
        template: str,
        files: dict[str, str],
        *,
        user: str = "demo",
        rollback: bool = False,
        environment: dict[str, Any] | None = None,
    ) -> Any:
        """Create a stack and wait for its end; the row."""
        url, cloud = self.running.auth_url, self.clouds_of(user)
        who, token = await cloud.whoami(), await cloud.token()
        self.running.cloud.store.ledger.mark()
        new = accept.NewStack(
            id=new_id(),
            project_id=who.project_id or "",
            name="web",
            revision=Revision(template=template, files=files, environment=environment or {}),
            credential=(new_id(), Requester(url, token)),
            disable_rollback=not rollback,
        )
        await self.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
        return await self.rest(new.id)

    def clouds_of(self, user: str) -> Any:
        """The cloud as a user sees it, in the project of the same name."""
        return self.pool.cloud(
            PasswordCredential(
                self.running.auth_url,
                user,
                "secret",
                user_domain_id="default",
                project_name=user,
                project_domain_id="default",
            )
        )

    async def settle(self, ident: str) -> None:
        """Wait until what a failed stack had under way has ended."""
        query = sa.select(tables.stack.c.owner).where(tables.stack.c.id == ident)
        for _ in range(3000):
            if (await self.store.read(lambda tx: tx.first(query))).owner is None:
                return
            await asyncio.sleep(0.01)
        raise TimeoutError("owned")

    async def unmake(self, ident: str) -> Any:
        return await self.operate(ident, Action.DELETE)

    def knob(self, match: dict[str, Any], effect: dict[str, Any]) -> None:
        self.running.cloud.knobs.add([{"match": match, "effect": effect}])

    def objects(self) -> list[dict[str, Any]]:
        ledger = self.running.cloud.store.ledger
        return [asdict(one) for one in ledger.entries[ledger.first :] if not one.implicit]

    def made(self) -> Counter[str]:
        """How often each kind of thing was made."""
        return Counter(account.rtype_of(one) for one in self.objects())

    def alive(self) -> list[str]:
        return account.after_delete(self.objects())


def told(story: Callable[[Town], Awaitable[Any]], run: Callable[[Any], Any] = hurry.run) -> Any:
    """Run a story in a town of its own; nobody sits out its pauses, unless `run` is asyncio's."""

    async def main() -> Any:
        town = Town()
        await town.open()
        try:
            return await story(town)
        finally:
            await town.close()

    return run(main())


def state(row: Any) -> str:
    return f"{row.action}_{row.status}"


def test_a_refused_create_fails_the_stack_with_the_words_of_the_cloud() -> None:
    async def story(town: Town) -> None:
        words = "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"
        town.knob(SERVERS, {"status": 403, "body": {"forbidden": {"code": 403, "message": words}}})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_FAILED"
        assert row.reason == f"Resource CREATE failed: forbidden: resources.server: {words}"
        town.running.cloud.knobs.clear()
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


def test_after_a_rollback_the_cloud_is_empty() -> None:
    async def story(town: Town) -> None:
        town.knob(SERVERS, {"status": 400})
        row = await town.make(SMALL, {}, rollback=True)
        assert state(row) == "ROLLBACK_COMPLETE"
        said = "Stack ROLLBACK completed successfully. It was rolled back because of: "
        assert row.reason == said + row.first_failure
        assert row.first_failure.startswith("Resource CREATE failed: ")
        assert town.made()["network.subnets"] == 1
        left = [line for line in town.alive() if "trusts" not in line]  # kept with the stack
        assert left == []
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


def test_a_half_made_handle_leaves_no_user_behind() -> None:
    async def story(town: Town) -> None:
        keys = {"service": "identity", "method": "POST", "path_regex": "/v3/credentials$"}
        town.knob(keys, {"status": 400})
        row = await town.make(UNATTENDED_SHELF, {}, user="admin", rollback=True)
        assert state(row) == "ROLLBACK_COMPLETE"
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


def test_a_server_that_ends_in_error_is_made_once_more() -> None:
    async def story(town: Town) -> None:
        town.knob({**SERVERS, "times": 1}, {"error": True})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        wanted = {"compute.servers": 1, "network.networks": 1, "network.subnets": 1}
        seen = account.after_create(town.objects(), {**wanted, "identity.trusts": 1})
        expected = ["compute.servers: 1 made and removed again"]
        assert seen == account.Account([], expected)
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


@pytest.mark.parametrize("status", [429, 503])
def test_an_overloaded_service_is_asked_again_when_it_says(status: int) -> None:
    async def story(town: Town) -> None:
        town.knob({**NETWORKS, "times": 2}, {"status": status, "retry_after": 1})
        began = time.monotonic()
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        assert time.monotonic() - began > 2.0
        assert town.made()["network.networks"] == 1

    told(story, asyncio.run)


def test_a_refusal_that_passes_is_waited_for_without_a_failure() -> None:
    async def story(town: Town) -> None:
        town.knob({"service": "load-balancer", "method": "POST"}, {"slow_s": 0.5})
        town.knob({"service": "load-balancer", "method": "DELETE"}, {"slow_s": 0.5})
        row = await town.make(LISTENERS, {})
        assert state(row) == "CREATE_COMPLETE"
        assert town.made()["load-balancer.listeners"] == 3
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []
        ledger = town.running.cloud.store.ledger
        refused = {call.method for call in ledger.calls if call.status == 409}
        assert refused >= {"POST", "DELETE"}

    told(story)


def test_an_outage_without_a_time_to_come_back_is_sat_out() -> None:
    async def story(town: Town) -> None:
        town.knob({**NETWORKS, "times": 1}, {"status": 503})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        assert town.made()["network.networks"] == 1

    told(story)


def test_a_call_that_was_lost_on_its_way_is_made_once() -> None:
    async def story(town: Town) -> None:
        town.knob({**NETWORKS, "times": 1}, {"drop": True})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        assert town.made()["network.networks"] == 1
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


def test_what_is_not_seen_yet_after_a_lost_answer_is_not_made_twice() -> None:
    async def story(town: Town) -> None:
        for match in (NETWORKS, SERVERS):
            town.knob({**match, "times": 1}, {"withhold": 0.02, "invisible_s": 2.5})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        assert (town.made()["network.networks"], town.made()["compute.servers"]) == (1, 1)
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


def test_what_turns_up_after_it_was_made_again_is_removed() -> None:
    async def story(town: Town) -> None:
        town.knob({**NETWORKS, "times": 1}, {"withhold": 0.02, "invisible_s": 7.0})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE"
        await asyncio.sleep(max(0.0, 7.0 - (time.time() - row.created_at)))
        await town.unmake(row.id)
        assert town.alive() == []

    told(story)


LOST: dict[str, dict[str, Any]] = {  # answers that do not tell what was done
    "no answer": {"withhold": 0.02},
    "500": {"status": 500, "after": True},
    "502": {"status": 502, "after": True, "body": "<html>502 Bad Gateway</html>"},
    "503": {"status": 503, "after": True, "body": "<html>503 Service Unavailable</html>"},
    "504": {"status": 504, "after": True, "body": "<html>504 Gateway Time-out</html>"},
    "empty": {"garble": ""},
}


@pytest.mark.parametrize("turn", part_of([None, 0, 2, 4], 4))
@pytest.mark.parametrize(
    ("tale", "template"),
    [(tiers, UNATTENDED), (shelf, UNATTENDED_SHELF)],
    ids=["tiers", "shelf"],
)
def test_every_kind_of_create_whose_answer_is_lost_is_found_again(
    tale: Story, template: str, turn: int | None
) -> None:
    async def story(town: Town) -> None:
        act = tale.act("create")
        effects = list(LOST.values())
        for number, call in enumerate(call for wave in act.waves for call in wave.values()):
            effect = effects[0 if turn is None else (number + turn) % len(effects)]
            town.knob({**call.match(), "times": 1}, effect)
        row = await town.make(template, dict(act.files), user=tale.user)
        assert state(row) == "CREATE_COMPLETE", row.reason
        assert account.after_create(town.objects(), act.wanted) == account.Account([], [])
        for service in ("compute", "network", "volume", "identity", "object-store"):
            town.knob({"service": service, "method": "DELETE", "times": 3}, {"withhold": 0.02})
        row = await town.unmake(row.id)
        assert state(row) == "DELETE_COMPLETE", row.reason
        assert town.alive() == []

    told(story)


@pytest.mark.parametrize(("times", "ends"), [(2, "DELETE_COMPLETE"), (3, "DELETE_FAILED")])
def test_a_teardown_that_is_refused_now_and_then_is_repeated(times: int, ends: str):
    async def story(town: Town) -> None:
        row = await town.make(SMALL, {})
        trusts = {"service": "identity", "path_regex": "/OS-TRUST/trusts", "times": times}
        town.knob(trusts, {"status": 403})
        gone = await town.unmake(row.id)
        assert state(gone) == ends, gone.reason
        if ends.endswith("FAILED"):
            assert "Error deleting project" in gone.reason
            assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"

    told(story)

"""Events go to the queues that an environment names: all, in order, and at nobody's cost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.engine.worker.engine import Engine
from hearth.model.state import Action
from hearth.service.event_poster import EventPoster
from hearth.service.stack_clouds import StackClouds
from hearth.store import accept, claim
from hearth.store.credentials import Requester
from hearth.store.rows import Revision, StackRow
from hearth.store.tables import event, outbox
from tests.resources.test_in_engine import House, new_id

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: n}}
  child: {type: child.yaml}
"""
CHILD = """
heat_template_version: 2021-04-16
resources: {inner: {type: OS::Heat::Value, properties: {value: 1}}}
"""
QUEUE = {"type": "zaqar-queue", "target": "events", "ttl": 120}


@dataclass
class Clock:
    """The time, and some more."""

    ahead_s: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_s


class Telling(House):
    """A house whose stacks name sinks."""

    async def open(self) -> None:
        await super().open()
        self.clock = Clock()

    def poster(self) -> EventPoster:
        return EventPoster(self.store, StackClouds(self.pool), self.engine.id, self.clock)

    async def make(self, *sinks: Any) -> str:
        """A stack that is complete and at rest."""
        new = accept.NewStack(
            id=new_id(),
            project_id=self.who.project_id,
            name="web",
            revision=revision(*sinks),
            credential=(new_id(), Requester(self.running.auth_url, self.token, "demo")),
        )
        await self.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
        assert (await self.rested(new.id)).state == "CREATE_COMPLETE"
        return new.id

    async def rested(self, ident: str) -> StackRow:
        row: StackRow = await self.rest(ident)
        while row.owner is not None:
            await asyncio.sleep(0.01)
            row = await self.rest(ident)
        return row

    async def post_all(self, poster: EventPoster) -> None:
        async with asyncio.timeout(10):
            while await self.waiting():
                if not await poster.post():
                    await asyncio.sleep(0.05)

    async def waiting(self) -> int:
        count = sa.select(sa.func.count()).select_from(outbox)
        found: int = await self.store.read(lambda tx: tx.execute(count).scalar_one())
        return found

    async def written(self, ident: str) -> list[str]:
        """The ids of a tree's events in their order."""
        query = sa.select(event.c.id).where(event.c.root_id == ident).order_by(event.c.seq)
        rows = await self.store.read(lambda tx: tx.rows(query))
        return [row.id for row in rows]

    def messages(self, queue: str = "events") -> list[dict[str, Any]]:
        things = self.running.cloud.store.tables.get("messaging.messages", {}).values()
        key = f"{self.who.project_id}/{queue}"
        return [thing.hidden for thing in things if thing.body["queue"] == key]

    def told(self, queue: str = "events") -> list[str]:
        return [message["body"]["id"] for message in self.messages(queue)]

    def zaqar(self, **effect: Any) -> None:
        """What befalls posts from now on; nothing without an effect."""
        self.running.cloud.knobs.clear()
        if effect:
            self.running.cloud.knobs.add([{"match": {"service": "messaging"}, "effect": effect}])


def revision(*sinks: Any) -> Revision:
    return Revision(
        template=TEMPLATE,
        files={"child.yaml": CHILD},
        environment={"event_sinks": list(sinks)},
    )


def play(story: Callable[[Telling], Awaitable[None]]) -> None:
    async def main() -> None:
        house = Telling()
        await house.open()
        try:
            await story(house)
        finally:
            await house.close()

    asyncio.run(main())


def test_all_events_of_a_tree_arrive_in_order_to_the_last_of_its_delete() -> None:
    async def story(house: Telling) -> None:
        other = {"type": "zaqar-queue", "target": "also"}
        ident = await house.make(QUEUE, other)
        await house.post_all(house.poster())
        assert house.told() == house.told("also") == await house.written(ident)
        await house.operate(ident, Action.DELETE)
        await house.post_all(house.poster())  # the stack's trust is gone
        assert house.told() == house.told("also") == await house.written(ident)

        messages = house.messages()
        first, last = messages[0]["body"], messages[-1]["body"]
        assert first == {
            "timestamp": first["timestamp"],
            "version": "0.1",
            "type": "os.heat.event",
            "id": first["id"],
            "payload": {
                "resource_name": "web",
                "physical_resource_id": ident,
                "stack_id": ident,
                "resource_action": "CREATE",
                "resource_status": "IN_PROGRESS",
                "resource_status_reason": "Stack CREATE started",
                "resource_type": "OS::Heat::Stack",
                "resource_properties": {},
                "version": "0.1",
            },
        }
        assert last["payload"]["resource_action"] == "DELETE"
        assert last["payload"]["resource_status"] == "COMPLETE"
        names = {message["body"]["payload"]["resource_name"] for message in messages}
        assert {"web", "net", "child", "inner"} <= names
        assert {message["ttl"] for message in messages} == {120}
        assert {message["ttl"] for message in house.messages("also")} == {3600}
        assert {message["client"] for message in messages} == {ident}

    play(story)


def test_a_queue_that_is_away_holds_up_nothing_and_gets_everything_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(house: Telling) -> None:
        house.zaqar(status=503)
        poster = house.poster()
        ident = await house.make(QUEUE)
        with caplog.at_level(logging.WARNING):
            assert await poster.post() == 0
        assert (
            f"stack {ident}, queue events: events cannot be posted, next attempt in 1 s"
            in caplog.text
        )
        assert house.token not in caplog.text
        assert await poster.post() == 0  # not due yet
        house.zaqar()
        await house.post_all(poster)
        assert house.told() == await house.written(ident)

    play(story)


def test_what_waits_holds_up_its_own_lane_only() -> None:
    async def story(house: Telling) -> None:
        match = {"service": "messaging", "path_regex": "/queues/slow/"}
        house.running.cloud.knobs.add([{"match": match, "effect": {"status": 500}}])
        ident = await house.make({**QUEUE, "target": "slow"}, QUEUE)
        wanted = await house.written(ident)
        assert await house.poster().post() == len(wanted)
        assert (house.told(), house.told("slow")) == (wanted, [])

    play(story)


def test_what_is_refused_for_good_is_dropped_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story(house: Telling) -> None:
        ident = await house.make({**QUEUE, "target": "no such name"}, {**QUEUE, "ttl": 120})
        count = len(await house.written(ident))
        with caplog.at_level(logging.WARNING):
            await house.post_all(house.poster())
        words = f"stack {ident}, queue no such name: {count} events are refused and dropped"
        assert words in caplog.text
        assert len(house.told()) == count

    play(story)


def test_events_that_are_refused_take_no_others_with_them() -> None:
    async def story(house: Telling) -> None:
        ident = await house.make({**QUEUE, "ttl": 30})  # less than the service takes
        await house.operate(ident, Action.UPDATE, revision(QUEUE))
        await house.post_all(house.poster())
        written = await house.written(ident)
        assert house.told() == written[-len(house.told()) :]
        kinds = [message["body"]["payload"]["resource_action"] for message in house.messages()]
        assert set(kinds) == {"UPDATE"}

    play(story)


def test_old_events_that_cannot_be_delivered_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async def story(house: Telling) -> None:
        house.zaqar(drop=True)
        ident = await house.make(QUEUE)
        count = await house.waiting()
        house.clock.ahead_s = 3601.0
        with caplog.at_level(logging.WARNING):
            assert await house.poster().post() == count
        assert (
            f"stack {ident}, queue events: {count} events are too old and were dropped"
            in caplog.text
        )
        assert await house.waiting() == 0

    play(story)


def test_what_was_committed_is_delivered_after_a_crash() -> None:
    async def story(house: Telling) -> None:
        ident = await house.make(QUEUE)
        house.task.cancel()
        await asyncio.gather(house.task, return_exceptions=True)
        await house.store.run(claim.expire_all)
        assert await house.poster().post() == 0  # it is taken for dead
        house.engine = Engine(house.engine.tools)
        house.task = asyncio.create_task(house.engine.run())
        await house.post_all(house.poster())
        assert house.told() == await house.written(ident)

    play(story)


def test_what_was_posted_and_not_crossed_out_is_posted_again() -> None:
    async def story(house: Telling) -> None:
        ident = await house.make(QUEUE)
        poster = house.poster()
        house.zaqar(withhold=0.05)  # carried out, and the answer is lost
        assert await poster.post() == 0
        house.zaqar()
        await house.post_all(poster)
        wanted = await house.written(ident)
        assert house.told() == [*wanted, *wanted]

    play(story)


def test_an_update_changes_the_sinks_and_without_them_nothing_is_put() -> None:
    async def story(house: Telling) -> None:
        ident = await house.make()
        await house.operate(ident, Action.CHECK)
        assert await house.waiting() == 0
        before = len(await house.written(ident))
        await house.operate(ident, Action.UPDATE, revision(QUEUE))
        await house.operate(ident, Action.SUSPEND)
        await house.operate(ident, Action.RESUME)
        await house.rested(ident)
        await house.post_all(house.poster())
        wanted = (await house.written(ident))[before:]
        assert house.told() == wanted
        await house.operate(ident, Action.UPDATE, revision())
        assert await house.waiting() == 0

    play(story)


def test_a_large_stack_is_posted_in_pieces_that_the_service_takes() -> None:
    async def story(house: Telling) -> None:
        ident = await house.make(QUEUE)
        rows = sa.select(outbox)
        found = (await house.store.read(lambda tx: tx.rows(rows)))[0]
        place = ("outbox.body", found.kind)
        body = house.store.sealer.unseal(found.body, *place)
        body["event"]["reason"] = "x" * 65_000
        sealed = house.store.sealer.seal(body, *place)
        more = [{**found._asdict(), "id": None, "body": sealed} for _ in range(10)]
        await house.store.run(lambda tx: tx.execute(outbox.insert(), more))
        assert await house.poster().post() < await house.waiting() + 10
        await house.post_all(house.poster())
        assert len(house.told()) == len(await house.written(ident)) + 10

    play(story)

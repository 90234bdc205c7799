"""Notifications of stacks: none lost, in order, sent by one process at a time."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aio_pika
import pytest
import sqlalchemy as sa
from aio_pika.abc import AbstractConnection
from benchmarks.inside import CALLER, Inside, inside

from hearth.bus.notification import BrokerMessage, Notifications, addresses
from hearth.bus.rabbit import NotSent, Publisher
from hearth.service.sender import Sender
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.store import claim
from hearth.store.tables import outbox
from tests.conftest import lacking

BROKER = os.environ.get("HEARTH_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")
GOOD = """
heat_template_version: 2021-04-16
description: a small one
resources: {a: {type: OS::Heat::Value, properties: {value: %s}}}
"""
BAD = """
heat_template_version: 2021-04-16
resources: {a: {type: OS::Heat::TestResource, properties: {fail: true}}}
"""


class Refused(Exception):
    """The broker of the tests says no."""


@asynccontextmanager
async def noting(path: Path) -> AsyncIterator[Inside]:
    """A house that puts the states of its stacks into the outbox."""
    async with inside(path / "hearth.db") as running:
        running.services.store.notifies = True
        yield running


def sender(
    running: Inside,
    to: Notifications,
    publish: Callable[[BrokerMessage], Awaitable[None]],
    engine_id: str,
    failures: type[Exception] = Refused,
) -> Sender:
    return Sender(
        running.services.store, running.services.programs, engine_id, to, publish, failures
    )


async def waiting(running: Inside) -> int:
    count = sa.select(sa.func.count()).select_from(outbox)
    found: int = await running.services.store.read(lambda tx: tx.execute(count).scalar_one())
    return found


async def alive(running: Inside) -> str:
    """The id of the engine that works."""
    query = sa.text("SELECT id FROM engine")
    found: str = await running.services.store.read(lambda tx: tx.execute(query).scalar_one())
    return found


async def a_life(running: Inside) -> list[str]:
    """A create, an update, a failing create and a delete; the event types in order, by stack."""
    row, _ = await running.create("web", GOOD % 1)
    row, _ = await running.update(row, GOOD % 2)
    await running.delete(row)
    return [
        f"{action}.{end}" for action in ("create", "update", "delete") for end in ("start", "end")
    ]


def kind(message: bytes) -> str:
    inner = json.loads(json.loads(message)["oslo.message"])
    return str(inner["event_type"]).removeprefix("orchestration.stack.")


def test_without_a_receiver_nothing_is_put(tmp_path: Path) -> None:
    async def story() -> int:
        async with inside(tmp_path / "hearth.db") as running:
            await a_life(running)
            return await waiting(running)

    assert asyncio.run(story()) == 0


def test_each_state_leaves_in_order_however_often_the_broker_refuses(tmp_path: Path) -> None:
    async def story() -> None:
        taken: list[str] = []
        calls = 0

        async def publish(message: BrokerMessage) -> None:
            nonlocal calls
            calls += 1
            if calls % 2:
                raise Refused("not now")
            taken.append(kind(message.body))

        async with noting(tmp_path) as running:
            wanted = await a_life(running)
            to = Notifications("rabbit://nowhere")
            mine = sender(running, to, publish, await alive(running))
            assert await waiting(running) == len(wanted)
            for _ in range(2 * len(wanted)):
                try:
                    await mine.send()
                except Refused:
                    continue
            assert taken == wanted
            assert await waiting(running) == 0

    asyncio.run(story())


def test_what_was_not_removed_is_sent_again(tmp_path: Path) -> None:
    async def story() -> None:
        taken: list[str] = []

        async def publish(message: BrokerMessage) -> None:
            if len(taken) == 2:
                raise asyncio.CancelledError  # the process dies here
            taken.append(kind(message.body))

        async with noting(tmp_path) as running:
            wanted = await a_life(running)
            mine = sender(running, Notifications("rabbit://nowhere"), publish, await alive(running))
            with pytest.raises(asyncio.CancelledError):
                await mine.send()
            assert await waiting(running) == len(wanted) - 2

    asyncio.run(story())


def test_only_one_of_the_living_engines_sends(tmp_path: Path) -> None:
    async def story() -> None:
        taken: list[str] = []

        async def publish(message: BrokerMessage) -> None:
            taken.append(kind(message.body))

        async with noting(tmp_path) as running:
            store, first = running.services.store, "0"  # before any other id
            wanted = await a_life(running)
            await store.run(lambda tx: claim.announce(tx, first, "h", 1))
            to = Notifications("rabbit://nowhere")
            other = sender(running, to, publish, await second(running, first))
            assert await other.send() == 0
            await store.run(lambda tx: claim.resign(tx, first))  # as if its lease had ended
            assert await other.send() == len(wanted)
            assert taken == wanted

    asyncio.run(story())


async def second(running: Inside, first: str) -> str:
    query = sa.text("SELECT id FROM engine WHERE id <> :first").bindparams(first=first)
    found: str = await running.services.store.read(lambda tx: tx.execute(query).scalar_one())
    return found


def test_a_real_broker_has_them_under_their_levels(tmp_path: Path) -> None:
    topic = f"hearth-test-{uuid.uuid4().hex[:8]}"
    to = Notifications(BROKER, (topic,), control_exchange=topic)

    async def story() -> None:
        connection = await reachable()
        async with connection, noting(tmp_path) as running, Publisher(to) as publisher:
            wanted = await a_life(running)
            await create_stack(running.services, CALLER, "bad", StackRequest(template=BAD))
            while await waiting(running) < len(wanted) + 2:
                await asyncio.sleep(0.01)
            mine = sender(running, to, publisher.publish, await alive(running), NotSent)
            assert await mine.send() == len(wanted) + 2
            channel = await connection.channel()
            told = {
                level: await drained(channel, f"{topic}.{level}") for level in ("info", "error")
            }
            assert [kind(body) for body in told["info"]] == [*wanted, "create.start"]
            assert [kind(body) for body in told["error"]] == ["create.error"]
            first = json.loads(json.loads(told["info"][0])["oslo.message"])["payload"]
            assert first["description"] == "a small one"
            assert (first["username"], first["user_identity"]) == ("user", "user")
            last = json.loads(json.loads(told["info"][5])["oslo.message"])["payload"]
            assert (last["state"], last["user_identity"]) == ("DELETE_COMPLETE", "user")
            await (await channel.get_exchange(topic)).delete()

    asyncio.run(story())


def test_a_message_that_no_queue_takes_is_not_sent() -> None:
    async def story() -> None:
        topic = f"t{uuid.uuid4().hex}"
        to = Notifications(BROKER, (topic,), control_exchange=topic)
        message = BrokerMessage("1", (f"{topic}.info",), b"{}")
        connection = await reachable()
        async with connection, Publisher(to) as publisher:
            channel = await connection.channel()
            await publisher.publish(message)
            await channel.queue_delete(f"{topic}.info")
            with pytest.raises(NotSent):
                await publisher.publish(message)
            await publisher.publish(message)
            assert await drained(channel, f"{topic}.info") == [b"{}"]
            await channel.exchange_delete(topic)

    asyncio.run(story())


def test_no_broker_is_a_failure_that_can_be_waited_out() -> None:
    async def story() -> None:
        async with Publisher(Notifications("rabbit://127.0.0.1:1,127.0.0.1:2/")) as publisher:
            with pytest.raises(NotSent):
                await publisher.publish(BrokerMessage("i", ("t.info",), b"{}"))

    asyncio.run(story())


async def reachable() -> AbstractConnection:
    """A connection to the broker."""
    try:
        return await aio_pika.connect(addresses(BROKER)[0], timeout=5)
    except (OSError, TimeoutError, aio_pika.exceptions.AMQPError) as problem:
        lacking(f"a RabbitMQ server at {BROKER} ({problem})")
    raise AssertionError("unreachable")


async def drained(channel: Any, name: str) -> list[bytes]:
    """All that lies in a queue, which then goes."""
    queue = await channel.declare_queue(name, durable=False, auto_delete=False)
    found = []
    while (message := await queue.get(fail=False)) is not None:
        await message.ack()
        found.append(message.body)
    await queue.delete()
    return found

"""Notifications about clusters: each change once, in order, in the form that consumers know."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hearth.bus.cadf import cluster_message
from hearth.bus.notification import BrokerMessage, Notifications
from hearth.clusters.requests import ClusterChanges, GroupRequest, ResizeRequest
from hearth.model.problem import Rejected
from hearth.service.clusters.certificates import kubeconfig
from hearth.service.clusters.change import change_cluster
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.node_groups import create_group, delete_group
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.rotate import rotate_ca
from hearth.service.sender import Sender
from hearth.store import outbox
from hearth.store.clusters import clusters
from tests.conductor.test_conductor import created
from tests.conductor.world import World, small_files, story, world
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TO = Notifications("rabbit://nowhere", topics=("audit",), cluster_publisher_id="magnum.host")


def opened(message: BrokerMessage) -> dict[str, Any]:
    """Return the inner message."""
    outer = json.loads(message.body)
    assert outer["oslo.version"] == "2.0"
    found: dict[str, Any] = json.loads(outer["oslo.message"])
    return found


async def sent(here: World) -> list[dict[str, Any]]:
    """Return the notifications about clusters that wait to be sent, as consumers get them."""
    engine = here.process.engine.id
    rows = await here.services.store.read(lambda tx: outbox.pending(tx, engine, 10_000))
    return [opened(cluster_message(r.body, TO)) for r in rows if r.kind == outbox.CLUSTER]


async def words(here: World) -> list[str]:
    """Return the same in short."""
    return [
        f"{one['event_type'].removeprefix('magnum.')} {one['payload']['outcome']}"
        for one in await sent(here)
    ]


def of(operation: str) -> list[str]:
    return [f"{operation} pending", f"{operation} success"]


@story
async def test_each_operation_is_reported_when_it_is_accepted_and_when_it_ends(tmp_path: Path):
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        services, caller = here.services, here.caller
        conductor = here.start()
        found = await created(here)
        wanted = of("cluster.create")
        assert await words(here) == wanted
        await resize_cluster(services, caller, found, ResizeRequest(2))
        await here.settled(found.uuid)
        wanted += of("cluster.update")
        group = await create_group(services, caller, found, GroupRequest(name="gpu", node_count=1))
        await here.settled(found.uuid)
        wanted += ["cluster.update pending", "nodegroup.create pending"]
        wanted += ["nodegroup.create success", "cluster.update success"]
        await delete_group(services, caller, found, group)
        await here.settled(found.uuid)
        wanted += ["cluster.update pending", "nodegroup.delete pending"]
        wanted += ["nodegroup.delete success", "cluster.update success"]
        await rotate_ca(services, caller, found)
        await here.settled(found.uuid)
        wanted += ["cluster.update pending", "certificate.update pending"]
        wanted += ["certificate.update success", "cluster.update success"]
        assert await words(here) == wanted

        await services.store.run(lambda tx: clusters.look_again(tx, found.uuid))
        assert await conductor.sync.settled() == 1
        assert await words(here) == wanted, "a state that was seen twice is reported once"

        current = await here.whole(found.uuid)
        assert current is not None
        await kubeconfig(services, caller, current.cluster)
        await delete_cluster(services, caller, found)
        await here.settled(found.uuid)
        wanted += ["certificate.create success", *of("cluster.delete")]
        assert await words(here) == wanted
        every = await sent(here)
        assert len({one["message_id"] for one in every}) == len(every)


@story
async def test_a_failure_is_an_error_and_says_why(tmp_path: Path):
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        here.files = small_files({"wrong": {"type": "OS::Nova::Sever"}})
        here.start()
        made = await here.create(await here.template())
        await here.settled(made.uuid)
        pending, failure = await sent(here)
        assert (pending["priority"], failure["priority"]) == ("INFO", "ERROR")
        assert failure["event_type"] == "magnum.cluster.create"
        content = failure["payload"]["target"]["attachments"][0]["content"]
        assert content["status"] == "CREATE_FAILED"
        assert "OS::Nova::Sever" in content["status_reason"]


@story
async def test_an_operation_that_the_state_refuses_is_a_failure(tmp_path: Path):
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        made = await here.create(await here.template())  # no conductor works
        for refused in (
            rotate_ca(here.services, here.caller, made),
            change_cluster(here.services, here.caller, made, ClusterChanges(node_count=2)),
        ):
            with pytest.raises(Rejected, match="not supported in this state"):
                await refused
        assert await words(here) == ["cluster.create pending", *["cluster.update failure"] * 2]
        last = (await sent(here))[-1]
        assert last["payload"]["initiator"]["user_id"] == here.caller.user_id


@story
async def test_without_a_receiver_nothing_is_stored(tmp_path: Path):
    async with world(tmp_path) as here:
        here.start()
        found = await created(here)
        await delete_cluster(here.services, here.caller, found)
        await here.settled(found.uuid)
        assert await sent(here) == []


@story
async def test_a_message_that_the_broker_did_not_confirm_is_sent_again(tmp_path: Path):
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        here.start()
        await created(here)
        while not any(one.endswith("success") for one in await words(here)):
            await asyncio.sleep(0.01)
        tried: list[str] = []

        class Refused(Exception):
            """The broker says no."""

        async def publish(message: BrokerMessage) -> None:
            inner = opened(message)
            tried.append(f"{inner['message_id']} {inner['event_type']}")
            if len(tried) % 2:
                raise Refused

        services, engine = here.services, here.process.engine.id
        sender = Sender(services.store, services.programs, engine, TO, publish, Refused)
        waiting = len(await services.store.read(lambda tx: outbox.pending(tx, engine, 1000)))
        for _ in range(2 * waiting):
            try:
                await sender.send()
            except Refused:
                continue
        assert tried[::2] == tried[1::2]
        kinds = [one.split()[1] for one in tried[::2]]
        assert [one for one in kinds if "cluster" in one] == ["magnum.cluster.create"] * 2
        assert "orchestration.stack.create.start" in kinds
        assert await sent(here) == []

"""Scaling as the service carries it out: what is asked, refused, told and kept."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside

from hearth.bus.notification import Notifications, message_of
from hearth.engine.core.predict import PlannedAction
from hearth.engine.core.record import Record
from hearth.model.problem import Rejected
from hearth.resources.base import Scaling
from hearth.resources.heat.adjustment import Adjustment, AdjustmentType
from hearth.resources.heat.scaling_group import COOLDOWN
from hearth.service.stacks.preview import plan_update
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.scale import scale
from hearth.service.stacks.signal import signal
from hearth.store import outbox, reads
from hearth.store.rows import Event, StackRow

GROUP = """
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      cooldown: %s
      resource: {type: OS::Heat::RandomString}
outputs:
  size: {value: {get_attr: [g, current_size]}}
"""


ENGINE = sa.text("SELECT id FROM engine")


def change(amount: float, *, cooldown_s: float | None = 0.0, group: str = "g") -> Scaling:
    adjustment = Adjustment(amount, AdjustmentType.CHANGE)
    return Scaling(group, adjustment, cooldown_s, "ChangeInCapacity")


@pytest.mark.parametrize(
    "rtype",
    ["OS::Heat::ScalingPolicy", "AWS::AutoScaling::ScalingPolicy", "OS::Mistral::Workflow"],
)
def test_a_signal_before_the_create_is_refused(rtype: str, tmp_path: Path):
    """The record has no values yet."""

    async def story() -> list[Any]:
        async with inside(tmp_path / "hearth.db") as running:
            row, _ = await running.create("web", GROUP % 0)
            record = Record("id", "p", rtype, 1, 0.0)
            with pytest.raises(Rejected) as refused:
                await signal(running.services, CALLER, row, record, {})
            return [(one.kind, one.message) for one in refused.value.problems]

    words = "Signal resource during INIT is not supported."
    assert asyncio.run(story()) == [("NotSupported", words)]


async def signalled(running: Inside, row: StackRow, wanted: Scaling) -> bool:
    """Whether a policy's signal did anything: then it leaves an event."""
    ident = running.services.new_id()
    told = Event(ident, row.id, row.root_id, 0.0, "p", "t", None, "SIGNAL", "COMPLETE", "said")
    assert await scale(running.services, CALLER, row, wanted, told)
    running.services.bus.tell()
    return (
        await running.services.store.read(lambda tx: reads.get_event(tx, row.id, ident)) is not None
    )


async def group_of(running: Inside, row: StackRow) -> tuple[Any, Any]:
    """The group's record and its metadata."""

    def look(tx: Any) -> tuple[Any, Any]:
        record = reads.in_charge(reads.records(tx, row.id))["g"]
        return record, reads.data_of(tx, record.id)[2]

    return await running.services.store.read(look)


async def settled(running: Inside, row: StackRow, size: int) -> None:
    """Wait until the group is recorded with that size."""
    async with asyncio.timeout(10):
        while (await group_of(running, row))[0].held.attributes.get("current_size") != size:
            await asyncio.sleep(0.01)


def played(
    path: Path, story: Callable[[Inside, StackRow], Awaitable[Any]], cooldown: str = "0"
) -> Any:
    async def told() -> Any:
        async with inside(path / "hearth.db") as running:
            running.services.store.notifies = True
            row, _ = await running.create("web", GROUP % cooldown)
            return await story(running, row)

    return asyncio.run(told())


def test_a_group_grows_and_its_attributes_with_it(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        assert await signalled(running, row, change(2))
        await settled(running, row, 3)
        record, _ = await group_of(running, row)
        assert len(record.held.attributes["refs"]) == 3

    played(tmp_path, story)


def test_the_same_size_is_nothing_to_do(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        assert not await signalled(running, row, change(-1))  # the least is one

    played(tmp_path, story)


def test_of_two_at_once_one_is_carried_out(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        both = [signalled(running, row, change(1)), signalled(running, row, change(1))]
        assert sorted(await asyncio.gather(*both)) == [False, True]
        await settled(running, row, 2)

    played(tmp_path, story)


def test_a_group_rests_after_it_was_scaled(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        assert await signalled(running, row, change(1, cooldown_s=60.0))
        await settled(running, row, 2)
        _, metadata = await group_of(running, row)
        assert list(metadata[COOLDOWN].values()) == ["ChangeInCapacity : 1"]
        assert not await signalled(running, row, change(1))

    played(tmp_path, story)


def test_a_group_rests_after_its_create_where_it_says_so(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        assert not await signalled(running, row, change(1))

    played(tmp_path, story, cooldown="60")


def test_a_group_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        with pytest.raises(Rejected, match="Scaling Group"):
            await signalled(running, row, change(1, group="other"))

    played(tmp_path, story)


def test_it_is_told_to_those_who_follow(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> list[dict[str, Any]]:
        await signalled(running, row, change(2))
        await settled(running, row, 3)
        engine = await running.services.store.read(lambda tx: tx.execute(ENGINE).scalar_one())
        rows = await running.services.store.read(lambda tx: outbox.pending(tx, engine, 100))
        to = Notifications("rabbit://nowhere")
        bodies = [json.loads(message_of(one.body, "", to).body) for one in rows]
        inner = [json.loads(body["oslo.message"]) for body in bodies]
        return [one for one in inner if "autoscaling" in one["event_type"]]

    begun, ended = played(tmp_path, story)
    assert begun["event_type"] == "orchestration.autoscaling.start"
    assert ended["event_type"] == "orchestration.autoscaling.end"
    assert (begun["payload"]["capacity"], ended["payload"]["capacity"]) == (1, 3)
    assert ended["payload"]["adjustment_type"] == "ChangeInCapacity"
    assert ended["payload"]["adjustment"] == 2
    assert ended["payload"]["stack_name"] == "web"


def test_a_preview_shows_what_a_rolling_update_comes_to(tmp_path: Path) -> None:
    async def story(running: Inside, row: StackRow) -> None:
        longer = (GROUP % "0").replace("RandomString}", "RandomString, properties: {length: 9}}")
        found = await plan_update(running.services, CALLER, row, StackRequest(template=longer))
        (member,) = found.below["g"].plan.entries
        assert member.planned is PlannedAction.REPLACE

    played(tmp_path, story)

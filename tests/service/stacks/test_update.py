"""What an update takes from the request, and what it keeps. Source: spec/engine.md, section 24."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside
from msgspec.structs import replace

from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.service.reading.outputs import outputs
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.find import find_stack
from hearth.service.stacks.operate import operate_stack
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import delete_stack, desired_stack, update_stack
from hearth.store import reads
from hearth.store.rows import Revision, StackRow
from hearth.store.tables import revision

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 1}
  place: {type: string, default: here, immutable: true}
  extra: {type: boolean, default: true}
conditions: {more: {get_param: extra}}
resources:
  one: {type: OS::Heat::Value, properties: {value: {get_param: size}}}
  text: {type: OS::Heat::Value, properties: {value: {get_file: a.txt}}}
  two: {type: OS::Heat::RandomString, condition: more}
outputs:
  size: {value: {get_attr: [one, value]}}
  text: {value: {get_attr: [text, value]}}
  place: {value: {get_param: place}}
"""
SMALLER = TEMPLATE.replace("  place: {type: string, default: here, immutable: true}\n", "").replace(
    "  place: {value: {get_param: place}}\n", ""
)
FIRST = StackRequest(
    template=TEMPLATE,
    files={"a.txt": "first"},
    parameters={"size": 5, "place": "there"},
    tags=("blue",),
    timeout_mins=7,
    disable_rollback=False,
)


class Stack:
    """A stack with a history of updates."""

    def __init__(self, inside: Inside, row: StackRow) -> None:
        self.inside, self.services, self.row = inside, inside.services, row

    async def rest(self) -> StackRow:
        while self.row.status == "IN_PROGRESS":
            await asyncio.sleep(0.005)
            self.row = await find_stack(self.services, CALLER, CALLER.project_id, self.row.id)
        return self.row

    async def update(self, wanted: StackRequest) -> str:
        self.row = await update_stack(self.services, CALLER, self.row, wanted)
        return (await self.rest()).state

    async def outputs(self) -> dict[str, Any]:
        shown = await outputs(self.services, CALLER, self.row)
        return {one.key: one.value for one in shown}

    async def names(self) -> dict[str, str]:
        """The resources: {name: id of the record}."""
        records = await self.services.store.read(lambda tx: reads.records(tx, self.row.id))
        return {record.name: record.id for record in records}

    async def revision(self) -> Revision:
        return await self.services.store.read(lambda tx: reads.revision_of(tx, self.row))

    async def stored(self) -> list[Any]:
        """All that a refused request must leave alone."""
        query = sa.select(revision.c.number).where(revision.c.stack_id == self.row.id)
        numbers = await self.services.store.read(lambda tx: tx.rows(query))
        row = await find_stack(self.services, CALLER, CALLER.project_id, self.row.id)
        return [
            row.state,
            row.tags,
            row.updated_at,
            row.timeout_mins,
            sorted(n[0] for n in numbers),
        ]


def told(path: Path, story: Callable[[Stack], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with inside(path / "hearth.db") as running:
            stack = Stack(running, await create_stack(running.services, CALLER, "s", FIRST))
            assert (await stack.rest()).state == "CREATE_COMPLETE"
            return await story(stack)

    return asyncio.run(main())


def test_a_full_update_takes_all_from_the_request(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        await stack.update(replace(FIRST, converge=True))
        full = StackRequest(template=SMALLER, files={"a.txt": "second"})
        assert await stack.update(full) == "UPDATE_COMPLETE"
        assert await stack.outputs() == {"size": 1, "text": "second"}  # defaults, not the old ones
        assert stack.row.tags is None
        assert (stack.row.timeout_mins, stack.row.disable_rollback) == (7, False)  # these stay
        assert stack.row.options.converge

    told(tmp_path, story)


def test_the_operator_may_have_every_update_observe(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        services = stack.services
        services.limits = replace(services.limits, observe_on_update=True)
        await stack.update(FIRST)
        assert stack.row.options.converge
        desired = await desired_stack(services, CALLER, stack.row, FIRST)
        assert desired.observe

    told(tmp_path, story)


def test_a_parameter_that_is_left_out_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(stack: Stack) -> None:
        known = StackRequest(existing=True, parameters={"size": 6})
        assert await stack.update(known) == "UPDATE_COMPLETE"
        assert "ignored" not in caplog.text
        odd = StackRequest(existing=True, parameters={"size": 6, "zz\nforged": "hunter2"})
        assert await stack.update(odd) == "UPDATE_COMPLETE"
        words = f"stack {stack.row.id}: ignored parameters that its template does not declare: "
        assert words in caplog.text
        assert "zz\\nforged" in caplog.text
        assert "hunter2" not in caplog.text

    told(tmp_path, story)


def test_a_partial_update_is_laid_over_what_there_is(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        sinks = [{"type": "zaqar-queue", "target": "q"}]
        part = StackRequest(
            existing=True, parameters={"size": 6}, environment={"event_sinks": sinks}
        )
        assert await stack.update(part) == "UPDATE_COMPLETE"
        assert await stack.outputs() == {"size": 6, "text": "first", "place": "there"}
        assert stack.row.tags == "blue"
        files = StackRequest(existing=True, files={"a.txt": "second"}, clear_parameters=("size",))
        assert await stack.update(files) == "UPDATE_COMPLETE"
        assert await stack.outputs() == {"size": 1, "text": "second", "place": "there"}
        assert (await stack.revision()).environment["event_sinks"] == sinks
        less = StackRequest(existing=True, template=SMALLER, tags=("red",))
        assert await stack.update(less) == "UPDATE_COMPLETE"  # a parameter it does not know
        assert await stack.outputs() == {"size": 1, "text": "second"}
        assert stack.row.tags == "red"

    told(tmp_path, story)


def test_the_template_that_failed_is_the_current_one(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        failing = TEMPLATE.replace("outputs:", "outputs:\n  new: {value: 1}").replace(
            "OS::Heat::RandomString, condition: more",
            "OS::Heat::TestResource, properties: {fail: true}",
        )
        wanted = replace(FIRST, template=failing, disable_rollback=True)
        assert await stack.update(wanted) == "UPDATE_FAILED"
        await stack.update(StackRequest(existing=True, parameters={"size": 2}))
        assert "new" in await stack.outputs()

    told(tmp_path, story)


def test_what_is_immutable_stays_and_a_refusal_changes_nothing(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        before = await stack.stored()
        changes = StackRequest(existing=True, parameters={"place": "elsewhere"}, tags=("red",))
        for wanted in (
            changes,
            StackRequest(
                template=TEMPLATE, files=FIRST.files, tags=("red",)
            ),  # back to the default
            StackRequest(existing=True, template="heat_template_version: 1", tags=("red",)),
        ):
            with pytest.raises(Rejected) as refused:
                await update_stack(stack.services, CALLER, stack.row, wanted)
            if wanted is changes:
                words = "The following parameters are immutable and may not be updated: place"
                assert refused.value.problems[0].message == words
            assert await stack.stored() == before
        same = StackRequest(existing=True, parameters={"place": "there"})
        assert await stack.update(same) == "UPDATE_COMPLETE"

    told(tmp_path, story)


@pytest.mark.parametrize("action", [Action.SUSPEND, Action.DELETE])
def test_a_stack_that_sleeps_or_goes_is_not_updated(tmp_path: Path, action: Action) -> None:
    async def story(stack: Stack) -> None:
        if action is Action.DELETE:
            await delete_stack(stack.services, CALLER, stack.row)
            row = stack.row.having(action=Action.DELETE, status=stack.row.status.IN_PROGRESS)
        else:
            stack.row = await operate_stack(stack.services, CALLER, stack.row, action)
            row = await stack.rest()
        with pytest.raises(Rejected) as refused:
            await update_stack(stack.services, CALLER, row, StackRequest(existing=True))
        assert refused.value.problems[0].kind == "NotSupported"

    told(tmp_path, story)


def test_a_condition_that_flips_removes_and_a_new_name_is_a_new_resource(tmp_path: Path) -> None:
    async def story(stack: Stack) -> None:
        before = await stack.names()
        await stack.update(StackRequest(existing=True, parameters={"extra": False}))
        off = await stack.names()
        assert off == {name: ident for name, ident in before.items() if name != "two"}
        await stack.update(StackRequest(existing=True, parameters={"extra": True}))
        again = await stack.names()
        assert set(again) == set(before)
        assert again["two"] != before["two"]
        renamed = TEMPLATE.replace("  two:", "  three:")
        await stack.update(StackRequest(existing=True, template=renamed))
        after = await stack.names()
        assert set(after) == {"one", "text", "three"}
        assert after["three"] != again["two"]

    told(tmp_path, story)

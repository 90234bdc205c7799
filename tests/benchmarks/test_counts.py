"""Budgets that are counts: exact, the same on every machine."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside

from benchmarks import templates
from hearth.service.reading.outputs import outputs
from hearth.service.stacks.find import find_stack
from hearth.store.tables import resource, tree


def lived(path: Path, life: Callable[[Inside], Awaitable[Any]]) -> Any:
    """What `life` gives in a house of its own."""

    async def whole() -> Any:
        async with inside(path / "hearth.db") as running:
            return await life(running)

    return asyncio.run(whole())


@pytest.mark.parametrize(("count", "depth"), [(200, 1), (1000, 1), (1000, 20), (200, 200)])
def test_statements_grow_with_a_tenth_of_the_resources_and_three_a_level(tmp_path, count, depth):
    async def life(running: Inside) -> int:
        _, spent = await running.create("levels", templates.levels(count, depth))
        return spent.statements

    assert lived(tmp_path, life) <= count / 10 + IDLE_STATEMENTS + 3 * depth


IDLE_STATEMENTS = 20


@pytest.mark.parametrize("group", templates.GROUPS.values(), ids=templates.GROUPS)
def test_members_of_a_group_are_made_and_left_alone_together(tmp_path, group):
    async def life(running: Inside) -> list[int]:
        row, made = await running.create("nest", *group(MEMBERS, batch=MEMBERS))
        row, same = await running.update(row, *group(MEMBERS, batch=MEMBERS))
        row, other = await running.update(row, *group(MEMBERS, batch=MEMBERS, changed=True))
        row, gone = await running.delete(row)
        return [made.statements, same.statements, other.statements, gone.statements]

    few = MEMBERS + 2 * IDLE_STATEMENTS + 60  # claims, readings and commits of many together
    assert max(lived(tmp_path, life)) <= few


@pytest.mark.parametrize("group", templates.GROUPS.values(), ids=templates.GROUPS)
def test_a_batch_costs_its_members_not_the_group(tmp_path, group):
    async def life(running: Inside) -> list[int]:
        found = []
        for size in (40, 80):
            row, _ = await running.create(f"nest{size}", *group(size, batch=10))
            _, spent = await running.update(row, *group(size, batch=10, changed=True))
            found.append(spent.statements)
        return found

    few, many = lived(tmp_path, life)
    assert many <= 2.5 * few


MEMBERS = 200


@pytest.mark.parametrize("changed", [0, 1])
def test_an_update_of_one_in_a_thousand_leaves_the_other_rows_alone(tmp_path, changed):
    async def life(running: Inside) -> tuple[int, int]:
        row, _ = await running.create("wide", templates.wide(1000))
        before = await running.services.store.read(rows_of(row.id))
        row, _ = await running.update(row, templates.wide(1000, changed=bool(changed)))
        after = await running.services.store.read(rows_of(row.id))
        moved = sum(before[0][id_] != state for id_, state in after[0].items())
        return moved, after[1] - before[1]

    moved, events = lived(tmp_path, life)
    assert moved == changed
    assert events == 2 + 2 * changed  # the stack's own two, and those of what changed


def test_a_show_takes_as_many_statements_for_a_thousand_resources_as_for_ten(tmp_path):
    async def life(running: Inside) -> list[int]:
        counts = []
        for name, count in (("small", 10), ("large", 1000)):
            row, _ = await running.create(name, templates.wide(count))
            await shown(running, row.id)
            taken = []
            for _ in range(3):  # the engine's beat, beside it, counts too
                before = running.services.store.statements
                await shown(running, row.id)
                taken.append(running.services.store.statements - before)
            counts.append(min(taken))
        return counts

    small, large = lived(tmp_path, life)
    assert small == large <= 5


async def shown(running: Inside, stack_id: str) -> None:
    """What the handler of a show asks for."""
    row = await find_stack(running.services, CALLER, CALLER.project_id, stack_id)
    await running.services.program(row)
    await outputs(running.services, CALLER, row)


def rows_of(stack_id: str) -> Callable[[Any], tuple[dict[str, Any], int]]:
    """All columns of a stack's records by id, and how many events there were."""

    def read(tx: Any) -> tuple[dict[str, Any], int]:
        rows = tx.rows(sa.select(resource).where(resource.c.stack_id == stack_id))
        counted = sa.select(tree.c.event_seq).where(tree.c.root_id == stack_id)
        return {row.id: tuple(row) for row in rows}, tx.execute(counted).scalar_one()

    return read

"""Stacks of other shapes through service and engine in this process: layers, nested, many."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.inside import Inside, Spent, inside
from hearth.store import tables
from hearth.store.database import Tx

Figures = AsyncIterator[Figure]
ROWS = (tables.resource, tables.resource_data, tables.event, tables.node, tables.inbox,
        tables.stack, tables.revision, tables.blob)  # fmt: skip


def shapes(quick: bool) -> Iterator[Figure]:
    """Layers, nested stacks, updates of all, many stacks at once, a small one beside a large."""
    yield from asyncio.run(_gathered(_layers))
    for count in (50,) if quick else (50, 1000):
        yield from asyncio.run(_gathered(lambda running, n=count: _nested(running, n)))
    for count in (1000,) if quick else (1000, 10_000):
        yield from asyncio.run(_gathered(lambda running, n=count: _all(running, n)))
    yield from asyncio.run(_gathered(_many))
    if not quick:
        yield from asyncio.run(_gathered(_beside))


async def _gathered(case: Callable[[Inside], Figures]) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        async with inside(Path(folder) / "hearth.db") as running:
            await running.create("warm", templates.wide(10))
            return [one async for one in case(running)]


async def _layers(running: Inside) -> Figures:
    _, spent = await running.create("layers", templates.crossed(20, 10))
    yield Figure("10 layers of 20, each on the whole layer before", spent.whole_s, "s")
    yield Figure("10 layers of 20: statements", spent.statements, "", 200 / 10 + 20 + 3 * 10)


async def _nested(running: Inside, count: int) -> Figures:
    """Against as many flat resources: the nested ones and those inside them."""
    flat, alone = await running.create("flat", templates.wide(3 * count))
    before = await _rows(running)
    row, spent = await running.create("nest", *templates.nested(count))
    rows = await _rows(running) - before
    yield Figure(f"{count} nested stacks of 3: create", spent.whole_s, "s")
    yield Figure(
        f"{count} nested stacks of 3: over {3 * count} flat", spent.whole_s / alone.whole_s, "x"
    )
    yield Figure(f"{count} nested stacks of 3: rows per nested stack", rows / count, "")
    statements = spent.statements / count
    yield Figure(f"{count} nested stacks of 3: statements per nested stack", statements, "")
    row, spent = await running.update(row, *templates.nested(count))
    yield Figure(f"{count} nested stacks of 3: update, nothing changes", spent.whole_s, "s")
    row, spent = await running.update(row, *templates.nested(count, changed=True))
    yield Figure(f"{count} nested stacks of 3: update of all", spent.whole_s, "s")
    _, spent = await running.delete(row)
    yield Figure(f"{count} nested stacks of 3: delete", spent.whole_s, "s")
    await running.delete(flat)


async def _all(running: Inside, count: int) -> Figures:
    before = await _rows(running)
    row, _ = await running.create("all", templates.wide(count))
    yield Figure(f"create {count}: rows per resource", (await _rows(running) - before) / count, "")
    row, spent = await running.update(row, templates.wide(count, plus=1))
    yield Figure(f"update all {count} in process", spent.whole_s, "s")
    yield Figure(f"update all {count}: statements", spent.statements, "", count / 10 + 23)
    await running.delete(row)


async def _many(running: Inside) -> Figures:
    begun = asyncio.get_running_loop().time()
    made = [running.create(f"s{i}", templates.wide(10)) for i in range(20)]
    await asyncio.gather(*made)
    yield Figure("20 stacks of 10 at once", asyncio.get_running_loop().time() - begun, "s")


async def _beside(running: Inside) -> Figures:
    """A stack of 3 beside a stack of 10,000, all through."""
    row, alone = await running.create("small", templates.chain(3))
    await running.delete(row)
    large = asyncio.create_task(running.create("large", templates.wide(10_000)))
    await asyncio.sleep(0.8)  # it is compiled and being created
    spent: list[Spent] = []
    while not large.done():
        row, one = await running.create(f"small{len(spent)}", templates.chain(3))
        if not large.done():
            spent.append(one)
    await large
    worst = max((one.whole_s for one in spent), default=0.0)
    note = f"{len(spent)} of them while the large one was made; alone {alone.whole_s:.3f} s"
    yield Figure("a stack of 3 beside one of 10,000, the slowest", worst - alone.whole_s, "s", 2.0,
                 note)  # fmt: skip


async def _rows(running: Inside) -> int:
    def count(tx: Tx) -> int:
        return sum(
            tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in ROWS
        )

    return await running.services.store.read(count)

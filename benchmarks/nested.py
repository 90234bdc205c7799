"""The price of composition: groups of nested stacks against the same resources in one stack."""

import asyncio
import sqlite3
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.inside import Inside, Spent, inside
from hearth.store.rows import StackRow
from hearth.store.tables import metadata

T = TypeVar("T")

SIZES = (10, 100, 1000)
RUNS = 3  # of the small ones; nested and flat take turns
ROLLED, BATCH = 200, 20
MORE = 110  # members that a group of 100 is scaled to, and back
ALONE = 20  # nested stacks, one after the other


def nested(quick: bool) -> Iterator[Figure]:
    """Create and empty update at every size, scaling, a rolling update, the way from a child's end
    to its parent."""
    for word, group in templates.GROUPS.items():
        per_member: dict[int, dict[str, float]] = {}
        for count in SIZES[:-1] if quick else SIZES:
            figures = asyncio.run(_sized(word, group, count))
            per_member[count] = {figure.name: figure.value for figure in figures}
            yield from figures
        yield from _growth(word, per_member)
        yield from asyncio.run(_scaled(word, group))
        yield from asyncio.run(_rolled(word, group))
    yield from asyncio.run(_woken())


async def _sized(word: str, group: templates.Group, count: int) -> list[Figure]:
    name = f"{word} of {count}"
    many: list[dict[str, Spent]] = []
    flat: list[dict[str, Spent]] = []
    for _ in range(RUNS if count < SIZES[-1] else 1):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hearth.db"
            async with inside(path) as running:
                await _warm(running)
                row, one = await running.create("flat", templates.trios(count))
                row, same = await running.update(row, templates.trios(count))
                flat.append({"create": one, "update": same})
                before = _stored(path)
                row, one = await running.create("nest", *group(count))
                stored = _stored(path) - before
                woken = _wake_ups(path, row)
                row, same = await running.update(row, *group(count))
                many.append({"create": one, "update": same})
    return [
        Figure(f"{name}: create", _s(many, "create"), "s"),
        Figure(f"{name}: create over flat", _ratio(many, flat, "create"), "x", 1.5),
        Figure(f"{name}: create, statements per member", _of(many, "create", count), ""),
        Figure(f"{name}: update, nothing changes", _s(many, "update"), "s"),
        Figure(f"{name}: update, nothing changes, over flat", _ratio(many, flat, "update"), "x"),
        Figure(f"{name}: empty update, statements per member", _of(many, "update", count), ""),
        Figure(f"{name}: bytes stored per member", stored / count, ""),
        Figure(f"{name}: from a member's end to its parent", statistics.median(woken) * 1e3, "ms"),
    ]  # fmt: skip


def _growth(word: str, found: dict[int, dict[str, float]]) -> Iterator[Figure]:
    """What a member costs among the most over what it costs among a tenth as many."""
    large = max(found)
    small = large // 10
    for what, divided in (
        ("create", True), ("create, statements per member", False),
        ("update, nothing changes", True), ("empty update, statements per member", False),
        ("bytes stored per member", False),
    ):  # fmt: skip
        ratio = found[large][f"{word} of {large}: {what}"]
        ratio /= found[small][f"{word} of {small}: {what}"] * (10 if divided else 1)
        each = what.removesuffix(" per member")
        yield Figure(f"{word}: {each}, each of {large} over each of {small}", ratio, "x", 1.2)


async def _scaled(word: str, group: templates.Group) -> list[Figure]:
    async def scaled(running: Inside) -> dict[str, tuple[Spent, Spent]]:
        row, _ = await running.create("nest", *group(100))
        flat, _ = await running.create("flat", templates.trios(100))
        row, up = await running.update(row, *group(MORE))
        flat, flat_up = await running.update(flat, templates.trios(MORE))
        row, down = await running.update(row, *group(100))
        flat, flat_down = await running.update(flat, templates.trios(100))
        return {f"100 to {MORE}": (up, flat_up), f"{MORE} to 100": (down, flat_down)}

    return [
        figure
        for what, (spent, flat) in (await _in_a_house(scaled)).items()
        for figure in _beside(f"{word}: {what}", spent, flat)
    ]


async def _rolled(word: str, group: templates.Group) -> list[Figure]:
    async def rolled(running: Inside) -> tuple[Spent, Spent]:
        row, _ = await running.create("nest", *group(ROLLED, batch=BATCH))
        flat, _ = await running.create("flat", templates.trios(ROLLED))
        _, spent = await running.update(row, *group(ROLLED, batch=BATCH, changed=True))
        _, alone = await running.update(flat, templates.trios(ROLLED, changed=True))
        return spent, alone

    what = f"{word}: update of {ROLLED} in batches of {BATCH}"
    return _beside(what, *await _in_a_house(rolled))


async def _woken() -> list[Figure]:
    """Nested stacks one after the other: nothing else is done meanwhile."""

    async def run(running: Inside) -> list[float]:
        row, _ = await running.create("alone", *templates.nested(ALONE, chained=True))
        path = running.services.store.url.database
        assert path is not None
        return _wake_ups(Path(path), row)

    woken = await _in_a_house(run)
    return [
        Figure("a nested stack alone: from its end to its parent",
               statistics.median(woken) * 1e3, "ms")
    ]  # fmt: skip


async def _in_a_house(case: Callable[[Inside], Awaitable[T]]) -> T:
    with tempfile.TemporaryDirectory() as folder:
        async with inside(Path(folder) / "hearth.db") as running:
            await _warm(running)
            return await case(running)


async def _warm(running: Inside) -> None:
    await running.create("warm", templates.wide(10))
    await running.create("warmer", *templates.nested(3))


def _beside(what: str, spent: Spent, flat: Spent) -> list[Figure]:
    return [
        Figure(what, spent.whole_s, "s"),
        Figure(f"{what}, over flat", spent.whole_s / flat.whole_s, "x"),
        Figure(f"{what}, statements", spent.statements, ""),
    ]


def _s(runs: list[dict[str, Spent]], word: str) -> float:
    return statistics.median(one[word].whole_s for one in runs)


def _ratio(many: list[dict[str, Spent]], flat: list[dict[str, Spent]], word: str) -> float:
    pairs = zip(many, flat, strict=True)
    return statistics.median(one[word].whole_s / other[word].whole_s for one, other in pairs)


def _of(runs: list[dict[str, Spent]], word: str, count: int) -> float:
    return statistics.median(one[word].statements for one in runs) / count


def _stored(path: Path) -> int:
    """All that stands in the rows, in bytes; indexes and the room between rows are not counted."""
    with closing(sqlite3.connect(path)) as link:
        total = 0
        for table in metadata.sorted_tables:
            sizes = " + ".join(f"ifnull(length(cast({one.name} AS BLOB)), 0)" for one in table.c)
            (found,) = link.execute(f"SELECT total({sizes}) FROM {table.name}").fetchone()
            total += int(found)
        return total


def _wake_ups(path: Path, row: StackRow) -> list[float]:
    """From the end of each stack below to that of the resource that it is, in seconds."""
    with closing(sqlite3.connect(path)) as link:
        return [
            after - before
            for before, after in link.execute(
                "SELECT child.time, parent.time FROM event AS child JOIN event AS parent"
                " ON parent.root_id = child.root_id AND parent.physical_id = child.physical_id"
                " AND parent.stack_id != child.stack_id AND parent.status = child.status"
                " WHERE child.root_id = ? AND child.stack_id = child.physical_id"
                " AND child.status = 'COMPLETE' AND child.action = 'CREATE'"
                " AND parent.action = 'CREATE'",
                (row.id,),
            )
        ]

"""Operations through the REST API of a real process, over a synced SQLite file."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.served import served

BUDGETS = {1000: (0.7, None, None), 10_000: (6.0, 1.0, 4.5)}


def trivial(quick: bool) -> Iterator[Figure]:
    """Stacks of values: create, update, delete."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        both.stack("warm", templates.wide(10)).create()
        for count in (1000,) if quick else (1000, 10_000):
            create, nothing, one = BUDGETS[count]
            stack = both.stack(f"wide{count}", templates.wide(count))
            yield Figure(f"REST: create {count} trivial", stack.create(), "s", create)
            same = stack.update(stack.template)
            yield Figure(f"REST: update {count}, nothing changes", same, "s", nothing)
            moved = stack.update(templates.wide(count, changed=True))
            yield Figure(f"REST: update {count}, one changes", moved, "s", one)
            yield Figure(f"REST: delete {count}", stack.delete(), "s")
        runs = [both.stack(f"chain{i}", templates.chain(200)).create() for i in range(3)]
        yield Figure("REST: chain of 200", sorted(runs)[1], "s", 0.3)

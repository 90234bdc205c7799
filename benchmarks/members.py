"""The price of composition on the cloud in a box: groups of nested stacks of a server, its port and
a volume against one stack of the same resources."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.nested import BATCH, MORE, ROLLED, RUNS, SIZES
from benchmarks.served import Served, Stack, served

MOST = 1.5  # times what flat resources take


def members(quick: bool) -> Iterator[Figure]:
    """Create and empty update at every size, scaling, a rolling update."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        both.stack("network", templates.network()).create()
        _sized(both, 3)
        for count in SIZES[:-1] if quick else SIZES:
            yield from _all_sized(both, count)
        yield from _scaled(both)
        if not quick:
            yield from _rolled(both)


def _all_sized(both: Served, count: int) -> Iterator[Figure]:
    runs = [_sized(both, count) for _ in range(RUNS if count < SIZES[-1] else 1)]
    for what in runs[0]:
        yield from _beside(f"{count} members: {what}", [one[what] for one in runs])


def _sized(both: Served, count: int) -> dict[str, tuple[float, float]]:
    """What each operation took: nested, and flat."""
    group, flat = _group(both, count), _flat(both, count)
    return {
        "create": (group.create(), flat.create()),
        "update, nothing changes": (group.update(group.template), flat.update(flat.template)),
        "delete": (group.delete(), flat.delete()),
    }


def _scaled(both: Served) -> Iterator[Figure]:
    group, flat = _group(both, 100), _flat(both, 100)
    group.create(), flat.create()
    for what, count in ((f"100 to {MORE}", MORE), (f"{MORE} to 100", 100)):
        took = group.update(templates.machines(count)[0]), flat.update(templates.parts(count))
        yield from _beside(f"members: {what}", [took])
    group.delete(), flat.delete()


def _rolled(both: Served) -> Iterator[Figure]:
    """Beside one stack whose template renames as many more with each update."""
    group, flat = _group(both, ROLLED, batch=BATCH), _flat(both, ROLLED)
    group.create(), flat.create()
    rolled = group.update(templates.machines(ROLLED, named="app", batch=BATCH)[0])
    steps = range(BATCH, ROLLED + 1, BATCH)
    stepped = sum(flat.update(templates.parts(ROLLED, renamed=count)) for count in steps)
    what = f"members: update of {ROLLED} in batches of {BATCH}"
    yield from _beside(what, [(rolled, stepped)])
    at_once = flat.update(templates.parts(ROLLED))
    yield Figure(f"{what}, over flat at once", rolled / at_once, "x")
    group.delete(), flat.delete()


def _group(both: Served, count: int, *, batch: int | None = None) -> Stack:
    return both.stack(f"group{count}", *templates.machines(count, batch=batch))


def _flat(both: Served, count: int) -> Stack:
    return both.stack(f"flat{count}", templates.parts(count))


def _beside(what: str, took: list[tuple[float, float]]) -> Iterator[Figure]:
    ratio = statistics.median(nested / flat for nested, flat in took)
    yield Figure(what, statistics.median(nested for nested, _ in took), "s")
    yield Figure(f"{what}, over flat", ratio, "x", MOST)

"""Second steps of clusters after kill -9: conductor and engine die in a call of an operation.

Hearth and the cloud are processes of their own. The operation stops in one of its calls, which is
held before it is carried out, or whose answer is held back. Then Hearth is killed and started again
on the same database, and the operation goes on alone.
"""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import requests

from tests.crash.processes import Hearth
from tests.second_steps.cells import Cell
from tests.second_steps.clusters import (
    CLUSTER,
    NEXT,
    Farm,
    Operation,
    Rows,
    begin,
    lived_through,
    next_step,
    rule_for,
)
from tests.second_steps.faults import KILLED
from tests.second_steps.operations import Write
from tests.second_steps.watch import until
from tests.types.cloud import Place
from tests.types.story import Wrong

FIRSTS = ("create", "resize up", "group create", "delete")
STOPS_S = 30.0  # until the operation waits in its call, or has ended


def rows(
    place: Place,
    hearth: Hearth,
    chosen: Callable[[Cell], bool],
    first: str,
    seed: int,
    *,
    every: bool,
) -> Rows:
    """Live through the chosen cells, those of the operation `first` or of all in FIRSTS."""
    return lived_through(
        place,
        [name for name in FIRSTS if first in ("", name)],
        lambda name, writes: filter(chosen, cells(name, writes, seed, every=every)),
        partial(_live, hearth),
    )


def cells(name: str, writes: Sequence[Write], seed: int, *, every: bool) -> Iterator[Cell]:
    """Yield the cells of an operation: one for each kill, or every one."""
    order = random.Random(f"{seed} {name} killed")
    nexts = ["delete", "delete twice"] if name == "delete" else list(NEXT)
    for fault in KILLED:
        calls = range(1, len(writes) + 1)
        for call in calls if every else [order.choice(calls)]:
            for following in nexts if every else [order.choice(nexts)]:
                yield Cell(CLUSTER, name, fault.name, call, following)


def _live(
    hearth: Hearth, farm: Farm, cell: Cell, operation: Operation, writes: Sequence[Write]
) -> None:
    begin(farm, operation)
    farm.place.knobs([rule_for(cell, writes)])
    with ThreadPoolExecutor(1) as pool:  # the request itself may stop in the call
        asked = pool.submit(operation.ask, farm)
        until(lambda: _stopped(farm, asked), STOPS_S)
        hearth.kill()
        farm.place.admin("POST", "knobs/release?discard=1")
        farm.place.knobs_off()
        hearth.start()
        with contextlib.suppress(requests.RequestException):
            asked.result()
    farm.look_up()
    if farm.uuid and farm.ended().endswith("FAILED"):
        raise Wrong(farm.steps[-1])
    next_step(farm, cell, operation)


def _stopped(farm: Farm, asked: "Future[None]") -> bool:
    """Return whether the operation waits in its call, or has ended."""
    if any(rule["struck"] for rule in farm.place.admin("GET", "knobs")["rules"]):
        return True
    return asked.done() and not farm.in_progress()

"""The second steps: what people do after a failed operation, for every type.

    python -m tests.second_steps.run [--json FILE] [--type T] [--first F] [--fault F] [--call N]
        [--next N] [--seed N] [--every] [--part K/N]

The table is (type, first operation, fault at each of its write calls) x (next operation). Of all
that, a run tries so much that each fault and each next operation meets each type; the seed decides
which of them meet. `--every` tries every combination. `--part 1/N` to `--part N/N` are together the
whole table. Prints each wrong cell with the command that repeats it; the exit status is 1 when
there is any.

The cells of the cluster service have the type `cluster`; those in which the engine and the
conductor are killed have the faults `killed before` and `killed after`: one cell for each type, and
two for some operations of clusters.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.second_steps import clusters, killed_clusters
from tests.second_steps.cells import Cell, cells, fits
from tests.second_steps.faults import FAULTS, KILLED, UNSERVED
from tests.second_steps.killed import TOGETHER, killed, mortal
from tests.second_steps.life import live, rehearse
from tests.second_steps.operations import First, Write, firsts
from tests.second_steps.shapes import shaped
from tests.second_steps.stack import Outcome, Stack
from tests.second_steps.watch import Watch, watching
from tests.types.case import Subject, kinds, subject
from tests.types.cloud import Place, in_a_box
from tests.types.story import Wrong

AT_ONCE = 60  # types in one cloud: they wait most of the time
CLOUDS = 2
SHARING = ("OS::Magnum::",)  # types whose templates have the same names
NO_RESTORE = re.compile("volume to be restored to must be available|SnapshotId of .* not supported")
ALL, AGAIN_MAX, REPLACED_MAX = len(FAULTS), 3, 4  # faults of an operation


@dataclass(frozen=True)
class Choice:
    """Which cells: empty fields choose all."""

    types: tuple[str, ...] = ()
    first: str = ""
    fault: str = ""
    call: int | None = None
    next: str = ""
    seed: int = 0
    every: bool = False
    part: tuple[int, int] = (1, 1)  # the first, the second … of so many
    prefix: str = "s"  # of the names of stacks
    unserved: bool = False  # only without the service, one cell at a time
    cloud: tuple[int, int] = (0, 1)  # this one of so many
    alone: bool | None = None  # only types whose stacks stand alone, or only the others

    def falls_to(self, type_name: str, number: int) -> bool:
        """Whether an operation, by its place in its type, is one of this part, in this cloud."""
        part, parts = self.part
        cloud, clouds = self.cloud
        turn = number + len(type_name)  # for types with few operations
        return turn % (parts * clouds) == (part - 1) * clouds + cloud

    def has(self, cell: Cell) -> bool:
        """Whether a cell is chosen."""
        return (
            self.fault in ("", cell.fault)
            and self.call in (None, cell.call)
            and self.next in ("", cell.next)
        )

    def faults_max(self, first: First, *, again: bool) -> int | None:
        """How many faults meet an operation; None: all, with all that comes next.

        `again`: an earlier one was a change in place, too.
        """
        if self.every or self.next:
            return None
        if first.thorough and first.verb != "rollback":
            return ALL
        if first.verb != "update":
            return AGAIN_MAX
        if not (first.makes or first.in_place):
            return REPLACED_MAX
        return AGAIN_MAX if again else ALL


@dataclass
class TypeResult:
    """What came of the cells of one type."""

    type_name: str
    outcomes: list[Outcome] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # outside of cells
    unavailable: str = ""


def examine(place: Place, watch: Watch, type_name: str, choice: Choice) -> TypeResult:
    """Live through the chosen cells of a type, one after the other."""
    result = TypeResult(type_name)
    one = subject(type_name)
    result.unavailable = place.lacks(type_name) or one.case.get("elsewhere", "")
    if result.unavailable:
        return result
    number, again = 0, False
    for place_in_type, (one, first) in enumerate(_operations(type_name, every=choice.every)):
        faults_max = choice.faults_max(first, again=again)
        again |= first.in_place and first.verb == "update"
        if choice.first not in ("", first.name) or not choice.falls_to(type_name, place_in_type):
            continue
        try:
            stack = Stack(place, watch, one, f"{choice.prefix}-{one.slug}-{number}")
            number += 1
            usual = rehearse(stack, first)
        except Exception as problem:
            if not (first.verb == "restore" and NO_RESTORE.search(str(problem))):
                result.wrong.append(f"{first.name}: without faults: {problem}")
            continue
        for cell in _chosen(type_name, first, usual.writes, choice, faults_max):
            stack = Stack(place, watch, one, f"{choice.prefix}-{one.slug}-{number}")
            number += 1
            result.outcomes.append(_outcome(stack, cell, first, usual))
    tell(result)
    return result


def _chosen(
    type_name: str, first: First, writes: Sequence[Write], choice: Choice, faults_max: int | None
) -> list[Cell]:
    if choice.unserved:
        names = [name for name in ("same", "delete") if fits(name, first)]
        lacking = [Cell(type_name, first.name, UNSERVED.name, 0, name) for name in names]
        return [cell for cell in lacking if UNSERVED.fits(first, writes) and choice.has(cell)]
    found = cells(type_name, first, writes, choice.seed, faults_max)
    return [cell for cell in found if choice.has(cell)]


def _outcome(stack: Stack, cell: Cell, first: First, usual: Any) -> Outcome:
    began, outcome = time.monotonic(), Outcome(cell)
    try:
        live(stack, cell, first, usual)
    except Exception as problem:
        outcome.wrong = str(problem) if isinstance(problem, Wrong) else repr(problem)
    outcome.steps = stack.steps
    outcome.seconds = round(time.monotonic() - began, 2)
    if outcome.wrong:
        steps = "".join(f"\n        {step}" for step in outcome.steps)
        print(f"{cell}: {outcome.wrong}{steps}\n        {cell.command}", flush=True)
    return outcome


def tell(result: TypeResult) -> None:
    """Print a line about a type, and what went wrong."""
    wrong = [outcome for outcome in result.outcomes if outcome.wrong]
    state = "none" if result.unavailable else "WRONG" if wrong or result.wrong else "ok"
    seconds = sum(outcome.seconds for outcome in result.outcomes)
    lines = [
        f"{state:6} {result.type_name:52} {len(result.outcomes)} cells, "
        f"{len(wrong)} wrong, {seconds:.0f} s {result.unavailable}"
    ]
    lines += [f"    {words}" for words in result.wrong]
    print("\n".join(lines), flush=True)


def examined(folder: Path, choice: Choice, at_once: int = AT_ONCE) -> list[TypeResult]:
    """Live through the chosen cells in a cloud of their own."""
    names = [n for n in choice.types or _all_types() if n != clusters.CLUSTER]
    alone = [n for n in names if subject(n).case.get("alone") or n.startswith(SHARING)]
    with in_a_box(folder, in_a_hurry=True) as place, watching(place) as watch:
        found: list[TypeResult] = []
        if choice.alone is not True:
            others = _longest_first(name for name in names if name not in alone)
            with ThreadPoolExecutor(at_once) as pool:
                found += pool.map(lambda name: examine(place, watch, name, choice), others)
        if choice.alone is not False:
            found += [examine(place, watch, name, choice) for name in alone]
        if choice.fault in ("", UNSERVED.name) and choice.alone is not True:
            found += _unserved(place, watch, names, choice)
        left = place.left_over()
    if left:
        found.append(TypeResult("all", wrong=[f"left over: {left}"]))
        tell(found[-1])
    return found


def _unserved(place: Place, watch: Watch, names: Sequence[str], choice: Choice) -> list[TypeResult]:
    """One type of each service without the service, in the first cloud of the first part only."""
    if choice.cloud[0] or choice.part[0] > 1:
        return []
    by_service: dict[str, str] = {}
    for name in names:
        service = subject(name).kind.service
        if service not in (None, "identity", "orchestration", "container-infra"):
            by_service.setdefault(str(service), name)
    lacking = replace(choice, unserved=True, part=(1, 1), cloud=(0, 1), prefix="u")
    return [
        examine(place, watch, name, replace(lacking, first=first))
        for name in by_service.values()
        for first in ([choice.first] if choice.first else ["check", "delete"])
    ]


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: -len(_operations(name, every=False)))


def _operations(type_name: str, *, every: bool) -> list[tuple[Subject, First]]:
    one = subject(type_name)
    usual = (
        [] if one.case.get("elsewhere") else [(one, first) for first in firsts(one, every=every)]
    )
    return [*usual, *shaped(type_name)]


def _all_types() -> list[str]:
    return sorted(set(kinds()) - {"<template>"})


def _be_quiet() -> None:
    with open(os.devnull, "w") as quiet:  # the log of Hearth tells of each fault
        os.dup2(quiet.fileno(), 2)


def _of_types(choice: Choice) -> list[TypeResult]:
    _be_quiet()
    with tempfile.TemporaryDirectory() as folder:
        return examined(Path(folder), choice)


def as_json(results: Sequence[TypeResult], choice: Choice, seconds: float) -> dict[str, Any]:
    """The figures, and the wrong cells."""
    outcomes = [outcome for result in results for outcome in result.outcomes]
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    by_type = Counter(outcome.cell.type_name for outcome in outcomes)
    return {
        "seed": choice.seed,
        "part": "/".join(map(str, choice.part)),
        "commit": _commit(),
        "cells": len(outcomes),
        "wrong": len(wrong),
        "types": len(by_type),
        "seconds": round(seconds),
        "by_fault": dict(sorted(Counter(o.cell.fault for o in outcomes).items())),
        "by_next": dict(sorted(Counter(o.cell.next for o in outcomes).items())),
        "by_type": dict(sorted(by_type.items())),
        "outside_of_cells": [f"{r.type_name}: {w}" for r in results for w in r.wrong],
        "wrong_cells": [
            {**asdict(o), "command": o.cell.command} for o in wrong
        ],
    }  # fmt: skip


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def chosen(arguments: Sequence[str] | None = None) -> tuple[Choice, argparse.Namespace]:
    """Return what the command line chooses."""
    parser = argparse.ArgumentParser(description="What people do after a failed operation.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--type", action="append", default=[])
    parser.add_argument("--first", default="")
    parser.add_argument("--fault", default="")
    parser.add_argument("--call", type=int)
    parser.add_argument("--next", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--part", type=_part_of, default=(1, 1))
    parser.add_argument("-v", "--verbose", action="store_true", help="show every cell")
    given = parser.parse_args(arguments)
    choice = Choice(
        tuple(given.type),
        given.first,
        given.fault,
        given.call,
        given.next,
        given.seed,
        given.every,
        given.part,
    )
    return choice, given


def _part_of(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not 1 <= int(part) <= int(parts):
        raise ValueError(text)
    return int(part), int(parts)


def _of_killed(choice: Choice) -> list[TypeResult]:
    """Live through the cells in which the engine is killed, in a cloud of their own."""
    _be_quiet()
    names = [n for n in choice.types or _all_types() if n != clusters.CLUSTER]
    names = [n for n in names if not n.startswith(SHARING)]
    found = {}
    with tempfile.TemporaryDirectory() as folder, mortal(Path(folder)) as (place, hearth):
        for number, start in enumerate(range(0, len(names), TOGETHER)):
            some = names[start : start + TOGETHER]
            seed = choice.seed * 1000 + number
            for outcome in killed(place, hearth, some, choice.has, seed, choice.first):
                name = outcome.cell.type_name
                found[name] = TypeResult(name, [outcome])
                tell(found[name])
        left = place.left_over()
    if left:
        found["killed"] = TypeResult("killed", wrong=[f"left over: {left}"])
        tell(found["killed"])
    return list(found.values())


def _of_clusters(choice: Choice) -> list[TypeResult]:
    """Live through the cells of the cluster service, in a cloud of their own."""
    _be_quiet()
    with tempfile.TemporaryDirectory() as folder, in_a_box(Path(folder), in_a_hurry=True) as place:
        found = clusters.rows(place, choice.has, choice.first, choice.seed, every=choice.every)
    result = TypeResult(clusters.CLUSTER, found.outcomes, found.wrong)
    tell(result)
    return [result]


def _of_killed_clusters(choice: Choice) -> list[TypeResult]:
    """Live through the cells of the cluster service with a kill, in a cloud of their own."""
    _be_quiet()
    with tempfile.TemporaryDirectory() as folder, mortal(Path(folder)) as (place, hearth):
        every, first = choice.every, choice.first
        found = killed_clusters.rows(place, hearth, choice.has, first, choice.seed, every=every)
    result = TypeResult(clusters.CLUSTER, found.outcomes, found.wrong)
    tell(result)
    return [result]


def main() -> int:
    """The command; its exit status."""
    choice, given = chosen()
    began = time.monotonic()
    clouds = 1 if given.first or given.next else CLOUDS
    in_clouds = [
        replace(choice, cloud=(number, clouds), alone=alone)
        for number in range(clouds)
        for alone in ((None,) if clouds == 1 else (False, True))
    ]
    killing = [fault.name for fault in KILLED]
    tables: list[tuple[Callable[[Choice], list[TypeResult]], Choice]] = []
    if choice.part[0] == 1 and (not choice.types or clusters.CLUSTER in choice.types):
        if choice.fault not in killing:
            tables.append((_of_clusters, choice))
        if choice.fault in ("", *killing):
            tables.append((_of_killed_clusters, choice))
    if choice.types != (clusters.CLUSTER,):
        if choice.fault not in killing:
            tables += [(_of_types, choice) for choice in in_clouds]
        if choice.fault in ("", *killing) and choice.part[0] == 1:
            tables.append((_of_killed, choice))
    with ProcessPoolExecutor(len(tables), mp_context=multiprocessing.get_context("spawn")) as pool:
        asked = [pool.submit(live_through, some) for live_through, some in tables]
        results = [result for table in asked for result in table.result()]
    figures = as_json(results, choice, time.monotonic() - began)
    if given.verbose:
        for outcome in (o for r in results for o in r.outcomes):
            print(outcome.cell, "|", outcome.seconds, "s |", " -> ".join(outcome.steps))
    print(f"{figures['cells']} cells of {figures['types']} types, {figures['wrong']} wrong, "
          f"{figures['seconds']} s, seed {figures['seed']}")  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if figures["wrong"] or figures["outside_of_cells"] else 0


if __name__ == "__main__":
    sys.exit(main())

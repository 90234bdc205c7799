"""What a stack becomes of when its cloud answers oddly: `make odd-clouds` prints the table.

    python -m tests.odd_clouds.run [--json FILE] [--only NAME] [--seed N] [--all]

A stack with one resource is created, updated, checked and deleted; in one of these operations some
calls get an odd answer. Then the cloud answers as ever: the same operation again, and the delete.
A scenario is right if the operation ended before its timeout, with the words of the cloud in its
reason if it failed, if nothing was doubled, and if nothing is left that is called deleted.
"""

import argparse
import json
import logging
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import Pool
from pathlib import Path

from hearth.model.state import Action, Status
from hearth.store.rows import StackRow
from tests import hurry
from tests.odd_clouds.proxy import Rule
from tests.odd_clouds.scenarios import Scenario, scenarios
from tests.odd_clouds.world import TIMEOUT_MINS, OddTown

HEAD = ("scenario", "state", "words", "calls", "verdict")
SEARCHED_S = 130.0  # a search for an object that may exist goes on after the timeout
LATE_S = 15.0  # after its timeout, until an operation has ended at the latest
WORDS_MAX = 110
ORDER = (Action.CREATE, Action.UPDATE, Action.CHECK, Action.DELETE)
NAMES = {Action.CREATE: "first", Action.UPDATE: "second"}


@dataclass
class Row:
    """The result of a scenario. `calls` counts those to the cloud while it was odd."""

    name: str
    state: str = ""
    words: str = ""
    calls: int = 0
    struck: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """What is wrong, or that nothing is."""
        return "; ".join(self.wrong) or ("right" if self.struck else "right (not met)")


async def _story(town: OddTown, scenario: Scenario, result: Row) -> None:
    """Let the odd answers come in one operation, then repeat it, then delete the stack."""
    row: StackRow | None = None
    for action in ORDER[: ORDER.index(scenario.action)]:
        row = await _operated(town, scenario, row, action)
        _demand(row, result, "before the odd answers")
    row = await _odd(town, scenario, row, result)
    gone = row.action is Action.DELETE and row.status is Status.COMPLETE
    if not gone:
        again = Action.UPDATE if scenario.action is Action.CREATE else scenario.action
        row = await _operated(town, scenario, row, again)
        _demand(row, result, "the second step")
        if again is not Action.DELETE:
            if (there := await town.swept(scenario.thing.kind)) != 1:
                result.wrong.append(f"{there} there after the second step")
            row = await _operated(town, scenario, row, Action.DELETE)
            _demand(row, result, "the delete")
    if left := town.alive():
        result.wrong.append(f"called deleted: {', '.join(left)}")


async def _operated(
    town: OddTown, scenario: Scenario, row: StackRow | None, action: Action
) -> StackRow:
    """Carry out an operation to its end."""
    template = scenario.thing.template(NAMES.get(action, ""))
    if row is None:
        return await town.create(template)
    return await town.begin(row.id, action, template if action is Action.UPDATE else None)


async def _odd(town: OddTown, scenario: Scenario, row: StackRow | None, result: Row) -> StackRow:
    """Carry out the operation in which the cloud is odd, and judge its end."""
    thing = scenario.thing
    if scenario.slow_s:
        town.knob({"method": "POST", "path_regex": thing.path}, {"slow_s": scenario.slow_s})
    town.proxy.rules = [
        Rule(one.method, re.compile(one.path), one.oddness, one.times, one.spared)
        for one in scenario.strikes
    ]
    if scenario.catalogue:
        await town.forget()
    before, began = town.proxy.calls, time.monotonic()
    row = await _operated(town, scenario, row, scenario.action)
    taken_s = time.monotonic() - began
    result.calls = town.proxy.calls - before
    result.struck = sum(rule.struck for rule in town.proxy.rules)
    met = all(rule.struck for rule in town.proxy.rules)
    town.proxy.rules = []
    if scenario.catalogue:
        await town.forget()
    town.running.cloud.knobs.clear()
    result.state = f"{row.action.value}_{row.status.value}"
    if row.status is not Status.COMPLETE:
        result.words = town.reasons(row)
    _judge(scenario, row, result, taken_s, met=met)
    if (made := town.made()[thing.kind]) > scenario.made:
        result.wrong.append(f"{made} made")
    return row


def _judge(scenario: Scenario, row: StackRow, result: Row, taken_s: float, *, met: bool) -> None:
    failed = row.status is not Status.COMPLETE
    if row.action is not scenario.action:
        result.wrong.append(f"ended as {result.state}")
    if failed and not scenario.may_fail:
        result.wrong.append("failed")
    if not failed and scenario.must_fail and met:
        result.wrong.append("COMPLETE although it cannot be")
    if failed and scenario.words not in result.words:
        result.wrong.append(f'no "{scenario.words}" in the reason')
    if failed and re.fullmatch(r"Timed out\.?", row.reason):
        result.wrong.append("the stack says only: Timed out")
    if "Engine fault" in result.words:
        result.wrong.append("engine fault")
    if taken_s > SEARCHED_S + TIMEOUT_MINS * 60 + LATE_S:
        result.wrong.append(f"ended after {taken_s:.0f} s")
    if result.calls > scenario.calls_max:
        result.wrong.append(f"{result.calls} calls")


def _demand(row: StackRow, result: Row, when: str) -> None:
    if row.status is not Status.COMPLETE:
        result.wrong.append(f"{when}: {row.action.value}_{row.status.value} {row.reason}")


def examine(scenario: Scenario) -> Row:
    """Run a scenario in a world of its own."""
    result = Row(scenario.name)

    async def main() -> None:
        town = OddTown()
        await town.open()
        try:
            await _story(town, scenario, result)
        finally:
            await town.close()

    try:
        hurry.run(main())
    except Exception as problem:
        result.wrong.append(f"{type(problem).__name__}: {problem}")
    return result


def line_of(row: Row) -> str:
    """Return the line of the table."""
    words = " ".join(re.sub(r"[^\x20-\x7e]", "·", row.words).split())
    words = words if len(words) <= WORDS_MAX else f"{words[:WORDS_MAX]}…"
    cells = (row.name, row.state, words, str(row.calls), row.verdict)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def examine_at(arguments: tuple[int, bool, int]) -> Row:
    seed, everything, number = arguments
    return examine(scenarios(seed, everything=everything)[number])


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.odd_clouds.run")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument(
        "--only", default="", help="scenarios whose name begins so, as a regular expression"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="draws resources")
    parser.add_argument("--all", action="store_true", help="each odd answer with each resource")
    parser.add_argument("--at-once", type=int, default=6)
    options = parser.parse_args(arguments)
    drawn = scenarios(options.seed, everything=options.all)
    chosen = [n for n, one in enumerate(drawn) if re.match(options.only, one.name)]
    logging.disable()
    print(f"| {' | '.join(HEAD)} |\n| --- | --- | --- | --- | --- |")
    rows = []
    with Pool(options.at_once) as pool:
        tasks = [(options.seed, options.all, number) for number in chosen]
        for row in pool.imap(examine_at, tasks):
            rows.append(row)
            print(line_of(row), flush=True)
    wrong = sum(bool(row.wrong) for row in rows)
    states = ", ".join(
        f"{n} {state}" for state, n in sorted(Counter(r.state for r in rows).items())
    )
    print(f"{len(rows)} scenarios, {wrong} wrong, seed {options.seed}: {states}")
    if options.json is not None:
        found = {
            "commit": _commit(), "seed": options.seed, "scenarios": len(rows), "wrong": wrong,
            "rows": [{**vars(row), "words": row.words[:400]} for row in rows],
        }  # fmt: skip
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

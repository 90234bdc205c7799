"""`make crash`: Hearth is killed while it makes stacks; the cloud's ledger tells what came of it.

`python -m tests.crash.run --count N --seed S` makes N kills or a few more, two in a stack; prints
a table and writes the result as JSON with the seed and the commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.crash.lives import Lane, Life, Outcome, plan
from tests.crash.windows import RANDOM, UNMAKING, WINDOWS

LANES = 3


def carry_out(
    lives: list[Life], folder: Path, lanes: int = LANES, *, tell: bool = False
) -> list[Outcome]:
    """All lives, some beside each other, each lane with a cloud and a Hearth of its own."""
    waiting: SimpleQueue[Life] = SimpleQueue()
    for life in lives:
        waiting.put(life)
    outcomes: list[Outcome] = []
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            lane = Lane(folder / str(number))
            try:
                while True:
                    life = waiting.get_nowait()
                    outcome = lane.live(life)
                    outcomes.append(outcome)
                    if tell:
                        say(outcome)
                    if outcome.wrong:  # what it left must not disturb others
                        lane.close()
                        lane = Lane(folder / f"{number}-{len(outcomes)}")
            except Empty:
                pass
            finally:
                lane.close()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(min(lanes, len(lives)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return outcomes


def say(outcome: Outcome) -> None:
    """One line about a life, more where it went wrong."""
    kills = "; ".join(f"{k.window} {','.join(k.targets)}" for k in outcome.life.kills)
    verdict = "wrong" if outcome.wrong else "well"
    print(f"{outcome.seconds:5.1f} s {verdict:5} {outcome.life.name:10} {kills}", flush=True)
    for line in (*outcome.wrong, *outcome.superfluous):
        print(f"        {line}", flush=True)
    for kill in outcome.missed:
        print(f"        missed: {kill.window} {kill.targets}", flush=True)
    if outcome.log:
        print(outcome.log, flush=True)


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """What the runs add up to."""
    kills = Counter(kill.window for one in outcomes for kill in one.made)
    hit: dict[str, Counter[str]] = {}
    for one in outcomes:
        for kill in one.made:
            hit.setdefault(kill.window, Counter()).update(kill.targets)
    return {
        "kills": {window: kills[window] for window in (*WINDOWS, RANDOM, UNMAKING)},
        "targets": {window: dict(sorted(counts.items())) for window, counts in hit.items()},
        "missed": sum(len(one.missed) for one in outcomes),
        "stacks": len(outcomes),
        "wrong": [
            {"life": one.life.name, "seed": one.life.seed, "what": one.wrong}
            for one in outcomes
            if one.wrong
        ],
        "superfluous": [line for one in outcomes for line in one.superfluous],
    }


def commit() -> str:
    """The commit this tree is at."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="how many kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=LANES, help="pairs of processes side by side")
    parser.add_argument("--only", help="of the plan only this one, such as shelf or tiers-7")
    parser.add_argument("--out", type=Path, default=Path("build/crash.json"))
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hearth-crash-") as folder:
        lives = plan(options.count, options.seed)
        lives = [life for life in lives if options.only in (None, life.name)]
        outcomes = carry_out(lives, Path(folder), options.lanes, tell=True)
    seconds = time.monotonic() - began
    result = summary(outcomes)
    print(f"\n{'window':28} {'kills':>6}")
    for window, number in result["kills"].items():
        print(f"{window:28} {number:6}")
    print(f"{len(outcomes)} stacks, {len(result['wrong'])} wrong, {seconds:.0f} s")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    facts = {"commit": commit(), "seed": options.seed, "count": options.count}
    options.out.write_text(json.dumps({**facts, "seconds": round(seconds), **result}, indent=2))
    print(f"the result is in {options.out}")
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

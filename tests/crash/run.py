"""`make crash`: Hearth is killed while it makes stacks; the cloud's ledger tells what came of it.

`python -m tests.crash.run --count N --seed S` makes N kills or a few more; prints a table and
writes the result as JSON with the seed and the commit.
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
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import sqlalchemy as sa

from hearth.resources.registry import builtin_types
from tests.conftest import SERVERS
from tests.crash import account
from tests.crash.lives import Lane, Made, Outcome, OuterLane, PairLane, words
from tests.crash.outer import outer
from tests.crash.plan import PAIRED, STORIES, VERBS, Life, plan
from tests.crash.story import Story
from tests.crash.windows import ALONE, MOMENT_S, RANDOM, STILL_S, STOPPED, WAITING, WINDOWS

LANES = 8  # they mostly wait
PAIR_LANES = 3  # of these begin with two engines each


def carry_out(
    lives: list[Life], folder: Path, lanes: int = LANES, *, tell: bool = False
) -> list[Outcome]:
    """All lives, some beside each other, each lane with a cloud and a Hearth of its own."""
    pairs = [life for life in lives if life.pair]
    outers = [life for life in lives if life.story is outer]
    others = [life for life in lives if not life.pair and life.story is not outer]
    runs = _Runs(folder, tell=tell)
    waiting: Waiting = [
        (_queue(pairs), PairLane),
        (_queue(outers), OuterLane),
        (_queue(others), Lane),
    ]
    threads = [
        threading.Thread(target=runs.through, args=(waiting if i < PAIR_LANES else waiting[1:],))
        for i in range(max(lanes, PAIR_LANES))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if runs.problems:
        raise runs.problems[0]
    return runs.outcomes


def _queue(lives: list[Life]) -> SimpleQueue[Life]:
    queue: SimpleQueue[Life] = SimpleQueue()
    for life in lives:
        queue.put(life)
    return queue


Waiting = list[tuple[SimpleQueue[Life], Callable[[Path], Lane]]]


class _Runs:
    """What the lanes have in common."""

    def __init__(self, folder: Path, *, tell: bool) -> None:
        self.outcomes: list[Outcome] = []
        self.problems: list[BaseException] = []
        self._folder, self._tell = folder, tell
        self._lanes = 0
        self._lock = threading.Lock()

    def through(self, waiting: Waiting) -> None:
        """All lives that wait, one kind of lane after the other."""
        try:
            for queue, make in waiting:
                self._drain(queue, make)
        except BaseException as problem:
            self.problems.append(problem)

    def _drain(self, queue: SimpleQueue[Life], make: Callable[[Path], Lane]) -> None:
        lane: Lane | None = None
        try:
            while True:
                life = queue.get_nowait()
                try:
                    lane = lane or make(self._place())
                except Exception as problem:  # nobody can tell how this life would have been
                    self._lived(Outcome(life, wrong={"before": [words(problem)]}))
                    continue
                outcome = lane.live(life)
                self._lived(outcome)
                if outcome.wrong:  # what it left must not disturb others
                    lane.close()
                    lane = None
        except Empty:
            pass
        finally:
            if lane is not None:
                lane.close()

    def _lived(self, outcome: Outcome) -> None:
        with self._lock:
            self.outcomes.append(outcome)
            if self._tell:
                say(outcome)

    def _place(self) -> Path:
        with self._lock:
            self._lanes += 1
            return self._folder / str(self._lanes)


def say(outcome: Outcome) -> None:
    """One line about a life, more where it went wrong."""
    kills = "; ".join(f"{kill.verb}: {kill.window} ({len(kill.kinds)})" for kill in outcome.made)
    verdict = "wrong" if outcome.wrong else "well"
    print(f"{outcome.seconds:5.1f} s {verdict:5} {outcome.life.name:10} {kills}", flush=True)
    for verb, lines in outcome.wrong.items():
        for line in lines:
            print(f"        {verb}: {line}", flush=True)
    for line in outcome.superfluous:
        print(f"        {line}", flush=True)
    for kill in outcome.missed:
        print(f"        not all: {kill.verb} {kill.window} {kill.targets}", flush=True)
    if outcome.log:
        print(outcome.log, flush=True)


def types_of(story: Story, kill: Made) -> set[str]:
    """The types that a kill struck, those without calls too."""
    struck = {story.waits.get(kind, kind).partition(" ")[0] for kind in kill.kinds}
    struck |= {one for kind in kill.kinds for one in story.quiet.get(kind, ())}
    return {one for one in struck if "::" in one or one.startswith("<")}


def by_type(outcomes: list[Outcome]) -> dict[str, Any]:
    """Per type: its kills by window, and what became of the stacks that they were in."""
    found: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        story = outcome.life.story
        struck: set[str] = set()
        for kill in outcome.made:
            for name in types_of(story, kill):
                struck.add(name)
                row = found.setdefault(name, {"kills": Counter(), **dict.fromkeys(FAULTS, 0)})
                row["kills"][f"{kill.verb}: {kill.window}"] += 1
        for name in struck:
            for fault, number in faults(outcome).items():
                found[name][fault] += number
    return {
        name: {**row, "kills": dict(sorted(row["kills"].items()))}
        for name, row in sorted(found.items())
    }


FAULTS = ("orphans", "doubles", "lost", "stuck")


def faults(outcome: Outcome) -> dict[str, int]:
    """What went wrong in a life: things left over, things there too often or too seldom, and what
    did not end, or not as it should."""
    found = dict.fromkeys(FAULTS, 0)
    for lines in outcome.wrong.values():
        for line in lines:
            found[fault(line)] += 1
    return found


def fault(line: str) -> str:
    """What kind of fault a line of an account tells."""
    if "left over" in line:
        return "orphans"
    if number := account.NUMBERS.search(line):
        return "doubles" if int(number["alive"]) > int(number["wanted"]) else "lost"
    return "stuck"


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """What the runs add up to."""
    windows: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        struck = {kill.window for kill in outcome.made}
        for kill in outcome.made:
            windows.setdefault(kill.window, Counter(dict.fromkeys(FAULTS, 0))).update(["kills"])
            windows[kill.window].update([kill.verb])
        for window in struck:
            windows[window].update(faults(outcome))
    return {
        "kills": sum(len(one.made) for one in outcomes),
        "windows": {window: dict(sorted(row.items())) for window, row in sorted(windows.items())},
        "types": by_type(outcomes),
        "missed": [
            {"life": one.life.name, "verb": kill.verb, "window": kill.window, "wave": kill.wave}
            for one in outcomes
            for kill in one.missed
        ],
        "not reached": not_reached(outcomes),
        "not meant to reach every type": SAMPLED,
        "stacks": len(outcomes),
        "wrong": [story_of(one) for one in outcomes if one.wrong],
        "superfluous": [line for one in outcomes for line in one.superfluous],
    }


def story_of(outcome: Outcome) -> dict[str, Any]:
    """A life that went wrong: what was done to it, what came of it, and what Hearth said."""
    return {
        "life": outcome.life.name,
        "seed": outcome.life.seed,
        "kills": [asdict(kill) for kill in outcome.made],
        "missed": [asdict(kill) for kill in outcome.missed],
        "what": outcome.wrong,
        "log": outcome.log.splitlines(),
    }


def not_reached(outcomes: list[Outcome]) -> dict[str, list[str]]:
    """Types that were not struck in a window, by why not: each as `type at act: window`."""
    struck = {
        (kill.verb, kill.window, name)
        for one in outcomes
        for kill in one.made
        for name in types_of(one.life.story, kill)
    }
    found: dict[str, dict[str, None]] = {}
    for verb in VERBS:
        for window in (*WINDOWS, *STOPPED):
            for name in sorted(builtin_types()):
                if (verb, window, name) not in struck:
                    where = window if _has_call(name, verb) else "any window"
                    why = why_not(outcomes, struck, verb, window, name)
                    found.setdefault(why, {})[f"{name} at {verb}: {where}"] = None
    return {why: list(pairs) for why, pairs in found.items()}


def why_not(
    outcomes: list[Outcome], struck: set[tuple[str, str, str]], verb: str, window: str, name: str
) -> str:
    """Why a type was not struck in a window."""
    stories = _has_call(name, verb)
    if not stories:
        return NO_CALL[verb]
    if window in STOPPED:
        if not any(story in PAIRED for story in stories):
            return "two engines are in other stories only"
        if any((verb, other, name) in struck for other in STOPPED):
            return "struck in the other of the windows for two engines, which take turns"
        if verb not in ("create", "delete"):
            return "two engines are stopped at create and delete only"
    if any(
        (kill.verb, kill.window) == (verb, window)
        and name in types_of(one.life.story, Made(window, verb, kill.targets))
        for one in outcomes
        for kill in one.missed
    ):
        return (
            "its call came before it was waited for, or Hearth was killed at others of its wave "
            f"{STILL_S} s after those had come, or it did not come within {MOMENT_S} s"
        )
    return "no life of this run has it: more are made with a higher --count, or with PostgreSQL"


def _has_call(name: str, verb: str) -> list[Story]:
    """The stories in which something is called for a type, or that start or end it with a call."""
    return [
        story
        for story in STORIES
        if name in types_of(story, Made("", verb, tuple(story.kinds(verb))))
    ]


SAMPLED = {
    RANDOM: "strikes at moments, whatever is under way",
    WAITING: "strikes while no call is under way",
    **dict.fromkeys((*ALONE, "killed, the other engine goes on"), "strikes at waves by luck"),
}
NO_CALL = {
    "create": "it is made without a call",
    "delete": "its record goes without a call, in one commit with the end of another",
    "check": "a check only reads; it is struck at some reads of one story",
    "suspend": "a suspend does nothing to it, or no story with it is suspended",
    "resume": "a resume does nothing to it, or no story with it is suspended",
    "rollback": "a rollback does nothing to it that an update does not, or no story has one",
    "update": "the update of the stories does not change it",
}


def table(result: Mapping[str, Any]) -> str:
    """The result for people."""
    heads = ("kills", *FAULTS)
    lines = [f"{'window':36}" + "".join(f"{head:>9}" for head in heads)]
    for window, row in result["windows"].items():
        lines.append(f"{window:36}" + "".join(f"{row.get(head, 0):9}" for head in heads))
    lines.append(f"\n{'type':42}" + "".join(f"{head:>9}" for head in heads))
    for name, row in result["types"].items():
        numbers = (sum(row["kills"].values()), *(row[fault] for fault in FAULTS))
        lines.append(f"{name:42}" + "".join(f"{number:9}" for number in numbers))
    return "\n".join(lines)


def commit() -> str:
    """The commit this tree is at."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def has_postgresql() -> bool:
    """Whether there is a server for two engines."""
    engine = sa.create_engine(SERVERS["postgresql"])
    try:
        engine.connect().close()
    except sa.exc.OperationalError:
        return False
    finally:
        engine.dispose()
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=330, help="how many kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=LANES, help="clouds side by side")
    parser.add_argument("--only", help="of the plan only these, such as shelf or tiers-7")
    parser.add_argument("--no-pairs", action="store_true", help="nothing with two engines")
    parser.add_argument("--json", type=Path, default=Path("build/crash.json"))
    options = parser.parse_args()
    began, tree = time.monotonic(), commit()
    pairs = not options.no_pairs and has_postgresql()
    if not pairs and not options.no_pairs:
        print(f"no PostgreSQL at {SERVERS['postgresql']}: nothing with two engines", flush=True)
    with tempfile.TemporaryDirectory(prefix="hearth-crash-") as folder:
        lives = plan(options.count, options.seed, pairs=pairs)
        only = options.only
        lives = [one for one in lives if only in (None, one.name, one.story.name)]
        outcomes = carry_out(lives, Path(folder), options.lanes, tell=True)
        missed = options.count - sum(len(one.made) for one in outcomes)
        if missed > 0 and only is None:  # the plan goes on for those that did not strike
            more = plan(options.count + 2 * missed, options.seed, pairs=pairs)[len(lives) :]
            (Path(folder) / "more").mkdir()
            outcomes += carry_out(more, Path(folder) / "more", options.lanes, tell=True)
    result = summary(outcomes)
    seconds = round(time.monotonic() - began)
    print(f"\n{table(result)}\n")
    wrong = len(result["wrong"])
    totals = Counter[str](dict.fromkeys(FAULTS, 0))
    for outcome in outcomes:
        totals.update(faults(outcome))
    result = {"totals": dict(totals), **result}
    told = ", ".join(f"{number} {name}" for name, number in totals.items())
    print(f"{result['kills']} kills, {len(outcomes)} stacks: {told}; {wrong} wrong, {seconds} s")
    facts = {"commit": tree, "seed": options.seed, "N": options.count, "seconds": seconds}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({**facts, **result}, indent=1) + "\n")
    print(f"the result is in {options.json}")
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

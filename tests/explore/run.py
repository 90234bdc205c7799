"""`make explore`: every fault, and every pair of faults, at every point of small stories.

Prints for each story how many placements were tried; one that goes wrong is printed with what
replays it: `--scenario NAME --at "N mishap" --at "N mishap"`.
"""

import argparse
import json
import logging
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.simulator.explore import Outcome, mishaps, run_scenario
from tests.simulator.scenarios import SCENARIOS

JOBS = 2
SHOWN_MAX = 20
BY_NAME = {one.name: one for one in SCENARIOS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", action="append", choices=sorted(BY_NAME))
    parser.add_argument("--singles", action="store_true", help="no pairs")
    parser.add_argument("--at", action="append", default=[], metavar="'N MISHAP'")
    parser.add_argument("--first", action="store_true", help="stop at the first wrong one")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.scenario or list(BY_NAME)
    logging.basicConfig(level="INFO" if options.at else "CRITICAL")
    if options.at:
        outcome = run_scenario(BY_NAME[names[0]], tuple(_point(one) for one in options.at))
        print(outcome, *enumerate(outcome.points), sep="\n")
        return bool(outcome.wrong)
    return explored(names, not options.singles, options.jobs, options.json, first=options.first)


def explored(
    names: list[str], pairs: bool, jobs: int, report: Path | None, *, first: bool = False
) -> int:
    """Play all placements of the stories and print what came of them; 1 if one went wrong."""
    began, wrong = time.monotonic(), []
    table: dict[str, Counter[str]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name in names:
            plain = run_scenario(BY_NAME[name])
            singles = list(mishaps(plain.points))
            counts = table[name] = Counter(points=len(plain.points), singles=len(singles))
            found = [str(plain)] if plain.wrong else []
            for tried, bad in pool.map(partial(_from, name, pairs), singles, chunksize=4):
                counts["pairs"] += tried
                found += bad
                if first and found:
                    break
            counts["wrong"] = len(found)
            print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
            for line in found[:SHOWN_MAX]:
                print("  " + line)
            wrong += found
            if first and wrong:
                pool.shutdown(cancel_futures=True)
                break
    total = sum((counts for counts in table.values()), Counter())
    tried = total["singles"] + total["pairs"]
    print(f"{tried} placements tried in {time.monotonic() - began:.0f} s")
    print(f"{tried - len(wrong)} passed, {len(wrong)} failed")
    if report is not None:
        result = {"stories": {name: dict(counts) for name, counts in table.items()}, "wrong": wrong}
        report.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if wrong else 0


def _from(name: str, pairs: bool, first: tuple[int, str]) -> tuple[int, list[str]]:
    """One fault, and it with every other behind it: how many pairs, and what went wrong."""
    scenario = BY_NAME[name]
    single = run_scenario(scenario, (first,))
    found = [_replay(single)] if single.wrong else []
    tried = 0
    for second in mishaps(single.points, after=first[0]) if pairs else ():
        both = run_scenario(scenario, (first, second))
        tried += 1
        found += [_replay(both)] if both.wrong else []
    return tried, found


def _replay(outcome: Outcome) -> str:
    at = " ".join(f'--at "{number} {mishap}"' for number, mishap in outcome.placed)
    return f'{outcome} [--scenario "{outcome.scenario}" {at}]'


def _point(text: str) -> tuple[int, str]:
    number, _, mishap = text.partition(" ")
    return int(number), mishap


if __name__ == "__main__":
    sys.exit(main())

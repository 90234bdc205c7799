"""`make sim`: histories from seeds, until one is wrong. A failing seed replays exactly."""

import argparse
import logging
import sys
import time
from collections import Counter

from hearth.sim.history import play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--first", action="store_true", help="stop at the first wrong one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level="INFO" if options.verbose else "CRITICAL")
    began, seen, bad, played = time.monotonic(), Counter(), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        outcome = play(seed)
        played += 1
        seen.update(dict.fromkeys(+outcome.seen, 1))
        if outcome.wrong:
            bad += 1
            print(f"seed {seed}: {'; '.join(outcome.wrong)}")
            if options.first:
                return 1
    seconds = time.monotonic() - began
    for what, count in seen.most_common():
        print(f"{count / played:6.1%} of the histories: {what}")
    print(f"{played} histories in {seconds:.1f} s, {played / seconds * 60:.0f} a minute")
    print(f"{played - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

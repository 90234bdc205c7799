"""`make sim`: histories from seeds. A failing seed replays exactly."""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--first", action="store_true", help="stop at the first wrong one")
    parser.add_argument("--stats", action="store_true", help="what of the engine was reached")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level="INFO" if options.verbose else "CRITICAL")
    if options.stats:
        with reached():
            return histories(options.seed, options.count, first=options.first)
    return histories(options.seed, options.count, first=options.first)


def histories(first_seed: int, count: int, *, first: bool) -> int:
    """Play them and print what they were like; 1 if one was wrong."""
    from tests.simulator.history import simulate  # not before somebody watches what is imported

    began, bad, played = time.monotonic(), 0, 0
    seen: Counter[str] = Counter()
    for seed in range(first_seed, first_seed + count):
        outcome = simulate(seed)
        played += 1
        seen.update(dict.fromkeys(+outcome.seen, 1))
        if outcome.wrong:
            bad += 1
            print(f"seed {seed}: {'; '.join(outcome.wrong)}")
            if first:
                return 1
    seconds = time.monotonic() - began
    for what, times in seen.most_common():
        print(f"{times / played:6.1%} of the histories: {what}")
    print(f"{played} histories in {seconds:.1f} s, {played / seconds * 60:.0f} a minute")
    print(f"{played - bad} passed, {bad} failed")
    return 1 if bad else 0


@contextmanager
def reached() -> Iterator[None]:
    """Watch which branches of the engine are taken, and print it."""
    import coverage

    watch = coverage.Coverage(branch=True, source_pkgs=["hearth.engine"], data_file=None)
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        watch.report(show_missing=True, skip_covered=True, skip_empty=True)


if __name__ == "__main__":
    sys.exit(main())

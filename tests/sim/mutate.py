"""`make mutations`: the engine broken on purpose, and how many histories it takes to show.

Each file in `mutations/` is a diff against the repository. Its head says what a user would see and
names a seed whose history shows it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MUTATIONS = sorted((Path(__file__).parent / "mutations").glob("*.diff"))
SEEDS_MAX = 1000
_SEED = re.compile(r"^seed: (\d+|not known)$", re.MULTILINE)
_CHANGED = re.compile(r"^--- a/(.+)$", re.MULTILINE)
LIMIT_S = 600.0  # for all histories of one mutation


class Stale(Exception):
    """A diff does not apply any more."""


@dataclass(frozen=True)
class Caught:
    """The history that showed a mutation, and after how many seconds."""

    seed: int
    wrong: str
    seconds: float


def known_seed(diff: Path) -> int | None:
    """The seed that the head of the diff names; None where nobody has looked for one yet."""
    found = _SEED.search(diff.read_text())
    assert found is not None, f"{diff.name} names no seed"
    return None if found[1] == "not known" else int(found[1])


@contextmanager
def mutated(diff: Path) -> Iterator[Path]:
    """A folder with the product as the diff makes it. Raises Stale."""
    with tempfile.TemporaryDirectory() as folder:
        linked(Path(folder))
        apply(diff, Path(folder))
        yield Path(folder, "src")


def linked(folder: Path) -> None:
    """Fill a folder with hard links to the product: copies take seconds."""
    shutil.copytree(ROOT / "src" / "hearth", folder / "src" / "hearth", copy_function=_link)


def _link(original: str, path: str) -> None:
    try:
        os.link(original, path)
    except OSError:  # another file system
        shutil.copy2(original, path)


def apply(diff: Path, folder: Path, *, back: bool = False) -> None:
    """Change the sources in a folder, or change them back; originals stay. Raises Stale."""
    for name in _CHANGED.findall(diff.read_text()):
        path = folder / name
        if path.exists():
            text = path.read_bytes()
            path.unlink()
            path.write_bytes(text)
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        ["git", "apply", *(["--reverse"] if back else []), str(diff)],
        cwd=folder,
        env=alone,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Stale(f"{diff.name} does not apply: {done.stderr.strip()}")


def caught(diff: Path, *, seed: int = 0, count: int = SEEDS_MAX) -> Caught | None:
    """The first of so many histories in which the mutation shows. Raises Stale, and
    `subprocess.TimeoutExpired` where they take too long."""
    with mutated(diff) as source:
        began = time.monotonic()
        seeds = ["--seed", str(seed), "--count", str(count)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.sim.run", "--first", *seeds],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{source}:{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    seconds = time.monotonic() - began
    if (found := re.match(r"seed (\d+): (.*)", done.stdout)) is not None:
        return Caught(int(found[1]), found[2], seconds)
    assert "passed, 0 failed" in done.stdout, done.stderr
    return None


def _record(diff: Path, found: Caught | None) -> None:
    named = f"seed: {'not known' if found is None else found.seed}"
    diff.write_text(_SEED.sub(named, diff.read_text(), count=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=SEEDS_MAX, help="seeds for each mutation")
    parser.add_argument("--record", action="store_true", help="name the found seeds in the diffs")
    parser.add_argument("names", nargs="*", help="the mutations (all)")
    options = parser.parse_args()
    missed = 0
    print(f"{'mutation':38} {'seeds':>5} {'s':>6}  what was wrong")
    for diff in MUTATIONS:
        if options.names and diff.stem not in options.names:
            continue
        try:
            found = caught(diff, count=options.count)
        except subprocess.TimeoutExpired:
            found = None
        if found is None and (rare := known_seed(diff)) is not None:
            found = caught(diff, seed=rare, count=1)
        missed += found is None
        if options.record:
            _record(diff, found)
        if found is None:
            print(f"{diff.stem:38} {'-':>5} {'-':>6}  not caught in {options.count}", flush=True)
        else:
            line = f"{diff.stem:38} {found.seed + 1:5} {found.seconds:6.1f}  {found.wrong[:110]}"
            print(line, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Every target for a while: `python -m tests.fuzz.run --seconds 300 --json result.json`.

Two processes at a time. Prints a table, writes the result down, and keeps what it finds in the
corpus, where the suite tries it again until it is mended.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.fuzz.corpus import CORPUS
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "fuzz"
"""What covers more of the compiler, from one run to the next."""

AT_ONCE = 2
GRACE_S = 60


@dataclass
class Tried:
    """What came of a target."""

    target: str
    executions: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


def engine() -> str:
    """What finds the inputs, with its version."""
    for name in ("atheris", "hypothesis"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    raise SystemExit("hypothesis is not installed: make install")


def tried(target: str, seconds: int, seed: int, by: str, keep: Path) -> Tried:
    """Run the process of one target to its end."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        status = Path(folder) / "status.json"
        command = [
            sys.executable, "-m", "tests.fuzz.drive", target, "--seconds", str(seconds),
            "--seed", str(seed), "--keep", str(keep), "--work", str(WORK / target),
            "--status", str(status), "--engine", by,
        ]  # fmt: skip
        log = Path(folder) / "log"
        with log.open("wb") as into:
            process = subprocess.Popen(command, cwd=ROOT, stdout=into, stderr=into)
            try:
                process.wait(seconds + GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        done: dict[str, Any] = json.loads(status.read_text()) if status.exists() else {}
        result = Tried(target, seconds=round(time.monotonic() - begun, 1), **done)
        if process.returncode != 0 or not done:
            last = log.read_text(errors="replace").strip().splitlines()[-3:]
            result.findings["process"] = f"ended with {process.returncode}: {' | '.join(last)}"
    return result


def table(results: list[Tried]) -> str:
    """The results for people."""
    lines = [f"{'target':<12} {'executions':>10} {'per s':>7} {'slowest':>8} {'findings':>8}"]
    for one in results:
        rate = one.executions / max(one.seconds, 0.1)
        lines.append(
            f"{one.target:<12} {one.executions:>10,} {rate:>7.0f} {one.slowest_s:>6.2f} s"
            f" {len(one.findings):>8}"
        )
        lines += [f"    {key}: {what}" for key, what in one.findings.items()]
    return "\n".join(lines)


def commit() -> str:
    """The commit that is tried, with a + where the compiler was changed since."""
    head = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src")
    return head + ("+" if changed else "")


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Run the targets; 1 if something was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=300, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, default=CORPUS, help="folder for findings")
    parser.add_argument("--engine", choices=["atheris", "hypothesis"])
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], default=[])
    given = parser.parse_args(arguments)
    name = given.engine or engine().split()[0]
    used = f"{name} {version(name)}"
    print(f"{used}, seed {given.seed}, {given.seconds} s for each target", flush=True)

    def one(target: str) -> Tried:
        return tried(target, given.seconds, given.seed, name, given.keep)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(one, given.targets or TARGETS))
    print(table(results))
    if given.json is not None:
        told = {
            "engine": used,
            "seed": given.seed,
            "commit": commit(),
            "seconds": given.seconds,
            "python": platform.python_version(),
            "targets": {
                one.target: {
                    "executions": one.executions,
                    "slowest_s": one.slowest_s,
                    "findings": one.findings,
                }
                for one in results
            },
        }
        given.json.write_text(json.dumps(told, indent=1) + "\n")
    return int(any(one.findings for one in results))


if __name__ == "__main__":
    sys.exit(main())

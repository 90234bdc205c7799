"""`make fuzz`: every target for so many seconds, guided by coverage where atheris is installed.

    python -m tests.fuzz.run [--seconds N] [--seed S] [--only NAME] [--json OUT]

Prints a line per target: engine, inputs tried, findings. What is found is kept in a folder that
the last line names; moved into `tests/fuzz/corpus` it stays mended. Exit status 1 if anything was.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import machine
from tests.fuzz.corpus import kept

NAMES = ("load", "compile", "environment", "functions", "examine", "lint")
ROUND = 200
"""Inputs that hypothesis makes of one seed."""

EXTRA_S = 120
"""How much longer than asked a target may take before it counts as hanging."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz.run", description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engine = "atheris" if importlib.util.find_spec("atheris") else "hypothesis"
    if engine == "hypothesis":
        print("atheris is not installed: hypothesis alone, without guidance by coverage")
    folder = Path(tempfile.mkdtemp(prefix="hearth-fuzz-"))
    rows = []
    print(f"{'target':<12} {'engine':<11} {'inputs':>9} {'findings':>9}")
    for name in [options.only] if options.only else NAMES:
        row = tried(name, engine, options.seconds, options.seed, folder)
        rows.append(row)
        print(f"{name:<12} {engine:<11} {row['inputs']:>9} {row['findings']:>9}", flush=True)
    found = sum(row["findings"] for row in rows)
    print(f"seed {options.seed}; {found} findings{f' in {folder}' if found else ''}")
    if options.json:
        body = {"machine": machine.describe(), "seed": options.seed, "targets": rows}
        options.json.write_text(json.dumps(body, indent=1) + "\n")
    return int(found > 0)


def tried(name: str, engine: str, seconds: int, seed: int, folder: Path) -> dict[str, Any]:
    """One target in a process of its own: how many inputs, and how many findings."""
    command = [sys.executable, "-m", "tests.fuzz.one", engine, name, seconds, seed, folder]
    try:
        ended = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            timeout=seconds + EXTRA_S,
            check=False,
        )
        said, hung = ended.stdout + ended.stderr, 0
    except subprocess.TimeoutExpired as stuck:
        said, hung = str(stuck.stderr or b""), 1
    counted = re.findall(r"number_of_executed_units: (\d+)", said)
    findings = len(kept(folder, name)) + hung
    if not counted and not findings:
        sys.exit(f"{name} could not be tried: {said[-2000:]}")
    return {
        "target": name,
        "engine": engine,
        "inputs": int(counted[-1]) if counted else 0,
        "findings": findings,
    }


if __name__ == "__main__":
    sys.exit(main())

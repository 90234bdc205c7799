"""`python -m benchmarks [--only GLOB] [--quick] [--json OUT]`."""

import argparse
import json
import sys
from fnmatch import fnmatch
from pathlib import Path

from benchmarks import machine
from benchmarks.booting import booting
from benchmarks.boxed import boxed
from benchmarks.cloudy import makespan, servers
from benchmarks.clustering import clustering
from benchmarks.commanding import commanding
from benchmarks.compiling import compiling
from benchmarks.databases import databases
from benchmarks.deploying import deploying
from benchmarks.editing import editing
from benchmarks.engine import engine
from benchmarks.figure import Case, Figure, table
from benchmarks.language import language
from benchmarks.members import members
from benchmarks.nested import nested
from benchmarks.picking import picking
from benchmarks.polling import polling
from benchmarks.reading import reading
from benchmarks.rest import trivial
from benchmarks.scaling import scaling
from benchmarks.shapes import shapes
from benchmarks.showing import listing, showing
from benchmarks.starting import starting

CASES: dict[str, Case] = {
    "start": starting,
    "devcloud": boxed,
    "compile": compiling,
    "language": language,
    "engine": engine,
    "shapes": shapes,
    "nested": nested,
    "members": members,
    "databases": databases,
    "rest": trivial,
    "read": reading,
    "show": showing,
    "list": listing,
    "poll": polling,
    "pick-up": picking,
    "scaling": scaling,
    "deploy": deploying,
    "boot": booting,
    "clusters": clustering,
    "servers": servers,
    "makespan": makespan,
    "edit": editing,
    "apply": commanding,
}


def main() -> int:
    """Run the cases that were asked for; 0 whether budgets are met or not."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    names = ", ".join(CASES)
    parser.add_argument("--only", default="*", help=f"a pattern over {names}; comma for several")
    parser.add_argument("--quick", action="store_true", help="the small sizes only")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    patterns = options.only.split(",")
    figures: list[Figure] = []
    described = machine.describe()
    print(", ".join(f"{key} {value}" for key, value in described.items()))
    for name, case in CASES.items():
        if any(fnmatch(name, pattern) for pattern in patterns):
            for figure in case(options.quick):
                figures.append(figure)
                print(table([figure]).splitlines()[1], flush=True)
    if options.json:
        body = {"machine": described, "figures": [one.as_json() for one in figures]}
        options.json.write_text(json.dumps(body, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

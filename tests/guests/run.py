"""`make guests`: every agent with every transport and every signal, as a table.

    python -m tests.guests.run [--json FILE] [--agent NAME] [--at-once N] [--processes]

The agents run in servers of the embedded cloud that boot; with `--processes`, or where the machine
permits no namespaces, they are processes of the machine. An agent that this machine lacks is named.
The exit status is 1 if a combination went wrong.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from tests.clients.dev import hearth_dev
from tests.devcloud.sandbox.machines import namespaces
from tests.guests.booted import missing_in_servers
from tests.guests.guests import AGENTS, missing
from tests.guests.story import SIGNALS, TRANSPORTS, Story, tell

AT_ONCE = 5


def stories(agents: Sequence[str], folder: Path, at_once: int, *, boots: bool) -> list[Story]:
    """Return what happened with each combination, several at once."""
    cases = list(product(agents, TRANSPORTS, SIGNALS))
    options = ["--servers", "sandbox"] if boots else []
    with hearth_dev(folder / "hearth", *options) as dev, ThreadPoolExecutor(at_once) as pool:
        return list(
            pool.map(lambda case: tell(dev, *case, folder / "-".join(case), boots=boots), cases)
        )


def table(found: Sequence[Story]) -> str:
    """Return a line for each agent and transport, a column for each signal."""
    lines = [f"{'agent':18} {'transport':17}" + "".join(f"{name:>16}" for name in SIGNALS)]
    for agent, transport in dict.fromkeys((one.agent, one.transport) for one in found):
        row = [one for one in found if (one.agent, one.transport) == (agent, transport)]
        lines.append(f"{agent:18} {transport:17}" + "".join(f"{_cell(one):>16}" for one in row))
    lines += [
        f"{one.agent} {one.transport} {one.signal}: {one.wrong}" for one in found if one.wrong
    ]
    lines += sorted(
        {f"{one.agent} {one.signal}: {one.impossible}" for one in found if one.impossible}
    )
    return "\n".join(lines)


def _cell(story: Story) -> str:
    if story.impossible:
        return "impossible"
    return "WRONG" if story.wrong else f"ok {story.seconds:.1f} s"


def as_json(found: Sequence[Story], lacking: dict[str, str], *, boots: bool) -> dict[str, Any]:
    """Return the result: each combination with its actions and its seconds."""
    return {
        "servers": "boot" if boots else "are processes",
        "user": "root" if os.getuid() == 0 else "an ordinary user",
        "combinations": len(found),
        "wrong": len([one for one in found if one.wrong]),
        "impossible": len([one for one in found if one.impossible]),
        "missing_agents": lacking,
        "by_combination": [vars(one) for one in found],
    }


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Agents x transports x signals.")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--agent", action="append", choices=sorted(AGENTS))
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--processes", action="store_true")
    options = parser.parse_args()
    boots = namespaces() and not options.processes
    lacks = missing_in_servers if boots else missing
    chosen = options.agent or sorted(AGENTS)
    lacking = {one: lacks(one) for one in chosen if lacks(one)}
    for agent, what in lacking.items():
        print(f"{agent}: left out, needs {what}")
    with tempfile.TemporaryDirectory() as folder:
        there = [one for one in chosen if one not in lacking]
        found = stories(there, Path(folder), options.at_once, boots=boots)
    print(table(found))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(found, lacking, boots=boots), indent=1) + "\n")
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())

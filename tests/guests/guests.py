"""The agents: ours, and the unmodified os-collect-config with the hooks of heat-agents.

Both run with a folder before their paths, so many servers fit on one machine.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hearth.agent import agent as ours
from tests.conftest import lacking
from tests.guests import collector

ROOT = Path(__file__).parents[2]
HEAT_AGENTS = ROOT / ".guests" / f"{collector.VERSION}.tar.gz"
"""The source distribution of heat-agents, which `make guests` fetches; the wheel has no hooks."""

COLLECTOR = Path(sys.executable).with_name("os-collect-config")
IMPOSSIBLE = {
    ("os-collect-config", "ZAQAR_SIGNAL"): (
        "heat-config-notify 13.0.0 asks python-zaqarclient for version 1.1 of the API, which "
        "version 4.7 of that client does not have"
    )
}
"""What an unmodified agent cannot do by itself: by agent and signal transport."""


def hearth_agent(folder: Path, section: Mapping[str, Any]) -> list[str]:
    """Return the command of our agent for a server with that section."""
    document = folder / ours.BOOT_DOCUMENT.lstrip("/")
    document.parent.mkdir(parents=True)
    document.write_text(json.dumps({"os-collect-config": section}))
    return [
        sys.executable,
        ours.__file__,
        "--root",
        str(folder),
        "--longest-pause",
        collector.PAUSE_S,
    ]


def os_collect_config(folder: Path, section: Mapping[str, Any]) -> list[str]:
    """Return the command of os-collect-config, which runs the hooks of heat-agents."""
    return collector.command(folder, section, HEAT_AGENTS, [str(COLLECTOR)])


AGENTS = {"hearth": hearth_agent, "os-collect-config": os_collect_config}


def missing(agent: str) -> str:
    """Return what an agent needs that this machine lacks, or nothing."""
    if agent == "os-collect-config":
        if not COLLECTOR.exists():
            return "os-collect-config"
        if not HEAT_AGENTS.exists():
            return "heat-agents, which make guests fetches"
    return ""


def need(agent: str) -> None:
    """Skip, or fail under CI, where an agent is missing."""
    if missing(agent):
        lacking(missing(agent))


@contextmanager
def running(
    agent: str, folder: Path, section: Mapping[str, Any], **variables: str
) -> Iterator[None]:
    """Run an agent in a folder; its words are in `agent.log` there.

    `variables` are added to its environment.
    """
    folder.mkdir(parents=True)
    command = AGENTS[agent](folder, section)
    with (folder / "agent.log").open("w") as said:
        environment = {
            **os.environ,
            **collector.places(folder),
            **variables,
            "PYTHONWARNINGS": "ignore",
        }
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)

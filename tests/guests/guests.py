"""The agents: ours, and the unmodified os-collect-config with the hooks of heat-agents.

Both run with a folder before their paths, so many servers fit on one machine.
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hearth.agent import agent as ours
from tests.conftest import lacking

ROOT = Path(__file__).parents[2]
HEAT_AGENTS = ROOT / ".guests" / "heat_agents-13.0.0.tar.gz"
"""The source distribution of heat-agents, which `make guests` fetches; the wheel has no hooks."""

COLLECTOR = Path(sys.executable).with_name("os-collect-config")
IMPOSSIBLE = {
    ("os-collect-config", "ZAQAR_SIGNAL"): (
        "heat-config-notify 13.0.0 asks python-zaqarclient for version 1.1 of the API, which "
        "version 4.7 of that client does not have"
    )
}
"""What an unmodified agent cannot do by itself: by agent and signal transport."""

PAUSE_S = "0.5"  # the longest between two polls
HOOKED = """#!{python}
import json, os, runpy, sys
found = {{}}
for name in os.environ["OS_CONFIG_FILES"].split(":"):
    with open(name) as file:
        found.update(json.load(file))
with open({configs!r}, "w") as file:
    json.dump(found.get("deployments") or [], file)
sys.argv = [{runner!r}]
runpy.run_path({runner!r}, run_name="__main__")
"""


def hearth_agent(folder: Path, section: Mapping[str, Any]) -> list[str]:
    """Return the command of our agent for a server with that section."""
    document = folder / ours.BOOT_DOCUMENT.lstrip("/")
    document.parent.mkdir(parents=True)
    document.write_text(json.dumps({"os-collect-config": section}))
    return [sys.executable, ours.__file__, "--root", str(folder), "--longest-pause", PAUSE_S]


def os_collect_config(folder: Path, section: Mapping[str, Any]) -> list[str]:
    """Return the command of os-collect-config, which runs the hooks of heat-agents."""
    hooks = _unpacked(folder)
    configs = folder / "heat-config"
    command = folder / "refresh"
    runner = hooks / "heat-config/os-refresh-config/configure.d/55-heat-config"
    command.write_text(
        HOOKED.format(python=sys.executable, configs=str(configs), runner=str(runner))
    )
    command.chmod(0o755)
    kind = next(name for name in section["collectors"] if name in ours.POLLS)
    lines = [f"{name} = {value}" for name, value in section[kind].items()]
    (folder / "agent.conf").write_text("\n".join([f"[{kind}]", *lines, ""]))
    return [
        str(COLLECTOR), "--config-file", str(folder / "agent.conf"), "--cachedir",
        str(folder / "cache"), "--backup-cachedir", str(folder / "backup"), "--command",
        str(command), "--min-polling-interval", PAUSE_S, "--polling-interval", PAUSE_S, kind,
    ]  # fmt: skip


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
        environment = {**os.environ, **_places(folder), **variables, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def _places(folder: Path) -> dict[str, str]:
    """Return the environment by which the hooks of heat-agents keep to a folder."""
    agents = folder / "heat_agents-13.0.0"
    return {
        "HEAT_CONFIG_HOOKS": str(folder / "hooks"),
        "HEAT_SHELL_CONFIG": str(folder / "heat-config"),
        "HEAT_CONFIG_DEPLOYED": str(folder / "deployed"),
        "HEAT_CONFIG_DEPLOYED_OLD": str(folder / "deployed"),
        "HEAT_CONFIG_NOTIFY": str(agents / "notify"),
        "HEAT_SCRIPT_WORKING": str(folder / "working"),
        "HEAT_SCRIPT_OUTPUTS": str(folder / "outputs"),
    }


def _unpacked(folder: Path) -> Path:
    """Unpack heat-agents with its script hook, all run by the Python of the tests."""
    with tarfile.open(HEAT_AGENTS) as archive:
        archive.extractall(folder, filter="data")
    agents = folder / "heat_agents-13.0.0"
    (folder / "hooks").mkdir()
    _launcher(folder / "hooks" / "script", agents / "heat-config-script/install.d/hook-script.py")
    _launcher(agents / "notify", agents / "heat-config/bin/heat-config-notify")
    return agents


def _launcher(path: Path, program: Path) -> None:
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    path.chmod(0o755)

"""How the unmodified os-collect-config is set up below a folder, with the hooks of heat-agents.

It needs the standard library alone and runs in servers too: `python3 collector.py FOLDER`. There
the folder has the packages in `packages` and the source distribution of heat-agents.
"""

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = "heat_agents-13.0.0"
PAUSE_S = "0.5"  # the longest between two polls
BOOT_DOCUMENT = "/var/lib/heat-cfntools/cfn-init-data"
SECTION = "os-collect-config"
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


def command(
    folder: Path, section: Mapping[str, Any], archive: Path, collector: list[str]
) -> list[str]:
    """Unpack the hooks, and return the command that polls as the section says."""
    hooks = _unpacked(folder, archive)
    configs = folder / "heat-config"
    refresh = folder / "refresh"
    runner = hooks / "heat-config/os-refresh-config/configure.d/55-heat-config"
    refresh.write_text(
        HOOKED.format(python=sys.executable, configs=str(configs), runner=str(runner))
    )
    refresh.chmod(0o755)
    kind = next(name for name in section["collectors"] if name in section)
    lines = [f"{name} = {value}" for name, value in section[kind].items()]
    (folder / "agent.conf").write_text("\n".join([f"[{kind}]", *lines, ""]))
    return [
        *collector, "--config-file", str(folder / "agent.conf"), "--cachedir",
        str(folder / "cache"), "--backup-cachedir", str(folder / "backup"), "--command",
        str(refresh), "--min-polling-interval", PAUSE_S, "--polling-interval", PAUSE_S, kind,
    ]  # fmt: skip


def places(folder: Path) -> dict[str, str]:
    """Return the environment by which the hooks of heat-agents keep to a folder."""
    return {
        "HEAT_CONFIG_HOOKS": str(folder / "hooks"),
        "HEAT_SHELL_CONFIG": str(folder / "heat-config"),
        "HEAT_CONFIG_DEPLOYED": str(folder / "deployed"),
        "HEAT_CONFIG_DEPLOYED_OLD": str(folder / "deployed"),
        "HEAT_CONFIG_NOTIFY": str(folder / VERSION / "notify"),
        "HEAT_SCRIPT_WORKING": str(folder / "working"),
        "HEAT_SCRIPT_OUTPUTS": str(folder / "outputs"),
    }


def _unpacked(folder: Path, archive: Path) -> Path:
    """Unpack heat-agents with its script hook, all run by this Python."""
    with tarfile.open(archive) as opened:
        filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        opened.extractall(folder, **filters)  # Debian 12 has no filters
    agents = folder / VERSION
    (folder / "hooks").mkdir()
    _launcher(folder / "hooks" / "script", agents / "heat-config-script/install.d/hook-script.py")
    _launcher(agents / "notify", agents / "heat-config/bin/heat-config-notify")
    return agents


def _launcher(path: Path, program: Path) -> None:
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    path.chmod(0o755)


def main() -> None:
    """Become os-collect-config in a server that runs."""
    folder = Path(sys.argv[1])
    section = json.loads(Path(BOOT_DOCUMENT).read_text())[SECTION]
    collector = [sys.executable, "-c", "from os_collect_config.collect import main; main()"]
    polls = command(folder, section, folder / f"{VERSION}.tar.gz", collector)
    packages = str(folder / "packages")
    os.execve(polls[0], polls, {**os.environ, **places(folder), "PYTHONPATH": packages})


if __name__ == "__main__":
    main()

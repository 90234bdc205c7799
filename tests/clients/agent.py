"""os-collect-config as a server runs it: configured by what its user data tell it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conftest import lacking


class Agent:
    """One server's agent, in a folder of its own."""

    def __init__(self, folder: Path, kind: str, access: Mapping[str, Any]) -> None:
        self.folder, self.kind = folder, kind
        self.command = Path(sys.executable).with_name("os-collect-config")
        if not self.command.exists():
            lacking("os-collect-config")
        (folder / "local").mkdir(mode=0o700)
        lines = [f"{name} = {value}" for name, value in access.items()]
        (folder / "agent.conf").write_text("\n".join([f"[{kind}]", *lines, ""]))

    def collected(self) -> dict[str, Any]:
        """What it finds in one run: by the collector's name, and by those of configurations."""
        found: dict[str, Any] = json.loads(self._run("--print", self.kind))
        return found

    def changed(self) -> list[str]:
        """The files that it hands to its command, by name; none where nothing has changed."""
        said = self._run("--command", "echo given $$OS_CONFIG_FILES", self.kind, "local")
        lines = [line for line in said.splitlines() if line.startswith("given ")]
        files = [path for line in lines for path in line.split()[1].split(":")]
        return [Path(path).stem for path in files]

    def cached(self) -> dict[str, Any]:
        """The metadata as it lies in a file for the hooks."""
        found: dict[str, Any] = json.loads(
            (self.folder / "cache" / f"{self.kind}.json").read_text()
        )
        return found

    def _run(self, *options: str) -> str:
        done = subprocess.run(
            [self.command, "--config-file", self.folder / "agent.conf", "--one-time",
             "--cachedir", self.folder / "cache", "--backup-cachedir", self.folder / "backup",
             "--local-path", self.folder / "local", *options],
            env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

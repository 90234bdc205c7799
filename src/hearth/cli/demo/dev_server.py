"""`hearth dev` as a child process: start it, read its addresses, terminate it."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

END_S = 15
READY = re.compile(r"identity (?P<identity>\S+); clients: \. (?P<openrc>.+)$")


class DemoFailed(Exception):
    """The demo did not find the expected state."""


@dataclass(frozen=True)
class DevServer:
    """The addresses of Hearth and its cloud."""

    auth_url: str
    openrc: Path

    @property
    def password(self) -> str:
        """The password of all users of the cloud in this folder."""
        return (self.openrc.parent / "password").read_text()

    @property
    def cloud_url(self) -> str:
        return self.auth_url.removesuffix("/identity/v3")


@contextlib.contextmanager
def hearth_dev() -> Iterator[DevServer]:
    """Start Hearth with its embedded cloud, and end both after the block. Raises DemoFailed."""
    command = [sys.executable, "-m", "hearth.cli.main", "dev", "--ephemeral", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            found = READY.search(process.stdout.readline())
            if found is None:
                raise DemoFailed("`hearth dev` did not start")
            yield DevServer(found["identity"], Path(found["openrc"].strip()))
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()

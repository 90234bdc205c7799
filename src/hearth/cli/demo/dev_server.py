"""Runs `hearth dev` as a child process of the demo."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

END_S = 15
IN_SERVERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NEEDED = ("curl", "python3")  # by the demo's scripts and the agent
READY = re.compile(r"identity (?P<identity>\S+); clients: \. (?P<openrc>.+)$")


class DemoFailed(Exception):
    """The demo found an unexpected state; the message says which."""


class DevServer(Struct, frozen=True):
    """A running `hearth dev`: the addresses and files with which clients reach it.

    `servers_run` is true if its servers really run.
    """

    auth_url: str
    openrc: Path
    servers_run: bool

    @property
    def password(self) -> str:
        """The password of all users in the embedded cloud."""
        return (self.openrc.parent / "password").read_text()

    @property
    def cloud_url(self) -> str:
        return self.auth_url.removesuffix("/identity/v3")


def servers_cannot_run() -> str | None:
    """Return the reason why sandbox servers cannot run on this machine, or None if they can."""
    if not sys.platform.startswith("linux"):
        return "sandbox servers need Linux"
    lacking = [name for name in NEEDED if shutil.which(name, path=IN_SERVERS) is None]
    if lacking:
        return f"sandbox servers need {' and '.join(lacking)} in {IN_SERVERS}"
    command = [sys.executable, "-m", "hearth_devcloud.sandbox.check"]
    tried = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return tried.stdout.strip() if tried.returncode else None


@contextlib.contextmanager
def hearth_dev(*, servers_run: bool) -> Iterator[DevServer]:
    """Start `hearth dev`, yield its addresses, and terminate it at the end of the block.

    If `servers_run` is true, its servers really run. Raises DemoFailed if it does not start.
    """
    servers = "sandbox" if servers_run else "pretend"
    command = [sys.executable, "-m", "hearth.cli.main", "dev", "--ephemeral", "--port", "0"]
    command += ["--servers", servers]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with (
        tempfile.TemporaryFile("w+") as notes,  # these would disturb the view
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=notes, text=True, env=environment
        ) as process,
    ):
        try:
            assert process.stdout is not None
            match = READY.search(process.stdout.readline())
            if match is None:
                notes.seek(0)
                raise DemoFailed(f"`hearth dev` did not start: {notes.read().strip()}")
            yield DevServer(match["identity"], Path(match["openrc"].strip()), servers_run)
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()

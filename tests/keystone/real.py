"""A Keystone of the package, as a process on this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import requests

from tests.clients.dev import wait_for
from tests.conftest import lacking
from tests.keystone.prepare import configure

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("KEYSTONE_VENV", ROOT / ".keystone-venv"))
PREPARED = VENV / "prepared"
START_S = 60
STOP_S = 20

# one request after the other: on SQLite two that write at the same time can be in each other's way
SERVER = """
wsgi_app = "keystone.wsgi.api:application"
bind = "fd://{number}"
worker_class = "sync"
loglevel = "warning"
"""


def installed() -> None:
    """Skip, or fail under CI, where the package is missing."""
    if not (PREPARED / "keystone.conf").is_file() or sys.platform == "win32":
        lacking("the keystone package: make keystone installs it")


def copied(folder: Path) -> None:
    """The prepared Keystone, for oneself."""
    shutil.copytree(PREPARED, folder, dirs_exist_ok=True)
    configure(folder)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Serve what is in `folder`: the address, without a version."""
    with socket.socket() as bound, (folder / "log").open("w") as log:
        bound.bind(("127.0.0.1", 0))
        bound.listen(128)
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        (folder / "gunicorn.conf.py").write_text(SERVER.format(number=bound.fileno()))
        environment = {**os.environ, "OS_KEYSTONE_CONFIG_DIR": str(folder)}
        environment.pop("PYTHONPATH", None)  # its environment is its own
        with subprocess.Popen(
            [VENV / "bin" / "gunicorn"], cwd=folder, env=environment, stdout=log, stderr=log,
            pass_fds=[bound.fileno()],
        ) as process:  # fmt: skip
            try:
                wait_for(lambda: _answers(url, process), f"Keystone, see {folder}/log", START_S)
                yield url
            finally:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def _answers(url: str, process: "subprocess.Popen[bytes]") -> bool | None:
    assert process.poll() is None, "Keystone has ended"
    try:
        return requests.get(f"{url}/v3", timeout=START_S).ok or None
    except requests.ConnectionError:
        return None

"""A RabbitMQ of our own, which a test may kill."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from tests.crash.processes import free_port, until

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
READY_S = 60.0
CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
distribution.listener.interface = 127.0.0.1
default_user = guest
default_pass = guest
log.console = false
"""


class Broker:
    """A node with data of its own, in a folder."""

    @staticmethod
    def is_here() -> bool:
        """Return whether this machine has the server."""
        return SERVER.exists() and shutil.which("erl") is not None

    def __init__(self, folder: Path) -> None:
        self.port, distribution = free_port(), free_port()
        self.url = f"rabbit://guest:guest@127.0.0.1:{self.port}/"
        folder.mkdir(parents=True)
        (folder / "rabbitmq.conf").write_text(CONFIGURATION.format(port=self.port))
        (folder / "plugins").write_text("[].")
        self._env = {
            **os.environ, "HOME": str(folder), "RABBITMQ_NODENAME": f"n{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(distribution), "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }  # fmt: skip
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        with (self._folder / "out").open("ab") as out:
            self._process = subprocess.Popen(
                [SERVER], env=self._env, stdout=out, stderr=out, start_new_session=True
            )
        until("RabbitMQ takes connections", self._listens, READY_S)

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        assert self._process is not None
        self.send(signal.SIGKILL)
        self._process.wait(20)
        self._process = None

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            self.kill()

"""RabbitMQ servers of our own, which a test may kill."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.crash.processes import LOOPBACK, free_port, until

PROGRAMS = Path("/usr/lib/rabbitmq/bin")
SERVER = PROGRAMS / "rabbitmq-server"
READY_S = 90.0
CONFIGURATION = """
listeners.tcp.1 = {host}:{port}
distribution.listener.interface = 127.0.0.1
default_user = guest
default_pass = guest
loopback_users = none
log.console = false
"""
CLUSTER = """
cluster_formation.peer_discovery_backend = classic_config
cluster_partition_handling = pause_minority
net_ticktime = 5
"""
COOKIE = "hearth"
CONTROL_S = 60.0


class Broker:
    """A node with data of its own, in a folder. It ends when this process does."""

    @staticmethod
    def is_here() -> bool:
        """Return whether this machine has the server."""
        return SERVER.exists() and shutil.which("erl") is not None

    def __init__(self, folder: Path, host: str = LOOPBACK) -> None:
        self.host, self.port, distribution = host, free_port(), free_port()
        self.address = f"guest:guest@{host}:{self.port}"
        self.node = f"n{self.port}@localhost"
        folder.mkdir(parents=True)
        text = CONFIGURATION.format(host=host, port=self.port)
        (folder / "rabbitmq.conf").write_text(text)
        (folder / "plugins").write_text("[].")
        (folder / ".erlang.cookie").write_text(COOKIE)
        (folder / ".erlang.cookie").chmod(0o400)
        self._env = {
            **os.environ, "HOME": str(folder), "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_DIST_PORT": str(distribution), "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }  # fmt: skip
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def join(self, nodes: Sequence[str]) -> None:
        """Form a cluster of these nodes at the first start."""
        listed = "".join(
            f"cluster_formation.classic_config.nodes.{number} = {node}\n"
            for number, node in enumerate(nodes, 1)
        )
        with (self._folder / "rabbitmq.conf").open("a") as file:
            file.write(CLUSTER + listed)

    def launch(self) -> None:
        """Start it."""
        with (self._folder / "out").open("ab") as out:
            self._process = subprocess.Popen(
                [*_tied(), SERVER], env=self._env, stdout=out, stderr=out, start_new_session=True
            )

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.launch()
        self.ready()

    def ready(self) -> None:
        """Wait until it takes connections."""
        until("RabbitMQ takes connections", self._listens, READY_S)

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex((self.host, self.port)) == 0

    def control(self, *arguments: str) -> str:
        """Run a command of rabbitmqctl; return what it prints."""
        done = subprocess.run(
            [PROGRAMS / "rabbitmqctl", "--quiet", *arguments], env=self._env, text=True,
            capture_output=True, check=False, timeout=CONTROL_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

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


def _tied() -> list[str]:
    """The beginning of a command that ends when this process does."""
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


class Brokers:
    """One broker, or several that form a cluster; `url` names all of them."""

    def __init__(self, folder: Path, count: int, host: str = LOOPBACK) -> None:
        self.nodes = [Broker(folder / f"broker{number}", host) for number in range(count)]
        self.url = f"rabbit://{','.join(one.address for one in self.nodes)}/"
        if count > 1:
            for one in self.nodes:
                one.join([other.node for other in self.nodes])

    def start(self) -> None:
        """Start all at the same time, and wait until each takes connections."""
        for one in self.nodes:
            one.launch()
        for one in self.nodes:
            one.ready()

    def close(self) -> None:
        """End those that run."""
        for one in self.nodes:
            one.close()

"""PostgreSQL servers of our own, which a test may kill, fill up and replace."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.crash.processes import free_port, until
from tests.faults.network import Network

USER = "postgres"
PREFIX = "hearth-postgresql-"
READY_S = 60.0
DISK = "192m"  # of a server
CONFIGURATION = """
unix_socket_directories = ''
max_connections = 60
shared_buffers = 16MB
min_wal_size = 4MB
max_wal_size = 16MB
wal_keep_size = 16MB
max_wal_senders = 4
hot_standby = on
include_if_exists = 'synchronous.conf'
"""
TRUSTED = "host all all samenet trust\nhost replication all samenet trust\n"
EDGE = "database"


class Server:
    """A server with data on a small disk of its own. It ends when this process does.

    It listens on `host`. If `namespace` is not None, it runs in the network namespace of this name.
    """

    @staticmethod
    def is_here() -> bool:
        """Return whether this machine has the server, and may have small disks and networks."""
        return programs() is not None and shutil.which("setpriv") is not None and Network.is_here()

    def __init__(self, folder: Path, host: str, namespace: str | None = None) -> None:
        self.host, self.port = host, free_port()
        self.disk = folder
        self._data = folder / "data"
        self._inside = [] if namespace is None else ["ip", "netns", "exec", namespace]
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", PREFIX, str(folder))
        shutil.chown(folder, USER, USER)

    def initialise(self) -> None:
        """Make an empty cluster of databases."""
        options = "--auth=trust --wal-segsize=1 --no-instructions --encoding=UTF8 --locale=C"
        _as_postgres("initdb", "-D", str(self._data), "-U", USER, *options.split())
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(CONFIGURATION)
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write(TRUSTED)

    def copy(self, primary: "Server") -> None:
        """Become a standby of another server."""
        if self._data.exists():
            shutil.rmtree(self._data)
        place = [f"--host={primary.host}", f"--port={primary.port}", f"--username={USER}"]
        options = ["--checkpoint=fast", "--write-recovery-conf"]
        _as_postgres("pg_basebackup", "-D", str(self._data), *place, *options)
        self.wait_for_standby(False, reload=False)

    def launch(self) -> None:
        """Start it."""
        with (self.disk.parent / f"{self.disk.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._inside, *_dropped(), "--pdeathsig", "QUIT", _program("postgres"),
                 "-D", str(self._data), "-p", str(self.port), "-h", self.host],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.launch()
        until("PostgreSQL takes connections", self.answers, READY_S)

    def answers(self) -> bool:
        """Return whether it takes connections."""
        try:
            self.run("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def run(self, text: str, database: str = USER) -> list[tuple[object, ...]]:
        """Run a statement as administrator; return its rows. Raises psycopg.Error."""
        with psycopg.connect(
            host=self.host, port=self.port, user=USER, dbname=database, autocommit=True,
            connect_timeout=5,
        ) as link:  # fmt: skip
            found = link.execute(text.encode())
            return found.fetchall() if found.description else []

    def wait_for_standby(self, wanted: bool, *, reload: bool = True) -> None:
        """Let each COMMIT wait until a standby has it, too, or let none wait."""
        names = "*" if wanted else ""
        file = self._data / "synchronous.conf"
        file.write_text(f"synchronous_standby_names = '{names}'\n")
        file.chmod(0o644)
        if reload:
            self.run("SELECT pg_reload_conf()")

    def ended(self) -> bool:
        """Return whether it has ended by itself."""
        return self._process is None or self._process.poll() is not None

    def end(self, number: signal.Signals) -> None:
        """End it by a signal: SIGQUIT is what `pg_ctl stop -m immediate` sends."""
        assert self._process is not None
        if number is signal.SIGKILL:
            self.send(number)
        else:
            self._process.send_signal(number)
        self._process.wait(READY_S)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes, as if the machine stood still or had gone."""
        assert self._process is not None
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _pids(self) -> list[int]:
        """The server, and its children, each of which has a session of its own."""
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def close(self) -> None:
        """End it, if it runs, and remove its disk."""
        if not self.ended():
            self.end(signal.SIGKILL)
        subprocess.run(["umount", "-l", str(self.disk)], check=False)


class Replicated:
    """A primary and its standby, with synchronous replication; `url` finds the primary.

    The first primary has a network namespace of its own, which `cut` makes disappear.
    """

    def __init__(self) -> None:
        remove_stale()
        self._network = Network(1)
        (there,) = self._network.namespaces
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._folder.chmod(0o755)
        self._far = Server(self._folder / "a", there.address(EDGE), there.name)
        self.primary, self.standby = self._far, Server(self._folder / "b", there.near(EDGE))
        self.primary.initialise()
        self.primary.start()
        self.replicate()
        hosts = ",".join(one.host for one in (self.primary, self.standby))
        ports = ",".join(str(one.port) for one in (self.primary, self.standby))
        self.url = (
            f"postgresql+psycopg://{USER}@/{USER}?host={hosts}&port={ports}"
            "&target_session_attrs=read-write&connect_timeout=5"
        )

    def replicate(self) -> None:
        """Make the standby a copy of the primary, and let COMMITs wait for it."""
        self.standby.copy(self.primary)
        self.standby.start()

        def streams() -> bool:
            states = self.primary.run("SELECT state FROM pg_stat_replication")
            return ("streaming",) in states

        until("the standby follows", streams, READY_S)
        self.primary.wait_for_standby(True)

    def fail_over(self) -> None:
        """Promote the standby, which is the primary from now on."""
        self.standby.run("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary

    def be_far(self) -> None:
        """Let the server in the namespace be the primary."""
        if self.primary is not self._far:
            self.primary.end(signal.SIGKILL)
            self.fail_over()
            self.replicate()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Let the machine of the first primary disappear, and be there again."""
        with self._network.namespaces[0].cut(EDGE):
            yield

    def close(self) -> None:
        """End both, and remove their data and their network."""
        for one in (self.primary, self.standby):
            one.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._network.close()


def programs() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL here."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


def remove_stale() -> None:
    """Remove the disks of processes that have gone without doing so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not Path(f"/proc/{folder.name.removeprefix(PREFIX).split('-')[0]}").exists():
            for disk in folder.iterdir():
                if disk.is_mount():
                    subprocess.run(["umount", "-l", str(disk)], check=False)
            shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    found = programs()
    assert found is not None
    return str(found / name)


def _dropped() -> list[str]:
    """The beginning of a command that runs as the user of PostgreSQL, who is not root."""
    return ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups"]


def _as_postgres(name: str, *arguments: str) -> None:
    _run(*_dropped(), _program(name), *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd="/")

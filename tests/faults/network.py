"""Network namespaces for processes that a test cuts off from others, one edge at a time.

A namespace has one link to this machine, with a pair of addresses for each edge. A service has an
address of its own, which a process in a namespace reaches by way of its edge. A cut edge has a
link-layer address that nobody has at both ends. The kernel sends its packets, and nobody takes
them: nothing is refused, nothing is closed, and nobody is told. Edges of other processes, and all
other networks of this machine, stay as they are.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

SERVICES = ("database", "cloud", "broker")
EDGES = (*SERVICES, "users")
FIRST = IPv4Address("198.18.0.0")  # to 198.19.255.255: for benchmarks, never on the Internet
BLOCK = 64  # addresses of a process of tests
BLOCKS = 2048
NOBODY = "02:00:00:00:00:99"
PREFIX = "hearth-faults-"
LINK = "hf"  # begins the names of links, which have at most 15 characters
INSIDE = "edge"  # the name of the link in a namespace


class Namespace:
    """A network namespace; `name` is its name for `ip netns`."""

    def __init__(self, number: int) -> None:
        self.name = f"{PREFIX}{os.getpid()}-{number}"
        self.link = f"{LINK}{os.getpid()}-{number}"
        self._first = _first() + 16 * (number + 1)

    def near(self, edge: str) -> str:
        """Return the address of this machine on an edge."""
        return str(self._first + 4 * EDGES.index(edge) + 1)

    def address(self, edge: str) -> str:
        """Return the address of the namespace on an edge."""
        return str(self._first + 4 * EDGES.index(edge) + 2)

    def open(self) -> None:
        """Make the namespace and its edges."""
        _ip([f"netns add {self.name}",
             f"link add {self.link} type veth peer name {INSIDE} netns {self.name}"])  # fmt: skip
        outside = [f"addr add {self.near(edge)}/30 dev {self.link}" for edge in EDGES]
        _ip([*outside, f"link set {self.link} up"])
        inside = [f"addr add {self.address(edge)}/30 dev {INSIDE}" for edge in EDGES]
        routes = [
            f"route add {service(edge)}/32 via {self.near(edge)} src {self.address(edge)}"
            for edge in SERVICES
        ]
        _ip([*inside, f"link set {INSIDE} up", "link set lo up", *routes], self.name)

    @contextmanager
    def cut(self, *edges: str) -> Iterator[None]:
        """Let no packet of these edges arrive, in no direction."""
        wrong = f"lladdr {NOBODY} nud permanent dev"
        _ip([f"neigh replace {self.near(edge)} {wrong} {INSIDE}" for edge in edges], self.name)
        _ip([f"neigh replace {self.address(edge)} {wrong} {self.link}" for edge in edges])
        try:
            yield
        finally:
            _ip([f"neigh del {self.near(edge)} dev {INSIDE}" for edge in edges], self.name)
            _ip([f"neigh del {self.address(edge)} dev {self.link}" for edge in edges])


class Network:
    """Some namespaces, and the addresses of the services that are reached from them."""

    def __init__(self, count: int) -> None:
        remove_stale()
        self.namespaces = [Namespace(number) for number in range(count)]
        try:
            for one in self.namespaces:
                one.open()
            link = self.namespaces[0].link
            _ip([f"addr add {service(name)}/32 dev {link}" for name in SERVICES])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove all of it."""
        _remove([one.name for one in self.namespaces])

    @staticmethod
    @functools.cache
    def is_here() -> bool:
        """Return whether this process may make namespaces."""
        if os.geteuid() or shutil.which("ip") is None:
            return False
        try:
            Network(1).close()
        except subprocess.CalledProcessError:
            return False
        return True


def service(name: str) -> str:
    """Return the address of a service."""
    return str(_first() + SERVICES.index(name) + 1)


def remove_stale() -> None:
    """Remove the namespaces of processes that have gone without doing so."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    names = [line.split()[0] for line in listed.stdout.splitlines() if line.startswith(PREFIX)]
    _remove([name for name in names if not Path(f"/proc/{name.split('-')[2]}").exists()])


def _first() -> IPv4Address:
    return FIRST + BLOCK * (os.getpid() % BLOCKS)


def _remove(names: Sequence[str]) -> None:
    """Remove namespaces and their links; those that there are not do no harm."""
    for name in names:
        link = name.replace(PREFIX, LINK)
        for command in (["link", "del", link], ["netns", "del", name]):
            subprocess.run(["ip", *command], stderr=subprocess.DEVNULL, check=False)


def _ip(commands: Sequence[str], namespace: str | None = None) -> None:
    """Run commands of `ip`, in a namespace or on this machine. Raises CalledProcessError."""
    inside = [] if namespace is None else ["-netns", namespace]
    subprocess.run(
        ["ip", *inside, "-batch", "-"], input="\n".join(commands), text=True,
        capture_output=True, check=True,
    )  # fmt: skip

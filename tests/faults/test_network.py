"""A cut edge of a namespace loses packets in both directions, and other edges do not."""

import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.crash.processes import until
from tests.faults import network
from tests.faults.network import Namespace, Network, service
from tests.forked import NAMESPACES, Forked, enter

pytestmark = pytest.mark.slow

LOST_S, FOUND_S = 1.0, 20.0
NOBODY = 1 << 23  # no process has such an id


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    if not Network.is_here():
        lacking("root, iproute2 and network namespaces")
    made = Network(1)
    yield made.namespaces[0]
    made.close()


def connection(namespace: Namespace, name: str) -> tuple[socket.socket, socket.socket]:
    """A connection from a namespace to a service: its end there, and its end here."""

    def there() -> socket.socket:
        enter(NAMESPACES / namespace.name)
        return socket.create_connection(server.getsockname(), LOST_S)

    with socket.create_server((service(name), 0)) as server, ThreadPoolExecutor(1) as thread:
        client = thread.submit(there).result()
        return client, server.accept()[0]


def test_a_cut_edge_loses_packets_in_both_directions_until_it_is_whole_again(namespace: Namespace):
    there, here = connection(namespace, "database")
    with there, here:
        with namespace.cut("database"):
            for source, target in ((there, here), (here, there)):
                source.sendall(b"hello")
                target.settimeout(LOST_S)
                with pytest.raises(TimeoutError):
                    target.recv(5)
            with pytest.raises(TimeoutError):
                connection(namespace, "database")
        for target in (here, there):
            target.settimeout(FOUND_S)
            assert target.recv(5) == b"hello"


def test_other_edges_of_the_namespace_are_not_cut(namespace: Namespace):
    with namespace.cut("database", "users"):
        there, here = connection(namespace, "cloud")
        with there, here:
            there.sendall(b"hello")
            here.settimeout(LOST_S)
            assert here.recv(5) == b"hello"


def test_namespaces_of_processes_that_are_gone_are_removed(namespace: Namespace):
    stale = f"{network.PREFIX}{NOBODY}-0"
    subprocess.run(["ip", "netns", "add", stale], check=True)
    network.remove_stale()
    assert not (NAMESPACES / stale).exists()
    assert (NAMESPACES / namespace.name).exists()


def test_a_process_can_be_started_in_a_namespace(namespace: Namespace):
    inside = (NAMESPACES / namespace.name).stat().st_ino
    with Forked(["dev", "--port", "0"], namespace=namespace.name) as process:
        own = Path(f"/proc/{process.pid}/ns/net")
        until("it is there", lambda: own.stat().st_ino == inside, FOUND_S)
        process.kill()

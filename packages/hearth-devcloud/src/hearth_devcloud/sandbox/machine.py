"""Starting a server: creation of its namespaces and of its first process (init)."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import traceback
from collections.abc import Iterable
from dataclasses import dataclass

from hearth_devcloud.sandbox import init, kernel, root
from hearth_devcloud.sandbox.identity import write_maps

PROCESSES_MAX = 8192
ANSWER_S = 15.0  # maximum wait for a message of the new process; usually some hundredths


class CannotStart(Exception):
    """The first process of a server could not be started; the message gives the reason."""


@dataclass
class Machine:
    """A started server: its first process, which waits for `go`, and its network namespace.

    `netns` is the descriptor of the network namespace.
    """

    pid: int
    netns: int
    _door: socket.socket

    def go(self) -> None:
        """Tell the first process to boot the server."""
        self._door.send(b"G")
        self._door.close()

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the first process. The server ends when this process ends."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def freeze(self) -> None:
        """Stop all processes of the server; they keep their memory.

        The first process is stopped first, so that parents do not see that their children stop.
        """
        frozen: set[int] = set()
        while new := [pid for pid in self._processes() if pid not in frozen]:
            self._signal(new, signal.SIGSTOP)
            frozen.update(new)

    def thaw(self) -> None:
        """Let all processes of the server continue."""
        self._signal(reversed(self._processes()), signal.SIGCONT)

    def _processes(self) -> list[int]:
        """Return the ids of the server's processes, parents before their children."""
        namespace = os.readlink(f"/proc/{self.pid}/ns/pid")
        processes = []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdecimal()):
            with contextlib.suppress(OSError):  # it has ended
                if os.readlink(f"/proc/{pid}/ns/pid") == namespace:
                    processes.append(pid)
        return processes

    def _signal(self, processes: Iterable[int], number: int) -> None:
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def start(tree: root.Tree, hostname: str, console: int, plan: int, ids: int) -> Machine:
    """Start the first process of a server; return when its file tree is ready.

    `console` and `plan` are descriptors of its console and its boot plan, and `ids` is the number
    of user ids that it gets. Raises CannotStart.
    """
    own_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        _run(tree, hostname, far_end, console, plan)
    far_end.close()
    own_end.settimeout(ANSWER_S)
    first = 0
    try:
        _heard(own_end, b"U")
        write_maps(f"/proc/{pid}", 0, ids)
        own_end.send(b"M")
        first = int(_heard(own_end, b"P"))
        _heard(own_end, b"R")
        netns = os.open(f"/proc/{first}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, CannotStart) as problem:
        own_end.close()
        if first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
        raise CannotStart(str(problem)) from None
    finally:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return Machine(first, netns, own_end)


def _heard(door: socket.socket, expected: bytes) -> bytes:
    """Receive a message that begins with the letter `expected`; return the rest of the message.

    Raises CannotStart with the text of the message if it begins with another letter.
    """
    message = door.recv(4096)
    if message[:1] != expected:
        raise CannotStart(
            message[1:].decode(errors="replace") or "the first process ended before it was ready"
        )
    return message[1:]


def _run(tree: root.Tree, hostname: str, door: socket.socket, console: int, plan: int) -> None:
    """Enter new namespaces, start the first process inside them, and exit; never return."""
    try:
        _only_these_files(door.fileno(), console, plan)
        kernel.new_session_keyring()
        _limit_processes()
        kernel.unshare(kernel.ALL)
        kernel.own_proc_files()
        door.send(b"U")
        if door.recv(1) != b"M":
            os._exit(1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.own_proc_files()
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(tell)
            os.read(ready, 1)
            os.close(ready)
            _first(tree, hostname, door, console, plan)
        door.send(b"P%d" % pid)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            door.send(b"E" + str(problem).encode())
    finally:
        os._exit(0)


def _first(tree: root.Tree, hostname: str, door: socket.socket, console: int, plan: int) -> None:
    """Run as the first process of the server: build its file tree, wait for the message "G" on
    `door`, and boot. Never return.

    `console` and `plan` are the file descriptors of the console and of the boot plan.
    """
    try:
        os.setsid()
        socket.sethostname(hostname)
        notes = root.enter(tree)
        door.send(b"R")
        if door.recv(1) != b"G":
            os._exit(0)
        door.close()
        with os.fdopen(plan) as file:
            document = json.load(file)
        document["notes"] = [*notes, *document["notes"]]
        if not document["changes_network"]:
            kernel.drop_capability(kernel.NET_ADMIN)
        init.run(document, console)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            door.send(b"E" + str(problem).encode())
        os.write(console, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _limit_processes() -> None:
    """Limit the processes of the server, so that a fork bomb does not reach the machine."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NPROC)
    if maximum == resource.RLIM_INFINITY or maximum > PROCESSES_MAX:
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES_MAX, PROCESSES_MAX))


def _only_these_files(*files: int) -> None:
    """Close all file descriptors except `files` and the standard streams; reset signal handlers."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in files:
            with contextlib.suppress(OSError):
                os.close(int(name))

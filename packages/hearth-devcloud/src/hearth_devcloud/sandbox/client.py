"""The client of the keeper, which is the process that runs all sandbox servers of a cloud."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence

from hearth_devcloud.sandbox import wire
from hearth_devcloud.sandbox.wire import Message

START_S = 20.0
END_S = 5.0
_LOOK_S = 0.01
_KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")


class KeeperFailed(Exception):
    """The keeper could not start or carry out a request; the message gives the user the reason."""


class Client:
    """A connection to a keeper process.

    `ended` is called with the id of each server whose first process has ended.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], sock: socket.socket, ended: Callable[[str], None]
    ) -> None:
        self._process = process
        self._sock = sock
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._started: asyncio.Future[None] = self._loop.create_future()
        self.notes: list[str] = []
        self._number = 0
        self._loop.add_reader(sock, self._read)

    async def ask(
        self, do: str, files: Sequence[int] = (), **fields: object
    ) -> tuple[Message, list[int]]:
        """Send the request `do` to the keeper; return the reply and the file descriptors in it.

        `files` are file descriptors for the keeper, and `fields` are the arguments of the request.
        Raises KeeperFailed.
        """
        self._number += 1
        number = self._number
        answer: asyncio.Future[tuple[Message, list[int]]] = self._loop.create_future()
        self._waiting[number] = answer
        try:
            wire.send(self._sock, {"do": do, "number": number, **fields}, files)
        except OSError as problem:
            del self._waiting[number]
            raise KeeperFailed(f"the keeper of the servers has ended: {problem}") from None
        message, opened = await answer
        if "error" in message:
            raise KeeperFailed(message["error"])
        return message, opened

    def _read(self) -> None:
        message, files = wire.receive(self._sock)
        if message is None:
            self._gone()
        elif not self._started.done():
            if "error" in message:
                self._started.set_exception(KeeperFailed(message["error"]))
            else:
                self.notes = message["notes"]
                self._started.set_result(None)
        elif "ended" in message:
            self._ended(message["ended"])
        else:
            waiting = self._waiting.pop(message["number"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result((message, files))

    def _gone(self) -> None:
        self._loop.remove_reader(self._sock)
        problem = KeeperFailed("the keeper of the servers has ended")
        if not self._started.done():
            self._started.set_exception(problem)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(problem)
        self._waiting.clear()

    async def ready(self) -> None:
        """Wait until the keeper has started. Raises KeeperFailed if it cannot start."""
        try:
            async with asyncio.timeout(START_S):
                await self._started
        except TimeoutError:
            raise KeeperFailed(f"the keeper did not start within {START_S} s") from None

    async def close(self) -> None:
        """End the keeper, which ends all servers."""
        self._loop.remove_reader(self._sock)
        self._sock.close()
        for _ in range(int(END_S / _LOOK_S)):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(_LOOK_S)
        self._process.kill()
        self._process.wait()


async def start_keeper(ended: Callable[[str], None], *arguments: str) -> Client:
    """Start a keeper process with the given arguments and return its client.

    Raises KeeperFailed if the machine does not permit the namespaces that it needs.
    """
    process, own_end = _spawn(*arguments)
    client = Client(process, own_end, ended)
    try:
        await client.ready()
    except KeeperFailed:
        await client.close()
        raise
    return client


def _environment() -> dict[str, str]:
    """Return the environment variables of the keeper.

    Most variables are left out, because servers inherit the environment, and it may contain
    secrets. From `product_name`, cloud-init detects that it runs in OpenStack.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith("PYTHON")
    }
    return {**environment, "product_name": "OpenStack Nova"}


def _spawn(*arguments: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    own_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "hearth_devcloud.sandbox.keeper", str(far_end.fileno())]
    command.append(f"--of={os.getpid()}")  # only for people who read the list of processes
    with far_end:
        process = subprocess.Popen(
            [*command, *arguments],
            pass_fds=[far_end.fileno()],
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    return process, own_end

"""The keeper process: `python -m hearth_devcloud.sandbox.keeper SOCKET [OPTION...]`.

The keeper runs all sandbox servers of a cloud. It receives requests through the socket with the
descriptor SOCKET, carries them out one after another, and reports servers that have ended. When the
keeper or the process that started it ends, the kernel ends all servers. The options are
`--volumes=FOLDER` and `--images=FOLDER`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hearth_devcloud.images import shelf
from hearth_devcloud.sandbox import (
    fabric,
    haproxy,
    identity,
    image,
    kernel,
    machine,
    root,
    wire,
)
from hearth_devcloud.sandbox.volumes import Volumes
from hearth_devcloud.sandbox.wire import Message

_PLACES = ("/mnt", "/tmp")  # noqa: S108 - covered by a file system of our own
_VOLUMES = "volumes"  # the names of their folders among those that were opened
_IMAGES = "images"

Answer = tuple[Message, list[int]]


@dataclass
class _Server:
    disk: Path
    image: Path | None  # None: the machine's own tree
    machine: machine.Machine | None = None


class Keeper:
    """The servers of a cloud, and the methods that carry out the requests about them.

    Each request method gets the message and its file descriptors, and returns the reply with the
    descriptors to send.
    """

    def __init__(self, ids: int, base: Path, folders: dict[str, Path]) -> None:
        binds = dict(folders)
        volumes = binds.pop(_VOLUMES, None)
        self._images = binds.pop(_IMAGES, None)
        self._ids = ids
        self._base = base
        self._binds = binds
        self._servers: dict[str, _Server] = {}
        self._fabric = fabric.Fabric()
        (base / "volumes").mkdir()
        self._volumes = Volumes(volumes or base / "volumes")
        self._skeleton = base / "skeleton"
        for folder in (self._skeleton, base / "servers", base / "balancers"):
            folder.mkdir()
        self._balancers = haproxy.Proxies(base / "balancers")
        self._merged = tuple(image.build(self._skeleton))
        self._requests: dict[str, Callable[[Message, list[int]], Answer]] = {
            "start": self.start,
            "stop": self.stop,
            "remove": self.remove,
            "go": self.go,
            "freeze": self.freeze,
            "thaw": self.thaw,
            "fabric": self.apply,
            "socket": self.socket,
            "statistics": self.statistics,
        }

    def answer(self, request: Message, files: list[int]) -> Answer:
        """Carry out a request and return its reply, which contains `error` if it failed."""
        try:
            message, opened = self._requests[request["do"]](request, files)
        except (OSError, KeyError, machine.CannotStart) as problem:
            message, opened = {"error": str(problem)}, []
        finally:
            for file in files:
                os.close(file)
        return {**message, "number": request["number"]}, opened

    @property
    def notes(self) -> list[str]:
        """Messages for the user about programs that are missing on this machine."""
        return self._fabric.notes + self._balancers.notes

    def start(self, request: Message, files: list[int]) -> Answer:
        """Create the namespaces and the first process of a server, which waits for `go`.

        If `fresh` in the request is true, the server gets a new disk. `files` are its console and
        its boot plan. The reply contains the sockets that listen inside the server.
        """
        server_id = request["id"]
        if request["fresh"]:
            self._drop(server_id)
        server = self._servers.get(server_id) or self._new(request)
        tree = root.Tree(
            disk=server.disk,
            skeleton=self._skeleton,
            merged=self._merged,
            binds=self._binds,
            read_only=frozenset(self._binds),
            image=server.image,
            memory_mb=request["memory_mb"],
        )
        console, plan = files
        server.machine = machine.start(tree, request["hostname"], console, plan, self._ids)
        addresses = [(host, port) for host, port in request["listen"]]
        try:
            self._fabric.join(server_id, server.machine.netns)
            sockets = self._fabric.listen(server_id, addresses)
        except OSError:
            server.machine.end()
            raise
        return {"pid": server.machine.pid}, sockets

    def go(self, request: Message, files: list[int]) -> Answer:
        """Boot a server that `start` has created."""
        server = self._servers[request["id"]]
        if server.machine is not None:
            server.machine.go()
        return {}, []

    def freeze(self, request: Message, files: list[int]) -> Answer:
        """Stop all processes of a running server."""
        server = self._servers[request["id"]]
        if server.machine is not None:
            server.machine.freeze()
        return {}, []

    def thaw(self, request: Message, files: list[int]) -> Answer:
        """Let the processes of a server continue that `freeze` has stopped."""
        server = self._servers[request["id"]]
        if server.machine is not None:
            server.machine.thaw()
        return {}, []

    def apply(self, request: Message, files: list[int]) -> Answer:
        """Apply the networks, volumes and load balancers in a document, which is in `files`.

        The reply contains the errors of load balancers as `problems`.
        """
        with os.fdopen(os.dup(files[0])) as file:
            document = json.load(file)
        self._balancers.keep(document["balancers"])
        self._fabric.apply(document)
        problems = self._balancers.settle(document["balancers"], self._fabric.inside)
        self._volumes.keep(document["volumes"])
        for server_id, place_document in document["places"].items():
            server = self._servers.get(server_id)
            if server is not None and server.machine is not None:
                self._volumes.settle(server_id, server.machine.pid, place_document["volumes"])
        return {"problems": problems}, []

    def socket(self, request: Message, files: list[int]) -> Answer:
        """Reply with a new socket inside the network namespace `id`."""
        return {}, [self._fabric.socket(request["id"])]

    def statistics(self, request: Message, files: list[int]) -> Answer:
        """Reply with a connection to the statistics socket of the load balancer `id`."""
        return {}, [self._balancers.statistics(request["id"])]

    def _new(self, request: Message) -> _Server:
        server_id, name, image = request["id"], request["image"], None
        if name is not None:
            if self._images is None:
                raise FileNotFoundError(
                    f"the image {name} is not available, because the cloud has no data folder"
                )
            image = shelf.root_of(self._images, name)
            if image.stat().st_uid != 0:  # inside the user namespace
                raise PermissionError(
                    f"the image {name} was built by another user; build it again as this user"
                )
        disk = self._base / "servers" / server_id
        disk.mkdir()
        options = f"size={request['disk_mb']}m,mode=755"
        kernel.mount("disk", str(disk), "tmpfs", kernel.MS_NODEV, options)
        self._servers[server_id] = _Server(disk, image)
        return self._servers[server_id]

    def stop(self, request: Message, files: list[int]) -> Answer:
        """Ask a server to shut down, or kill it if `gently` in the request is false.

        Do not wait for its end. `running` in the reply is whether the server was running.
        """
        server = self._servers.get(request["id"])
        running = server is not None and server.machine is not None
        if server is not None and server.machine is not None:
            server.machine.end(signal.SIGTERM if request["gently"] else signal.SIGKILL)
        return {"running": running}, []

    def remove(self, request: Message, files: list[int]) -> Answer:
        """Kill a server and release its disk, network and volumes."""
        self._drop(request["id"])
        return {}, []

    def _drop(self, server_id: str) -> None:
        server = self._servers.pop(server_id, None)
        if server is None:
            return
        if server.machine is not None:
            server.machine.end()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(server.machine.pid, 0)
            self._forget(server_id, server.machine)
        kernel.unmount(str(server.disk))
        server.disk.rmdir()

    def _forget(self, server_id: str, ended: machine.Machine) -> None:
        self._fabric.leave(server_id)
        self._volumes.forget(server_id)
        os.close(ended.netns)

    def buried(self) -> list[str]:
        """Reap ended processes; return the ids of servers whose first process was among them."""
        ended = []
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self._balancers.ended(pid)
                for server_id, server in self._servers.items():
                    if server.machine is not None and server.machine.pid == pid:
                        self._forget(server_id, server.machine)
                        server.machine = None
                        ended.append(server_id)
        return ended


def serve(keeper: Keeper, control: socket.socket) -> None:
    """Carry out the requests from a socket until the cloud closes the connection."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wire.send(control, {"ready": True, "notes": keeper.notes})
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            for server_id in keeper.buried():
                wire.send(control, {"ended": server_id})
        if control.fileno() in ready:
            request, files = wire.receive(control)
            if request is None:
                return
            message, opened = keeper.answer(request, files)
            wire.send(control, message, opened)
            for file in opened:
                os.close(file)


def _hidden_folders() -> dict[str, str]:
    """Return {path: path} for the folder of Python, which servers need to see.

    Return an empty map if the folder is in a system folder, which servers see anyway.
    """
    prefix = os.path.realpath(sys.base_prefix)
    is_visible = any(Path(prefix).is_relative_to(f"/{name}") for name in image.SYSTEM)
    return {} if is_visible else {prefix: prefix}


def _given_folders(options: list[str]) -> dict[str, str]:
    """Create the folders of volumes and images that the options name; return their paths by name.

    The folder of volumes will belong to root inside the user namespace.
    """
    options_by_name = dict(option.removeprefix("--").split("=", 1) for option in options)
    if folder := options_by_name.get(_VOLUMES):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if identity.has_range():
            os.chown(folder, identity.FIRST_ID, identity.FIRST_ID)
    if folder := options_by_name.get(_IMAGES):
        os.makedirs(folder, mode=0o755, exist_ok=True)
    return {name: options_by_name[name] for name in (_VOLUMES, _IMAGES) if name in options_by_name}


def _prepare(folders: dict[str, int]) -> tuple[Path, dict[str, Path]]:
    """Mount the file systems of the keeper.

    `folders` contains descriptors by name. Return the working folder of the keeper, and the mount
    points of the folders by name.
    """
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    base = Path(next(base for base in _PLACES if os.path.isdir(base)))
    kernel.mount("keeper", str(base), "tmpfs", kernel.MS_NODEV, "mode=755")
    visible_folders = {}
    for number, (name, opened) in enumerate(folders.items()):
        target = base / f"shown-{number}"
        target.mkdir()
        kernel.mount(f"/proc/self/fd/{opened}", str(target), flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(opened)
        visible_folders[name] = target
    return base, visible_folders


def main() -> int:
    """Enter the namespaces, start the keeper as their first process, and wait until it ends.

    Return the exit status.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    kernel.die_with_parent(signal.SIGKILL)
    os.umask(0o022)
    folders = _hidden_folders() | _given_folders(sys.argv[2:])
    try:
        kernel.new_session_keyring()  # that of the user may contain secrets
        ids, opened = identity.enter(list(folders.values()))
    except OSError as problem:
        wire.send(control, {"error": f"no namespaces: {problem}"})
        return 1
    kernel.die_with_parent(signal.SIGKILL)
    pid = os.fork()
    if pid:
        control.close()
        os.waitpid(pid, 0)
        return 0
    kernel.die_with_parent(signal.SIGKILL)
    try:
        base, visible_folders = _prepare(dict(zip(folders, opened, strict=True)))
        keeper = Keeper(ids, base, visible_folders)
    except OSError as problem:
        wire.send(control, {"error": f"cannot prepare the folders of servers: {problem}"})
        return 1
    gc.freeze()
    with contextlib.suppress(BrokenPipeError):  # the cloud ended before it read a reply
        serve(keeper, control)
    return 0


if __name__ == "__main__":
    sys.exit(main())

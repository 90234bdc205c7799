"""The driver of sandbox servers: it carries out Nova's tasks and sets the resulting states.

Tasks of the same server run one after another; tasks of different servers run concurrently.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.guest import drive
from hearth_devcloud.guest import server as facts
from hearth_devcloud.http import Cloud
from hearth_devcloud.images import shelf
from hearth_devcloud.nova import life
from hearth_devcloud.octavia import tree
from hearth_devcloud.sandbox import fabric, haproxy, health
from hearth_devcloud.sandbox.client import Client, KeeperFailed, start_keeper
from hearth_devcloud.sandbox.doors import Doors, addresses
from hearth_devcloud.sandbox.forwards import Forwards, ways
from hearth_devcloud.sandbox.networks import document
from hearth_devcloud.sandbox.plan import boot_plan, cloud_init_plan
from hearth_devcloud.seed import HOST_IMAGE, image_named, plant_image
from hearth_devcloud.store import Resource

STOP_S = 5.0  # from the request to shut down until the server is killed
CONSOLE_MAX = 102400  # bytes of the console that Nova shows
_VOLUMES, _IMAGES = "volumes", "images"
_LOOK_S = 0.02  # from a change in the cloud until the networks are updated
_HEALTH_S = 1.0  # between two queries of the statistics of load balancers
_ANSWER_S = 2.0  # maximum time of such a query
_AGAIN = {"rebooting", "rebooting_hard"}
_ANEW = {"rebuilding"}
_FROZEN = {"paused", "suspended"}  # the states in which a server keeps its memory
_MB_PER_GB = 1024


@cache
def _stand_in() -> dict[str, str]:
    """Return the files of the Kubernetes stand-in that servers get: their text by path."""
    folder = Path(__file__).parents[1] / "kubernetes"
    modules = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    return {
        "/etc/hearth-kubernetes.py": "from hearth_kubernetes.main import main\n\nmain()\n",
        **{f"/etc/hearth_kubernetes/{name}": text for name, text in modules.items()},
    }


class Sandbox:
    """The driver of a cloud's sandbox servers; `await close()` ends all of them.

    The folder `data` contains the volumes and the images. Without it, volumes are lost at the end,
    and servers can only use the files of this machine.
    """

    def __init__(self, cloud: Cloud, data: Path | None = None) -> None:
        self._cloud = cloud
        self._data = data
        self._offered: dict[str, bool] = {}
        self._forwards = Forwards(self._inside)
        self._client: Client | None = None
        self._consoles: dict[str, int] = {}
        self._running: dict[str, asyncio.Event] = {}  # set at the end of the machine
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._doors: dict[str, Doors] = {}
        self._weaving = asyncio.Lock()
        self._woven: dict[str, Any] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._balances = haproxy.program() is not None and fabric.programs()[0] is not None

    async def open(self) -> None:
        """Start the keeper and the background work of the driver. Raises KeeperFailed."""
        options = []
        if self._data is not None:
            shelf.prune(self._data / _IMAGES)
            options = [f"--{name}={self._data / name}" for name in (_VOLUMES, _IMAGES)]
        self._client = await start_keeper(self._ended, *options)
        after_restart(self._cloud)
        plant_image(self._cloud, HOST_IMAGE)
        self.offer()
        if self._balances:
            self._begin(self._watch_health())
        self.look()  # load balancers of a saved state

    @property
    def notes(self) -> list[str]:
        """Messages for the user about programs that are missing on this machine."""
        return self._client.notes if self._client is not None else []

    async def close(self) -> None:
        """End the keeper and all servers, and close their ports and consoles."""
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        self._forwards.close()
        for server_id in list(self._doors):
            self._shut(server_id)
        if self._client is not None:
            await self._client.close()
        for console in self._consoles.values():
            os.close(console)
        self._consoles.clear()

    def offer(self) -> None:
        """Create Glance images for all built images, and remove those of images that are gone."""
        for name in shelf.NAMES:
            exists = self._data is not None and shelf.has(self._data / _IMAGES, name)
            if exists != self._offered.get(name):
                self._offered[name] = exists
                if exists:
                    plant_image(self._cloud, name)
                elif (image := image_named(self._cloud, name)) is not None:
                    self._cloud.store.remove(image)

    def boot(self, server: Resource) -> None:
        """Start a new server. It becomes ACTIVE when its first process runs."""
        self._then(server, lambda: self._start(server, fresh=True), lambda: self._active(server))

    def change(self, server: Resource, task: str | None, target: str) -> None:
        """Start a task, such as a reboot. At its end, the server gets the VM state `target`."""
        self._then(server, lambda: self._change(server, task, target), lambda: None, target)

    def remove(self, server: Resource) -> None:
        """Remove a server: first its processes and files, then its record in Nova."""
        self._then(server, lambda: self._drop(server.id), lambda: life.gone(self._cloud, server))

    def forwards(self) -> list[dict[str, object]]:
        """Return, for each floating IP, the local ports that forward to it."""
        return self._forwards.view()

    def console(self, server: Resource) -> str:
        """Return the last part of the server's console output."""
        console = self._consoles.get(server.id)
        if console is None:
            return ""
        size = os.fstat(console).st_size
        return os.pread(console, CONSOLE_MAX, max(0, size - CONSOLE_MAX)).decode(errors="replace")

    def _then(
        self,
        server: Resource,
        work: Callable[[], Coroutine[None, None, None]],
        done: Callable[[], None],
        target: str | None = None,
    ) -> None:
        """Schedule `work`, to run after the earlier tasks of a server.

        After `work`, the server gets the VM state `target` (None: unchanged), and `done` is called.
        If the keeper fails, the server gets the state error, and `done` is not called.
        """

        async def run() -> None:
            async with self._locks.setdefault(server.id, asyncio.Lock()):
                try:
                    await work()
                except KeeperFailed as problem:
                    life.fail(self._cloud, server, f"The task of the server failed: {problem}")
                    return
                if target is not None:
                    life.set_state(self._cloud, server, target)
                done()

        self._begin(run())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _active(self, server: Resource) -> None:
        if server.body["task_state"] != "deleting":
            life.running(self._cloud, server)

    async def _change(self, server: Resource, task: str | None, target: str) -> None:
        if task in _ANEW:
            await self._stop(server, gently=False)
            await self._start(server, fresh=True)
        elif task in _AGAIN:
            await self._stop(server, gently=task == "rebooting")
            await self._start(server, fresh=False)
        if target in _FROZEN:
            if server.id in self._running:
                await self._ask("freeze", id=server.id)
        elif target in ("active", "rescued", "resized"):
            if server.id in self._running:
                await self._ask("thaw", id=server.id)
            await self._start(server, fresh=False)
        elif target != "error":
            await self._stop(server, gently=True)

    async def _start(self, server: Resource, *, fresh: bool) -> None:
        if server.id in self._running or server.body["task_state"] == "deleting":
            return
        if server.id not in self._consoles:
            self._consoles[server.id] = os.memfd_create("console")
        console, plan = self._consoles[server.id], os.memfd_create("plan")
        if fresh:
            os.ftruncate(console, 0)
        ports = facts.ports(self._cloud.store, server)
        secured = not ports or any(port.body["port_security_enabled"] for port in ports)
        document = {**self._plan(server), "changes_network": not secured}
        try:
            os.write(plan, json.dumps(document).encode())
            os.lseek(plan, 0, os.SEEK_SET)
            self._running[server.id] = asyncio.Event()
            targets = addresses(self._cloud)
            sockets = await self._ask(
                "start",
                files=(console, plan),
                id=server.id,
                fresh=fresh,
                image=self._image(server),
                hostname=document["hostname"],
                disk_mb=max(1, server.hidden["flavor"]["disk"]) * _MB_PER_GB,
                memory_mb=server.hidden["flavor"]["ram"],
                listen=targets,
            )
            doors = self._doors[server.id] = Doors()
            await doors.open(self._cloud, server, targets, sockets)
            await self._weave(force=True)
            await self._ask("go", id=server.id)
        except KeeperFailed:
            self._running.pop(server.id, None)
            raise
        finally:
            os.close(plan)

    def _plan(self, server: Resource) -> dict[str, object]:
        store = self._cloud.store
        name = server.hidden["hostname"]
        files = drive.files(store, server) if server.hidden["config_drive"] else {}
        etc = {
            "/etc/hostname": f"{name}\n",
            "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}.{facts.DOMAIN} {name}\n",
            "/etc/machine-id": f"{server.id.replace('-', '')}\n",
            "/etc/resolv.conf": "",
            **_stand_in(),
        }
        if self._image(server) is not None:
            return cloud_init_plan(instance_id=server.id, hostname=name, etc=etc, drive=files)
        key = facts.key_pair(store, server)
        return boot_plan(
            instance_id=server.id,
            hostname=name,
            user_data=facts.user_data(server) or b"",
            keys=[key["public_key"]] if key is not None else [],
            drive=files,
            notes=self._notes(server),
            etc=etc,
        )

    def _image(self, server: Resource) -> str | None:
        """Return the name of the image whose files a server uses.

        Return None if the server uses the files of this machine.
        """
        for name in shelf.NAMES:
            image = image_named(self._cloud, name)
            if image is not None and image.id == server.hidden["image_id"]:
                return name
        return None

    def _notes(self, server: Resource) -> list[str]:
        image = self._cloud.store.get(tables.IMAGES, server.hidden["image_id"])
        name = image.body["name"] if image is not None else "of the boot volume"
        if name == HOST_IMAGE:
            return []
        return [f"the image {name} is ignored: the server uses the files of this machine"]

    async def _stop(self, server: Resource, *, gently: bool) -> None:
        ended = self._running.get(server.id)
        if ended is None:
            return
        await self._ask("thaw", id=server.id)  # only then it can shut down
        with contextlib.suppress(TimeoutError):
            await self._ask("stop", id=server.id, gently=gently)
            async with asyncio.timeout(STOP_S):
                await ended.wait()
            return
        await self._ask("stop", id=server.id, gently=False)
        await ended.wait()

    async def _drop(self, server_id: str) -> None:
        await self._ask("remove", id=server_id)
        self._shut(server_id)
        self._running.pop(server_id, None)
        self._locks.pop(server_id, None)
        console = self._consoles.pop(server_id, None)
        if console is not None:
            os.close(console)

    def look(self) -> None:
        """Schedule an update of the networks of servers to the current state of Neutron."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        self._begin(self._weave())

    async def _weave(self, *, force: bool = False) -> None:
        """Make the keeper apply the networks, volumes and load balancers in the store.

        If nothing has changed since the last time, do nothing, unless `force` is true.
        """
        async with self._weaving:
            table = self._cloud.store.table(tables.SERVERS)
            for lost in [server_id for server_id in self._running if server_id not in table]:
                await self._drop(lost)
            servers = [table[ident] for ident in self._running if ident in table]
            plan = document(self._cloud.store, servers, balancers=self._balances)
            if plan == self._woven and not force:
                return
            file = os.memfd_create("fabric")
            try:
                os.write(file, json.dumps(plan).encode())
                os.lseek(file, 0, os.SEEK_SET)
                assert self._client is not None
                message, _ = await self._client.ask("fabric", (file,))
                self._woven = plan
                for problem in message["problems"]:
                    print(f"hearth-devcloud: {problem}", file=sys.stderr)
            finally:
                os.close(file)
            await self._forwards.settle(ways(self._cloud.store))

    async def _watch_health(self) -> None:
        """Update the operating status of all load balancers at regular intervals."""
        while True:
            await asyncio.sleep(_HEALTH_S)
            for balancer in list(self._cloud.store.all(tree.BALANCERS.table)):
                if fabric.BALANCER + balancer.id in self._woven.get("balancers", {}):
                    try:
                        health.note(self._cloud.store, balancer, await self._statistics(balancer))
                    except (KeeperFailed, OSError, TimeoutError):  # HAProxy may have ended
                        with contextlib.suppress(KeeperFailed):
                            await self._weave(force=True)

    async def _statistics(self, balancer: Resource) -> str:
        (file,) = await self._ask("statistics", id=fabric.BALANCER + balancer.id)
        sock = socket.socket(fileno=file)
        sock.setblocking(False)
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_unix_connection(sock=sock)
            try:
                writer.write(health.COMMAND)
                return (await reader.read(-1)).decode(errors="replace")
            finally:
                writer.close()

    async def _inside(self, network_place: str) -> int:
        """Return the descriptor of a new socket in the network namespace `network_place`.

        Raises ConnectionError.
        """
        try:
            return (await self._ask("socket", id=network_place))[0]
        except KeeperFailed as problem:
            raise ConnectionError(str(problem)) from None

    async def _ask(self, do: str, files: tuple[int, ...] = (), **fields: object) -> list[int]:
        assert self._client is not None
        return (await self._client.ask(do, files, **fields))[1]

    def _shut(self, server_id: str) -> None:
        doors = self._doors.pop(server_id, None)
        if doors is not None:
            doors.close()

    def _ended(self, server_id: str) -> None:
        """Handle the end of a server's first process.

        The server becomes stopped, unless one of its tasks is running.
        """
        self._shut(server_id)
        event = self._running.pop(server_id, None)
        if event is not None:
            event.set()
        server = self._cloud.store.get(tables.SERVERS, server_id)
        if server is not None and server.body["task_state"] is None:
            life.set_state(self._cloud, server, "stopped")


def after_restart(cloud: Cloud) -> None:
    """Correct the states of servers in a saved state, because their processes no longer exist.

    Running servers become stopped, and interrupted builds fail.
    """
    for server in cloud.store.table(tables.SERVERS).values():
        state, task = server.body["vm_state"], server.body["task_state"]
        if task == "deleting":
            cloud.store.later(0, server, "compute.deleted")
        elif state == "building" and task == "spawning" and not _scheduled(cloud, server):
            life.fail(cloud, server, "The cloud was stopped while it built the server.")
        elif state != "building" and state != "error":
            life.set_state(cloud, server, "stopped")


def _scheduled(cloud: Cloud, server: Resource) -> bool:
    return any(row[3] == server.id for row in cloud.store.agenda)

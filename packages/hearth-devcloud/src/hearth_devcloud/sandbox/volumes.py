"""Volumes of sandbox servers: folders that can be mounted in running servers."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from hearth_devcloud.sandbox import kernel

REMOVALS = 100  # attempts, beside a server that writes to the mount point
PLACE = "/mnt"  # in the server; the volume /dev/vdb is mounted at /mnt/vdb


class Volumes:
    """The folders of all volumes, and the current mounts in each server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown: dict[str, dict[str, str]] = {}

    def keep(self, volumes: Iterable[str]) -> None:
        """Remove the folders of all volumes whose ids are not in `volumes`."""
        names = set(volumes)
        for folder in self._folder.iterdir():
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def settle(self, server: str, pid: int, volumes: Mapping[str, str]) -> None:
        """Mount the volumes in `volumes` (id by device) in a running server; unmount all others.

        `pid` is the first process of the server. Raises OSError.
        """
        devices = self._shown.setdefault(server, {})
        for device, volume in list(devices.items()):
            if volumes.get(device) != volume:
                _inside(pid, None, f"{PLACE}/{device}")
                del devices[device]
        for device, volume in volumes.items():
            if device not in devices:
                folder = self._folder / volume
                folder.mkdir(exist_ok=True)
                _inside(pid, folder, f"{PLACE}/{device}")
                devices[device] = volume

    def forget(self, server: str) -> None:
        """Forget the mounts of a server that has ended."""
        self._shown.pop(server, None)


def _remove(target: str) -> None:
    """Unmount a volume and remove its mount point; raise OSError if that fails.

    An earlier attempt may have unmounted the volume already. The removal is repeated, because the
    server may still write files to the mount point after the unmount.
    """
    try:
        kernel.unmount(target)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # EINVAL: the target is not mounted any more
            raise
    for _ in range(REMOVALS):
        shutil.rmtree(target, ignore_errors=True)
        if not os.path.lexists(target):
            return
    raise OSError(f"the mount point {target} cannot be removed")


def _inside(pid: int, folder: Path | None, target: str) -> None:
    """Mount a folder at `target` in a running server; if `folder` is None, unmount the target.

    `pid` is the first process of the server. Raises OSError.
    """
    namespaces = [
        (os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind)
        for name, kind in (("user", kernel.NEWUSER), ("mnt", kernel.NEWNS))
    ]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            tree = kernel.open_tree(str(folder)) if folder is not None else None
            for namespace, kind in namespaces:
                kernel.setns(namespace, kind)
            if tree is not None:
                os.makedirs(target, exist_ok=True)
                kernel.move_mount(tree, target)
            else:
                _remove(target)
            status = 0
        finally:
            os._exit(status)
    for namespace, _ in namespaces:
        os.close(namespace)
    if os.waitpid(child, 0)[1]:
        done = "mounted at" if folder else "unmounted from"
        raise OSError(f"the volume cannot be {done} {target}")

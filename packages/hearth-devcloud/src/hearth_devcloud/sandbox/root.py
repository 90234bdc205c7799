"""The file tree of a server: overlays of an image or of the machine's folders, /proc, /dev etc."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hearth_devcloud.sandbox import kernel
from hearth_devcloud.sandbox.image import FOLDERS, OWN

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


@dataclass(frozen=True)
class Tree:
    """The parts of a server's file tree, with paths in the mount namespace of the keeper."""

    disk: Path  # for the server's changes
    skeleton: Path
    merged: tuple[str, ...]  # top-level folders of the machine
    image: Path | None = None  # the complete tree; None: skeleton and folders of the machine
    binds: Mapping[str, Path] = field(default_factory=dict)  # by the path in the server
    read_only: frozenset[str] = frozenset()
    memory_mb: int = 512  # of the server; /run and /dev/shm get half of it each


def enter(tree: Tree) -> list[str]:
    """Build the file tree of the server and make it the root of this process.

    Return notes for the user about limitations of the tree. Raises OSError.
    """
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    root = tree.disk / "root"
    root.mkdir(exist_ok=True)
    if tree.image is not None:
        _mount(tree, [str(tree.image)], root, "image")
        notes = []
    else:
        notes = _of_machine(tree, root)
    _systems(root, tree.memory_mb)
    os.chdir(root)
    (root / ".old").mkdir(exist_ok=True)
    kernel.pivot_root(".", ".old")
    os.chdir("/")
    kernel.unmount("/.old")
    os.rmdir("/.old")
    return notes


def _of_machine(tree: Tree, root: Path) -> list[str]:
    """Build the file tree from the folders of the machine; return notes about its limitations."""
    notes = []
    kernel.mount(str(root), str(root), flags=kernel.MS_BIND | kernel.MS_REC)
    for name, mode in FOLDERS.items():
        (root / name).mkdir(exist_ok=True)
        (root / name).chmod(mode)
    for link in tree.skeleton.iterdir():
        if link.is_symlink() and not (root / link.name).is_symlink():
            (root / link.name).symlink_to(os.readlink(link))
    for name in (*tree.merged, *OWN):
        try:
            _overlay(tree, root, name)
        except OSError as problem:
            if name not in tree.merged or problem.errno != errno.EINVAL:
                raise
            _bind(Path("/", name), root / name, read_only=True)
            notes.append(f"/{name} is read-only: the machine has mounts below it")
    for target, source in tree.binds.items():
        _bind(source, root / target.lstrip("/"), read_only=target in tree.read_only)
    return notes


def _overlay(tree: Tree, root: Path, name: str) -> None:
    lower = [str(tree.skeleton / name)]
    if name in tree.merged:
        lower.append(f"/{name}")
    (root / name).mkdir(exist_ok=True)
    _mount(tree, lower, root / name, name)


def _mount(tree: Tree, lower: list[str], target: Path, name: str) -> None:
    """Mount an overlay of the layers `lower` at `target`.

    The server's changes are written to the folder `name` on its disk.
    """
    for part in ("upper", "work"):
        (tree.disk / part / name).mkdir(parents=True, exist_ok=True)
    options = (
        f"lowerdir={':'.join(lower)},upperdir={tree.disk}/upper/{name},"
        f"workdir={tree.disk}/work/{name},userxattr"
    )
    kernel.mount("overlay", str(target), "overlay", options=options)


def _bind(source: Path, target: Path, *, read_only: bool) -> None:
    """Bind-mount a folder at `target`, which is created if it does not exist."""
    target.mkdir(parents=True, exist_ok=True)
    kernel.mount(str(source), str(target), flags=kernel.MS_BIND | kernel.MS_REC)
    if read_only:
        kernel.make_read_only(str(target))


def _systems(root: Path, memory_mb: int) -> None:
    """Mount /proc, /sys, /dev and /run of a server with this memory below `root`."""
    safe = kernel.MS_NOSUID | kernel.MS_NODEV
    half = f"size={max(1, memory_mb // 2)}m"  # else a half of the machine's memory
    kernel.mount("proc", str(root / "proc"), "proc", safe | kernel.MS_NOEXEC)
    with contextlib.suppress(OSError):  # refused if parts of the machine's /sys are hidden
        flags = safe | kernel.MS_NOEXEC | kernel.MS_RDONLY
        kernel.mount("sysfs", str(root / "sys"), "sysfs", flags)
    kernel.mount("tmpfs", str(root / "run"), "tmpfs", safe, f"mode=755,{half}")
    (root / "run" / "lock").mkdir()
    dev = root / "dev"
    kernel.mount("tmpfs", str(dev), "tmpfs", kernel.MS_NOSUID, "mode=755,size=1m")
    for name in _DEVICES:
        (dev / name).touch()
        kernel.mount(f"/dev/{name}", str(dev / name), flags=kernel.MS_BIND)
    for name, to in _LINKS.items():
        (dev / name).symlink_to(to)
    (dev / "pts").mkdir()
    (dev / "shm").mkdir()
    with contextlib.suppress(OSError):
        options = "newinstance,ptmxmode=0666,mode=620"
        kernel.mount("devpts", str(dev / "pts"), "devpts", kernel.MS_NOSUID, options)
    kernel.mount("tmpfs", str(dev / "shm"), "tmpfs", safe, f"mode=1777,{half}")
    os.mkfifo(dev / "console", 0o622)
    (dev / "console").chmod(0o622)

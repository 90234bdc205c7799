"""Entering the namespaces of the keeper, as root or as an ordinary user.

An ordinary user becomes root inside the user namespace, which then has no other user. The same
holds for root in a container with few ids. Otherwise, the namespace gets a range of ids that no
account of the machine uses, so that root inside a server owns nothing outside.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hearth_devcloud.sandbox import kernel

FIRST_ID = 1_878_982_656
IDS = 65536


def has_range() -> bool:
    """Return whether this process can map a range of ids into a user namespace.

    This requires root, and enough ids in the current user namespace.
    """
    if os.geteuid() != 0:
        return False
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= FIRST_ID and first + count >= FIRST_ID + IDS:
            return True
    return False


def enter(folders: Sequence[str]) -> tuple[int, list[int]]:
    """Enter new namespaces; return the number of ids in them, and descriptors of the folders.

    The folders are opened by the original user inside the new mount namespace, so that the new user
    can mount them. Raises OSError if the kernel does not permit the namespaces.
    """
    user, group = os.geteuid(), os.getegid()
    if has_range():
        ids = IDS
        os.setgroups([])
        done, waits = _mapped_from_outside()
        kernel.unshare(kernel.ALL)
        os.close(waits)
        if os.waitpid(done, 0)[1] != 0:
            raise OSError("the kernel does not permit the mapping of user ids into the sandbox")
    else:
        ids = 1
        kernel.unshare(kernel.ALL)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders]
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return ids, opened


def _mapped_from_outside() -> tuple[int, int]:
    """Start a process outside the new namespaces that maps the ids of this process.

    Return its process id and a pipe. It maps the ids when the pipe is closed, and then ends.
    """
    parent, (reads, writes) = os.getpid(), os.pipe()
    pid = os.fork()
    if pid:
        os.close(reads)
        return pid, writes
    status = 1
    try:
        os.close(writes)
        os.read(reads, 1)
        write_maps(f"/proc/{parent}", FIRST_ID, IDS)
        status = 0
    finally:
        os._exit(status)


def write_maps(process: str, first: int, count: int) -> None:
    """Map `count` ids of a process's user namespace, from 0 on, to outer ids from `first` on.

    `process` is the folder of the process in /proc.
    """
    for name in ("uid_map", "gid_map"):
        Path(process, name).write_text(f"0 {first} {count}")

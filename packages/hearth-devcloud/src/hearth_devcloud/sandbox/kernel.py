"""Linux system calls that Python 3.11 does not provide."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWUSER = 0x10000000
NEWPID = 0x20000000
NEWNET = 0x40000000
ALL = NEWNS | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION_KEYRING = 1

NET_ADMIN = 12  # the capability to change addresses, routes and rules of a network namespace
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION = 0x20080522

_SYS_OPEN_TREE = 428  # the same number on every processor
_SYS_MOVE_MOUNT = 429
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, action: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process to new namespaces; for NEWPID, this applies to its children."""
    _check(_libc.unshare(flags), "unshare")


def setns(namespace: int, kind: int) -> None:
    """Move this process to the namespace of a file descriptor; `kind` is its type."""
    _check(_libc.setns(namespace, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system of type `kind`. Raises OSError with the target in its message."""
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(result, f"mount of {kind or source} on {target}")


def unmount(target: str) -> None:
    """Unmount a file system lazily: it disappears at once and is released after its last use."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount of {target}")


def open_tree(path: str) -> int:
    """Return the descriptor of a detached copy of a folder's mount, for `move_mount`."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC
    tree: int = _libc.syscall(_SYS_OPEN_TREE, _AT_FDCWD, path.encode(), flags)
    _check(tree, f"open_tree of {path}")
    return tree


def move_mount(tree: int, target: str) -> None:
    """Attach a mount that `open_tree` returned to the folder `target`."""
    flags = _MOVE_MOUNT_F_EMPTY_PATH
    result = _libc.syscall(_SYS_MOVE_MOUNT, tree, b"", _AT_FDCWD, target.encode(), flags)
    _check(result, f"move_mount to {target}")


def make_read_only(target: str) -> None:
    """Make a mount and all mounts below it read-only."""
    attributes = struct.pack("=4Q", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    result = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, size
    )
    _check(result, f"mount_setattr of {target}")


def pivot_root(root: str, old: str) -> None:
    """Make the mount `root` the root of the file tree.

    The previous root is then mounted at `old`, which must be a folder below the new root.
    """
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, root.encode(), old.encode()), "pivot_root")


def die_with_parent(signal_number: int) -> None:
    """Ask the kernel to send a signal to this process when its parent ends.

    A change of the user id resets this.
    """
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number), "prctl")


def own_proc_files() -> None:
    """Make the user of this process the owner of its files in /proc.

    A change of the user id resets this.
    """
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1), "prctl")


def new_session_keyring() -> None:
    """Give this process and its children a new session keyring, without the keys of the former one.

    Nothing happens on a kernel without keys, or where a container forbids all calls about keys.
    """
    number = _SYS_KEYCTL[os.uname().machine]
    try:
        _check(_libc.syscall(number, _JOIN_SESSION_KEYRING, None), "keyctl")
    except OSError as problem:
        if problem.errno not in (errno.ENOSYS, errno.EPERM):
            raise


def drop_capability(number: int) -> None:
    """Take a capability from this process and from all programs that it will start, for good."""
    _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "prctl")
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    _check(_libc.capget(header, data), "capget")
    sets = list(struct.unpack("=6I", data.raw))  # two words: effective, permitted, inheritable
    word, bit = divmod(number, 32)
    for position in range(3 * word, 3 * word + 3):
        sets[position] &= ~(1 << bit)
    _check(_libc.capset(header, struct.pack("=6I", *sets)), "capset")

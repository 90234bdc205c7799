"""Runs a command with the restrictions of a unit that could break it, where systemd does not run.

    python -m tests.deploy.confined hearth-api.service COMMAND...

It applies the filter of system calls, MemoryDenyWriteExecute=, RestrictAddressFamilies=,
PrivateUsers=, PrivateMounts=, ProcSubset=, ProtectProc=, the empty set of capabilities and
NoNewPrivileges=. libseccomp translates the names of system calls, as it does for systemd.
"""

import ctypes
import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.deploy.known import DEPLOY, ROOT, settings

ALLOW = 0x7FFF0000
REFUSE = 0x00050000  # and the error
EQUAL, GREATER, MASKED = 4, 6, 7  # the comparisons SCMP_CMP_EQ, _GT and _MASKED_EQ
FAMILIES = 50  # more than Linux has
WRITABLE, EXECUTABLE, SHARED_EXECUTABLE = 0x2, 0x4, 0o100000
OPTIONS = {"invisible": "hidepid=2", "pid": "subset=pid"}


class Comparison(ctypes.Structure):
    """A condition for an argument of a system call: struct scmp_arg_cmp of libseccomp."""

    _fields_ = [
        ("argument", ctypes.c_uint), ("comparison", ctypes.c_int),
        ("first", ctypes.c_uint64), ("second", ctypes.c_uint64),
    ]  # fmt: skip


def missing() -> str | None:
    """Return what this machine lacks for a confined command, or None."""
    for tool in ("systemd-analyze", "unshare", "setpriv"):
        if shutil.which(tool) is None:
            return tool
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return "libseccomp.so.2"
    probe = _namespaces(["mount -t proc -o subset=pid proc /proc"], ["true"])
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return "the right to create namespaces, and Linux 5.8"
    return None


def confined(unit: str, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` with the restrictions of the unit.

    The process of `command` is the child of the one that starts.
    """
    told = settings(DEPLOY / "systemd" / unit)
    assert told["PrivateUsers"] == told["PrivateMounts"] == told["NoNewPrivileges"] == ["yes"]
    options = ",".join(OPTIONS[told[name][0]] for name in ("ProtectProc", "ProcSubset"))
    again = [sys.executable, "-m", "tests.deploy.confined", unit, *command]
    return _namespaces([f"mount -t proc -o {options} proc /proc"], again)


def _namespaces(prepared: Sequence[str], command: Sequence[str]) -> list[str]:
    script = " && ".join([*prepared, 'exec setpriv --bounding-set=-all --no-new-privs "$@"'])
    made = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
    return [*made, "sh", "-c", script, "sh", *command]


def calls(filters: Iterable[str]) -> set[str]:
    """Return the system calls that the lines SystemCallFilter= of a unit allow."""
    allowed = set(_members("@default"))
    for line in filters:
        names = {one for name in line.lstrip("~").split() for one in _members(name)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def _members(name: str) -> list[str]:
    if not name.startswith("@"):
        return [name]
    shown = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in shown.stdout.splitlines()[1:]]
    return [one for line in lines if line and line[0] != "#" for one in _members(line)]


class Filter:
    """A filter of system calls; `otherwise` is done with those that have no rule."""

    def __init__(self, otherwise: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(otherwise)))

    def add(self, action: int, name: str, *comparisons: tuple[int, int, int, int]) -> None:
        """Add a rule for a system call, unless this architecture does not have it."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return
        array = (Comparison * len(comparisons))(*(Comparison(*one) for one in comparisons))
        added = self._library.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(comparisons), array
        )
        assert added == 0, (name, added)

    def load(self) -> None:
        """Apply the filter to this process and its children."""
        assert self._library.seccomp_load(self._context) == 0


def restrict(unit: Path) -> None:
    """Apply the filters of the unit to this process."""
    told = settings(unit)
    refuse = REFUSE | errno.EPERM
    assert told["MemoryDenyWriteExecute"] == ["yes"]
    memory = Filter(ALLOW)
    both = WRITABLE | EXECUTABLE
    memory.add(refuse, "mmap", (2, MASKED, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        memory.add(refuse, name, (2, MASKED, EXECUTABLE, EXECUTABLE))
    memory.add(refuse, "shmat", (2, MASKED, SHARED_EXECUTABLE, SHARED_EXECUTABLE))
    families = Filter(ALLOW)
    allowed = {getattr(socket, one) for one in told["RestrictAddressFamilies"][0].split()}
    unsupported = REFUSE | errno.EAFNOSUPPORT
    for family in set(range(FAMILIES)) - allowed:
        families.add(unsupported, "socket", (0, EQUAL, family, 0))
    families.add(unsupported, "socket", (0, GREATER, FAMILIES - 1, 0))
    only = Filter(refuse)
    for name in calls(told["SystemCallFilter"]):
        only.add(ALLOW, name)
    for one in (memory, families, only):
        one.load()


if __name__ == "__main__":
    os.chdir(ROOT)
    restrict(DEPLOY / "systemd" / sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])

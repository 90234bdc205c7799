"""The image `host`: the files of this machine that servers without another image can see.

System folders come from the machine, and `/etc` is a copy of the files that everyone may read. Home
folders, `/var` and the data of Hearth are not visible. The skeleton is an additional overlay layer:
its empty copies of the system folders belong to the server's root user, who can add files there.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from pathlib import Path

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix")
OWN = {
    "etc": 0o755,
    "var": 0o755,
}
VAR = ("cache", "lib/cloud", "lib/misc", "local", "log", "mail", "opt", "spool/cron", "tmp")
FOLDERS = {
    "boot": 0o755,
    "dev": 0o755,
    "home": 0o755,
    "media": 0o755,
    "mnt": 0o755,
    "proc": 0o555,
    "root": 0o700,
    "run": 0o755,
    "srv": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
}
DEPTH = 3  # levels of the system folders in which a server can add files
LOCAL_DEPTH = 6  # the same for usr/local
_SECRET = re.compile(
    r"^/etc/((g?shadow|passwd|group|subuid|subgid)-|g?shadow|sudoers|machine-id|host(name|s)"
    r"|resolv\.conf|fstab|mtab|ssh/ssh_host|ssl/private|cron|init\.d|systemd|udev|wireguard"
    r"|NetworkManager|openvpn|docker|kubernetes|krb5\.keytab)"
)


def build(skeleton: Path) -> list[str]:
    """Create the skeleton in a folder.

    Return the names of the top-level folders that must be merged with those of the machine.
    """
    merged = []
    for name in SYSTEM:
        source = Path("/", name)
        if source.is_symlink():
            (skeleton / name).symlink_to(os.readlink(source))
        elif source.is_dir():
            _folders(source, skeleton / name, DEPTH)
            merged.append(name)
    for name, mode in OWN.items():
        (skeleton / name).mkdir(mode=mode)
    _copy(Path("/etc"), skeleton / "etc")
    for name in VAR:
        (skeleton / "var" / name).mkdir(parents=True)
    (skeleton / "var" / "tmp").chmod(0o1777)
    (skeleton / "var" / "run").symlink_to("/run")
    (skeleton / "var" / "lock").symlink_to("/run/lock")
    (skeleton / "etc" / "shadow").write_text("root:*:19000:0:99999:7:::\n")
    (skeleton / "etc" / "shadow").chmod(0o600)
    return merged


def _folders(source: Path, target: Path, depth: int) -> None:
    """Copy the folders of a tree down to a depth, without their files."""
    target.mkdir(parents=True)
    if depth == 0:
        return
    with contextlib.suppress(OSError), os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner = LOCAL_DEPTH if entry.path == "/usr/local" else depth - 1
                _folders(Path(entry.path), target / entry.name, inner)


def _copy(source: Path, target: Path) -> None:
    """Copy a tree without the files that contain secrets or that not everyone may read."""
    try:
        entries = list(os.scandir(source))
    except OSError:
        return
    for entry in entries:
        mode = entry.stat(follow_symlinks=False).st_mode
        copy = target / entry.name
        if _SECRET.match(entry.path):
            continue
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(mode):
                copy.symlink_to(os.readlink(entry.path))
            elif stat.S_ISDIR(mode) and mode & 0o005 == 0o005:
                copy.mkdir(mode=stat.S_IMODE(mode))
                _copy(Path(entry.path), copy)
            elif stat.S_ISREG(mode) and mode & 0o004:
                shutil.copyfile(entry.path, copy)
                copy.chmod(stat.S_IMODE(mode) & 0o777)

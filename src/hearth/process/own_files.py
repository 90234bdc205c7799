"""The files that Hearth writes beside the user's own files: locks, keys, states, saved plans.

Their folder may come from somebody else, such as a cloned repository or a folder that others can
write to. Therefore no such file is opened through a symbolic link, and a new file is created
exclusively with its mode.
"""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from hearth.config.wrong import WrongSetting

LINK = "is a symbolic link, which Hearth does not follow"
NO_FILE = "is not a regular file"


def demand_no_link(path: Path) -> None:
    """Raise OSError if there is a symbolic link at `path`."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} {LINK}", str(path))


def demand_own(path: Path) -> None:
    """Raise OSError if there is something else than a regular file at `path`."""
    demand_no_link(path)
    with suppress(FileNotFoundError):
        _demand_regular(path, path.lstat().st_mode)


def open_own(path: Path) -> TextIO:
    """Open a file for reading and writing; if it is missing, create it for its owner alone.

    Raises OSError, also for anything else than a regular file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(path, flags, 0o600), "r+", encoding="utf-8")
    except OSError:
        demand_own(path)  # its words are clearer
        raise
    try:
        _demand_regular(path, os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def create_own(path: Path, text: str) -> None:
    """Create a file that only its owner can read. Raises OSError, also if `path` exists."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, 0o600)  # whatever the umask is
        file.write(text)


def write_own(path: Path, text: str) -> None:
    """Create a file that only its owner can read, or replace the one at `path` atomically.

    A symbolic link at `path` is replaced, not followed. Raises OSError.
    """
    fresh = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        create_own(fresh, text)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def lock(path: Path) -> TextIO:
    """Lock the file `path`, so that one process uses the database, and return the open file.

    Raises WrongSetting if another process holds the lock.
    """
    try:
        file = open_own(path)
    except OSError as problem:
        raise WrongSetting(f"{path} cannot be written: {problem.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        message = "is in use by another Hearth process; stop it or choose another directory"
        raise WrongSetting(f"{path.parent} {message}") from None
    return file


def _demand_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"{path.name} {NO_FILE}", str(path))

"""What a process needs before anything large is imported: a port, a log, a word for a fault."""

import contextlib
import fcntl
import gc
import logging
import os
import resource
import socket
from pathlib import Path
from typing import TextIO

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""The form of a line of the log."""


class WrongSetting(Exception):
    """A setting that cannot work; the message names it and says what would."""


def no_collections() -> None:
    """Imports leave hardly any garbage: collections wait until everything is there."""
    gc.disable()


DESCRIPTORS_MAX = 65536


def allow_descriptors() -> None:
    """Let the process have as many files and connections open as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listening(host: str, port: int, chosen_by: str = "--port") -> socket.socket:
    """A bound socket. Raises WrongSetting for a port that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle off only where the protocol is named
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        words = f"port {port} on {host} cannot be used: {problem.strerror}"
        raise WrongSetting(f"{words}; choose another with {chosen_by}") from None
    bound.listen(2048)
    return bound


def log_to_stderr(level: str | None = None) -> None:
    """One line per message; the level from HEARTH_LOG (default WARNING)."""
    logging.basicConfig(
        level=level or os.environ.get("HEARTH_LOG", "WARNING").upper(),
        format=LINE,
    )


def lock(path: Path) -> TextIO:
    """Whoever has this is the only engine of its database. Raises WrongSetting."""
    try:
        held = path.open("w")
    except OSError as problem:
        raise WrongSetting(f"{path} cannot be written: {problem.strerror}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        words = "is in use by another hearth; stop that one or choose another place"
        raise WrongSetting(f"{path.parent} {words}") from None
    return held

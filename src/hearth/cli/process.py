"""Preparation of a process before slow imports: sockets, a log, and the error for invalid
settings.
"""

import asyncio
import contextlib
import fcntl
import gc
import logging
import os
import resource
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TextIO

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""The format of a line of the log."""


class WrongSetting(Exception):
    """A setting is invalid; the message names it and a valid value."""


def no_collections() -> None:
    """Disable garbage collection during imports, which create little garbage."""
    gc.disable()


DESCRIPTORS_MAX = 65536


def run_until_complete(main: Coroutine[Any, Any, int]) -> int:
    """Run a process in the event loop of uvloop where there is one; return the exit status."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # on Windows
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def allow_descriptors() -> None:
    """Raise the soft limit of open files, which includes connections, to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listening(host: str, port: int, chosen_by: str = "--port") -> socket.socket:
    """Return a bound socket. Raises WrongSetting if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle only if the protocol is given
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
    """Log one line per message to stderr; the level is HEARTH_LOG (default WARNING)."""
    logging.basicConfig(
        level=level or os.environ.get("HEARTH_LOG", "WARNING").upper(),
        format=LINE,
    )


def lock(path: Path) -> TextIO:
    """Lock a database for a single engine and return the lock file. Raises WrongSetting."""
    try:
        held = path.open("w")
    except OSError as problem:
        raise WrongSetting(f"{path} cannot be written: {problem.strerror}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        words = "is in use by another Hearth process; stop it or choose another place"
        raise WrongSetting(f"{path.parent} {words}") from None
    return held

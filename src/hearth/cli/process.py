"""Preparation of a process before slow imports: sockets, logging, lock, file descriptors."""

import asyncio
import contextlib
import fcntl
import gc
import logging
import os
import resource
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TextIO

from hearth.cli.own_files import open_own
from hearth.model.printable import escaped

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""The format of a log line."""

COLLECT_AFTER = (5_000, 20, 50)
"""After how many more objects created than deleted the youngest ones are collected, and after how
many collections the older ones.

A stack that has ended is garbage of a few hundred objects in cycles. With a larger number, such
garbage fills up the memory, and what is created in between keeps it from being returned.
"""


class AsText(logging.Formatter):
    """Formats each message as one line, with control characters escaped; a traceback follows it."""

    def __init__(self) -> None:
        super().__init__(LINE)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - a method of logging
        return escaped(super().formatMessage(record))


class WrongSetting(Exception):
    """A setting is invalid. The message names the setting and what is wrong with it."""


def no_collections() -> None:
    """Disable garbage collection. Imports are faster without it, and they create little garbage."""
    gc.disable()


def calm_collector() -> None:
    """Exempt all existing objects from garbage collection, and collect old ones rarely.

    Otherwise collections take a third of the time with a stack of ten thousand resources.
    """
    gc.enable()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


DESCRIPTORS_MAX = 65536
SWITCH_S = 0.0005
"""How long a thread that computes may keep the others waiting; Python's default is ten times that.

The event loop waits so long after each of its own waits if a thread of the database computes.
"""


def run_until_complete(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine with uvloop if it is installed, else with asyncio; return its exit status."""
    sys.setswitchinterval(SWITCH_S)
    try:
        from uvloop import new_event_loop
    except ImportError:  # on Windows
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def allow_descriptors() -> None:
    """Raise the soft limit of open file descriptors towards the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listening(host: str, port: int, chosen_by: str = "--port") -> socket.socket:
    """Return a socket that listens at `host` and `port`. Raises WrongSetting if it cannot.

    `chosen_by` is the option or setting of the port, for the message.
    """
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


def log_to_stderr(usual: str = "WARNING") -> None:
    """Log to standard error, one line per message, with the level `log_level(usual)`."""
    handler = logging.StreamHandler()
    handler.setFormatter(AsText())
    logging.basicConfig(level=log_level(usual), handlers=[handler])


def log_level(usual: str) -> str:
    """Return the level of the environment variable HEARTH_LOG, or the usual one without it.

    If there is no such level, print an error and return the usual one.
    """
    wanted = os.environ.get("HEARTH_LOG", "").strip().upper()
    if not wanted or wanted in logging.getLevelNamesMapping():
        return wanted or usual
    words = f"HEARTH_LOG: unknown level {wanted}; expected DEBUG, INFO, WARNING, ERROR or CRITICAL"
    print(f"hearth: {words}", file=sys.stderr)
    return usual


def lock(path: Path) -> TextIO:
    """Lock the file `path`, so that one process uses the database, and return the open file.

    Raises WrongSetting if another process holds the lock.
    """
    try:
        held = open_own(path)
    except OSError as problem:
        raise WrongSetting(f"{path} cannot be written: {problem.strerror}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        words = "is in use by another Hearth process; stop it or choose another directory"
        raise WrongSetting(f"{path.parent} {words}") from None
    return held
